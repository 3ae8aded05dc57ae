"""Numbers by position: the same mesh, however it was listed."""

from __future__ import annotations

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh, coarsen, farthest_point_samples, farthest_points, geodesic_discs
from fieldconv.geometry.mesh.numbering import by_position, position_order

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
        result = by_position(Mesh(moved, renumbered))
        np.testing.assert_array_equal(result.mesh.vertices, expected.mesh.vertices)
        np.testing.assert_array_equal(result.mesh.faces, expected.mesh.faces)
        np.testing.assert_array_equal(result.place[place], expected.place)


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
        result = by_position(Mesh(moved, renumbered))
        np.testing.assert_array_equal(result.mesh.faces, expected.mesh.faces)
        np.testing.assert_array_equal(result.place[place], expected.place)


def test_the_order_follows_positions_that_differ_by_rounding_and_far_outliers() -> None:
    draw = np.random.default_rng(0)
    points = np.concatenate([draw.normal(size=(200, 3)), [[1e30, 0, 0]], np.full((2, 3), 0.5)])
    points[:50] = points[50:100] + 1e-15
    shuffled = draw.permutation(len(points))
    np.testing.assert_array_equal(
        points[position_order(points)], points[shuffled][position_order(points[shuffled])]
    )


def touching() -> shapes.Shape:
    """Two tetrahedra that share one vertex: two closed parts, joined by no edge."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    faces = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    other = np.where(faces, faces + 3, 0)[:, ::-1]
    return np.concatenate([corners, 2 - corners[1:]]), np.concatenate([faces, other])


def nested() -> shapes.Shape:
    """A small sphere within a large one, both facing away from the centre, and a square beside them."""
    vertices, faces = shapes.icosphere(1)
    grid = shapes.grid(3, 3)
    return (
        np.concatenate([vertices, 3 * vertices, grid[0] + 10]),
        np.concatenate([faces, faces + len(vertices), grid[1] + 2 * len(vertices)]),
    )


CLOSED = {
    "torus": shapes.torus(1.0, 0.4, 12, 8),
    "box": shapes.box(3),
    "touching": touching(),
    "nested": nested(),
}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("name", CLOSED)
def test_closed_parts_are_turned_outward_whatever_was_turned(name: str, share: float) -> None:
    vertices, faces = CLOSED[name]
    closed = (vertices[faces] < 9).all(axis=(1, 2))  # all but the square
    expected = by_position(Mesh(vertices + 7, faces))
    a, b, c = expected.mesh.vertices[expected.mesh.faces].transpose(1, 0, 2)
    assert (a * np.cross(b, c)).sum() > 0
    for seed in range(3):
        turned = closed & (np.random.default_rng(seed).random(len(faces)) < share)
        result = by_position(Mesh(vertices + 7, np.where(turned[:, None], faces[:, ::-1], faces)))
        np.testing.assert_array_equal(result.mesh.faces, expected.mesh.faces)
        assert result.turned == turned.sum()


def test_parts_are_turned_each_by_itself() -> None:
    """One of two bodies inside out, whether they lie apart or touch in a vertex or within each other."""
    for vertices, faces in (touching(), nested()):
        expected = by_position(Mesh(vertices, faces)).mesh.faces
        half = np.arange(len(faces)) < (4 if len(faces) == 8 else 80)
        for turned in (half, ~half & (np.arange(len(faces)) < 160)):
            result = by_position(Mesh(vertices, np.where(turned[:, None], faces[:, ::-1], faces)))
            np.testing.assert_array_equal(result.mesh.faces, expected)
            assert result.turned == turned.sum()
            around = np.zeros(len(vertices), bool)
            around[np.setdiff1d(faces[turned], faces[~turned])] = True
            np.testing.assert_array_equal(result.mirrored, around)


def test_open_parts_turn_as_few_faces_as_possible_and_others_stay() -> None:
    vertices, faces = shapes.grid(8, 8)
    sphere = shapes.icosphere(1)
    faces = np.concatenate([faces[:, ::-1], sphere[1][:, ::-1] + len(vertices)])
    mesh = Mesh(np.concatenate([vertices, sphere[0] + 20]), faces)
    assert by_position(mesh).turned == len(sphere[1])  # which encloses something; the grid stays as it is
    some = faces.copy()
    some[:5] = some[:5, ::-1]
    result = by_position(Mesh(mesh.vertices, some))
    assert result.turned == 5 + len(sphere[1])
    np.testing.assert_array_equal(result.mesh.faces, by_position(mesh).mesh.faces)


def test_a_one_sided_strip_is_left_alone() -> None:
    result = by_position(Mesh(*shapes.mobius()))
    assert (result.turned, result.one_sided) == (0, len(shapes.mobius()[1]))


@pytest.mark.parametrize("name", ["torus", "grid", "box", "sphere"])
def test_samples_discs_and_coarser_meshes_follow_positions(name: str) -> None:
    vertices, faces = REGULAR[name]
    moved, renumbered, place = shapes.renumbered(vertices, faces, np.random.default_rng(7))
    one, other = Mesh(vertices, faces), Mesh(moved, renumbered)
    for metric in ("geodesic", "euclidean"):
        expected = place[farthest_point_samples(one, 60, metric=metric)]
        np.testing.assert_array_equal(farthest_point_samples(other, 60, metric=metric), expected)
    np.testing.assert_array_equal(farthest_points(moved, 60), place[farthest_points(vertices, 60)])
    small, same = (coarsen(by_position(mesh).mesh, 60).mesh for mesh in (one, other))
    np.testing.assert_array_equal(small.vertices, same.vertices)
    discs, again = (geodesic_discs(by_position(mesh).mesh, 0.5) for mesh in (one, other))
    np.testing.assert_array_equal(discs.angle, again.angle)
