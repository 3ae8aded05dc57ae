from __future__ import annotations

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh, MeshError, geodesic_discs, heat_discs, tangent_frames


def between(a, b):
    """Unsigned angle between two directions."""
    return np.abs(np.angle(np.exp(1j * (a - b))))


def on_sphere(mesh, discs):
    """Closed-form distance, direction and transport of every pair of a disc that is not its centre."""
    frames, _ = tangent_frames(mesh)
    apart = discs.centres != discs.targets
    source, target = discs.centres[apart], discs.targets[apart]
    p, q = mesh.vertices[source], mesh.vertices[target]
    cosine = (p * q).sum(1, keepdims=True)

    def polar(vectors, at):
        across = np.cross(mesh.vertices[at], frames[at])
        return np.arctan2((vectors * across).sum(1), (vectors * frames[at]).sum(1))

    leaves, arrives = polar(q - cosine * p, source), polar(cosine * q - p, target)
    return apart, np.arccos(cosine[:, 0]), leaves, arrives - leaves


@pytest.fixture(scope="module")
def sphere() -> Mesh:
    return Mesh(*shapes.icosphere(3))


@pytest.fixture(scope="module")
def discs(sphere):
    return heat_discs(sphere, 0.6)


def test_sphere_by_the_default_strategy(sphere, discs):
    apart, distance, angle, transport = on_sphere(sphere, discs)
    assert np.abs(discs.distance[apart] / distance - 1).mean() < 0.01
    assert between(discs.angle[apart], angle).max() < 0.005
    assert between(discs.transport[apart], transport).max() < 0.01


def test_sphere_by_the_strategy_of_the_paper(sphere):
    discs = heat_discs(sphere, 0.6, sources=np.arange(0, 642, 7), strategy="VectorHeat")
    apart, distance, angle, transport = on_sphere(sphere, discs)
    error = np.abs(discs.distance[apart] / distance - 1).mean()
    assert 0.05 < error < 0.3, "as poor as it is known to be on a coarse mesh"
    assert between(discs.angle[apart], angle).mean() < 0.03
    assert between(discs.transport[apart], transport).max() < 0.01


def test_discs_keep_their_contract(sphere, discs):
    centre = discs.centres == discs.targets
    assert centre.sum() == len(sphere.vertices)
    for values in (discs.distance, discs.angle, discs.transport):
        assert (values[centre] == 0).all()
        assert np.isfinite(values).all()
    assert discs.distance.max() <= 0.6
    inside_a_disc = np.diff(discs.centres) == 0
    assert (np.diff(discs.targets)[inside_a_disc] > 0).all()

    pairs = {
        pair: i for i, pair in enumerate(zip(discs.centres.tolist(), discs.targets.tolist(), strict=True))
    }
    mirror = np.array([pairs[q, p] for p, q in pairs])
    np.testing.assert_array_equal(discs.distance, discs.distance[mirror])
    np.testing.assert_array_equal(discs.transport, -discs.transport[mirror])
    # log_p q is −log_q p, carried over.
    log = discs.distance * np.exp(1j * discs.angle)
    np.testing.assert_allclose(log[mirror], -np.exp(1j * discs.transport) * log, atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "radius"),
    [(shapes.torus(around=40, across=20), 0.5), (shapes.grid(12, 10), 3.0), (shapes.pillow(), 0.6)],
)
def test_frames_are_ours_at_every_vertex(shape, radius):
    mesh = Mesh(*shape)
    heat, exact = heat_discs(mesh, radius), geodesic_discs(mesh, radius)
    count = len(mesh.vertices)
    both, i, j = np.intersect1d(
        heat.centres * count + heat.targets, exact.centres * count + exact.targets, return_indices=True
    )
    assert len(both) > 0.8 * len(exact)
    # A wrong frame, off by about half the angle between two edges, shifts the mean of its disc.
    for name in ("angle", "transport"):
        wrong = np.angle(np.exp(1j * (getattr(heat, name)[i] - getattr(exact, name)[j])))
        per_source = np.bincount(heat.centres[i], wrong) / np.bincount(heat.centres[i])
        assert np.abs(per_source).max() < 0.2, name


def test_sources_and_targets_choose_from_the_same_pairs(sphere):
    sources, targets = np.array([5, 1, 300]), np.arange(0, 642, 2)
    part, whole = heat_discs(sphere, 0.5, sources, targets), heat_discs(sphere, 0.5, sources)
    assert part.sources.tolist() == [5, 1, 300]
    kept = np.isin(whole.targets, targets)
    np.testing.assert_array_equal(part.targets, whole.targets[kept])
    np.testing.assert_allclose(part.distance, whole.distance[kept])


def test_other_components_and_spare_vertices_are_left_out():
    vertices, faces = shapes.two_components()
    mesh = Mesh(np.concatenate([[[0.0, 0, 0]], vertices]), faces + 1)
    discs = heat_discs(mesh, 1.0)
    assert discs.targets[discs.offsets[0] : discs.offsets[1]].tolist() == [0]
    np.testing.assert_array_equal(discs.centres > 162, discs.targets > 162)
    assert len(np.unique(discs.centres)) == len(mesh.vertices)
    assert np.isfinite([discs.distance, discs.angle, discs.transport]).all()


@pytest.mark.parametrize("shape", [shapes.book, shapes.bowtie, shapes.mobius])
def test_meshes_that_are_not_manifold_are_refused_with_advice(shape):
    mesh = Mesh(*shape(), name="thing")
    with pytest.raises(MeshError, match=r"^thing: .*manifold.*local solver\.$"):
        heat_discs(mesh, 0.5)


def test_the_solver_is_an_option_of_geodesic_discs(sphere):
    discs = geodesic_discs(sphere, 0.5, [3], solver="heat")
    np.testing.assert_array_equal(discs.targets, heat_discs(sphere, 0.5, [3]).targets)
