"""Subdivided meshes: the same points in space, short edges, a bounded number of vertices."""

from __future__ import annotations

import numpy as np
import pytest

from fieldconv.geometry import Mesh, subdivide
from fieldconv.geometry.damage import add_holes
from tests.shapes import icosphere

BALL = Mesh(*icosphere(2))  # 162 vertices
TORN = add_holes(BALL, np.random.default_rng(0), 2, (0.05, 0.05)).mesh


def euler(mesh: Mesh) -> int:
    ends = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return len(mesh.vertices) - len(np.unique(ends, axis=0)) + len(mesh.faces)


def directions(mesh: Mesh) -> np.ndarray:
    """(3, 3) which way, and how much of the area, all triangles look."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a)
    return np.einsum("fi,fj->ij", normal, normal / np.linalg.norm(normal, axis=1, keepdims=True))


@pytest.mark.parametrize("mesh", [BALL, TORN, Mesh(BALL.vertices * [1, 1, 12], BALL.faces)])
@pytest.mark.parametrize("wanted", [200, 300, 1000, 2500])
def test_it_is_the_same_surface_with_shorter_edges(mesh: Mesh, wanted: int) -> None:
    fine = subdivide(mesh, wanted)
    count = len(mesh.vertices)
    np.testing.assert_array_equal(fine.mesh.vertices[:count], mesh.vertices)
    np.testing.assert_array_equal(fine.vertex_map, np.arange(count))
    assert 0.5 * wanted < len(fine.mesh.vertices) <= 1.5 * wanted
    assert euler(fine.mesh) == euler(mesh)  # no gaps, no seams
    assert fine.mesh.area == pytest.approx(mesh.area)
    # Every new triangle lies in an old one and looks the same way.
    np.testing.assert_allclose(*(directions(m) for m in (mesh, fine.mesh)), atol=1e-9)
    a, b = (fine.mesh.vertices[fine.mesh.faces[:, i]] for i in (0, 1))
    sides = np.linalg.norm(b - a, axis=1)
    assert sides.max() < 3.2 * np.sqrt(mesh.area / wanted)


def test_new_vertices_have_an_origin_nearby() -> None:
    fine = subdivide(BALL, 2000)
    away = np.linalg.norm(fine.mesh.vertices - BALL.vertices[fine.origin], axis=1)
    edge = np.linalg.norm(BALL.vertices[BALL.faces[:, 0]] - BALL.vertices[BALL.faces[:, 1]], axis=1)
    assert away.max() <= edge.max()


def test_needles_are_not_split_without_bounds() -> None:
    needles = Mesh([[0, 0, 0], *([1, y, 1e-9] for y in np.linspace(0, 1, 200))],
                   [[0, i, i + 1] for i in range(1, 200)])  # fmt: skip
    assert len(subdivide(needles, 400).mesh.vertices) <= 600


def test_a_mesh_with_enough_vertices_is_left_alone() -> None:
    assert subdivide(BALL, 162).mesh is BALL
