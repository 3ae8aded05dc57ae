"""Gradients at vertices: exact for linear functions on planes, and as on paper for a sphere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import shapes
from fieldconv.geometry import Mesh, tangent_frames, vertex_gradients


def in_space(mesh: Mesh, gradients: NDArray[np.complex128]) -> NDArray[np.float64]:
    """(V, 3) or (V, k, 3) tangent vectors in space."""
    frames, normals = tangent_frames(mesh)
    across = np.cross(normals, frames)
    if gradients.ndim > 1:
        frames, across = frames[:, None], across[:, None]
    return gradients.real[..., None] * frames + gradients.imag[..., None] * across


def rotation(seed: int) -> NDArray[np.float64]:
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    matrix[:, 0] *= np.linalg.det(matrix)
    return np.asarray(matrix)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_linear_functions_on_any_plane_are_exact(seed: int) -> None:
    """Also at the border: f(x) = a·x + b has the gradient a, projected to the plane."""
    rng = np.random.default_rng(seed)
    vertices, faces = shapes.plane(60, seed)
    turn = rotation(seed)
    mesh = Mesh(vertices @ turn.T + rng.normal(size=3), faces)
    slope = rng.normal(size=(3, 4))
    found = vertex_gradients(mesh, mesh.vertices @ slope + rng.normal(size=4))
    assert found.shape == (60, 4)
    normal = turn[:, 2]
    expected = (slope - np.outer(normal, normal @ slope)).T
    np.testing.assert_allclose(in_space(mesh, found), np.broadcast_to(expected, (60, 4, 3)), atol=1e-7)


def test_one_function_is_a_column() -> None:
    mesh = Mesh(*shapes.torus(around=12, across=6))
    values = np.random.default_rng(0).normal(size=(72, 3))
    together = vertex_gradients(mesh, values)
    for k in range(3):
        alone = vertex_gradients(mesh, values[:, k])
        assert alone.shape == (72,)
        np.testing.assert_allclose(alone, together[:, k], atol=1e-12)


def test_gradients_are_weighted_by_the_areas_of_triangles() -> None:
    """A roof of two slopes, seen from the middle of its ridge."""
    vertices = [[0, -1, 0], [0, 0, 0], [0, 1, 0], [-2, 0, 0], [1, 0, 0]]
    mesh = Mesh(vertices, [[1, 0, 4], [1, 4, 2], [1, 2, 3], [1, 3, 0]])
    values = np.array([0.0, 0.0, 0.0, -6.0, 1.0])  # slope 3 over the area 2, slope 1 over the area 1
    found = in_space(mesh, vertex_gradients(mesh, values))[1]
    np.testing.assert_allclose(found, [(2 * 3 + 1 * 1) / 3, 0, 0], atol=1e-12)


def test_gradient_of_height_on_a_sphere() -> None:
    """∇z = e_z − z n; a frame that is turned the wrong way, or a wrong sign, would be off by its length."""
    mesh = Mesh(*shapes.icosphere(3))
    found = in_space(mesh, vertex_gradients(mesh, mesh.vertices[:, 2]))
    expected = np.array([0, 0, 1.0]) - mesh.vertices[:, 2:] * mesh.vertices
    assert np.linalg.norm(found - expected, axis=1).max() < 0.02


@pytest.mark.parametrize("shape", [shapes.torus, shapes.mobius, shapes.book, shapes.cube])
def test_constants_have_no_gradient(shape: object) -> None:
    mesh = Mesh(*shape())  # type: ignore[operator]
    assert np.abs(vertex_gradients(mesh, np.full(len(mesh.vertices), 5.0))).max() < 1e-12


def test_gradients_turn_with_the_frames() -> None:
    """Other triangles come first, other edges are frames: other numbers, the same vectors."""
    vertices, faces = shapes.torus(around=16, across=8)
    mesh, other = Mesh(vertices, faces), Mesh(vertices, faces[::-1, [1, 2, 0]])
    values = np.sin(3 * vertices[:, 0]) + vertices[:, 1] * vertices[:, 2]
    one, two = vertex_gradients(mesh, values), vertex_gradients(other, values)
    frames, normals = tangent_frames(mesh)
    other_frames, _ = tangent_frames(other)
    angle = (other_frames * frames).sum(1) + 1j * (other_frames * np.cross(normals, frames)).sum(1)
    assert (np.abs(angle - 1) > 0.1).mean() > 0.3
    np.testing.assert_allclose(two * angle, one, atol=1e-10)


def test_gradients_move_with_the_mesh_and_shrink_as_it_grows() -> None:
    vertices, faces = shapes.torus(around=16, across=8)
    values = np.cos(vertices[:, 0]) * vertices[:, 1]
    one = vertex_gradients(Mesh(vertices, faces), values)
    moved = vertex_gradients(Mesh(5 * vertices @ rotation(3).T + 2, faces), values)
    np.testing.assert_allclose(moved, one / 5, atol=1e-10)


def test_unreferenced_vertices_and_flat_triangles() -> None:
    """A vertex without triangles has no gradient; a triangle without area says nothing."""
    vertices, faces = shapes.plane(40)
    lonely = np.concatenate([vertices, [[9.0, 9, 9]]])
    flat = np.concatenate([faces, [[faces[0, 0], faces[0, 1], faces[0, 0]]]])
    values = np.append(vertices[:, 0], 100.0)
    found = vertex_gradients(Mesh(lonely, flat), values)
    assert found[-1] == 0
    np.testing.assert_allclose(np.abs(found[:-1]), 1, atol=1e-9)
