"""Refining repairs a noisy map between isometric shapes."""

from __future__ import annotations

import numpy as np
import pytest

from fieldconv.geometry.mesh import Mesh
from fieldconv.geometry.refine import refined
from shapes import icosphere


def lump() -> Mesh:
    """A sphere with bumps, without any symmetry."""
    vertices, faces = icosphere(3)
    points = np.asarray(vertices, float)
    rng = np.random.default_rng(0)
    for _ in range(5):
        towards = rng.normal(size=3)
        lift = np.exp(3 * (points @ towards / np.linalg.norm(towards) - 1))
        points = points * (1 + rng.uniform(0.3, 0.8) * lift[:, None])
    return Mesh(points, faces)


def test_noisy_map_between_isometric_shapes_is_repaired() -> None:
    mesh, rng = lump(), np.random.default_rng(1)
    order = rng.permutation(len(mesh.vertices))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    copy = Mesh(7 * mesh.vertices[order] @ turn.T + 3, np.argsort(order)[mesh.faces])
    right = np.argsort(order)
    # A quarter of the vertices anywhere, the others near where they belong.
    near = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices, axis=2).argsort(1)[:, :4]
    noisy = right[near[np.arange(len(near)), rng.integers(4, size=len(near))]]
    lost = rng.random(len(near)) < 0.25
    noisy[lost] = rng.integers(len(near), size=lost.sum())
    assert (noisy == right).mean() < 0.3
    found = refined(mesh, copy, noisy)
    assert (found.target == right).mean() > 0.95
    points = np.einsum("nc,ncd->nd", found.weights, copy.vertices[copy.faces[found.triangle]])
    assert np.median(np.linalg.norm(points - copy.vertices[right], axis=1)) < 0.01 * np.sqrt(copy.area)


def test_a_map_that_is_smooth_already_is_not_led_astray() -> None:
    mesh = lump()
    far = Mesh(mesh.vertices * (1 + 2 * (mesh.vertices[:, :1] > 0.3)), mesh.faces)  # by no means an isometry
    given = np.arange(len(mesh.vertices))
    free, kept = (refined(mesh, far, given, farthest=reach) for reach in (np.inf, 0.1))
    moved = [
        np.linalg.norm(far.vertices[f.target] - far.vertices, axis=1) / far.area**0.5 for f in (free, kept)
    ]
    stretched = (
        np.linalg.norm(far.vertices[far.faces].max(1) - far.vertices[far.faces].min(1), axis=1)
    ).max()
    assert moved[0].max() > 0.3
    assert moved[1].mean() < moved[0].mean() / 2
    points = np.einsum("nc,ncd->nd", kept.weights, far.vertices[far.faces[kept.triangle]])
    assert np.linalg.norm(points - far.vertices[kept.target], axis=1).max() <= stretched


def test_vertices_without_target_take_no_part() -> None:
    mesh = lump()
    given = np.arange(len(mesh.vertices))
    given[::3] = -1
    assert (refined(mesh, mesh, given).target == np.arange(len(given))).mean() > 0.98
    with pytest.raises(ValueError, match="no map to refine"):
        refined(mesh, mesh, np.full(len(given), -1))
