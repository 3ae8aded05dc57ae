"""Ball integrals against closed forms on the sphere, the definition as a loop, and changes they ignore."""

from __future__ import annotations

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh, ball_integrals
from fieldconv.geometry.damage.lattice import random_turn
from fieldconv.geometry.spectral.balls import COLUMNS, RADII, UNITS
from fieldconv.surface import Surface
from fieldconv.surface.settings import FEATURES


def sphere(subdivisions: int) -> Mesh:
    return Mesh(*shapes.icosphere(subdivisions))


def numbers(mesh: Mesh, vertices: list[int], radius: float) -> np.ndarray:
    """(n, 6) of one ball, in the units of the definition."""
    return ball_integrals(mesh, vertices, [radius]) * UNITS[:6]


@pytest.fixture(scope="module")
def ball() -> Mesh:
    return sphere(4).normalised()


@pytest.mark.parametrize("radius", [0.1, 0.2, 0.4])
def test_sphere_has_its_closed_forms(ball: Mesh, radius: float) -> None:
    # By Archimedes area is π d(|q − p|²), so every integral is one over u = |q − p|² from 0 to R².
    size = np.sqrt(1 / (4 * np.pi))
    found = numbers(ball, [0, 77, 500], radius)
    # Means: R²/3 of u, R⁴/6 of u². A point at |q − p|² = u lies u/2ρ below the tangent plane.
    height, square = -(radius**2) / (6 * size), radius**4 / (24 * size**2)
    expected = [1.0, height / radius, 0, square / radius**2, 0, 1 - radius**2 / (6 * size**2)]
    np.testing.assert_allclose(found, np.tile(expected, (3, 1)), atol=0.012)


def test_equals_the_definition_written_as_loops() -> None:
    mesh = sphere(2)
    rng = np.random.default_rng(0)
    mesh = Mesh(mesh.vertices * [1, 0.7, 0.5] + 0.05 * rng.standard_normal(mesh.vertices.shape), mesh.faces)
    mesh = mesh.normalised()
    p, radius, smallest = 11, 0.3, 0.3
    x, n, a = mesh.vertices, mesh.vertex_normals, mesh.vertex_areas
    smooth = np.zeros(3)
    for q in range(len(x)):
        inside = max(0.0, 1 - np.sum((x[q] - x[p]) ** 2) / smallest**2)
        smooth += a[q] * inside * max(0.0, n[q] @ n[p]) * n[q]
    smooth /= np.linalg.norm(smooth)
    total, offset, second, normal = 0.0, np.zeros(3), np.zeros((3, 3)), np.zeros(3)
    for q in range(len(x)):
        d = (x[q] - x[p]) / radius
        w = a[q] * max(0.0, 1 - d @ d)
        total, offset, second, normal = (
            total + w,
            offset + w * d,
            second + w * np.outer(d, d),
            normal + w * n[q],
        )
    offset, second, normal = offset / total, second / total, normal / total
    one = np.cross(smooth, [0.3, -0.5, 0.8])
    one /= np.linalg.norm(one)
    two = np.cross(smooth, one)
    plane = np.array([[one @ second @ one, one @ second @ two], [one @ second @ two, two @ second @ two]])
    low, high = np.linalg.eigvalsh(plane)
    along = offset - (offset @ smooth) * smooth
    expected = [
        total / (np.pi * radius**2 / 2),
        offset @ smooth,
        np.linalg.norm(along),
        smooth @ second @ smooth,
        high - low,
        normal @ smooth,
    ]
    np.testing.assert_allclose(numbers(mesh, [p], radius)[0], expected, atol=2e-4)


def test_moving_changes_nothing_and_a_mirror_only_the_hand() -> None:
    rng = np.random.default_rng(1)
    mesh = sphere(3)
    mesh = Mesh(mesh.vertices * [1, 0.6, 0.4] + 0.2 * np.sin(3 * mesh.vertices[:, [1, 2, 0]]), mesh.faces)
    mesh = mesh.normalised()
    chosen = [3, 50, 200]
    base = ball_integrals(mesh, chosen)
    assert base.shape == (3, COLUMNS) == (3, FEATURES["balls"])
    turned = Mesh(mesh.vertices @ random_turn(rng).T + [0.1, 0.2, -0.3], mesh.faces)
    np.testing.assert_allclose(ball_integrals(turned, chosen), base, atol=2e-3)
    mirrored = ball_integrals(Mesh(mesh.vertices * [1, 1, -1], mesh.faces[:, ::-1]), chosen)
    hand = np.arange(COLUMNS) % 7 == 6
    np.testing.assert_allclose(mirrored[:, ~hand], base[:, ~hand], atol=2e-3)
    np.testing.assert_allclose(mirrored[:, hand], -base[:, hand], atol=2e-3)
    assert abs(base[:, hand]).max() > 0.05


def test_surface_out_of_reach_changes_nothing() -> None:
    mesh = sphere(4)
    long = Mesh(mesh.vertices * [4, 1, 1], mesh.faces)
    chosen = [int(np.argmin(long.vertices[:, 0]))]
    open_end = Mesh(long.vertices, long.faces[(long.vertices[long.faces, 0] < 2.5).all(1)])
    before, after = (ball_integrals(m, chosen, np.multiply(RADII, 4)) for m in (long, open_end))
    np.testing.assert_array_equal(before, after)


def test_surfaces_carry_them_and_smoothing_takes_noise_away() -> None:
    rng = np.random.default_rng(2)
    mesh = sphere(4)
    mesh = Mesh(mesh.vertices * [1, 0.8, 0.6], mesh.faces)
    rough = Mesh(mesh.vertices + 0.02 * rng.standard_normal(mesh.vertices.shape), mesh.faces)
    assert rough.area > 1.1 * mesh.area
    gap = {}
    for smoothing in (0.0, 0.04):
        smooth, noisy = (
            Surface.from_mesh(m, radius=0.2, samples=64, features="balls", smoothing=smoothing)
            for m in (mesh, rough)
        )
        same = np.intersect1d(smooth.sample.numpy(), noisy.sample.numpy())
        assert len(same) > 0
        rows = [np.searchsorted(s.sample.numpy(), same) for s in (smooth, noisy)]
        gap[smoothing] = float((smooth.x[rows[0]] - noisy.x[rows[1]]).square().mean())
        assert float(smooth.area.sum()) == pytest.approx(1, rel=1e-5)
    assert gap[0.04] < gap[0.0] / 4
