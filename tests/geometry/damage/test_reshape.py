"""Meshes with other proportions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import shapes
from fieldconv.geometry import Mesh, reshape


@pytest.fixture(scope="module")
def limb() -> Mesh:
    """A thin, long ellipsoid around the z axis."""
    vertices, faces = shapes.icosphere(4)
    return Mesh(vertices * [1, 1, 40], faces).normalised()


def axis_distance(mesh: Mesh) -> np.ndarray:
    return np.linalg.norm(mesh.vertices[:, :2], axis=1)


@pytest.mark.parametrize("seed", [0, 1])
def test_thickness_is_the_spread_of_the_change_of_a_limbs_radius(limb, seed):
    # By symmetry a limb shrinks to its axis, from which the distance then changes by the factor itself.
    other = reshape(limb, seed, thickness=0.15, stretch=0.0)
    change = np.log(axis_distance(other) / axis_distance(limb))
    off_the_tips = axis_distance(limb) > 0.2 * axis_distance(limb).max()
    weight = limb.vertex_areas[off_the_tips] / limb.vertex_areas[off_the_tips].sum()
    change = change[off_the_tips]
    spread = np.sqrt(weight @ (change - weight @ change) ** 2)
    assert spread == pytest.approx(0.15, rel=0.15)


def test_half_the_strength_is_half_of_both(limb):
    weak, same = reshape(limb, 4, 0.5), reshape(limb, 4, thickness=0.175, stretch=0.1)
    np.testing.assert_allclose(weak.vertices, same.vertices, atol=1e-12)


def test_without_change_the_mesh_stays(limb):
    same = reshape(limb, 3, thickness=0.0, stretch=0.0)
    np.testing.assert_allclose(same.vertices, limb.vertices, atol=1e-12)


def test_stretch_is_a_symmetric_matrix_within_bounds(limb):
    other = reshape(limb, 5, thickness=0.0, stretch=0.3)
    matrix = np.linalg.lstsq(limb.vertices, other.vertices, rcond=None)[0]
    np.testing.assert_allclose(limb.vertices @ matrix, other.vertices, atol=1e-9)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-9)
    factors = np.log(np.linalg.eigvalsh(matrix))
    assert 0.01 < np.ptp(factors) <= 0.6


def test_proportions_turn_with_the_mesh():
    mesh = Mesh(*shapes.torus(around=30, across=12))
    mesh = Mesh(mesh.vertices * (1 + 0.1 * np.sin(mesh.vertices @ [1.0, 2.0, 3.0]))[:, None], mesh.faces)
    turn = Rotation.from_rotvec([0.3, -1.0, 2.0])
    turned = Mesh(turn.apply(mesh.vertices), mesh.faces)
    one, two = (reshape(m, 0, stretch=0.0) for m in (mesh, turned))
    np.testing.assert_allclose(turn.apply(one.vertices), two.vertices, atol=1e-6)


def test_the_seed_decides_and_every_mesh_survives():
    for shape in (shapes.two_components(), shapes.bowtie(), shapes.mobius(), shapes.cube()):
        vertices, faces = shape
        mesh = Mesh([*vertices.tolist(), [9.0, 9.0, 9.0]], faces)  # and a vertex without faces
        one, same, other = (reshape(mesh, seed) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one.vertices, same.vertices)
        assert not np.allclose(one.vertices, other.vertices)
        assert np.isfinite(one.vertices).all()
        np.testing.assert_array_equal(one.faces, mesh.faces)
        assert one.area == pytest.approx(1.0)
