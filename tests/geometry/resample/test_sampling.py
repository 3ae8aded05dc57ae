from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapes
from fieldconv.geometry import (
    Mesh,
    farthest_point_samples,
    interpolation,
    nearest_samples,
    sample_areas,
    tangent_frames,
)


@pytest.fixture(scope="module")
def sphere() -> Mesh:
    return Mesh(*shapes.icosphere(4))


@pytest.fixture(scope="module")
def samples(sphere):
    return farthest_point_samples(sphere, 150)


def on_sphere(a, b):
    """Great-circle distances (A, B) between unit vectors."""
    return np.arccos(np.clip(a @ b.T, -1, 1))


def with_spare_vertices(mesh: Mesh) -> Mesh:
    """The same mesh with unreferenced vertices before and after its own."""
    return Mesh(np.concatenate([[[9, 9, 9]], mesh.vertices, [[0, 0, 0.0]]]), mesh.faces + 1)


def test_each_sample_is_farthest_from_those_before_it(sphere, samples):
    distance = on_sphere(sphere.vertices, sphere.vertices[samples])
    for i in range(1, 100):
        gap = distance[:, :i].min(1)
        assert gap[samples[i]] >= 0.99 * gap.max()


def test_samples_follow_the_surface_not_space():
    # A strip bent to a hairpin: its ends touch in space, its middle is half a length away from both.
    along = np.linspace(0, 1, 41)
    spine = np.column_stack([np.minimum(along, 1 - along), 0.01 * (along > 0.5)])
    vertices = np.concatenate([np.insert(spine, 1, width, axis=1) for width in (0.0, 0.02)])
    lower = np.arange(40)
    faces = [np.stack([lower, lower + 1, lower + 41], 1), np.stack([lower + 1, lower + 42, lower + 41], 1)]
    hairpin = Mesh(vertices, np.concatenate(faces))
    geodesic, euclidean = (
        along[farthest_point_samples(hairpin, 4, metric=metric) % 41] for metric in ("geodesic", "euclidean")
    )
    assert {0.0, 1.0} <= set(geodesic.tolist())
    assert not {0.0, 1.0} <= set(euclidean.tolist())  # in space, one end does for both


def test_euclidean_samples_equal_the_definition(sphere):
    samples = farthest_point_samples(sphere, 40, seed=3, metric="euclidean")
    gap = np.linalg.norm(sphere.vertices - sphere.vertices[samples[0]], axis=1)
    for sample in samples[1:]:
        assert gap[sample] == pytest.approx(gap.max(), abs=1e-12)  # of several, any
        gap = np.minimum(gap, np.linalg.norm(sphere.vertices - sphere.vertices[sample], axis=1))


@pytest.mark.parametrize("metric", ["geodesic", "euclidean"])
def test_samples_depend_only_on_the_seed(sphere, metric):
    first, again = (farthest_point_samples(sphere, 20, seed=5, metric=metric) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[:7], farthest_point_samples(sphere, 7, seed=5, metric=metric))
    assert first[0] != farthest_point_samples(sphere, 1, seed=6, metric=metric)[0]


@pytest.mark.parametrize("metric", ["geodesic", "euclidean"])
@pytest.mark.parametrize("shape", [shapes.two_components, shapes.book, shapes.mobius, shapes.bowtie])
def test_more_samples_than_vertices_gives_each_vertex_once(shape, metric):
    mesh = with_spare_vertices(Mesh(*shape()))
    count = len(mesh.vertices)
    samples = farthest_point_samples(mesh, count + 10, metric=metric)
    assert sorted(samples.tolist()) == list(range(count))
    assert sorted(samples[-2:].tolist()) == [0, count - 1], "unreferenced vertices come last"


def test_coincident_vertices_are_not_chosen_twice():
    mesh = Mesh([[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3], [1, 1, 3]])
    assert sorted(farthest_point_samples(mesh, 4).tolist()) == [0, 1, 2, 3]


def test_every_component_gets_a_sample():
    mesh = Mesh(*shapes.two_components())
    first, second = farthest_point_samples(mesh, 2)
    assert (first < 162) != (second < 162)


@pytest.mark.parametrize("count", [0, -3])
def test_no_samples_is_an_error(sphere, count):
    with pytest.raises(ValueError, match="at least 1"):
        farthest_point_samples(sphere, count)


