"""Damaged meshes: origins of vertices are right, and each kind does what its name says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry import Mesh, tangent_frames
from fieldconv.geometry.damage import Damaged, damage, outer_surface
from fieldconv.geometry.mesh.topology import components, edge_graph, rims
from tests.shapes import icosphere

SPHERE = Mesh(*icosphere(3))  # 642 vertices
CREATURE = make_creature("biped", 3, vertices=800).mesh


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def sheet(n: int = 20) -> Mesh:
    """A flat unit square of n × n vertices."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).reshape(-1, 1)
    return Mesh(np.stack([x, y, 0 * x], -1).reshape(-1, 3), corner + np.array([0, 1, n + 1, n]))


def euler(mesh: Mesh) -> int:
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return len(mesh.vertices) - len(np.unique(edges, axis=0)) + len(mesh.faces)


def edge_lengths(mesh: Mesh) -> NDArray[np.float64]:
    a, b, c = mesh.vertices[mesh.faces].transpose(1, 0, 2)
    return np.linalg.norm(np.concatenate([b - a, c - b, a - c]), axis=1)


def assert_sound(mesh: Mesh) -> None:
    report = mesh.check()
    assert not len(report.non_manifold_edges)
    assert not len(report.non_manifold_vertices)
    assert not len(report.inconsistent_edges)
    assert not len(report.unreferenced_vertices)
    assert np.isfinite(mesh.vertices).all()


