"""Closed copies: every rim has gone, nothing else has changed."""

from __future__ import annotations

import numpy as np
import pytest

from fieldconv.geometry import Mesh, close_holes, rim_distances
from fieldconv.geometry.damage import damage
from fieldconv.geometry.mesh.topology import rims
from tests.shapes import icosphere

SPHERE = Mesh(*icosphere(3))


def euler(mesh: Mesh) -> int:
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return len(mesh.vertices) - len(np.unique(edges, axis=0)) + len(mesh.faces)


@pytest.mark.parametrize("seed", range(4))
def test_holes_are_closed_and_the_rest_stays(seed: int) -> None:
    torn = damage.add_holes(SPHERE, np.random.default_rng(seed), 3, (0.01, 0.06)).mesh
    closed = close_holes(torn)
    assert len(rims(len(torn.vertices), torn.faces)[0])
    assert not len(rims(len(closed.vertices), closed.faces)[0])
    assert euler(closed) == 2
    assert np.array_equal(closed.vertices[: len(torn.vertices)], torn.vertices)
    assert np.array_equal(closed.faces[: len(torn.faces)], torn.faces)
    # A cone is flat, a cap is not: some area is lost, but far less than the hole.
    assert 0 < SPHERE.area - closed.area < 0.2 * (SPHERE.area - torn.area)


def test_a_closed_mesh_stays_itself() -> None:
    assert close_holes(SPHERE) is SPHERE


def test_edges_beside_a_face_that_looks_inward_are_no_rims() -> None:
    faces = SPHERE.faces.copy()
    faces[7] = faces[7, ::-1]
    flipped = Mesh(SPHERE.vertices, faces)
    assert close_holes(flipped) is flipped
    torn = Mesh(SPHERE.vertices, np.delete(faces, 900, axis=0))  # with a true hole elsewhere
    assert len(close_holes(torn).faces) == len(torn.faces) + 3


def test_distance_from_the_rim_of_a_half_sphere_is_that_from_the_equator() -> None:
    fine = Mesh(*icosphere(4))
    half = damage.cut(fine, np.random.default_rng(0), 0.5, direction=[0, 0, 1.0]).mesh
    latitude = np.arcsin(np.clip(-half.vertices[:, 2], -1, 1))
    found = rim_distances(half)
    assert (found >= latitude - latitude.min() - 0.1).all()
    assert (found <= 1.2 * latitude + 0.1).all()  # paths along edges zigzag
    assert np.isinf(rim_distances(fine)).all()
