"""Predictions do not depend on how a file numbers vertices, orders faces, or which way faces turn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry import Mesh
from fieldconv.networks import FCNet
from fieldconv.training import match, predict

SHAPES = {
    "torus": shapes.torus(1.0, 0.4, 24, 12),
    "cylinder": shapes.regular_cylinder(20, 12),
    "grid": shapes.grid(20, 14),
    "box": shapes.box(6),
}


@pytest.fixture(scope="module", params=[("xyz", None), ("xyz", 100), ("hks", None), ("hks", 100)], ids=str)
def model(request: pytest.FixtureRequest) -> FCNet:
    """A network with weights at random, whose eight labels are easily changed."""
    features, samples = request.param
    torch.manual_seed(0)
    return FCNet.for_task(
        "segmentation", classes=8, preset="tiny", features=features, samples=samples, radius=0.3
    )


@pytest.mark.parametrize("name", SHAPES)
def test_renumbered_meshes_have_the_same_labels(model: FCNet, name: str) -> None:
    vertices, faces = SHAPES[name]
    expected = predict(model, Mesh(vertices, faces), descriptors=False).labels
    assert expected is not None
    assert len(np.unique(expected)) > 1
    for seed in range(2):
        moved, renumbered, place = shapes.renumbered(vertices, faces, np.random.default_rng(seed))
        found = predict(model, Mesh(moved, renumbered), descriptors=False).labels
        assert found is not None
        assert (found[place] == expected).mean() >= 0.999


@pytest.mark.parametrize("name", [*SHAPES, "sphere"])
def test_turned_shapes_have_the_same_probabilities(name: str) -> None:
    """A network that sees no positions, on every vertex: equally long paths and equal eigenvalues abound.

    Where all it sees is symmetric, several labels may be equally likely.
    """
    torch.manual_seed(0)
    network = FCNet.for_task(
        "segmentation", classes=8, preset="tiny", features="hks", samples=None, radius=0.3
    )
    vertices, faces = SHAPES.get(name) or shapes.icosphere(2)
    expected = predict(network, Mesh(vertices, faces), descriptors=False).scores
    assert expected is not None
    for seed in range(2):
        draw = np.random.default_rng(seed)
        turn = np.linalg.qr(draw.normal(size=(3, 3)))[0]
        moved = vertices @ (turn * np.sign(np.linalg.det(turn))).T + draw.normal(size=3)
        found = predict(network, Mesh(moved, faces), descriptors=False).scores
        assert found is not None
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("name", SHAPES)
def test_turned_faces_change_no_label_and_are_reported(model: FCNet, name: str) -> None:
    vertices, faces = SHAPES[name]
    expected = predict(model, Mesh(vertices, faces), descriptors=False).labels
    turned = np.random.default_rng(0).random(len(faces)) < 0.3
    found = predict(
        model, Mesh(vertices, np.where(turned[:, None], faces[:, ::-1], faces)), descriptors=False
    )
    assert expected is not None
    assert found.labels is not None
    assert (found.labels == expected).mean() >= 0.999
    assert f"turned over {turned.sum()} faces to agree with neighbours" in str(found.input)


@pytest.mark.parametrize("name", ["torus", "box"])
def test_a_closed_body_inside_out_has_the_same_labels(model: FCNet, name: str) -> None:
    vertices, faces = SHAPES[name]
    expected = predict(model, Mesh(vertices, faces), descriptors=False)
    found = predict(model, Mesh(vertices, faces[:, ::-1]), descriptors=False)
    assert expected.labels is not None
    assert found.labels is not None
    assert (found.labels == expected.labels).mean() >= 0.999
    assert f"turned over {len(faces)} faces" in str(found.input)
    assert "turned over" not in str(expected.input)


@pytest.mark.parametrize("task", ["segmentation", "correspondence", "classification", "matching"])
def test_loose_vertices_and_specks_change_no_answer(task: str) -> None:
    torch.manual_seed(0)
    network = FCNet.for_task(
        task, classes=8, preset="tiny", features="balls+hks", samples=100, smoothing=0.02
    )
    vertices, faces = shapes.icosphere(3)
    vertices = vertices * [1.0, 1.3, 1.8] + 0.2 * vertices[:, [1, 2, 0]] ** 2  # no symmetry, hence no ties
    count = len(vertices)
    beside = [[90.0, 0, 0], [0, 80, 0], [0, 80, 1e-3], [0, 80.001, 0]]
    expected = predict(network, Mesh(vertices, faces))
    found = predict(network, Mesh([*vertices, *beside], [*faces, [count + 1, count + 2, count + 3]]))
    for name in ("labels", "scores", "descriptors"):
        one, other = getattr(expected, name), getattr(found, name)
        assert (one is None) == (other is None)
        if one is not None:
            same = other if one.shape == other.shape else other[:count]
            np.testing.assert_allclose(same, one, atol=1e-3 * np.abs(one).max())
            if one.shape != other.shape:  # nothing is said of the loose vertex
                assert (other[count] == (-1 if name == "labels" else 0)).all()
    assert "1 vertex on no face" in str(found.input)


def test_all_points_of_a_cloud_have_labels(tmp_path: Path) -> None:
    """A point that fits into no triangle is no loose vertex: it has the label of what is near."""
    draw = np.random.default_rng(0)
    points = draw.normal(size=(300, 3))
    points = np.concatenate([points / np.linalg.norm(points, axis=1, keepdims=True), [[0, 0, 30.0]]])
    np.savetxt(tmp_path / "cloud.xyz", points, encoding="utf-8")
    network = FCNet.for_task("segmentation", classes=8, preset="tiny", samples=100)
    found = predict(network, tmp_path / "cloud.xyz", descriptors=False)
    assert "on no face" in str(found.input)
    assert found.labels is not None
    assert (found.labels >= 0).all()


def test_matches_do_not_depend_on_numbers_either() -> None:
    torch.manual_seed(0)
    network = FCNet.for_task("matching", preset="tiny", features="xyz", samples=80)
    one, other = SHAPES["torus"], SHAPES["box"]
    expected = match(network, Mesh(*one), Mesh(*other)).target
    first, second = (shapes.renumbered(*shape, np.random.default_rng(1)) for shape in (one, other))
    found = match(network, Mesh(*first[:2]), Mesh(*second[:2])).target
    assert (found[first[2]] == second[2][expected]).mean() >= 0.999


def test_a_one_sided_surface_is_used_unchanged_and_reported() -> None:
    network = FCNet.for_task("segmentation", classes=2, preset="tiny", samples=None)
    found = predict(network, Mesh(*shapes.mobius()), descriptors=False)
    assert "one-sided" in str(found.input)
    assert found.labels is not None
    assert (found.labels >= 0).all()
