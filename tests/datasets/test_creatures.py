"""Creatures: sound meshes, the same every time, whose ground truth is true."""

import hashlib
import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from fieldconv.datasets.creatures import (
    DIFFICULTIES,
    PARTS,
    SPECIES,
    Difficulty,
    correspondence,
    make_creature,
    make_solid,
    project_all,
    skin_weights,
    template,
)
from fieldconv.datasets.creatures.pose import _product, _rotate
from fieldconv.datasets.creatures.skeleton import Sketch
from fieldconv.datasets.creatures.solid import bone_distances, field, lattice_surface
from fieldconv.datasets.creatures.species import skeleton_of
from fieldconv.geometry.damage.build_bridge import _bridge
from fieldconv.geometry.mesh.topology import edge_graph, tidy
from fieldconv.geometry.mesh.triangles import least_angle, vertex_areas


def euler(mesh):
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return len(mesh.vertices) - len(np.unique(edges, axis=0)) + len(mesh.faces)


def assert_sound(mesh, *, closed=True):
    report = mesh.check()
    for oddity in (
        "non_manifold_edges", "non_manifold_vertices", "inconsistent_edges", "degenerate_faces",
        "duplicate_faces", "unreferenced_vertices", "nan_vertices",
    ):  # fmt: skip
        assert len(getattr(report, oddity)) == 0, oddity
    assert report.components == 1
    assert not report.inside_out
    assert (report.boundary_loops == 0) == closed


@pytest.fixture(scope="module")
def samples():
    return {name: make_creature(name, 5, vertices=600) for name in SPECIES}


@pytest.mark.parametrize("species", SPECIES)
def test_every_species_is_a_sound_ball(samples, species):
    sample = samples[species]
    assert sample.mesh.vertices.shape == sample.rest.shape == (600, 3)
    assert sample.labels.shape == (600,)
    assert sample.labels.dtype == np.int64
    assert SPECIES[sample.species] == species
    assert_sound(sample.mesh)
    assert euler(sample.mesh) == 2


@pytest.mark.parametrize("species", SPECIES)
def test_parts_are_all_there(samples, species):
    assert set(samples[species].labels) == set(skeleton_of(species).part)


def test_parts_are_shared_between_species():
    owners = {
        part: [name for name in SPECIES if PARTS.index(part) in skeleton_of(name).part] for part in PARTS
    }
    assert all(owners.values())
    assert len(owners["head"]) >= 12
    assert len(owners["foot"]) >= 6


@pytest.mark.parametrize("species", SPECIES)
def test_rest_shape_has_no_slivers(species):
    shape = template(species, vertices=600)
    assert least_angle(shape.mesh.vertices, shape.mesh.faces) > 18


@pytest.mark.parametrize("vertices", [250, 321, 3000])
def test_vertex_count_is_exact(vertices):
    assert len(make_creature("biped", 0, vertices=vertices).mesh.vertices) == vertices


def test_same_arguments_same_bytes(samples):
    again = make_creature("crab", 5, vertices=600)
    assert again.mesh.vertices.tobytes() == samples["crab"].mesh.vertices.tobytes()
    assert again.mesh.faces.tobytes() == samples["crab"].mesh.faces.tobytes()
    assert again.rest.tobytes() == samples["crab"].rest.tobytes()


def test_another_process_gives_the_same_bytes(samples):
    code = (
        "import hashlib; from fieldconv.datasets.creatures import make_creature;"
        "s = make_creature('hand', 5, vertices=600);"
        "print(hashlib.sha256(s.mesh.vertices.tobytes() + s.mesh.faces.tobytes()).hexdigest())"
    )
    mesh = samples["hand"].mesh
    expected = hashlib.sha256(mesh.vertices.tobytes() + mesh.faces.tobytes()).hexdigest()
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert answer.stdout.strip() == expected


def test_another_seed_is_another_triangulation():
    one, two = (make_creature("fish", seed, vertices=300, difficulty="rest") for seed in (0, 1))
    distance = np.linalg.norm(one.rest[:, None] - two.rest[None], axis=2).min(axis=1)
    edge = edge_graph(one.rest, one.mesh.faces).data.mean()
    assert np.median(distance) > 0.1 * edge
    assert distance.max() < 1.5 * edge


def test_generator_needs_no_torch():
    code = "import sys; import fieldconv.datasets.creatures; print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert answer.stdout.strip() == "False"


