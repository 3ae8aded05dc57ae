from __future__ import annotations

import numpy as np
import pytest

import shapes
from fieldconv.geometry import MeshError, point_cloud_discs, triangulate


def between(a, b):
    """Unsigned angle between two directions."""
    return np.abs(np.angle(np.exp(1j * (a - b))))


def random_sphere(count: int, seed: int = 0):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def random_square(count: int, seed: int = 0):
    return np.insert(np.random.default_rng(seed).random((count, 2)), 2, 0.0, axis=1)


def errors(points, radius, *, sphere, **options):
    """Relative error of r, and errors of θ and φ, against the closed form in the frames given."""
    discs, frames, normals = point_cloud_discs(points, radius, **options)
    apart = discs.centres != discs.targets
    source, target = discs.centres[apart], discs.targets[apart]
    p, q = points[source], points[target]
    if sphere:
        cosine = (p * q).sum(1, keepdims=True)
        exact, leaves, arrives = np.arccos(cosine[:, 0]), q - cosine * p, cosine * q - p
    else:
        exact, leaves, arrives = np.linalg.norm(q - p, axis=1), q - p, q - p

    def polar(vectors, at):
        across = np.cross(normals[at], frames[at])
        return np.arctan2((vectors * across).sum(1), (vectors * frames[at]).sum(1))

    out, on = polar(leaves, source), polar(arrives, target)
    return (
        np.abs(discs.distance[apart] / exact - 1),
        between(discs.angle[apart], out),
        between(discs.transport[apart], on - out),
    )


@pytest.mark.parametrize(
    ("solver", "radial", "angular", "transport"), [("local", 0.002, 0.01, 0.02), ("heat", 0.06, 0.2, 0.2)]
)
def test_random_points_of_a_sphere(solver, radial, angular, transport):
    some = np.arange(0, 2000, 40)
    r, angle, turn = errors(random_sphere(2000), 0.6, sphere=True, solver=solver, sources=some)
    assert r.mean() < radial
    assert angle.mean() < angular
    assert turn.mean() < transport


@pytest.mark.parametrize(
    ("solver", "radial", "angular", "transport"), [("local", 1e-3, 1e-3, 2e-3), ("heat", 0.06, 0.2, 1e-9)]
)
def test_random_points_of_a_square(solver, radial, angular, transport):
    some = np.arange(0, 1000, 20)
    r, angle, turn = errors(random_square(1000), 0.3, sphere=False, solver=solver, sources=some)
    assert r.mean() < radial
    assert angle.mean() < angular
    assert turn.mean() < transport


@pytest.mark.parametrize("solver", ["local", "heat"])
def test_discs_keep_their_contract(solver):
    points = random_sphere(200, seed=4)
    discs, frames, normals = point_cloud_discs(points, 0.8, solver=solver)
    np.testing.assert_allclose(np.linalg.norm(frames, axis=1), 1)
    np.testing.assert_allclose((frames * normals).sum(1), 0, atol=1e-9)
    assert ((normals * points).sum(1) > 0).all(), "outward"
    centre = discs.centres == discs.targets
    assert centre.sum() == 200
    assert (discs.distance[centre] == 0).all()
    assert discs.distance.max() <= 0.8
    pairs = {
        pair: i for i, pair in enumerate(zip(discs.centres.tolist(), discs.targets.tolist(), strict=True))
    }
    mirror = np.array([pairs[q, p] for p, q in pairs])
    np.testing.assert_array_equal(discs.distance, discs.distance[mirror])
    np.testing.assert_allclose(np.exp(1j * (discs.transport + discs.transport[mirror])), 1)
    assert np.isfinite([discs.distance, discs.angle, discs.transport]).all()


@pytest.mark.parametrize("solver", ["local", "heat"])
def test_given_normals_choose_the_side(solver):
    points = random_sphere(100)
    _, _, normals = point_cloud_discs(points, 0.5, -points, sources=[0], solver=solver)
    assert ((normals * points).sum(1) < 0).all()


def test_triangulation_of_a_sphere_is_closed_and_outward():
    points = random_sphere(800, seed=1)
    mesh = triangulate(points)
    np.testing.assert_array_equal(mesh.vertices, points)
    edges = np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, times = np.unique(edges, axis=0, return_counts=True)
    assert (times <= 2).all()
    assert (times == 2).mean() > 0.99
    a, b, c = points[mesh.faces].transpose(1, 0, 2)
    assert ((np.cross(b - a, c - a) * a).sum(1) > 0).all()
    assert mesh.area == pytest.approx(4 * np.pi, rel=0.02)


def test_separate_surfaces_stay_separate():
    points = np.concatenate([random_sphere(150), random_sphere(150, seed=1) + np.array([9, 0, 0])])
    discs, _, _ = point_cloud_discs(points, 20.0, sources=[0, 200])
    assert discs.targets[: discs.offsets[1]].max() < 150
    assert discs.targets[discs.offsets[1] :].min() >= 150


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (shapes.cube()[0], "N ≥ 32"),
        (np.zeros((50, 2)), r"\(N, 3\)"),
        (np.full((50, 3), np.nan), "not finite"),
        (np.zeros((50, 3)), "no surface"),
        (np.outer(np.arange(50.0), [1, 2, 3]), "no surface"),
    ],
)
@pytest.mark.parametrize("solver", ["local", "heat"])
def test_useless_clouds_are_explained(points, message, solver):
    with pytest.raises(MeshError, match=message):
        point_cloud_discs(points, 0.5, solver=solver)


def test_wrong_arguments_are_explained():
    points = random_sphere(40)
    with pytest.raises(ValueError, match="shape"):
        point_cloud_discs(points, 0.5, np.zeros((39, 3)))
    with pytest.raises(ValueError, match="solver"):
        point_cloud_discs(points, 0.5, solver="magic")
    for solver in ("local", "heat"):
        with pytest.raises(ValueError, match="radius"):
            point_cloud_discs(points, -1, solver=solver)
