"""Geodesic discs against closed forms, numerically integrated geodesics, another exact solver, identities."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import shapes
from fieldconv.geometry import Discs, Mesh, MeshError, geodesic_discs, tangent_frames
from fieldconv.geometry.geodesic.charts import charts, frame_vertices
from fieldconv.geometry.geodesic.discs import wrap_angle


def pairs(discs: Discs):
    """Source and target of every pair of distinct vertices, and the mask that selects them."""
    apart = discs.centres != discs.targets
    return discs.centres[apart], discs.targets[apart], apart


def assert_angles(found, expected, tolerance):
    np.testing.assert_allclose(wrap_angle(found - expected), 0, atol=tolerance)


def chart_direction(chart, source, target, circumference=np.inf):
    """Complex number from source to target in a flat chart that may repeat along its first axis."""
    step = chart[target] - chart[source]
    if np.isfinite(circumference):
        step[:, 0] -= circumference * np.round(step[:, 0] / circumference)
    return step[:, 0] + 1j * step[:, 1]


def assert_exact_in_chart(mesh, discs, log):
    """All pairs agree with ``log(source, target)``, the flat chart's vector between two vertices."""
    source, target, apart = pairs(discs)
    frame = log(np.arange(len(mesh.vertices)), frame_vertices(mesh))
    np.testing.assert_allclose(discs.distance[apart], abs(log(source, target)), rtol=1e-9)
    assert_angles(discs.angle[apart], np.angle(log(source, target) / frame[source]), 1e-7)
    assert_angles(discs.transport[apart], np.angle(frame[source] / frame[target]), 1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_plane_is_exact(seed):
    mesh = Mesh(*shapes.plane(400, seed))
    discs = geodesic_discs(mesh, 0.35)
    assert len(discs) > 30 * 400
    assert_exact_in_chart(mesh, discs, lambda a, b: chart_direction(mesh.vertices[:, :2], a, b))


def test_regular_grid_is_exact():
    # Straight paths through vertices, along edges and along the boundary.
    mesh = Mesh(*shapes.grid(9, 7))
    assert_exact_in_chart(
        mesh, geodesic_discs(mesh, 20.0), lambda a, b: chart_direction(mesh.vertices[:, :2], a, b)
    )


def test_cylinder_is_exact():
    mesh = Mesh(*shapes.cylinder())
    chart, circumference = shapes.cylinder_chart()
    discs = geodesic_discs(mesh, 0.8)
    assert len(discs) > 20 * len(mesh.vertices)
    assert_exact_in_chart(mesh, discs, lambda a, b: chart_direction(chart, a, b, circumference))


def test_cone_away_from_its_tip_is_exact():
    mesh = Mesh(*shapes.cone())
    polar, total = shapes.cone_chart()

    def log(a, b):
        # In a's own sheet of the developed cone: the tip is at the origin, a on the positive real axis.
        around = polar[b, 1] - polar[a, 1]
        around -= total * np.round(around / total)
        return polar[b, 0] * np.exp(1j * around) - polar[a, 0]

    # The hole's rim is a polygon at distance ≥ 0.44 from the tip, so discs of 0.3 around 0.75 miss it.
    outside = np.flatnonzero(polar[:, 0] > 0.75)
    discs = geodesic_discs(mesh, 0.3, sources=outside, targets=outside)
    source, target, apart = pairs(discs)
    assert len(source) > 1000
    np.testing.assert_allclose(discs.distance[apart], abs(log(source, target)), rtol=1e-9)
    # `log(a, b)` is in a's sheet, where "outwards" is real; the mesh turns the same way or the other.
    neighbour = frame_vertices(mesh)
    unscaled = np.flatnonzero(charts(mesh).vertices["scale"] == 1)
    inner = np.isin(source, unscaled) | np.isin(target, _boundary(mesh))
    source, target, angle, transport = (
        v[~inner] for v in (source, target, discs.angle[apart], discs.transport[apart])
    )
    frame = np.angle(log(source, neighbour[source]))
    there = np.angle(log(target, neighbour[target]))
    expected = np.angle(log(source, target)) - frame
    sense = np.sign(np.median(wrap_angle(angle) * wrap_angle(expected)))
    assert_angles(angle, sense * expected, 1e-7)
    back = np.angle(log(target, source)) - there
    assert_angles(transport, sense * (back - expected) + np.pi, 1e-7)


def _boundary(mesh):
    chart = charts(mesh)
    edge = np.flatnonzero(chart.corners["twin"] == np.arange(len(chart.corners)))
    return np.unique(
        np.r_[
            chart.faces.ravel()[edge - edge % 3 + (edge + 1) % 3],
            chart.faces.ravel()[edge - edge % 3 + (edge + 2) % 3],
        ]
    )


@pytest.mark.parametrize(("solver", "far", "turned"), [("local", 1e-3, 5e-4), ("front", 1.5e-3, 2e-3)])
def test_sphere_against_closed_form(solver, far, turned):
    vertices, faces = shapes.icosphere(4)
    mesh = Mesh(vertices, faces)
    assert len(vertices) == 2562
    chosen = np.arange(0, 2562, 7)
    discs = geodesic_discs(mesh, 0.7, sources=chosen, solver=solver)
    p, q, apart = pairs(discs)
    true = np.arccos(np.clip((vertices[p] * vertices[q]).sum(1), -1, 1))
    error = abs(discs.distance[apart] / true - 1)
    assert error.mean() < far
    assert error.max() < 4e-3

    frames, _ = tangent_frames(mesh)
    first = frames - (frames * vertices).sum(1, keepdims=True) * vertices
    second = np.cross(vertices, first)

    def angle(a, b):
        return np.arctan2((vertices[b] * second[a]).sum(1), (vertices[b] * first[a]).sum(1))

    assert abs(wrap_angle(discs.angle[apart] - angle(p, q))).mean() < turned
    expected = angle(q, p) + np.pi - angle(p, q)
    assert abs(wrap_angle(discs.transport[apart] - expected)).mean() < turned


def torus_geodesic(start, direction, length, major, minor, steps=60):
    """End (u, v) and final direction of geodesics on a torus, by Runge–Kutta; angles from the u circle."""
    u, v = start.T

    def slope(state):
        _u, v, du, dv = state
        ring = major + minor * np.cos(v)
        return np.array([du, dv, 2 * minor * np.sin(v) / ring * du * dv, -ring * np.sin(v) / minor * du**2])

    ring = major + minor * np.cos(v)
    state = np.array([u, v, np.cos(direction) / ring, np.sin(direction) / minor])
    h = length / steps
    for _ in range(steps):
        a = slope(state)
        b = slope(state + h / 2 * a)
        c = slope(state + h / 2 * b)
        d = slope(state + h * c)
        state = state + h / 6 * (a + 2 * b + 2 * c + d)
    return state[:2].T, np.arctan2(minor * state[3], (major + minor * np.cos(state[1])) * state[2])


def test_torus_against_integrated_geodesics():
    major, minor, around, across = 1.0, 0.4, 90, 45
    mesh = Mesh(*shapes.torus(major, minor, around, across))
    place = (
        np.stack(np.divmod(np.arange(around * across), across), 1) * 2 * np.pi / np.array([around, across])
    )
    discs = geodesic_discs(mesh, 0.5, sources=np.arange(7, around * across, 211))
    p, q, apart = pairs(discs)
    step = wrap_angle(place[q] - place[p])
    middle = major + minor * np.cos(place[p, 1] + step[:, 1] / 2)
    direction = np.arctan2(minor * step[:, 1], middle * step[:, 0])
    length = np.hypot(minor * step[:, 1], middle * step[:, 0])
    for _ in range(8):  # Newton: the geodesic from p that ends at q
        end, _ = torus_geodesic(place[p], direction, length, major, minor)
        miss = wrap_angle(place[q] - end)
        by_direction = (torus_geodesic(place[p], direction + 1e-6, length, major, minor)[0] - end) / 1e-6
        by_length = (torus_geodesic(place[p], direction, length + 1e-6, major, minor)[0] - end) / 1e-6
        solved = np.linalg.solve(np.stack([by_direction, by_length], 2), miss[..., None])[..., 0]
        direction, length = (
            direction + np.clip(solved[:, 0], -0.2, 0.2),
            length + np.clip(solved[:, 1], -0.1, 0.1),
        )
    end, final = torus_geodesic(place[p], direction, length, major, minor)
    found = (abs(wrap_angle(place[q] - end)).max(1) < 1e-9) & (length < 0.5)
    assert found.mean() > 0.95
    assert abs(discs.distance[apart][found] / length[found] - 1).mean() < 3e-3

    frames, _ = tangent_frames(mesh)
    u, v = place.T
    east = np.stack([-np.sin(u), np.cos(u), 0 * u], 1)
    north = np.stack([-np.sin(v) * np.cos(u), -np.sin(v) * np.sin(u), np.cos(v)], 1)
    frame = np.arctan2((frames * north).sum(1), (frames * east).sum(1))
    assert abs(wrap_angle(discs.angle[apart] + frame[p] - direction)[found]).mean() < 5e-3
    turned = final - direction + frame[p] - frame[q]
    assert abs(wrap_angle(discs.transport[apart] - turned)[found]).mean() < 1e-2


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), strength=st.floats(0, 0.35))
def test_exact_on_bumpy_closed_surfaces(seed, strength):
    geodesic = pytest.importorskip("pygeodesic.geodesic")
    vertices, faces = shapes.icosphere(3)
    rng = np.random.default_rng(seed)
    vertices = vertices * (1 + strength * rng.uniform(-1, 1, (len(vertices), 1)))
    mesh = Mesh(vertices, faces)
    exact = geodesic.PyGeodesicAlgorithmExact(mesh.vertices, mesh.faces)
    for source in rng.choice(len(vertices), 2, replace=False):
        true, _ = exact.geodesicDistances(np.array([source]), None)
        discs = geodesic_discs(mesh, 0.9, sources=[source])
        np.testing.assert_allclose(discs.distance, true[discs.targets], rtol=1e-9, atol=1e-12)
        assert set(np.flatnonzero(true < 0.9 - 1e-9)) <= set(discs.targets)


