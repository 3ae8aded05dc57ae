"""Refining repairs a noisy map between isometric shapes."""

from __future__ import annotations

import numpy as np
import pytest

from fieldconv.geometry import Mesh, refine_map
from fieldconv.geometry.spectral.map_refinement import refine_maps
from shapes import icosphere


def lump(level: int = 3) -> Mesh:
    """A sphere with bumps, without any symmetry."""
    vertices, faces = icosphere(level)
    points = np.asarray(vertices, float)
    rng = np.random.default_rng(0)
    for _ in range(5):
        towards = rng.normal(size=3)
        lift = np.exp(3 * (points @ towards / np.linalg.norm(towards) - 1))
        points = points * (1 + rng.uniform(0.3, 0.8) * lift[:, None])
    return Mesh(points, faces)


def test_jitter_between_isometric_shapes_is_repaired() -> None:
    mesh, rng = lump(), np.random.default_rng(1)
    order = rng.permutation(len(mesh.vertices))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    copy = Mesh(7 * mesh.vertices[order] @ turn.T + 3, np.argsort(order)[mesh.faces])
    right = np.argsort(order)

    def error(target: np.ndarray) -> float:
        return float(np.linalg.norm(copy.vertices[target] - copy.vertices[right], axis=1).mean())

    near = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices, axis=2).argsort(1)[:, :4]
    jittered = right[near[np.arange(len(near)), rng.integers(4, size=len(near))]]
    found = refine_map(mesh, copy, jittered)
    assert (jittered == right).mean() < 0.3
    assert (found.target == right).mean() > 0.9
    assert error(found.target) < 0.5 * error(jittered)
    points = np.einsum("nc,ncd->nd", found.weights, copy.vertices[copy.faces[found.triangle]])
    assert np.median(np.linalg.norm(points - copy.vertices[right], axis=1)) < 0.01 * np.sqrt(copy.area)
    # A quarter of the vertices anywhere.
    lost = rng.random(len(near)) < 0.25
    jittered[lost] = rng.integers(len(near), size=lost.sum())
    assert error(refine_map(mesh, copy, jittered).target) < 0.6 * error(jittered)


def test_a_map_between_shapes_that_are_not_isometric_stays_near_the_given_one() -> None:
    mesh = lump()
    far = Mesh(mesh.vertices * (1 + 2 * (mesh.vertices[:, :1] > 0.3)), mesh.faces)  # by no means an isometry
    given = np.arange(len(mesh.vertices))
    free, kept = (refine_map(mesh, far, given, nearness=share) for share in (0.0, 10.0))
    moved = [
        np.linalg.norm(far.vertices[f.target] - far.vertices, axis=1) / far.area**0.5 for f in (free, kept)
    ]
    assert moved[1].mean() < 0.7 * moved[0].mean()
    assert moved[1].max() < 0.3


def test_smooth_errors_and_jitter_become_smaller() -> None:
    # Smooth errors and jitter of a few percent, between shapes that differ by a stretch of a fifth.
    mesh, rng = lump(), np.random.default_rng(2)
    other = Mesh(mesh.vertices * [1.0, 1.1, 1.2], mesh.faces).normalised()
    off = 0.02 * np.sin(5 * mesh.vertices[:, [1, 2, 0]]) + rng.normal(0, 0.03, mesh.vertices.shape)
    given = np.linalg.norm(other.vertices[:, None] + off[:, None] - other.vertices, axis=2).argmin(1)
    found = refine_map(mesh, other, given).target
    error = [
        np.linalg.norm(other.vertices[target] - other.vertices, axis=1).mean() for target in (given, found)
    ]
    assert error[1] < 0.6 * error[0]


def test_vertices_without_target_take_no_part() -> None:
    mesh = lump()
    given = np.arange(len(mesh.vertices))
    given[::3] = -1
    assert (refine_map(mesh, mesh, given).target == np.arange(len(given))).mean() > 0.98
    with pytest.raises(ValueError, match="no map to refine"):
        refine_map(mesh, mesh, np.full(len(given), -1))


def test_dense_meshes_are_refined_on_coarser_ones() -> None:
    mesh, rng = lump(4), np.random.default_rng(3)
    other = Mesh(mesh.vertices * [1.0, 1.1, 1.2], mesh.faces).normalised()
    off = rng.normal(0, 0.03, mesh.vertices.shape)
    given = np.linalg.norm(other.vertices[:, None] + off[:, None] - other.vertices, axis=2).argmin(1)
    found, back = refine_maps(mesh, other, given, given, max_vertices=800)
    points = np.einsum("nc,ncd->nd", found.weights, other.vertices[other.faces[found.triangle]])
    before = np.linalg.norm(other.vertices[given] - other.vertices, axis=1).mean()
    assert np.linalg.norm(points - other.vertices, axis=1).mean() < 0.5 * before
    assert np.linalg.norm(other.vertices[found.target] - points, axis=1).mean() < 0.02
    assert np.array_equal(back.target, refine_map(other, mesh, given, max_vertices=800).target)
