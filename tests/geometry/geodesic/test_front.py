"""The front against flat surfaces and the exact solver; more in `test_geodesics`."""

import numpy as np
import pytest

import shapes
from fieldconv import Surface
from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry import Mesh, geodesic_discs
from fieldconv.geometry.geodesic.discs import wrap_angle


def common(one, other):
    """Places, in two sets of discs, of the pairs of distinct vertices that are in both."""
    count = max(one.targets.max(), other.targets.max()) + 1
    keys = [discs.centres * count + discs.targets for discs in (one, other)]
    _, first, second = np.intersect1d(*keys, return_indices=True)
    apart = one.distance[first] > 0
    return first[apart], second[apart]


@pytest.mark.parametrize("seed", range(3))
def test_plane_is_exact_but_for_a_few_thin_triangles(seed):
    vertices, faces = shapes.plane(800, seed)
    discs = geodesic_discs(Mesh(vertices, faces), 0.4, solver="front")
    apart = discs.centres != discs.targets
    true = np.linalg.norm(vertices[discs.centres] - vertices[discs.targets], axis=1)
    error = abs(discs.distance[apart] / true[apart] - 1)
    assert np.median(error) < 1e-12
    assert error.mean() < 1e-3


def test_close_to_exact_on_a_creature():
    mesh = make_creature("quadruped", vertices=3000, seed=1).mesh.normalised()
    sources = np.arange(0, 3000, 40)
    exact, front = (geodesic_discs(mesh, 0.2, sources, solver=solver) for solver in ("local", "front"))
    assert abs(len(exact) / len(front) - 1) < 0.01
    one, other = common(exact, front)
    error = front.distance[other] / exact.distance[one] - 1
    assert abs(error).mean() < 4e-3  # a percent on a part as thin as a leg, less elsewhere
    assert np.median(abs(wrap_angle(front.angle[other] - exact.angle[one]))) < 0.02
    assert np.median(abs(wrap_angle(front.transport[other] - exact.transport[one]))) < 0.03


def test_paths_go_round_a_hole():
    vertices, faces = shapes.grid(41, 41)
    vertices = vertices / 20
    centre = vertices[faces].mean(1)
    mesh = Mesh(vertices, faces[~((centre[:, 0] > 1) & (centre[:, 1] > 1))])
    sources = [int(np.flatnonzero((vertices[:, :2] == [2.0, 0.9]).all(1))[0])]
    exact, front = (geodesic_discs(mesh, 3.0, sources, solver=solver) for solver in ("local", "front"))
    one, other = common(exact, front)
    assert len(one) == len(exact) - 1
    error = abs(front.distance[other] / exact.distance[one] - 1)
    assert error.mean() < 6e-3
    assert error.max() < 0.03  # just behind the corner


def test_renumbering_changes_nothing():
    vertices, faces = shapes.icosphere(3)
    rng = np.random.default_rng(0)
    vertices = vertices * (1 + 0.02 * rng.uniform(-1, 1, (len(vertices), 1)))
    new = rng.permutation(len(vertices))
    moved = np.empty_like(vertices)
    moved[new] = vertices
    one = geodesic_discs(Mesh(vertices, faces), 0.9, solver="front")
    other = geodesic_discs(Mesh(moved, new[faces][rng.permutation(len(faces))]), 0.9, solver="front")
    key = [new[one.centres] * len(vertices) + new[one.targets], other.centres * len(vertices) + other.targets]
    order = [np.argsort(k) for k in key]
    np.testing.assert_array_equal(key[0][order[0]], key[1][order[1]])
    np.testing.assert_allclose(one.distance[order[0]], other.distance[order[1]], rtol=1e-7)
    # Each vertex may measure from another edge; that turns all its directions alike.
    turned = np.exp(1j * (other.angle[order[1]] - one.angle[order[0]]))
    apart = one.distance[order[0]] > 0
    source, turned = one.centres[order[0]][apart], turned[apart]
    first = turned[np.unique(source, return_index=True)[1]]
    np.testing.assert_allclose(turned, first[source], atol=1e-6)


@pytest.mark.parametrize(("samples", "solver"), [(50, "local"), (None, "front")])  # 16,000 and 820,000 pairs
def test_surfaces_use_it_where_pairs_are_many(samples, solver):
    vertices, faces = shapes.icosphere(4)
    mesh = Mesh(vertices * [1, 1.2, 0.8], faces).normalised()
    surface = Surface.from_mesh(mesh, radius=0.2, samples=samples)
    chosen = surface.sample.numpy()
    found = np.sort(surface.log.abs().numpy())
    far = {}
    for one in ("local", "front"):
        expected = np.sort(geodesic_discs(mesh, 0.2, chosen, chosen, solver=one).distance)
        far[one] = abs(found - expected).max() if len(found) == len(expected) else np.inf
    assert far.pop(solver) < 1e-6 < min(far.values())


@pytest.mark.parametrize("stretch", [3, 10])
def test_paths_between_slivers_are_not_shorter_than_straight_lines(stretch):
    vertices, faces = shapes.plane(600)
    vertices = vertices * [stretch, 1, 1]
    discs = geodesic_discs(Mesh(vertices, faces).normalised(), 0.3, solver="front")
    flat = Mesh(vertices, faces).normalised().vertices
    straight = np.linalg.norm(flat[discs.centres] - flat[discs.targets], axis=1)
    assert (discs.distance >= straight * (1 - 1e-9)).all()


def test_meshes_of_slivers_have_exact_discs():
    # Enough pairs for the front, which would miss a sixth of them.
    vertices, faces = shapes.plane(1500)
    mesh = Mesh(vertices * [10, 1, 1], faces).normalised()
    surface = Surface.from_mesh(mesh, radius=0.2)
    q, p = surface.edge_index
    chord = (surface.pos[q] - surface.pos[p]).norm(dim=1)
    np.testing.assert_allclose(surface.log.abs(), chord, atol=1e-5)
    every = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[None], axis=-1)
    assert surface.num_edges == pytest.approx((every < 0.2).sum(), rel=0.01)