@pytest.mark.parametrize("species", SPECIES)
def test_rest_coordinates_are_on_the_rest_shape(samples, species):
    """Whatever the pose, the build and the triangulation."""
    rest = samples[species].rest
    moved = rest.copy()
    project_all(make_solid(skeleton_of(species)), moved, 5, np.full(len(rest), 1e-3))
    assert np.abs(moved - rest).max() < 1e-3


def test_pose_keeps_lengths_and_strength_zero_keeps_all():
    still = make_creature("snake", 3, vertices=600, difficulty="rest")
    assert np.allclose(still.mesh.vertices, still.rest, atol=1e-12)
    posed = make_creature("snake", 3, vertices=600, difficulty=Difficulty(build=0.0))
    assert np.array_equal(posed.rest, still.rest)
    assert np.linalg.norm(posed.mesh.vertices - posed.rest, axis=1).max() > 0.3
    # A bent snake is as long as a straight one.
    ends = [posed.rest[:, 0].argmin(), posed.rest[:, 0].argmax()]
    length = [
        dijkstra(edge_graph(points, posed.mesh.faces), indices=ends[0])[ends[1]]
        for points in (posed.rest, posed.mesh.vertices)
    ]
    assert length[1] == pytest.approx(length[0], rel=0.1)


def test_skin_weights_are_shares_and_limbs_do_not_mix(samples):
    skeleton = skeleton_of("biped")
    shape = template("biped", vertices=600)
    weights = skin_weights(skeleton, shape.rest, shape.mesh.faces)
    assert weights.min() >= 0
    assert np.allclose(weights.sum(axis=1), 1)
    names = [bone.name for bone in skeleton.bones]
    left, right = names.index("lowerleg.l"), names.index("lowerleg.r")
    assert (weights[:, left] * weights[:, right]).max() < 1e-3
    sides = shape.rest[weights[:, left] > 0.5, 1]
    assert (sides > 0).all()


def test_correspondence_of_a_sample_with_itself_is_the_identity(samples):
    for name in ("octopus", "bird", "hand"):
        assert np.array_equal(correspondence(samples[name], samples[name]), np.arange(600))


@pytest.mark.parametrize("species", ["biped", "hand", "bird", "elephant"])
def test_correspondence_is_geodesically_near(samples, species):
    """Neighbours have neighbouring counterparts: none jumps to another limb or to a fin's far side."""
    sample, shape = samples[species], template(species, vertices=1500)
    target = correspondence(sample, shape)
    edge = edge_graph(shape.rest, shape.mesh.faces).data.mean()
    offset = np.linalg.norm(shape.rest[target] - sample.rest, axis=1)
    assert offset.mean() < edge
    near = np.linalg.norm(shape.rest[:, None] - sample.rest[None], axis=2).argmin(axis=0)
    assert (near == target).mean() > 0.85  # mostly the nearest, but not where limbs almost touch
    ends = edge_graph(sample.rest, sample.mesh.faces).tocoo()
    geodesic = dijkstra(edge_graph(shape.rest, shape.mesh.faces), indices=target)
    stretch = geodesic[ends.row, target[ends.col]] / (ends.data + edge)
    assert stretch.max() < 4
    assert (shape.labels[target] == sample.labels).mean() > 0.95


def test_correspondence_refuses_another_species(samples):
    with pytest.raises(ValueError, match="A fish and a bird have no correspondence"):
        correspondence(samples["fish"], samples["bird"])


def test_template_is_fixed_and_at_rest():
    shape = template("lizard", vertices=500)
    assert np.array_equal(shape.mesh.vertices, shape.rest)
    assert template("lizard", vertices=500) is shape


# What each difficulty does.


@cache
def creature(species, level):
    return make_creature(species, 2, vertices=400, difficulty=level)


def pair(level, species="quadruped"):
    return creature(species, "clean"), creature(species, level)


@pytest.mark.parametrize("level", DIFFICULTIES)
def test_every_level_gives_a_sound_mesh(level):
    sample = creature("quadruped", level)
    difficulty = DIFFICULTIES[level]
    assert_sound(sample.mesh, closed=not (difficulty.holes or difficulty.cut))
    assert len(sample.mesh.vertices) == len(sample.labels) == len(sample.rest)