def test_paths_bend_around_a_reflex_corner():
    # An L: the square [0, 2]² without its upper right quarter, whose corner is at (1, 1).
    vertices, faces = shapes.grid(21, 21)
    vertices = vertices / 10
    centre = vertices[faces].mean(1)
    mesh = Mesh(vertices, faces[~((centre[:, 0] > 1) & (centre[:, 1] > 1))])
    start = int(np.flatnonzero((vertices[:, :2] == [2.0, 0.9]).all(1))[0])
    end = int(np.flatnonzero((vertices[:, :2] == [0.9, 2.0]).all(1))[0])
    discs = geodesic_discs(mesh, 5.0, sources=[start], targets=[end])
    corner = np.array([1, 1, 0])
    bent = np.linalg.norm(vertices[start] - corner) + np.linalg.norm(vertices[end] - corner)
    np.testing.assert_allclose(discs.distance, [bent], rtol=1e-12)
    # Unrolled, a bent path is laid into the plane, and its direction is that of the chord.
    frame = tangent_frames(mesh)[0][start]
    chord = vertices[end] - vertices[start]
    seen = np.arctan2(frame[0] * chord[1] - frame[1] * chord[0], frame @ chord)
    np.testing.assert_allclose(np.exp(1j * discs.angle), [np.exp(1j * seen)], atol=1e-9)


