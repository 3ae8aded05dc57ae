"""Embeddings whose straight distances are geodesic ones, and points inside triangles."""

from __future__ import annotations

import numpy as np
import pytest

from fieldconv.geometry import Mesh, geodesic_embedding
from fieldconv.geometry.spectral.embedding import nearest_in_triangles


def grid(n: int, bent: bool = False) -> Mesh:
    """A square of n × n vertices, flat or rolled up to half a cylinder, of the same size."""
    u, v = (part.ravel() / (n - 1) for part in np.mgrid[:n, :n])
    points = np.stack([u, v, 0 * u], 1)
    if bent:
        points = np.stack([np.cos(np.pi * u) / np.pi, v, np.sin(np.pi * u) / np.pi], 1)
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate(
        [np.stack([corner, corner + n, corner + n + 1], 1), np.stack([corner, corner + n + 1, corner + 1], 1)]
    )
    return Mesh(points, faces)


def test_rolled_square_is_embedded_flat() -> None:
    flat, rolled = grid(15).vertices, grid(15, bent=True)
    place = geodesic_embedding(rolled, dims=2, landmarks=60)
    pairs = np.random.default_rng(0).integers(len(flat), size=(200, 2))
    want, got, chord = (
        np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        for points in (flat, place, rolled.vertices)
    )
    assert np.abs(got - want).max() < 0.04
    assert np.abs(chord - want).max() > 0.2  # chords are far shorter


def test_two_components_cannot_be_embedded() -> None:
    mesh = grid(4)
    two = Mesh(
        np.concatenate([mesh.vertices, mesh.vertices + 5]), np.concatenate([mesh.faces, mesh.faces + 16])
    )
    with pytest.raises(ValueError, match="several components"):
        geodesic_embedding(two)


@pytest.mark.parametrize("dims", [3, 7])
def test_points_of_a_surface_are_found_in_any_dimension(dims: int) -> None:
    rng = np.random.default_rng(dims)
    mesh = grid(6, bent=True)
    turn = np.linalg.qr(rng.normal(size=(dims, dims)))[0][:3]
    place = mesh.vertices @ turn
    face = rng.integers(len(mesh.faces), size=50)
    weights = rng.dirichlet(5 * np.ones(3), 50)
    points = np.einsum("nc,ncd->nd", weights, place[mesh.faces[face]])
    triangle, found, distance = nearest_in_triangles(points, place, mesh.faces)
    assert np.abs(np.einsum("nc,ncd->nd", found, place[mesh.faces[triangle]]) - points).max() < 1e-6
    assert distance.max() < 1e-6


def test_nearest_point_is_no_farther_than_any_point_of_the_triangle() -> None:
    rng = np.random.default_rng(1)
    corners = rng.normal(size=(3, 3))
    points = 2 * rng.normal(size=(100, 3))
    _, weights, distance = nearest_in_triangles(points, corners, [[0, 1, 2]])
    tried = rng.dirichlet(np.ones(3), 4000) @ corners
    nearest = np.linalg.norm(points[:, None] - tried, axis=2).min(1)
    assert (weights >= 0).all()
    assert np.allclose(weights.sum(1), 1)
    assert (distance <= nearest + 1e-9).all()
    assert np.allclose(np.linalg.norm(points - weights @ corners, axis=1), distance)
