"""What networks are shown of a surface: the tensors they read, turned, in several orientations, joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry import Mesh
from fieldconv.surface import Surface
from fieldconv.surface import batch as surface_batch
from fieldconv.surface.views import (
    at_vertices,
    on_device,
    orientations,
    rotated_features,
    select,
    turning_columns,
)

EVERYTHING = "hks+normals+wks+xyz"


def surface(features: Any = "xyz", **settings: Any) -> Surface:
    vertices, faces = shapes.icosphere(1)
    vertices = vertices * (1 + 0.3 * np.random.default_rng(0).random((len(vertices), 1)))
    return Surface.from_mesh(Mesh(vertices, faces), radius=0.5, features=features, **settings)


def rotation(seed: int = 0) -> np.ndarray:
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    matrix[:, 0] *= np.linalg.det(matrix)
    return matrix


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("xyz", [slice(0, 3)]),
        ("normals", [slice(0, 3)]),
        ("hks", []),
        ("hks+wks", []),
        ("hks+normals+xyz", [slice(16, 19), slice(19, 22)]),
        ("xyz+hks+normals", [slice(0, 3), slice(19, 22)]),
    ],
)
def test_columns_that_turn(features: str, expected: list[slice]) -> None:
    assert turning_columns(surface(features), features) == expected


def test_columns_of_features_whose_name_is_not_known() -> None:
    """They are positions if they equal these, else they stay; a name that does not fit says nothing."""
    for name in (None, "own"):
        assert turning_columns(surface("xyz"), name) == [slice(0, 3)]
        assert turning_columns(surface("normals"), name) == []
        assert turning_columns(surface("hks"), name) == []
    own = surface(np.random.default_rng(0).random((42, 5)))
    assert turning_columns(own, "xyz") == []
    assert turning_columns(own, None) == []
    own.x = None
    assert turning_columns(own, "xyz") == []


def test_positions_and_normals_turn_together_and_signatures_stay() -> None:
    one, matrix = surface(EVERYTHING), rotation()
    found = rotated_features(one, matrix, EVERYTHING)
    turn = torch.from_numpy(matrix).float()
    signatures = [*range(16), *range(19, 35)]
    assert torch.equal(found[:, signatures], one.x[:, signatures])
    torch.testing.assert_close(found[:, 16:19], one.normal @ turn)
    torch.testing.assert_close(found[:, 35:], one.pos @ turn)
    assert torch.equal(one.x[:, 35:], one.pos)  # the given one is left alone


@pytest.mark.parametrize("features", ["xyz", "normals"])
def test_three_columns_alone(features: str) -> None:
    one, matrix = surface(features), rotation(1)
    torch.testing.assert_close(
        rotated_features(one, matrix, features), one.x @ torch.from_numpy(matrix).float()
    )


def test_nothing_to_turn() -> None:
    one = surface("hks")
    assert rotated_features(one, rotation(), "hks") is one.x


@pytest.mark.parametrize("features", ["xyz", "hks+normals", EVERYTHING])
def test_orientations_are_the_surface_and_rotations_of_it(features: str) -> None:
    one = surface(features)
    found = list(orientations(one, 5, features))
    assert len(found) == 5
    assert found[0] is one
    columns = turning_columns(one, features)
    matrices = []
    for other in found:
        assert other.log is one.log  # the surface itself does not turn, for nothing on it does
        before = torch.cat([one.x[:, c] for c in columns]).double()
        after = torch.cat([other.x[:, c] for c in columns]).double()
        matrix = torch.linalg.lstsq(before, after).solution
        torch.testing.assert_close(before @ matrix, after, atol=1e-5, rtol=0)
        torch.testing.assert_close(matrix @ matrix.T, torch.eye(3).double(), atol=1e-4, rtol=0)
        assert torch.linalg.det(matrix) > 0
        matrices.append(matrix)
    for i in range(5):
        for j in range(i):
            assert (matrices[i] - matrices[j]).abs().max() > 0.1
    again = list(orientations(one, 5, features))
    assert all(torch.equal(a.x, b.x) for a, b in zip(found, again, strict=True))
    more = list(orientations(one, 3, features))
    assert len(more) == 3


def test_intrinsic_features_have_one_orientation() -> None:
    one = surface("hks")
    assert list(orientations(one, 8, "hks")) == [one]
    positions = surface("xyz")
    assert list(orientations(positions, 1, "xyz")) == [positions]


@pytest.mark.parametrize("count", [0, -3])
def test_too_few_orientations(count: int) -> None:
    with pytest.raises(ValueError, match=f"rotations is {count}; give a whole number from 1 up"):
        list(orientations(surface(), count))


def test_only_what_is_read() -> None:
    one = surface("hks", samples=20)
    shown = select(one, ["x", "area", "gone"])
    assert type(shown) is Surface
    assert set(shown.keys()) == {"x", "area"}
    assert shown.x is one.x
    everything = set(select(one, None).keys())
    assert everything == {name for name in one if not name.startswith("vertex_")}
    assert "sample" in everything


def test_batch() -> None:
    one, other = surface(), surface(samples=10)
    assert surface_batch([one]) is one
    both = surface_batch([one, other])
    assert both.num_nodes == 52
    assert both.batch.bincount().tolist() == [42, 10]


def test_values_at_vertices() -> None:
    whole, some = surface(), surface(samples=10)
    values = torch.randn(42, 2)
    assert at_vertices(whole, values) is values
    found = at_vertices(some, values[:10])
    assert found.shape == (42, 2)
    torch.testing.assert_close(found[some.sample], values[:10])


def test_stays_where_it_was() -> None:
    one = surface()
    assert on_device(one, torch.device("cpu")) is one
    away = on_device(one, torch.device("meta"))
    assert away.pos.device.type == "meta"
    assert one.pos.device.type == "cpu"
