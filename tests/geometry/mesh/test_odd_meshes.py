"""Odd meshes: the work for a disc is bounded by the triangles in reach, and what it drops was of no use."""

import time

import numpy as np
import pytest

import odd_meshes
import shapes
from fieldconv.geometry import Mesh, geodesic_discs
from fieldconv.geometry.geodesic.charts import charts
from fieldconv.geometry.geodesic.unfolding import FREE_WEDGES, WEDGES, exact_block


def all_distances(mesh, radius):
    """(V, V) distances as each source found them: nothing is made symmetric."""
    everyone = np.arange(len(mesh.vertices))
    discs = geodesic_discs(mesh, radius, everyone, everyone[::-1])
    distances = np.full((len(everyone), len(everyone)), np.inf)
    distances[discs.centres, discs.targets] = discs.distance
    return distances


def straight(mesh):
    return np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[None], axis=-1)


def bumpy_ball(seed=0, strength=0.2):
    vertices, faces = shapes.icosphere(2)
    return vertices * (1 + strength * np.random.default_rng(seed).uniform(-1, 1, (len(vertices), 1))), faces


def specks():
    """Balls of scales 10¹³ apart, beside each other."""
    parts = [bumpy_ball(seed) for seed in range(3)]
    places = zip([1.0, 1e-6, 1e-13], [0.0, 2.0, 3.0], parts, strict=True)
    vertices = [scale * (part[0] + [x / scale, 0, 0]) for scale, x, part in places]
    count = len(parts[0][0])
    return np.concatenate(vertices), np.concatenate([part[1] + i * count for i, part in enumerate(parts)])


def two_vertices_far_away():
    vertices, faces = bumpy_ball()
    vertices[[5, 100]] *= 1e9
    return vertices, faces


def stretched_ball():
    vertices, faces = bumpy_ball()
    return vertices * [1e8, 1, 1], faces


STALLED = {"specks": specks, "two vertices far away": two_vertices_far_away, "stretched": stretched_ball}


@pytest.mark.parametrize("name", STALLED)
@pytest.mark.parametrize("radius", [0.05, 0.5, 5.0])
def test_work_is_bounded_by_the_triangles_in_reach(name, radius):
    mesh = Mesh(*STALLED[name]()).normalised()
    chart = charts(mesh)
    everyone = np.arange(len(mesh.vertices))
    _, _, tallies = exact_block(chart, everyone, radius, np.ones(len(everyone), bool))
    wedges, faces = tallies["wedges"], tallies["faces"]
    assert (faces <= len(mesh.faces)).all()
    one_step = 4 * 3 * np.diff(chart.first_corner).max()
    assert (wedges <= FREE_WEDGES + WEDGES * faces**1.5 + one_step).all()
    assert not tallies["edges_only"].any(), "such shapes need no more light than sound ones do"
    assert (wedges <= FREE_WEDGES + faces**1.5).all()


@pytest.mark.parametrize("seed", range(60))
def test_odd_meshes_are_finished_in_a_second(seed):
    vertices, faces, radius = odd_meshes.odd_mesh(seed)
    mesh = Mesh(vertices, faces)
    if mesh.problem or mesh.normalised().problem:
        return
    mesh = mesh.normalised()
    for solver in ("local", "front"):
        geodesic_discs(Mesh(*shapes.cube()), 1.0, solver=solver)  # compiled
        began = time.process_time()
        discs = geodesic_discs(mesh, radius, solver=solver)
        assert time.process_time() - began < 1
        for values in (discs.distance, discs.angle, discs.transport):
            assert np.isfinite(values).all()
        assert (discs.distance <= radius).all()
        rounding = 1e-14 * np.abs(mesh.vertices).max()
        chord = straight(mesh)[discs.centres, discs.targets]
        assert (discs.distance >= (1 - 1e-6) * chord - rounding).all(), "no path is shorter than the chord"


@pytest.mark.parametrize("power", [0, 3, 6, 9])
def test_nothing_is_lost_in_narrow_wedges_of_a_stretched_plane(power):
    # Seen from a vertex, all others lie within 10⁻⁹ radians.
    vertices, faces = shapes.plane(138)
    mesh = Mesh(vertices * [10.0**power, 1, 1], faces)
    distances, true = all_distances(mesh, 1e12), straight(mesh)
    np.testing.assert_allclose(distances, true, rtol=1e-9)


def lined_up(offset):
    """A strip whose inner vertices lie on a straight line as seen from its first, but for ``offset``."""
    along = np.arange(1.0, 9.0)
    wobble = offset * np.array([1, -1, 2, -2, 3, -3, 0, 1]) * along
    line = np.stack([along, wobble], 1)
    flat = np.concatenate([[[0, 0]], line, [[4.5, 3], [4.5, -3]]])
    inner = np.arange(0, 8)
    top, bottom = 9, 10
    faces = np.concatenate(
        [
            np.stack([inner, inner + 1, np.full(8, top)], 1),
            np.stack([inner + 1, inner, np.full(8, bottom)], 1),
        ]
    )
    return Mesh(np.column_stack([flat, np.zeros(len(flat))]), faces)


@pytest.mark.parametrize("offset", [0, 1e-16, 1e-14, 1e-13, 1e-12, 1e-11, 1e-9, 1e-6])
def test_vertices_in_line_are_all_found_whatever_the_width_of_the_wedges_between_them(offset):
    # Between the vertices are wedges from far above to far below the narrowest that is followed.
    mesh = lined_up(offset)
    np.testing.assert_allclose(all_distances(mesh, 100.0), straight(mesh), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("power", [0, 2, 4])
def test_distances_agree_from_both_ends_and_obey_the_triangle_inequality(power):
    # The two directions go through different wedges; a wedge wrongly dropped would make one of them longer.
    vertices, faces = bumpy_ball(3)
    distances = all_distances(Mesh(vertices * [10.0**power, 1, 1], faces), 1e12)
    np.testing.assert_allclose(distances, distances.T, rtol=1e-9)
    around = (distances[:, :, None] + distances[None]).min(1)
    assert (distances <= around * (1 + 1e-9)).all()


def test_too_much_light_is_stopped_and_paths_go_along_edges():
    # Twelve vertices, all of whose triangles exist: every edge has ten sheets.
    draw = np.random.default_rng(0)
    vertices = draw.normal(size=(12, 3))
    faces = [[a, b, c] for a in range(12) for b in range(a) for c in range(b)]
    mesh = Mesh(vertices, faces)
    everyone = np.arange(12)
    _, _, tallies = exact_block(charts(mesh), everyone, 10.0, np.ones(12, bool))
    assert (tallies["wedges"] <= FREE_WEDGES + (WEDGES + 5) * len(faces) ** 1.5).all()
    np.testing.assert_allclose(all_distances(mesh, 10.0), straight(mesh), atol=1e-12)  # an edge joins all


def test_corners_too_narrow_for_light_do_not_hide_what_is_behind_them():
    # A chain of needles: no light gets into their tips, but their edges lead on.
    count = 30
    vertices = np.array([[i * 1e13, i % 2, 0] for i in range(count)])
    first = np.arange(count - 2)
    needles = Mesh(
        np.concatenate([vertices, [[0, 1e13, 0]]]),
        np.concatenate([np.stack([first, first + 1, first + 2], 1), [[0, 1, count]]]),
    )
    distances = all_distances(needles, 1e16)[:count, :count]
    np.testing.assert_allclose(distances, straight(needles)[:count, :count], rtol=1e-9)