def test_opposite_corners_of_a_cube():
    discs = geodesic_discs(Mesh(*shapes.cube()), 3.0, sources=[0], targets=[7])
    np.testing.assert_allclose(discs.distance, [np.sqrt(5)])


def test_only_opposite_corners_of_a_cube_have_equal_paths_far_apart():
    # Six paths of length √5 join opposite corners; edges and diagonals of faces are the only shortest ones.
    discs = geodesic_discs(Mesh(*shapes.cube()), 3.0)
    vertices = shapes.cube()[0]
    opposite = abs(vertices[discs.centres] - vertices[discs.targets]).min(1) > 0
    assert opposite.sum() == 8
    np.testing.assert_array_equal(discs.ambiguous, opposite)
    np.testing.assert_allclose(discs.distance[opposite], 5**0.5)


@pytest.mark.parametrize("sides", [8, 12])
@pytest.mark.parametrize("first", range(4))
def test_equal_paths_past_a_tip_are_averaged(sides, first):
    # On a flat pyramid both ways past the tip are equally long: their mean points at the tip, from both ends.
    around = 2 * np.pi * np.arange(sides) / sides
    ring = np.stack([np.cos(around), np.sin(around), np.zeros(sides)], 1)
    other = np.roll(np.arange(sides), -1)
    inner, outer = 1 + np.arange(sides), 1 + sides + np.arange(sides)
    faces = np.concatenate(
        [
            np.stack([np.zeros(sides, int), inner, inner[other]], 1),
            np.stack([inner, outer, outer[other]], 1),
            np.stack([inner, outer[other], inner[other]], 1),
        ]
    )
    vertices = np.concatenate([[[0, 0, 0.25]], 0.5 * ring + [0, 0, 0.125], ring])
    mesh = Mesh(vertices, faces)
    here, there = outer[first], inner[(first + sides // 2) % sides]
    discs = geodesic_discs(mesh, 3.0, [here, there], [here, there])
    assert not discs.ambiguous.any()
    assert (discs.distance[discs.centres != discs.targets] < 1.5 * (1 + 0.25**2) ** 0.5).all()
    at_tip = geodesic_discs(mesh, 3.0, [here, there], [0])
    for row, (source, target) in enumerate(((here, there), (there, here))):
        pair = (discs.centres == source) & (discs.targets == target)
        assert_angles(discs.angle[pair], at_tip.angle[row], 1e-9)
        # Straight on at the tip: the direction towards it at one end points away from it at the other.
        assert_angles(discs.angle[pair] + discs.transport[pair], at_tip.angle[1 - row] + np.pi, 1e-9)


def test_irregular_and_flat_meshes_have_no_equal_paths():
    for shape in (shapes.plane(200, 1), shapes.grid(9, 7), shapes.cylinder()):
        assert not geodesic_discs(Mesh(*shape), 1.0).ambiguous.any()


@pytest.mark.parametrize("name", ["torus", "cylinder", "grid", "box", "sphere"])
def test_turned_regular_shapes_have_the_same_discs(name):
    vertices, faces = {
        "torus": shapes.torus(1.0, 0.4, 24, 12),
        "cylinder": shapes.regular_cylinder(20, 12),
        "grid": shapes.grid(12, 9),
        "box": shapes.box(6),
        "sphere": shapes.icosphere(2),
    }[name]
    rng = np.random.default_rng(0)
    radius = 0.3 * Mesh(vertices, faces).area ** 0.5
    expected = geodesic_discs(Mesh(vertices, faces), radius)
    sure = ~expected.ambiguous
    assert sure.mean() > 0.9
    for _ in range(2):
        turned = Mesh(vertices @ np.linalg.qr(rng.normal(size=(3, 3)))[0].T, faces)
        discs = geodesic_discs(turned, radius)
        np.testing.assert_array_equal(discs.targets, expected.targets)
        np.testing.assert_array_equal(discs.ambiguous, expected.ambiguous)
        assert_angles(discs.angle[sure], expected.angle[sure], 1e-6)
        assert_angles(discs.transport[sure], expected.transport[sure], 1e-6)


def test_light_enters_every_page_of_a_book():
    vertices, faces = shapes.book(pages=3, columns=4, rows=5)
    mesh = Mesh(vertices, faces)
    page = np.where(np.arange(len(vertices)) < 5, -1, (np.arange(len(vertices)) - 5) // 15)
    out, height = np.hypot(vertices[:, 0], vertices[:, 1]), vertices[:, 2]
    discs = geodesic_discs(mesh, 10.0)
    p, q, apart = pairs(discs)
    assert len(discs) == len(vertices) ** 2
    across = np.where(page[p] == page[q], out[p] - out[q], out[p] + out[q])
    np.testing.assert_allclose(discs.distance[apart], np.hypot(across, height[p] - height[q]), rtol=1e-9)
    assert np.isfinite(discs.angle).all()
    assert np.isfinite(discs.transport).all()


def test_discs_stay_in_their_component():
    mesh = Mesh(*shapes.two_components())
    discs = geodesic_discs(mesh, 100.0)
    np.testing.assert_array_equal(discs.centres < 162, discs.targets < 162)
    assert len(discs) == 162**2 + 8**2


def awkward():
    """Meshes that break careless code: (name, vertices, faces)."""
    plane, flat = shapes.plane(60)
    needle = np.array([[0, 0, 0], [1, 0, 0], [0.5, 1e-9, 0], [0.5, 1, 0], [0.5, -1, 0]])
    collapsed = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [0.5, 1, 0]])
    return {
        "needle and cap": (needle, [[0, 1, 2], [0, 2, 3], [2, 1, 3], [1, 0, 4]]),
        "flat cap": (np.where(abs(needle) < 1e-6, 0, needle), [[0, 1, 2], [0, 2, 3], [2, 1, 3], [1, 0, 4]]),
        "zero-length edge": (collapsed, [[0, 1, 3], [1, 2, 3], [0, 2, 1]]),
        "duplicate faces": (plane, np.concatenate([flat, flat[:5]])),
        "face that repeats a vertex": (plane, np.concatenate([flat, [[3, 3, 4]]])),
        "unreferenced vertices": (np.concatenate([plane, [[9, 9, 9]]]), flat),
        "mixed orientation": (plane, np.where(np.arange(len(flat))[:, None] % 3 == 0, flat[:, ::-1], flat)),
        "Möbius strip": shapes.mobius(),
        "bow tie": shapes.bowtie(),
        "book": shapes.book(),
    }


@pytest.mark.parametrize("solver", ["local", "front"])
@pytest.mark.parametrize("name", awkward())
def test_awkward_meshes_give_finite_symmetric_discs(name, solver):
    mesh = Mesh(*awkward()[name])
    discs = geodesic_discs(mesh, 0.7, solver=solver)
    for values in (discs.distance, discs.angle, discs.transport):
        assert np.isfinite(values).all()
    assert (discs.distance <= 0.7).all()
    assert_symmetric(discs)
    frames, normals = tangent_frames(mesh)
    np.testing.assert_allclose(np.linalg.norm(frames, axis=1), 1, atol=1e-9)
    np.testing.assert_allclose((frames * normals).sum(1), 0, atol=1e-6)


def test_exact_discs_replace_the_front_only_where_faces_turn_both_ways():
    vertices, faces = shapes.icosphere(3)
    flipped = faces.copy()
    top = vertices[faces].mean(1)[:, 2].argmax()
    flipped[top] = flipped[top, ::-1]
    mesh, whole = Mesh(vertices, flipped), Mesh(vertices, faces)
    far, near = np.flatnonzero(vertices[:, 2] < 0.2), np.flatnonzero(vertices[:, 2] > 0.95)

    def found(mesh, sources, solver):
        discs = geodesic_discs(mesh, 0.5, sources, solver=solver)
        return np.stack([discs.targets, discs.distance, discs.angle, discs.transport])

    expected = found(whole, far, "front")
    assert abs(expected - found(whole, far, "local")).max() > 1e-5  # the two solvers differ
    np.testing.assert_array_equal(found(mesh, far, "front"), expected)
    np.testing.assert_array_equal(found(mesh, near, "front"), found(mesh, near, "local"))
    both = geodesic_discs(mesh, 0.5, np.r_[near, far], solver="front")
    np.testing.assert_array_equal(both.distance[both.offsets[len(near)] :], expected[1])


@pytest.mark.parametrize("seed", range(40))
def test_frames_of_large_meshes_are_those_of_their_charts(seed):
    """Random faces share edges by ones, twos and threes, and are closed, open and pinched at vertices."""
    draw = np.random.default_rng(seed)
    vertices, faces = shapes.icosphere(1)
    if seed % 2:
        faces = draw.integers(0, len(vertices), (draw.integers(1, 80), 3))
    mesh = Mesh(vertices, faces[draw.random(len(faces)) < draw.uniform(0.3, 1)])
    expected = frame_vertices(Mesh(mesh.vertices, mesh.faces))
    np.testing.assert_array_equal(frame_vertices(mesh, max_charted=0), expected)


def assert_symmetric(discs):
    key = {(p, q): i for i, (p, q) in enumerate(zip(discs.centres, discs.targets, strict=True))}
    mirror = np.array([key[q, p] for p, q in key])
    np.testing.assert_array_equal(discs.distance, discs.distance[mirror])
    apart = discs.centres != discs.targets
    assert_angles(discs.transport, -discs.transport[mirror], 0)
    assert_angles(discs.angle[mirror][apart], (discs.angle + np.pi + discs.transport)[apart], 1e-12)


def test_orientation_of_faces_does_not_matter():
    vertices, faces = shapes.icosphere(2)
    flipped = np.where(np.random.default_rng(0).random((len(faces), 1)) < 0.5, faces[:, ::-1], faces)
    one, other = geodesic_discs(Mesh(vertices, faces), 0.8), geodesic_discs(Mesh(vertices, flipped), 0.8)
    np.testing.assert_array_equal(one.targets, other.targets)
    np.testing.assert_allclose(one.distance, other.distance, rtol=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_motion_scale_and_renumbering_change_nothing(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = shapes.icosphere(2)
    vertices = vertices * (1 + 0.2 * rng.uniform(-1, 1, (len(vertices), 1)))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    factor = np.exp(rng.normal())
    order = rng.permutation(len(vertices))
    number = np.argsort(order)
    moved = (factor * vertices @ turn.T + rng.normal(size=3))[order]
    rolled = np.stack([np.roll(number[faces], k, 1) for k in range(3)])
    renumbered = rolled[rng.integers(3, size=len(faces)), np.arange(len(faces))]
    one = geodesic_discs(Mesh(vertices, faces), 0.8)
    other = geodesic_discs(Mesh(moved, rng.permutation(renumbered)), 0.8 * factor)
    key = {(order[p], order[q]): i for i, (p, q) in enumerate(zip(other.centres, other.targets, strict=True))}
    match = np.array([key[p, q] for p, q in zip(one.centres, one.targets, strict=True)])
    assert len(match) == len(other)
    np.testing.assert_allclose(other.distance[match], factor * one.distance, rtol=1e-8)
    # Frames differ by an angle per vertex: that of the direction to the lowest neighbour in the disc.
    apart = one.centres != one.targets
    gauge = np.zeros(len(vertices))
    gauge[one.centres[apart][::-1]] = (other.angle[match] - one.angle)[apart][::-1]
    assert_angles((other.angle[match] - one.angle - gauge[one.centres])[apart], 0, 1e-6)
    assert_angles(other.transport[match] - one.transport, gauge[one.targets] - gauge[one.centres], 1e-6)


def test_holonomy_is_the_curvature_enclosed():
    vertices, faces = shapes.icosphere(4)
    discs = geodesic_discs(Mesh(vertices, faces), 0.6, sources=np.arange(0, 2562, 9))
    lookup = {(p, q): t for p, q, t in zip(discs.centres, discs.targets, discs.transport, strict=True)}
    corners = list(discs.sources)
    rng = np.random.default_rng(0)
    found, area = [], []
    while len(found) < 200:
        a, b, c = rng.choice(corners, 3, replace=False)
        if not {(a, b), (b, c), (c, a)} <= lookup.keys():
            continue
        solid = np.linalg.det(vertices[[a, b, c]])
        around = 1 + vertices[a] @ vertices[b] + vertices[b] @ vertices[c] + vertices[c] @ vertices[a]
        area.append(2 * np.arctan2(solid, around))  # signed, counter-clockwise positive
        found.append(lookup[a, b] + lookup[b, c] + lookup[c, a])
    # Measured in frames, a vector carried around a counter-clockwise loop turns by its curvature.
    assert abs(wrap_angle(np.array(found) - np.array(area))).mean() < 0.01
    assert np.abs(area).mean() > 0.03


def test_sources_and_targets_select_from_the_whole():
    mesh = Mesh(*shapes.plane(200))
    whole = geodesic_discs(mesh, 0.3)
    part = geodesic_discs(mesh, 0.3, sources=[7, 3], targets=np.arange(50))
    assert part.sources.tolist() == [7, 3]
    for number, source in enumerate([7, 3]):
        rows = slice(part.offsets[number], part.offsets[number + 1])
        expected = whole.targets[whole.offsets[source] : whole.offsets[source + 1]]
        np.testing.assert_array_equal(part.targets[rows], expected[expected < 50])


def test_result_does_not_depend_on_threads():
    mesh = Mesh(*shapes.plane(300))
    results, before = [], torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            results.append(geodesic_discs(mesh, 0.3))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].angle, other.angle)
        np.testing.assert_array_equal(results[0].targets, other.targets)


@pytest.mark.parametrize("radius", [0, -1, np.nan, np.inf])
def test_rejects_bad_radius(radius):
    with pytest.raises(ValueError, match="radius"):
        geodesic_discs(Mesh(*shapes.cube()), radius)


def test_rejects_bad_vertex_ids():
    mesh = Mesh(*shapes.cube())
    with pytest.raises(MeshError, match="0…7"):
        geodesic_discs(mesh, 1.0, sources=[8])
    with pytest.raises(ValueError, match="vertex ids"):
        geodesic_discs(mesh, 1.0, targets=[0.5])
    with pytest.raises(ValueError, match="solver"):
        geodesic_discs(mesh, 1.0, solver="guess")
