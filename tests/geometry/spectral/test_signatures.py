from __future__ import annotations

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh, eigenbasis, heat_kernel_signature, local_heat, wave_kernel_signature


@pytest.fixture(scope="module")
def sphere() -> Mesh:
    return Mesh(*shapes.icosphere(4))


@pytest.mark.parametrize("cloud", [False, True])
def test_sphere_has_eigenvalue_l_times_l_plus_1_with_multiplicity(sphere, cloud):
    basis = eigenbasis(sphere.vertices if cloud else sphere, 36)
    expected = np.concatenate([[l * (l + 1)] * (2 * l + 1) for l in range(6)])
    np.testing.assert_allclose(basis.values, expected, rtol=0.02, atol=1e-8)


@pytest.mark.parametrize("k", [30, 500])
def test_functions_are_orthonormal_in_the_areas(k):
    mesh = Mesh(*shapes.torus(around=40, across=20))
    basis = eigenbasis(mesh, k)
    assert basis.functions.shape == (800, k)
    gram = basis.functions.T @ (basis.areas[:, None] * basis.functions)
    np.testing.assert_allclose(gram, np.eye(k), atol=1e-8)
    assert basis.areas.sum() == pytest.approx(mesh.area)


def test_sparse_and_dense_solvers_agree():
    mesh = Mesh(*shapes.plane(900))
    few, all_of_them = eigenbasis(mesh, 20), eigenbasis(mesh, 5000)
    assert all_of_them.functions.shape == (900, 900)
    np.testing.assert_allclose(few.values, all_of_them.values[:20], atol=1e-7)
    np.testing.assert_allclose(few.functions, all_of_them.functions[:, :20], atol=1e-5)


def test_signs_and_results_are_reproducible(sphere):
    first, again = eigenbasis(sphere, 20), eigenbasis(sphere, 20)
    np.testing.assert_array_equal(first.functions, again.functions)
    assert (first.functions.max(0) >= -first.functions.min(0)).all()


def test_one_zero_for_each_component():
    values = eigenbasis(Mesh(*shapes.two_components()), 6).values
    assert (values < 1e-9).tolist() == [True, True] + 5 * [False]  # six, and the other's zero


def square_kernel(x, times):
    """Heat kernel k_t(x, x) and trace of the unit interval with free ends."""
    m = np.arange(1, 200)
    decay = np.exp(-((np.pi * m[:, None]) ** 2) * times)
    return 1 + 2 * np.cos(np.pi * np.outer(x, m)) ** 2 @ decay, 1 + decay.sum(0)


def test_heat_kernel_signature_of_the_unit_square():
    # The kernel of a product is the product of kernels.
    mesh = Mesh(*shapes.plane(2500))
    times = np.array([0.01, 0.03, 0.1, 0.3])
    (kernel_x, trace_x), (kernel_y, trace_y) = (square_kernel(mesh.vertices[:, i], times) for i in (0, 1))
    signature = heat_kernel_signature(mesh, times=times)
    np.testing.assert_allclose(signature, kernel_x * kernel_y / (trace_x * trace_y), rtol=0.04)


@pytest.mark.parametrize("signature", [heat_kernel_signature, wave_kernel_signature])
class TestSignatures:
    def test_is_1_all_over_a_sphere(self, sphere, signature):
        # Up to the eigenspace of l = 5; the discrete one is icosahedral beyond.
        np.testing.assert_allclose(signature(eigenbasis(sphere, 36), 6, k=36), 1, atol=0.02)

    def test_does_not_change_under_isometry_scale_and_renumbering(self, signature):
        # A sheet of paper, flat and rolled up: nothing is stretched.
        side = np.linspace(0, 1, 21)
        u, v = (w.ravel() for w in np.meshgrid(side, 0.7 * side))
        _, faces = shapes.grid(21, 21)
        flat = Mesh(np.column_stack([u, v, 0 * u]), faces)
        chord = 2 * np.sin(0.05)  # the polygon's corners are a side of the grid apart
        angle = 0.1 * np.arange(21)
        rolled = np.column_stack([np.tile(np.cos(angle), 21), np.tile(np.sin(angle), 21), v / 0.05 * chord])
        order = np.random.default_rng(0).permutation(len(u))
        other = Mesh(rolled[order], np.argsort(order)[faces][::-1])
        np.testing.assert_allclose(signature(other, k=40), signature(flat, k=40)[order], rtol=1e-6)

    def test_has_mean_1_and_the_right_shape(self, signature):
        mesh = Mesh(*shapes.torus(around=40, across=20))
        basis = eigenbasis(mesh, 50)
        values = signature(basis, dims=7)
        assert values.shape == (800, 7)
        np.testing.assert_allclose(basis.areas @ values / mesh.area, 1)
        assert np.ptp(values, axis=0).max() > 0.05, "tells inside from outside"

    def test_a_loose_speck_changes_nothing(self, signature):
        vertices, faces = shapes.plane(800)
        points, triangles = shapes.icosphere(1)
        both = Mesh(np.concatenate([vertices, 5 + 0.005 * points]), np.concatenate([faces, triangles + 800]))
        values = signature(both, k=60)
        np.testing.assert_allclose(values[:800], signature(Mesh(vertices, faces), k=60), rtol=0.01)
        np.testing.assert_allclose(values[800:], 1, atol=1e-3)

    @pytest.mark.parametrize(
        "shape", [shapes.book, shapes.bowtie, shapes.mobius, shapes.two_components, shapes.cube]
    )
    def test_is_finite_on_any_mesh(self, signature, shape):
        vertices, faces = shape()
        spare = Mesh(np.concatenate([vertices, [[7.0, 7, 7]]]), np.concatenate([faces, [[0, 1, 1]]]))
        values = signature(spare)
        assert values.shape == (len(vertices) + 1, 16)
        assert np.isfinite(values).all()
        assert (values[-1] == 0).all()
        assert (values >= 0).all()

    def test_of_a_point_cloud_is_that_of_its_mesh(self, signature):
        mesh = Mesh(*shapes.torus(around=60, across=24))
        here, there = signature(mesh), signature(mesh.vertices)
        assert np.abs(here - there).mean() < 0.01


