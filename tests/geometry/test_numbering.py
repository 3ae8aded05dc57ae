"""Numbers by position: the same mesh, however it was listed."""

from __future__ import annotations

import numpy as np
import pytest

import shapes
from fieldconv.geometry.coarsen import coarsened
from fieldconv.geometry.geodesics import geodesic_discs
from fieldconv.geometry.mesh import Mesh
from fieldconv.geometry.numbering import by_position, position_order
from fieldconv.geometry.sampling import farthest_point_samples, farthest_points

REGULAR = {
    "torus": shapes.torus(1.0, 0.4, 24, 12),
    "cylinder": shapes.regular_cylinder(20, 12),
    "grid": shapes.grid(20, 14),
    "box": shapes.box(6),
    "sphere": shapes.icosphere(2),
    "book": shapes.book(),
    "bow tie": shapes.bowtie(),
    "Möbius strip": shapes.mobius(),
}


@pytest.mark.parametrize("name", REGULAR)
def test_any_numbering_gives_the_same_mesh(name: str) -> None:
    vertices, faces = REGULAR[name]
    expected = by_position(Mesh(vertices, faces))
    np.testing.assert_array_equal(vertices[expected.order], expected.mesh.vertices)
    np.testing.assert_array_equal(expected.mesh.vertices[expected.place], vertices)
    for seed in range(3):
        moved, renumbered, place = shapes.renumbered(vertices, faces, np.random.default_rng(seed))
        found = by_position(Mesh(moved, renumbered))
        np.testing.assert_array_equal(found.mesh.vertices, expected.mesh.vertices)
        np.testing.assert_array_equal(found.mesh.faces, expected.mesh.faces)
        np.testing.assert_array_equal(found.place[place], expected.place)


def test_vertices_at_one_place_are_told_apart_by_what_is_around_them() -> None:
    """A grid cut along a line: both sides of the cut have vertices at the same places."""
    vertices, faces = shapes.grid(9, 7)
    middle = vertices[faces].mean(1)[:, 0] > 4
    seam = np.flatnonzero(vertices[:, 0] == 4)
    copy = np.arange(len(vertices))
    copy[seam] = len(vertices) + np.arange(len(seam))
    vertices = np.concatenate([vertices, vertices[seam]])
    faces = np.where(middle[:, None], copy[faces], faces)
    expected = by_position(Mesh(vertices, faces))
    for seed in range(5):
        moved, renumbered, place = shapes.renumbered(vertices, faces, np.random.default_rng(seed))
        found = by_position(Mesh(moved, renumbered))
        np.testing.assert_array_equal(found.mesh.faces, expected.mesh.faces)
        np.testing.assert_array_equal(found.place[place], expected.place)


def test_the_order_follows_positions_that_differ_by_rounding_and_far_outliers() -> None:
    draw = np.random.default_rng(0)
    points = np.concatenate([draw.normal(size=(200, 3)), [[1e30, 0, 0]], np.full((2, 3), 0.5)])
    points[:50] = points[50:100] + 1e-15
    shuffled = draw.permutation(len(points))
    np.testing.assert_array_equal(
        points[position_order(points)], points[shuffled][position_order(points[shuffled])]
    )


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_closed_parts_are_turned_outward_whatever_was_turned(share: float) -> None:
    vertices, faces = shapes.torus(1.0, 0.4, 12, 8)
    turned = np.random.default_rng(0).random(len(faces)) < share
    found = by_position(Mesh(vertices, np.where(turned[:, None], faces[:, ::-1], faces)))
    np.testing.assert_array_equal(found.mesh.faces, by_position(Mesh(vertices, faces)).mesh.faces)
    assert found.turned == turned.sum()


def test_open_parts_turn_as_few_faces_as_possible_and_others_stay() -> None:
    vertices, faces = shapes.grid(8, 8)
    inward = shapes.icosphere(1)
    faces = np.concatenate([faces, inward[1][:, ::-1] + len(vertices)])
    mesh = Mesh(np.concatenate([vertices, inward[0] + 20]), faces)
    assert by_position(mesh).turned == 0  # a hollow may be meant
    some = faces.copy()
    some[:5] = some[:5, ::-1]
    found = by_position(Mesh(mesh.vertices, some))
    assert found.turned == 5
    np.testing.assert_array_equal(found.mesh.faces, by_position(mesh).mesh.faces)


def test_a_one_sided_strip_is_left_alone() -> None:
    found = by_position(Mesh(*shapes.mobius()))
    assert (found.turned, found.one_sided) == (0, len(shapes.mobius()[1]))


@pytest.mark.parametrize("name", ["torus", "grid", "box", "sphere"])
def test_samples_discs_and_coarser_meshes_follow_positions(name: str) -> None:
    vertices, faces = REGULAR[name]
    moved, renumbered, place = shapes.renumbered(vertices, faces, np.random.default_rng(7))
    one, other = Mesh(vertices, faces), Mesh(moved, renumbered)
    for metric in ("geodesic", "euclidean"):
        expected = place[farthest_point_samples(one, 60, metric=metric)]
        np.testing.assert_array_equal(farthest_point_samples(other, 60, metric=metric), expected)
    np.testing.assert_array_equal(farthest_points(moved, 60), place[farthest_points(vertices, 60)])
    small, same = (coarsened(by_position(mesh).mesh, 60).mesh for mesh in (one, other))
    np.testing.assert_array_equal(small.vertices, same.vertices)
    discs, again = (geodesic_discs(by_position(mesh).mesh, 0.5) for mesh in (one, other))
    np.testing.assert_array_equal(discs.angle, again.angle)