def test_unknown_metric_is_an_error(sphere):
    with pytest.raises(ValueError, match="geodesic"):
        farthest_point_samples(sphere, 3, metric="hops")


def test_sampling_a_large_mesh_takes_seconds():
    mesh = Mesh(*shapes.torus(around=250, across=200))
    farthest_point_samples(mesh, 2)
    start = time.perf_counter()
    farthest_point_samples(mesh, 1024)
    assert time.perf_counter() - start < 10  # about 0.3 s on an idle core


def test_nearest_samples_of_a_sphere(sphere, samples):
    index, distance = nearest_samples(sphere, samples, k=5)
    exact = on_sphere(sphere.vertices, sphere.vertices[samples])
    np.testing.assert_allclose(distance, np.sort(exact, axis=1)[:, :5], rtol=0.02, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(exact, index, axis=1), distance, rtol=0.02, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), k=st.integers(1, 6), count=st.integers(1, 12))
def test_nearest_samples_of_a_plane(seed, k, count):
    mesh = Mesh(*shapes.plane(60, seed))
    samples = np.random.default_rng(seed).choice(60, count, replace=False)
    index, distance = nearest_samples(mesh, samples, k)
    straight = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[samples], axis=2)
    known = min(k, count)
    best = np.sort(straight, axis=1)[:, :known]
    # Few large triangles: a path may be found a little too long, never too short.
    assert (distance[:, :known] >= best - 1e-9).all()
    assert (distance[:, :known] <= 1.5 * best + 1e-9).all()
    assert (distance[:, :known] - best).mean() < 0.02 * best.mean()
    assert (index[:, known:] == -1).all()
    assert np.isinf(distance[:, known:]).all()
    assert (np.diff(distance[:, :known], axis=1) >= 0).all()


def test_nearest_samples_stay_on_their_component():
    mesh = Mesh(*shapes.two_components())
    index, distance = nearest_samples(mesh, [0, 10, 165], k=3)
    assert set(index[:162].ravel().tolist()) == {0, 1, -1}
    assert set(index[162:].ravel().tolist()) == {2, -1}
    np.testing.assert_array_equal(np.isinf(distance), index == -1)


@pytest.mark.parametrize(
    ("bad", "message"), [([], "at least one"), ([0.5], "vertex id"), ([99999], "outside"), ([1, 1], "twice")]
)
def test_bad_samples_are_explained(sphere, bad, message):
    for function in (nearest_samples, sample_areas, interpolation):
        with pytest.raises(ValueError, match=message):
            function(sphere, bad)


def test_sample_areas_sum_to_the_mesh_and_are_even(sphere, samples):
    areas = sample_areas(sphere, samples)
    assert areas.sum() == pytest.approx(sphere.area)
    assert areas.min() > 0.3 * areas.mean()
    assert areas.max() < 2 * areas.mean()


def test_areas_of_a_component_without_samples_go_to_the_nearest_in_space():
    mesh = Mesh(*shapes.two_components())
    samples = [3, 30, 100]  # none on the cube
    owner = nearest_samples(mesh, samples, k=1)[0][:, 0]
    straight = np.linalg.norm(mesh.vertices[162:, None] - mesh.vertices[samples], axis=2)
    owner[162:] = straight.argmin(1)
    expected = [mesh.vertex_areas[owner == i].sum() for i in range(3)]
    np.testing.assert_allclose(sample_areas(mesh, samples), expected)
    assert sum(expected) == pytest.approx(mesh.area)


