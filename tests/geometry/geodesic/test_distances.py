"""Distances between all vertices against closed forms."""

import numpy as np

import shapes
from fieldconv.geometry import Mesh, all_distances


def test_great_circles_on_a_sphere():
    vertices, faces = shapes.icosphere(3)
    distances = all_distances(Mesh(vertices, faces), exact=0.5)
    angle = np.arccos(np.clip(vertices @ vertices.T, -1, 1))
    assert distances.dtype == np.float32
    assert np.abs(distances - angle).max() < 0.09  # at the antipode, of π
    assert np.abs(distances - angle).mean() < 0.015
    assert (np.diag(distances) == 0).all()


def test_near_ones_are_exact_and_far_ones_never_too_short():
    vertices, faces = shapes.plane(150)
    straight = np.linalg.norm(vertices[:, None] - vertices[None], axis=-1)
    distances = all_distances(Mesh(vertices, faces), exact=0.3)
    near = straight < 0.3 - 1e-6
    np.testing.assert_allclose(distances[near], straight[near], rtol=1e-6)
    assert (distances >= straight * (1 - 1e-6)).all()
    assert (distances[~near] / straight[~near]).mean() < 1.01


def test_other_components_are_infinitely_far():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    two = Mesh(np.concatenate([vertices, vertices + 5]), [[0, 1, 2], [3, 4, 5]])
    distances = all_distances(two)
    assert np.isinf(distances[:3, 3:]).all()
    assert np.isfinite(distances[:3, :3]).all()