def test_k_must_be_positive(sphere):
    with pytest.raises(ValueError, match="at least 1"):
        eigenbasis(sphere, 0)


def test_local_heat_of_a_sphere_is_the_sum_over_spherical_harmonics():
    times = np.array([0.005, 0.02, 0.06])
    level = np.arange(60)
    series = np.exp(-4 * np.pi * (level * (level + 1))[:, None] * times)  # unit area: R² = 1/4π
    expected = 4 * np.pi * times * ((2 * level + 1)[:, None] * series).sum(0)
    found = local_heat(Mesh(*shapes.icosphere(4)), k=200, times=times)
    np.testing.assert_allclose(found, np.tile(expected, (len(found), 1)), rtol=0.03)


def test_local_heat_of_a_square_is_that_of_its_mirror_images():
    n = 33
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).reshape(-1, 1)
    square = Mesh(np.stack([x, y, 0 * x], -1).reshape(-1, 3), corner + np.array([0, 1, n + 1, n]))
    t = 0.01
    shift = 2.0 * np.arange(-3, 4)

    def line(place):  # heat on an interval that nothing leaves, at its source
        gap = np.concatenate([shift, 2 * place + shift])
        return np.exp(-(gap**2) / (4 * t)).sum()

    found = local_heat(square, k=150, times=[t]).reshape(n, n)
    for i, j in ((0, 0), (0, 16), (16, 16), (4, 9)):
        np.testing.assert_allclose(found[i, j], line(x[i, j]) * line(y[i, j]), rtol=0.05)


def test_local_heat_does_not_feel_a_distant_cut():
    def bar(length):
        x, y = np.meshgrid(np.linspace(0, length, 16 * length + 1), np.linspace(0, 1, 17), indexing="ij")
        corner = (np.arange(16 * length)[:, None] * 17 + np.arange(16)).reshape(-1, 1)
        return Mesh(np.stack([x, y, 0 * x], -1).reshape(-1, 3), corner + np.array([0, 17, 18, 1]))

    whole, rest = bar(6), bar(4)
    first = slice(0, 17 * 24)  # far from where it was cut
    one = local_heat(whole, k=150, times=[0.1 / whole.area])[first]
    two = local_heat(rest, k=150, times=[0.1 / rest.area])[first]
    np.testing.assert_allclose(one, two, rtol=0.01)
    # The heat kernel signature does: it is divided by the heat of the whole.
    ones = heat_kernel_signature(whole, k=150, times=[0.1 / whole.area])[first]
    twos = heat_kernel_signature(rest, k=150, times=[0.1 / rest.area])[first]
    assert np.abs(ones / twos - 1).max() > 0.02


@pytest.mark.parametrize("signature", [heat_kernel_signature, wave_kernel_signature])
@pytest.mark.parametrize("k", range(10, 22))
def test_corners_of_an_icosahedron_are_alike(signature, k):
    # Eigenfunctions of one eigenvalue are used all or not at all: a part of them would prefer some corners.
    found = signature(Mesh(*shapes.icosphere(2)), 6, k=k)[:12]
    np.testing.assert_allclose(found, found[:1].repeat(12, axis=0), rtol=1e-6)
