"""PointNet++: the order of points does not matter; balls and centres against brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry import Mesh, farthest_points
from fieldconv.networks import PointNet2
from fieldconv.networks.rivals.pointnet2 import CENTRES, MAX_POINTS, RADII, Level
from fieldconv.surface import Surface
from fieldconv.testing import assert_equivariant
from fieldconv.training import RunSettings


def bumpy(subdivisions: int = 3) -> Mesh:
    vertices, faces = shapes.icosphere(subdivisions)
    return Mesh(vertices * (1 + 0.2 * np.random.default_rng(0).random((len(vertices), 1))), faces)


@pytest.fixture(scope="module")
def surface() -> Surface:
    return Surface.from_mesh(bumpy(), operators=("nested-balls",))


@pytest.mark.parametrize("task", ["classification", "segmentation", "matching"])
def test_the_order_of_points_does_not_matter(task: str) -> None:
    """Operators are made anew for the mesh with its vertices in another order."""
    mesh = bumpy()
    order = np.random.default_rng(1).permutation(len(mesh.vertices))
    other = Mesh(mesh.vertices[order], np.argsort(order)[mesh.faces])
    torch.manual_seed(0)
    net = PointNet2.for_task(task, classes=5, preset="tiny").eval()
    one, two = (net(Surface.from_mesh(each, operators=("nested-balls",))) for each in (mesh, other))
    torch.testing.assert_close(two, one if task == "classification" else one[torch.from_numpy(order)])


def test_does_not_depend_on_frames_or_numbering(surface: Surface) -> None:
    net = PointNet2.for_task("segmentation", classes=5, preset="tiny")
    assert_equivariant(net, surface, changes=("frames", "motion", "numbering"), positions="kept")


def test_size_does_not_matter_but_place_does(surface: Surface) -> None:
    net = PointNet2.for_task("classification", classes=5, preset="tiny").eval()
    larger, turned = surface.clone(), surface.clone()
    larger.x = 3 * surface.x
    turned.x = surface.x[:, [1, 2, 0]]
    torch.testing.assert_close(net(larger), net(surface))
    assert not torch.allclose(net(turned), net(surface), atol=1e-4)


@pytest.mark.parametrize("level", [1, 2])
def test_balls_are_those_of_brute_force(surface: Surface, level: int) -> None:
    points = surface.pos.double().numpy()
    points = points / np.linalg.norm(points, axis=1).max()
    order = farthest_points(points, CENTRES[0])
    before = set(range(len(points))) if level == 1 else set(order.tolist())
    centres = set(order[: CENTRES[level - 1]].tolist())
    radius = RADII[level - 1] * (1024 / 642) ** 0.5
    expected = set()
    for p in centres:
        distance = np.linalg.norm(points - points[p], axis=1)
        inside = [q for q in np.argsort(distance) if q in before and distance[q] < radius]
        expected |= {(int(q), p) for q in inside[: MAX_POINTS[level - 1]]}
    index = surface[f"ball{level}_index"]
    assert set(map(tuple, index.T.tolist())) == expected
    assert set(Level(index).centres.tolist()) == centres


def test_centres_are_as_far_apart_as_possible() -> None:
    points = np.random.default_rng(0).random((50, 3))
    found = farthest_points(points, 20)
    assert found[0] == np.linalg.norm(points - points.mean(0), axis=1).argmax()
    for i in range(1, 20):
        nearest = np.linalg.norm(points[:, None] - points[found[:i]], axis=2).min(1)
        assert nearest[found[i]] == nearest.max()
    assert sorted(farthest_points(points, 99).tolist()) == list(range(50))


def test_values_at_centres_come_back_as_they_are(surface: Surface) -> None:
    """And linear functions nearly so in between."""
    from fieldconv.networks.rivals.pointnet2 import _interpolate

    centres = Level(surface.ball1_index).centres
    height = surface.pos[:, 2:]
    back = _interpolate(height[centres], centres, surface.spread1_index, surface.spread1_weight, len(height))
    torch.testing.assert_close(back[centres], height[centres], atol=1e-5, rtol=1e-4)
    assert (back - height).abs().max() < 0.05


def test_number_of_parameters() -> None:
    """1.48 million with 40 classes, as is reported for single-scale grouping."""
    net = PointNet2.for_task("classification", classes=40, preset="paper")
    assert round(net.num_parameters / 1e6, 2) == 1.48


def test_other_features_come_beside_positions() -> None:
    net = PointNet2.for_task("segmentation", classes=5, preset="tiny", features="hks+xyz")
    mesh = bumpy(2)
    seen = Surface.from_mesh(mesh, features="hks+xyz", operators=("nested-balls",))
    assert net(seen).shape == (162, 5)
    with pytest.raises(ValueError, match=r"give xyz, or xyz\+hks"):
        PointNet2.for_task("segmentation", classes=5, features="hks")


def test_steps_have_several_shapes_unless_asked_otherwise() -> None:
    def batch(network: str, **changes: int) -> int:
        return RunSettings.assemble("segmentation", network=network, changes=changes).training.batch

    assert batch("pointnet2") == PointNet2.smallest_batch > batch("fcnet") == 1
    assert batch("pointnet2", batch=1) == 1
    assert batch("pointnet2", batch=20) == 20