def test_posed_moves_more():
    clean, posed = pair("posed")
    assert np.array_equal(clean.rest, posed.rest)
    assert (
        np.ptp(posed.mesh.vertices - posed.rest, axis=0).sum()
        > np.ptp(clean.mesh.vertices - clean.rest, axis=0).sum()
    )


def test_noise_is_along_normals_and_of_the_size_it_says():
    clean, noisy = pair("noise", species="starfish")
    shift = noisy.mesh.vertices - clean.mesh.vertices
    edge = edge_graph(clean.mesh.vertices, clean.mesh.faces).data.mean()
    assert np.abs(
        np.abs((shift * clean.mesh.vertex_normals).sum(1)) - np.linalg.norm(shift, axis=1)
    ).max() < (0.5 * edge)
    assert np.linalg.norm(shift, axis=1).std() / edge == pytest.approx(0.15 * np.sqrt(1 - 2 / np.pi), rel=0.2)


def test_uneven_spreads_triangle_sizes():
    clean, uneven = pair("uneven", species="turtle")
    spread = [
        np.quantile(areas, 0.95) / np.quantile(areas, 0.05)
        for areas in (vertex_areas(sample.rest, sample.mesh.faces) for sample in (clean, uneven))
    ]
    assert spread[1] > 2 * spread[0]


def test_holes_are_holes():
    _, holed = pair("holes")
    assert 1 <= holed.mesh.check().boundary_loops <= 6
    assert 0.75 * 400 < len(holed.mesh.vertices) < 400


def test_cut_takes_a_side_away():
    clean, cut = pair("cut")
    assert 0.4 * 400 < len(cut.mesh.vertices) <= 0.7 * 400
    kept = {tuple(point) for point in cut.mesh.vertices}
    assert kept < {tuple(point) for point in clean.mesh.vertices}


@pytest.mark.parametrize("species", ["biped", "snake", "octopus"])
def test_fused_adds_a_handle(species):
    _, fused = pair("fused", species=species)
    assert_sound(fused.mesh)
    assert euler(fused.mesh) == 0


def test_missing_limb_is_gone_and_the_rest_closed():
    clean, missing = pair("missing", species="octopus")
    assert_sound(missing.mesh)
    distance = np.linalg.norm(clean.rest[:, None] - missing.rest[None], axis=2).min(axis=1)
    assert distance.max() > 0.15  # nothing is near the limb that was there
    assert len(missing.mesh.vertices) == 400


def test_rotation_and_scale_are_similarities():
    clean, scaled = pair("scaled", species="fish")
    one = clean.mesh.vertices - clean.mesh.vertices.mean(axis=0)
    two = scaled.mesh.vertices - scaled.mesh.vertices.mean(axis=0)
    factor = np.linalg.norm(two) / np.linalg.norm(one)
    assert 1 / 3 <= factor <= 3
    assert np.allclose(two @ two.T, factor**2 * one @ one.T, atol=1e-9)
    assert np.linalg.norm(two - factor * one) > 0.1 * np.linalg.norm(two)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"species": "unicorn"}, "Unknown species 'unicorn'"),
        ({"vertices": 100}, "Cannot make a creature of 100 vertices"),
        ({"difficulty": "impossible"}, "Unknown difficulty 'impossible'"),
    ],
)
def test_wrong_arguments_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_creature(**{"species": "fish", "seed": 0, **arguments})


# The pieces.


def ball():
    sketch = Sketch()
    sketch.bone("ball", None, "head", (0, 0, 0), (1e-6, 0, 0), 0.5, 0.5)
    return sketch


def test_distance_to_a_capsule_is_exact():
    sketch = Sketch()
    sketch.bone("rod", None, "torso", (0, 0, 0), (1, 0, 0), 0.25, 0.25)
    points = np.random.default_rng(0).uniform(-2, 2, (200, 3))
    nearest = np.column_stack([np.clip(points[:, 0], 0, 1), np.zeros((200, 2))])
    expected = np.linalg.norm(points - nearest, axis=1) - 0.25
    assert np.allclose(bone_distances(make_solid(sketch.skeleton()), points)[:, 0], expected)