def test_all_vertices_as_samples_is_the_identity():
    mesh = with_spare_vertices(Mesh(*shapes.torus(around=16, across=8)))
    everyone = np.arange(len(mesh.vertices))
    index, weight, transport = interpolation(mesh, everyone)
    np.testing.assert_array_equal(index[:, 0], everyone)
    np.testing.assert_array_equal(weight, [[1, 0, 0, 0]] * len(everyone))
    np.testing.assert_allclose(transport[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(sample_areas(mesh, everyone), mesh.vertex_areas)


def test_interpolation_of_scalars(sphere, samples):
    index, weight, _ = interpolation(sphere, samples)
    np.testing.assert_allclose(weight.sum(1), 1)
    assert weight.min() >= 0
    np.testing.assert_array_equal(index[samples, 0], np.arange(len(samples)))
    np.testing.assert_array_equal(weight[samples, 0], 1)

    x, y, z = sphere.vertices.T
    smooth = np.sin(2 * x) + y * z
    error = (weight * smooth[samples][index]).sum(1) - smooth
    _, distance = nearest_samples(sphere, samples)
    inverse = np.maximum(distance, 1e-9) ** -2
    usual = (inverse * smooth[samples][index]).sum(1) / inverse.sum(1) - smooth
    assert np.sqrt((error**2).mean()) < 0.04 * smooth.std()
    assert np.sqrt((error**2).mean()) < 0.65 * np.sqrt((usual**2).mean())


def test_interpolation_is_linear_where_samples_surround_a_vertex():
    vertices, faces = shapes.grid(9, 9)
    mesh = Mesh(vertices, faces)
    corners = [0, 8, 72, 80]
    index, weight, _ = interpolation(mesh, corners)
    values = 2 * vertices[:, 0] - 3 * vertices[:, 1] + 1
    interpolated = (weight * values[corners][index]).sum(1)
    # The ridge that prefers near samples costs a little of the linear precision.
    assert np.abs(interpolated - values).max() < 0.05 * np.ptp(values)
    assert np.abs(interpolated - values).mean() < 0.02 * np.ptp(values)


def test_interpolation_of_tangent_vectors(sphere, samples):
    # The tangent part of a constant vector is smooth, whatever the frames.
    frames, normals = tangent_frames(sphere)
    constant = np.array([1.0, 2.0, 3.0])
    field = frames @ constant + 1j * np.cross(normals, frames) @ constant
    index, weight, transport = interpolation(sphere, samples)
    result = (weight * np.exp(1j * transport) * field[samples][index]).sum(1)
    assert np.sqrt((np.abs(result - field) ** 2).mean()) < 0.02 * np.abs(field).mean()


def test_interpolation_reaches_everything_on_broken_meshes():
    for shape in (shapes.book, shapes.mobius, shapes.bowtie, shapes.two_components):
        mesh = with_spare_vertices(Mesh(*shape()))
        index, weight, transport = interpolation(mesh, [1, 3])
        assert ((index >= 0) & (index < 2)).all()
        assert np.isfinite(weight).all()
        assert np.isfinite(transport).all()
        np.testing.assert_allclose(weight.sum(1), 1)


def test_a_component_without_samples_reads_from_the_nearest_in_space():
    mesh = Mesh(*shapes.two_components())
    samples = farthest_point_samples(Mesh(mesh.vertices[:162], mesh.faces[(mesh.faces < 162).all(1)]), 30)
    index, weight, _ = interpolation(mesh, samples)
    straight = np.linalg.norm(mesh.vertices[162:, None] - mesh.vertices[samples], axis=2)
    np.testing.assert_array_equal(index[162:, 0], straight.argmin(1))
    np.testing.assert_array_equal(weight[162:], [[1, 0, 0, 0]] * 8)


def test_scale_does_not_matter(sphere, samples):
    tiny = Mesh(2.0**-30 * sphere.vertices, sphere.faces)
    np.testing.assert_array_equal(farthest_point_samples(tiny, 30), farthest_point_samples(sphere, 30))
    here, there = interpolation(sphere, samples), interpolation(tiny, samples)
    np.testing.assert_array_equal(here.index, there.index)
    np.testing.assert_allclose(here.weight, there.weight, atol=1e-9)
    np.testing.assert_allclose(np.exp(1j * here.transport), np.exp(1j * there.transport), atol=1e-9)


def test_without_a_seed_the_numbering_does_not_matter():
    vertices, faces = shapes.torus(around=20, across=10)
    lopsided = vertices * (1 + 0.3 * np.random.default_rng(1).random((len(vertices), 1)))
    order = np.random.default_rng(2).permutation(len(vertices))
    there = farthest_point_samples(Mesh(lopsided[order], np.argsort(order)[faces][::-1]), 12)
    np.testing.assert_array_equal(order[there], farthest_point_samples(Mesh(lopsided, faces), 12))