# Kinds that leave the surface where it is: a vertex is the mean of old vertices that `origin` says it is.
ON_THE_SURFACE = {
    "undamaged": damage.no_damage,
    "holes": lambda mesh: damage.add_holes(mesh, rng(), 3),
    "cut": lambda mesh: damage.cut(mesh, rng()),
    "missing": lambda mesh: damage.remove_tip(mesh, rng(), closed=True),
    "finer": lambda mesh: damage.retriangulate(mesh, rng(), 2 * len(mesh.vertices)),
    "uneven": lambda mesh: damage.retriangulate(mesh, rng(), uneven=1.0),
    "coarse": lambda mesh: damage.retriangulate(mesh, rng(), len(mesh.vertices) // 3),
    "decimated": lambda mesh: damage.decimate(mesh, len(mesh.vertices) // 2),
    "refined": lambda mesh: damage.refine(mesh, 3 * len(mesh.vertices)),
    "twice": lambda mesh: (one := damage.cut(mesh, rng())).then(damage.retriangulate(one.mesh, rng(), 300)),
}


@pytest.mark.parametrize("shape", [SPHERE, CREATURE, sheet()], ids=["sphere", "creature", "sheet"])
@pytest.mark.parametrize("kind", ON_THE_SURFACE)
def test_vertices_are_where_their_origin_says(kind: str, shape: Mesh) -> None:
    result = ON_THE_SURFACE[kind](shape)
    assert_sound(result.mesh)
    assert np.allclose(result.origin.sum(axis=1), 1)
    assert result.origin.data.min() >= -1e-12
    assert np.allclose(result.carry(shape.vertices), result.mesh.vertices, atol=1e-12)
    away = np.linalg.norm(shape.vertices[result.nearest] - result.mesh.vertices, axis=1)
    assert np.median(away) <= edge_lengths(shape).max()


def test_carry_takes_means_of_floats_and_the_nearest_of_labels() -> None:
    result = damage.retriangulate(SPHERE, rng(), 900)
    north = (SPHERE.vertices[:, 2] > 0).astype(np.int64)
    carried = result.carry(north)
    assert set(carried.tolist()) == {0, 1}
    clear = np.abs(result.mesh.vertices[:, 2]) > edge_lengths(SPHERE).max()
    assert (carried == (result.mesh.vertices[:, 2] > 0))[clear].all()
    assert result.carry(SPHERE.vertices[:, None, :2]).shape == (900, 1, 2)


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_a_hole_takes_its_share_of_the_surface(share: float) -> None:
    fine = Mesh(*icosphere(5))
    result = damage.add_holes(fine, rng(), 1, (share, share))
    assert euler(result.mesh) == 1
    # Dijkstra's distances are a little long, and triangles that reach into a hole go as well.
    assert 1 - result.mesh.area / fine.area == pytest.approx(share, rel=0.3)


def test_a_cut_is_straight_and_takes_its_share() -> None:
    result = damage.cut(SPHERE, rng(), 0.25)
    assert 0.70 < len(result.mesh.vertices) / 642 <= 0.75
    left = result.mesh.vertices.mean(axis=0)
    height = SPHERE.vertices @ (left / np.linalg.norm(left))
    kept = np.zeros(642, bool)
    kept[result.nearest] = True
    assert height[kept].min() > height[~kept].max() - edge_lengths(SPHERE).max()


@pytest.mark.parametrize("seed", range(4))
def test_a_missing_part_is_one_end_of_the_shape(seed: int) -> None:
    result = damage.remove_tip(CREATURE, rng(seed), (0.05, 0.06), closed=False)
    gone = np.setdiff1d(np.arange(800), result.nearest)
    lost = CREATURE.vertex_areas[gone].sum() / CREATURE.area
    assert 0.045 < lost < 0.12
    inside = CREATURE.faces[np.isin(CREATURE.faces, gone).all(axis=1)]
    assert len(np.unique(components(800, inside)[np.unique(inside)])) == 1
    assert len(rims(len(result.mesh.vertices), result.mesh.faces)[0])
    closed = damage.remove_tip(CREATURE, rng(seed), (0.05, 0.06), closed=True)
    assert not len(rims(len(closed.mesh.vertices), closed.mesh.faces)[0])


def test_filled_sheet_is_a_ball() -> None:
    assert euler(damage.fill_holes(sheet()).mesh) == 2
    assert damage.fill_holes(SPHERE).mesh.faces.shape == SPHERE.faces.shape


def test_noise_has_the_height_it_is_given() -> None:
    fine = Mesh(*icosphere(5))
    diagonal = 2 * 3**0.5  # of the box about a unit sphere
    for options, expected in (
        ({"share": 0.005}, 0.005 * diagonal),
        ({"share": 0.2, "unit": "edge"}, 0.2 * edge_lengths(fine).mean()),
        ({"share": 0.005, "grain": 0.05}, 0.005 * diagonal),
    ):
        height = np.linalg.norm(damage.add_noise(fine, rng(), **options).mesh.vertices, axis=1) - 1
        assert height.std() == pytest.approx(expected, rel=0.1)
    rough = np.linalg.norm(damage.add_noise(fine, rng(), 0.005).mesh.vertices, axis=1)
    ripples = np.linalg.norm(damage.add_noise(fine, rng(), 0.005, grain=0.2).mesh.vertices, axis=1)
    a, b = fine.faces[:, :2].T
    assert abs(np.corrcoef(rough[a], rough[b])[0, 1]) < 0.1
    assert np.corrcoef(ripples[a], ripples[b])[0, 1] > 0.95
    most = damage.add_noise(fine, rng(), 0.005, max_deviations=1.0).mesh.vertices
    assert np.abs(np.linalg.norm(most, axis=1) - 1).max() <= 0.005 * diagonal * (1 + 1e-3)


def test_smoothing_takes_noise_away_and_does_not_shrink() -> None:
    rough = damage.add_noise(Mesh(*icosphere(4)), rng(), 0.004).mesh
    radius = np.linalg.norm(damage.smooth(rough, 0.05).mesh.vertices, axis=1)
    assert radius.std() < 0.3 * np.linalg.norm(rough.vertices, axis=1).std()
    assert radius.mean() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("vertices", [150, 642, 2000])
def test_remeshing_gives_even_triangles_of_the_wanted_number(vertices: int) -> None:
    mesh = damage.retriangulate(SPHERE, rng(), vertices).mesh
    assert len(mesh.vertices) == vertices
    assert euler(mesh) == 2
    lengths = edge_lengths(mesh)
    assert lengths.std() / lengths.mean() < 0.2
    uneven = edge_lengths(damage.retriangulate(SPHERE, rng(), vertices, uneven=1.0).mesh)
    assert uneven.std() / uneven.mean() > 1.5 * lengths.std() / lengths.mean()


def test_remeshing_depends_on_the_seed_alone() -> None:
    one, two, other = (damage.retriangulate(SPHERE, rng(seed), 300).mesh for seed in (0, 0, 1))
    assert np.array_equal(one.vertices, two.vertices)
    assert not np.array_equal(one.vertices, other.vertices)


def test_remeshing_keeps_a_sheet_flat_and_its_rim_in_place() -> None:
    mesh = damage.retriangulate(sheet(), rng(), 200).mesh
    assert np.abs(mesh.vertices[:, 2]).max() == 0
    assert mesh.area == pytest.approx(1, abs=0.02)
    assert (mesh.vertices.min(axis=0)[:2] == 0).all()
    assert (mesh.vertices.max(axis=0)[:2] == 1).all()
    assert euler(mesh) == 1


def test_remeshing_does_not_mix_surfaces_that_lie_close() -> None:
    shell = Mesh(
        np.concatenate([SPHERE.vertices, 1.02 * SPHERE.vertices]),
        np.concatenate([SPHERE.faces[:, ::-1], 642 + SPHERE.faces]),
    )
    result = damage.retriangulate(shell, rng(), 700)
    outer = result.carry(np.arange(1284) >= 642)
    radius = np.linalg.norm(result.mesh.vertices, axis=1)
    part = components(len(radius), result.mesh.faces)
    for label in np.unique(part):
        assert len(np.unique(outer[part == label])) == 1
    assert radius[outer].max() > radius[~outer].max()


def test_remeshing_leaves_out_parts_that_are_not_manifold() -> None:
    fin = Mesh(np.append(SPHERE.vertices, [[0, 0, 2]], axis=0), [*SPHERE.faces.tolist(), [0, 1, 642]])
    assert_sound(damage.retriangulate(fin, rng(), 300).mesh)
    assert_sound(damage.decimate(fin, 300).mesh)


def two_balls(apart: float) -> Mesh:
    ball = Mesh(*icosphere(3))
    points = np.concatenate([ball.vertices, 0.8 * ball.vertices + [apart, 0, 0]])
    return Mesh(points, np.concatenate([ball.faces, ball.faces + len(ball.vertices)]))


def test_overlapping_parts_become_one_solid() -> None:
    apart, large, small = 1.2, 1.0, 0.8
    mesh = damage.fuse(two_balls(apart), rng(), 0.0, vertices=1500).mesh
    assert euler(mesh) == 2
    # Each ball loses the cap beyond the plane in which the spheres meet.
    plane = (apart**2 + large**2 - small**2) / (2 * apart)
    expected = 2 * np.pi * (large * (large + plane) + small * (small + apart - plane))
    assert mesh.area == pytest.approx(expected, rel=0.02)


def test_only_narrow_gaps_are_closed() -> None:
    balls = two_balls(1.95)  # 0.15 apart, 3 % of the diagonal
    apart = damage.fuse(balls, rng(), 0.0, vertices=1000).mesh
    joined = damage.fuse(balls, rng(), 0.05, vertices=1000).mesh
    assert apart.vertices[:, 0].max() < 1.05  # the larger ball alone
    assert joined.vertices[:, 0].max() == pytest.approx(2.75, abs=0.03)
    assert joined.area == pytest.approx(balls.area, rel=0.05)


def test_origin_of_a_fused_surface_is_the_nearest_place() -> None:
    balls = two_balls(1.2)
    result = damage.fuse(balls, rng(), 0.0, vertices=1500)
    assert np.allclose(result.origin.sum(axis=1), 1)
    away = np.linalg.norm(result.carry(balls.vertices) - result.mesh.vertices, axis=1)
    assert away.max() < 0.05
    small = result.carry(np.arange(1284) >= 642)
    x = result.mesh.vertices[:, 0]
    assert small[x > 0.9].all()
    assert not small[x < 0.6].any()


def test_outer_surface_keeps_holes() -> None:
    bowl = damage.cut(Mesh(*icosphere(4)), rng(), 0.3).mesh
    surface, face, _ = outer_surface(bowl, 0.08, rng())
    assert len(rims(len(surface.vertices), surface.faces)[0])
    assert surface.area == pytest.approx(bowl.area, rel=0.05)
    assert ((face >= 0) & (face < len(bowl.faces))).all()


def test_a_bridge_joins_parts_that_are_near_in_space_and_far_along_the_surface() -> None:
    octopus = make_creature("octopus", 4, vertices=1500, pose=1.5).mesh
    places = set()
    for seed in range(6):
        result = damage.join(octopus, rng(seed), 0.2)
        assert_sound(result.mesh)
        assert euler(result.mesh) == euler(octopus) - 2  # a handle more
        assert np.array_equal(result.origin.data, np.ones(len(result.mesh.vertices)))  # old vertices, moved
        moved = np.linalg.norm(result.carry(octopus.vertices) - result.mesh.vertices, axis=1)
        assert np.median(moved) < 0.01 * np.linalg.norm(
            np.ptp(octopus.vertices, axis=0)
        )  # elsewhere it stays
        # Edges of the bridge join vertices that were far apart along the old surface.
        graph = edge_graph(octopus.vertices, octopus.faces)
        edges = result.nearest[
            np.unique(np.sort(result.mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)), axis=0)
        ]
        new = edges[[graph[int(a), int(b)] == 0 for a, b in edges]]
        along = dijkstra(graph, indices=new[:, 0])[np.arange(len(new)), new[:, 1]]
        assert along.max() > 0.25 * np.sqrt(octopus.area)
        places.add(int(new.min()))
    assert len(places) >= 3  # not the same contact every time


@pytest.mark.parametrize("shape", [SPHERE, sheet()], ids=["sphere", "sheet"])
def test_nothing_is_joined_where_no_parts_face_each_other(shape: Mesh) -> None:
    assert np.array_equal(damage.join(shape, rng(), 0.2).mesh.faces, shape.faces)


def test_no_damage_without_strength() -> None:
    result = damage.damage_mesh(CREATURE, 3, 0.0)
    assert np.array_equal(result.mesh.vertices, CREATURE.vertices)
    assert np.array_equal(result.mesh.faces, CREATURE.faces)


@pytest.mark.parametrize(
    "shape", [CREATURE, Mesh(*icosphere(2)), sheet(12)], ids=["creature", "small", "sheet"]
)
def test_random_damage_leaves_meshes_whose_truth_is_near(shape: Mesh) -> None:
    changed = 0
    diagonal = np.linalg.norm(np.ptp(shape.vertices, axis=0))
    for seed in range(12):
        result = damage.damage_mesh(shape, seed)
        assert_sound(result.mesh)
        assert np.allclose(result.origin.sum(axis=1), 1)
        away = np.linalg.norm(result.carry(shape.vertices) - result.mesh.vertices, axis=1)
        assert np.median(away) < 0.02 * diagonal
        assert result.mesh.area > 0.4 * shape.area
        changed += result.mesh.vertices.shape != shape.vertices.shape
        again: Damaged = damage.damage_mesh(shape, seed)
        assert np.array_equal(again.mesh.vertices, result.mesh.vertices)
    assert changed >= 6


def test_tangent_vectors_keep_their_directions_in_space() -> None:
    ball = Mesh(*icosphere(4))

    def spin(mesh: Mesh) -> NDArray[np.complex128]:
        """The speed of a sphere that turns about z, in the frames of the mesh."""
        frame, normal = tangent_frames(mesh)
        speed = np.cross([0, 0, 1.0], mesh.vertices)
        return (speed * frame).sum(1) + 1j * (speed * np.cross(normal, frame)).sum(1)

    for done in (damage.retriangulate(ball, rng(), 1500), damage.add_holes(ball, rng())):
        found = damage.carry_vectors(spin(ball), ball, done)
        away = np.abs(found - spin(done.mesh))
        assert np.quantile(away, 0.95) < 0.02
        assert away.max() < 0.2
    several = damage.carry_vectors(np.stack([spin(ball), 1j * spin(ball)], 1), ball, done)
    np.testing.assert_allclose(several, np.stack([found, 1j * found], 1), atol=0.2)
