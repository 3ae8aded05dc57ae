"""Principal directions and anisotropic Laplacians against closed forms."""

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh
from fieldconv.networks.rivals.shared.anisotropic import anisotropic_stiffness, principal_directions


def dense(stiffness, which, count):
    matrix = np.zeros((count, count))
    matrix[stiffness.row, stiffness.column] = stiffness.values[:, which]
    return matrix


def test_a_torus_bends_most_across_its_tube():
    mesh = Mesh(*shapes.torus(around=60, across=30))
    found = principal_directions(mesh, smoothing=2)
    middle = mesh.vertices[mesh.faces].mean(1)
    along = np.cross([0.0, 0.0, 1.0], middle)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    assert np.abs((found * along).sum(1)).max() < 0.15
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)


def test_turned_inside_out_it_bends_most_along_the_ring():
    """Bulges are hollows then; curvature along the ring is less negative, but where it was negative."""
    vertices, faces = shapes.torus(around=60, across=30)
    mesh = Mesh(vertices, faces[:, ::-1].copy())
    middle = mesh.vertices[mesh.faces].mean(1)
    along = np.cross([0.0, 0.0, 1.0], middle)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    assert np.abs((principal_directions(mesh, smoothing=2) * along).sum(1)).min() > 0.9


@pytest.mark.parametrize("shape", [shapes.plane, shapes.torus, shapes.book, shapes.mobius])
def test_without_anisotropy_all_are_the_cotangent_laplacian(shape):
    mesh = Mesh(*shape())
    expected = np.zeros((len(mesh.vertices),) * 2)
    a, b, c = mesh.vertices[mesh.faces].transpose(1, 0, 2)
    for (i, p), (j, q), (_, r) in (
        ((0, a), (1, b), (2, c)),
        ((1, b), (2, c), (0, a)),
        ((2, c), (0, a), (1, b)),
    ):
        half = 0.5 * ((p - r) * (q - r)).sum(1) / np.linalg.norm(np.cross(p - r, q - r), axis=1)
        for row, column, sign in ((i, j, -1), (j, i, -1), (i, i, 1), (j, j, 1)):
            np.add.at(expected, (mesh.faces[:, row], mesh.faces[:, column]), sign * half)
    found = anisotropic_stiffness(mesh, principal_directions(mesh), [0.0, 1.0], anisotropy=0.0)
    for which in (0, 1):
        np.testing.assert_allclose(dense(found, which, len(mesh.vertices)), expected, atol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 2])
def test_energy_of_linear_functions_on_the_plane(angle):
    """∫ ∇f · D ∇f = |∇f|² − α/(1 + α) (d · ∇f)², at unit area."""
    mesh = Mesh(*shapes.plane(200))
    directions = np.tile([np.cos(0.5), np.sin(0.5), 0.0], (len(mesh.faces), 1))
    alpha = 3.0
    matrix = dense(anisotropic_stiffness(mesh, directions, [angle], anisotropy=alpha), 0, 200)
    slope = np.array([1.3, -0.4])
    f = mesh.vertices[:, :2] @ slope
    d = np.array([np.cos(0.5 + angle), np.sin(0.5 + angle)])
    assert f @ matrix @ f == pytest.approx(slope @ slope - alpha / (1 + alpha) * (d @ slope) ** 2)
    np.testing.assert_allclose(matrix @ np.ones(200), 0, atol=1e-9)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-9


def test_faces_without_area_change_nothing():
    vertices, faces = shapes.plane(50)
    sliver = np.append(faces, [[0, 0, 1], [2, 3, 2]], axis=0)
    one, two = (Mesh(vertices, f) for f in (faces, sliver))
    found = [
        dense(anisotropic_stiffness(mesh, principal_directions(mesh), [0.2]), 0, 50) for mesh in (one, two)
    ]
    assert np.isfinite(found[1]).all()
    np.testing.assert_allclose(found[0].diagonal().sum(), found[1].diagonal().sum())
