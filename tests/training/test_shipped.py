"""The network for bodies that comes with the package: small, complete, and right about its own template."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fieldconv as fc
from fieldconv.cli import main
from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry.damage import damage
from fieldconv.geometry.damage.lattice import random_turn
from fieldconv.models import MODELS
from fieldconv.tasks.template_points import places_of
from fieldconv.training.apply import task_of


@pytest.fixture(scope="module")
def template() -> fc.Mesh:
    found = fc.load("body-points").template
    assert found is not None
    return found


@pytest.fixture(scope="module")
def person(template: fc.Mesh) -> fc.Mesh:
    """The template in another place, size and numbering."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(template.vertices))
    faces = np.argsort(order)[template.faces]
    return fc.Mesh(3.5 * template.vertices[order] @ random_turn(rng).T + [1, 2, 3], faces), order


def test_weights_are_small_and_have_a_card() -> None:
    files = [path for network in MODELS.values() for path in network.folder.iterdir()]
    assert sum(path.stat().st_size for path in set(files)) < 4e6
    card = (MODELS["bodies"].folder / "README.md").read_text(encoding="utf-8")
    assert "CC0" in card
    assert "Apache" in card
    assert "<!--" not in card


def test_parts_of_the_template_are_right_and_left_is_not_right(
    template: fc.Mesh, person: tuple[fc.Mesh, np.ndarray]
) -> None:
    mesh, order = person
    found = fc.predict(fc.load("bodies"), mesh)
    truth = places_of(template).vertex_labels[order]
    assert (found.labels == truth[:, 0]).mean() > 0.85
    names = np.array(found.class_names[8:])
    sided = np.char.find(names[truth[:, 1]], "left") + np.char.find(names[truth[:, 1]], "right") > -2
    finer = found.values[:, -1].astype(int)
    assert (finer[sided] == truth[sided, 1]).mean() > 0.6
    mirrored = np.char.replace(
        np.char.replace(np.char.replace(names, "left", "#"), "right", "left"), "#", "right"
    )
    other = np.array([np.flatnonzero(names == name)[0] for name in mirrored])
    assert (finer[sided] == other[truth[sided, 1]]).mean() < 0.1


def test_the_template_is_mapped_to_itself(template: fc.Mesh, person: tuple[fc.Mesh, np.ndarray]) -> None:
    mesh, order = person
    found = fc.predict(fc.load("body-points"), mesh)
    away = np.linalg.norm(template.vertices[found.labels] - template.vertices[order], axis=1)
    assert np.mean(away) / np.sqrt(template.area) < 0.08


def test_a_ball_is_no_body(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shapes

    fc.Mesh(*shapes.icosphere(4)).save(tmp_path / "ball.ply")
    assert main(["predict", "bodies", str(tmp_path / "ball.ply"), "--out", str(tmp_path / "result")]) == 0
    assert "hardly like the template" in capsys.readouterr().out


def test_shapes_out_of_scope_are_reported(template: fc.Mesh) -> None:
    network = fc.load("bodies")
    task = task_of(network)
    person = fc.Mesh(template.vertices, template.faces)

    def told(mesh: fc.Mesh) -> str:
        return task.note(fc.predict(network, mesh, descriptors=False))

    assert told(person) == ""
    assert "not quite like the template" in told(make_creature("quadruped", 3, vertices=1500).mesh)
    two = np.vstack([template.vertices, template.vertices + np.array([2, 0, 0])])
    faces = np.vstack([template.faces, template.faces + len(template.vertices)])
    assert "2 pieces of similar size" in told(fc.Mesh(two, faces))
    up = template.vertices[:, 2]
    lower = float((up < np.median(up)).mean())
    half = damage.cut(person, np.random.default_rng(0), lower, direction=[0, 0, -1]).mesh
    assert "seems to be missing" in told(half)


def test_vertices_without_a_place_do_not_matter(template: fc.Mesh) -> None:
    network = fc.load("bodies")
    points = np.vstack([template.vertices, [[9, 9, 9]]])
    points[5] = np.nan
    found = fc.predict(network, fc.Mesh(points, template.faces), descriptors=False)
    assert np.flatnonzero(found.labels < 0).tolist() == [5, len(points) - 1]
    assert task_of(network).note(found) == ""


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in MODELS)


def test_results_of_a_shipped_network_need_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "bodies"]) == 1
    assert "bodies is not a run folder; give --out FOLDER" in capsys.readouterr().err