def test_distance_to_an_ellipsoid_vanishes_on_it():
    sketch = Sketch()
    sketch.bone("disc", None, "torso", (0, 0, 0), (1e-9, 0, 0), (0.4, 0.1), (0.4, 0.1), thin=(0, 0, 1))
    sphere = np.random.default_rng(1).standard_normal((100, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    points = sphere * [0.25, 0.4, 0.1]
    assert np.abs(bone_distances(make_solid(sketch.skeleton()), points)).max() < 1e-6


def test_lattice_surface_of_a_ball():
    solid = make_solid(ball().skeleton())
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    points, faces = lattice_surface(solid, 0.1, turn * np.linalg.det(turn), np.full(3, 0.3))
    assert len(points) - len(faces) // 2 == 2
    project_all(solid, points, 5, np.full(len(points), 1e-3))
    assert np.allclose(np.linalg.norm(points, axis=1), 0.5, atol=1e-5)
    assert vertex_areas(points, faces).sum() == pytest.approx(np.pi, rel=0.02)
    p, q, r = points[faces.T]
    volume = (p * np.cross(q, r)).sum() / 6  # positive: the triangles face outwards
    assert volume == pytest.approx(np.pi / 6, rel=0.03)


def test_only_neighbours_in_the_skeleton_melt():
    def bump(child):
        sketch = Sketch()
        sketch.bone("a", None, "torso", (0, 0, 0), (1, 0, 0), 0.2, 0.2)
        sketch.bone("b", "a", "torso", (5, 0, 0), (6, 0, 0), 0.2, 0.2)
        sketch.bone("c", "a" if child else "b", "torso", (0, 0, 0.42), (1, 0, 0.42), 0.2, 0.2, blend=0.2)
        solid = make_solid(sketch.skeleton())
        point = np.array([[0.5, 0.0, 0.21]])
        return field(solid, *point[0], np.empty(3))

    assert bump(child=False) == pytest.approx(0.01)
    assert bump(child=True) < 0


def test_mirrored_joints_mirror_the_motion():
    sketch = Sketch()
    sketch.bone("body", None, "torso", (0, 0, 0), (1, 0, 0), 0.2, 0.2)
    sketch.bone(
        "arm.l", "body", "upper arm", (0, 1, 0), (0, 2, 0), 0.1, 0.1, yaw=(10, 20), hinge=((1, 2, 3), 5, 9)
    )
    left, right = (sketch.skeleton().bones[k] for k in (1, 2))
    flip = np.array([1.0, -1.0, 1.0])
    point = np.array([0.3, 1.5, -0.2])
    for (axis, least, _), (mirrored, least_too, _) in zip(left.turns, right.turns, strict=True):
        assert least == least_too
        angle = np.radians(least)

        def turned(axis, point, angle=angle):
            return _rotate(np.append(np.cos(angle / 2), np.sin(angle / 2) * np.array(axis)), point)

        assert np.allclose(turned(mirrored, flip * point), flip * turned(axis, point))


def test_quaternions_rotate_as_their_product():
    rng = np.random.default_rng(3)
    p, q = rng.standard_normal((2, 4))
    p, q = p / np.linalg.norm(p), q / np.linalg.norm(q)
    x = rng.standard_normal(3)
    assert np.allclose(_rotate(_product(p, q), x), _rotate(p, _rotate(q, x)))
    assert np.allclose(
        _rotate(np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)]), np.array([1.0, 0, 0])), [0, 1, 0]
    )


def test_tidy_keeps_one_fan_per_vertex_and_the_largest_component():
    square = [[0, 1, 2], [0, 2, 3]]
    pinched = [[0, 4, 5]]  # touches the square in vertex 0 only
    elsewhere = [[6, 7, 8]]
    keep, faces = tidy(9, np.array(square + pinched + elsewhere))
    assert keep.tolist() == [0, 1, 2, 3]
    assert faces.tolist() == square


def test_bridge_uses_each_rim_edge_once_in_its_direction():
    def circle(count, height):
        angle = 2 * np.pi * np.arange(count) / count
        return np.column_stack([np.cos(angle), np.sin(angle), np.full(count, height)])

    points = np.concatenate([circle(5, 0.0), circle(8, 1.0)])
    one, two = list(range(5)), list(range(12, 4, -1))
    band = _bridge(points, one, two)
    edges = [(int(i), int(j)) for face in band for i, j in zip(face, np.roll(face, -1), strict=True)]
    assert len(band) == 13
    assert len(set(edges)) == len(edges)
    for rim in (one, two):
        assert all((i, j) in edges and (j, i) not in edges for i, j in pairwise([*rim, rim[0]]))
