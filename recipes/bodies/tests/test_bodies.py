"""Bodies: poses are what their angles say, the ground truth is true. Skipped where anny is missing."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
from scipy.spatial import cKDTree

from fieldconv.geometry import Mesh
from fieldconv.geometry.damage import no_damage
from recipes.bodies import (
    FINE_PARTS,
    PART_OF_FINE,
    PARTS,
    BodySample,
    BodyTemplate,
    make_body,
    template,
)
from recipes.bodies.contact import depth
from recipes.bodies.finish import damage_body, draw_vertices, place_randomly
from recipes.bodies.model import body_model
from recipes.bodies.poses import ARM_LIMITS, LEG_LIMITS, draw_pose
from recipes.bodies.rig import Arm, Leg, Pose, chain, rotation, skin_points, turns_of
from tests.shapes import icosphere

needs_anny = pytest.mark.skipif(
    importlib.util.find_spec("anny") is None, reason="anny makes the bodies: pip install --group bodies"
)
SPHERE = Mesh(*icosphere(3))


def test_says_in_one_line_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anny", None)
    with pytest.raises(ImportError, match=r"^[^\n]*pip install --group bodies$"):
        body_model.__wrapped__()


def test_every_finer_part_belongs_to_a_part() -> None:
    assert len(FINE_PARTS) == len(PART_OF_FINE) == 32
    assert set(PART_OF_FINE) == set(range(len(PARTS)))
    for name, part in zip(FINE_PARTS, PART_OF_FINE, strict=True):
        other = name.replace("left", "right")
        assert part == PART_OF_FINE[FINE_PARTS.index(other)]


def test_poses_stay_within_the_limits_of_the_joints() -> None:
    for seed in range(200):
        pose = draw_pose(np.random.default_rng(seed))
        for limb, limits in (
            (pose.left_arm, ARM_LIMITS),
            (pose.right_arm, ARM_LIMITS),
            (pose.left_leg, LEG_LIMITS),
            (pose.right_leg, LEG_LIMITS),
        ):
            for joint, (least, most) in limits.items():
                assert least <= getattr(limb, joint) <= most


def test_placing_is_a_similarity_that_does_not_mirror() -> None:
    points = np.random.default_rng(0).normal(size=(4, 3))
    for seed in range(20):
        moved = place_randomly(points, np.random.default_rng(seed))
        before, after = points[1:] - points[0], moved[1:] - moved[0]
        scale = np.cbrt(np.linalg.det(after) / np.linalg.det(before))
        assert scale > 0
        assert np.allclose(after @ after.T, scale**2 * before @ before.T, rtol=1e-6)


def test_numbers_of_vertices_are_in_range_about_the_usual() -> None:
    drawn = [draw_vertices(np.random.default_rng(seed)) for seed in range(500)]
    assert 700 <= min(drawn) < 1200
    assert 20_000 < max(drawn) <= 50_000
    assert 4000 < np.median(drawn) < 6000


def test_spoiling_knows_where_vertices_came_from() -> None:
    for seed in range(8):
        result = damage_body(no_damage(SPHERE), np.random.default_rng(seed), 2.0)
        assert np.allclose(result.origin.sum(axis=1), 1)
        away = np.linalg.norm(result.carry(SPHERE.vertices) - result.mesh.vertices, axis=1)
        assert np.median(away) < 0.05


def test_files_give_back_what_was_saved(tmp_path) -> None:
    count = len(SPHERE.vertices)
    rng = np.random.default_rng(0)
    shape = BodyTemplate(SPHERE, rng.integers(0, 8, count), rng.integers(0, 32, count))
    body = BodySample(
        SPHERE,
        rng.integers(0, 8, count),
        rng.integers(0, 32, count),
        rng.integers(0, len(SPHERE.faces), count),
        rng.dirichlet([1, 1, 1], count),
    )
    body.save(tmp_path / "body-7.npz")
    shape.save(tmp_path / "template.npz")
    one, two = BodySample.load(tmp_path / "body-7.npz"), BodyTemplate.load(tmp_path / "template.npz")
    assert one.mesh.name == "body-7"
    for name in ("labels", "fine", "triangle"):
        assert np.array_equal(getattr(one, name), getattr(body, name))
    assert np.array_equal(one.mesh.faces, SPHERE.faces)
    assert np.array_equal(two.fine, shape.fine)
    position = shape.positions(body)
    assert np.allclose(two.positions(one), position, atol=1e-6)
    # On the sphere's triangles, and nearest to the corner that is said to be nearest in weight.
    assert (np.linalg.norm(position, axis=1) <= 1 + 1e-9).all()
    away = np.linalg.norm(position - SPHERE.vertices[shape.nearest(body)], axis=1)
    assert away.max() < 0.2


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b))))


@needs_anny
def test_limbs_are_where_their_angles_say() -> None:
    model = body_model()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pose = draw_pose(rng)
        pose.bend = pose.lean = pose.turn = 0.0
        # The twist turns about bones that are not quite straight: two degrees are allowed.
        whole, shift = chain(model, model.joints, turns_of(model, model.joints, pose))
        at = {name: whole[b] @ model.joints[b] + shift[b] for b, name in enumerate(model.bones)}
        for letter, side, arm, leg in (
            ("L", 1, pose.left_arm, pose.left_leg),
            ("R", -1, pose.right_arm, pose.right_leg),
        ):
            upper = at[f"lowerarm01.{letter}"] - at[f"upperarm01.{letter}"]
            fore = at[f"wrist.{letter}"] - at[f"lowerarm01.{letter}"]
            assert _angle(upper, np.array([0, 0, -1])) == pytest.approx(abs(arm.lift), abs=2)
            assert _angle(upper, fore) == pytest.approx(arm.elbow, abs=2)
            if 30 < arm.lift < 150:
                assert np.degrees(np.arctan2(-upper[1], side * upper[0])) == pytest.approx(arm.toward, abs=3)
            thigh = at[f"lowerleg01.{letter}"] - at[f"upperleg01.{letter}"]
            assert _angle(thigh, np.array([0, 0, -1])) == pytest.approx(abs(leg.lift), abs=2)


@needs_anny
def test_palms_and_knees_bend_the_right_way() -> None:
    model = body_model()
    hanging = Pose(
        Arm(lift=0, elbow=90, palm=0), Arm(lift=0, elbow=90, palm=0), Leg(knee=90), Leg(lift=90, toward=90)
    )
    whole, shift = chain(model, model.joints, turns_of(model, model.joints, hanging))
    at = {name: whole[b] @ model.joints[b] + shift[b] for b, name in enumerate(model.bones)}
    for letter, inward in (("L", -1), ("R", 1)):
        fore = at[f"wrist.{letter}"] - at[f"lowerarm01.{letter}"]
        assert fore[1] < -0.9 * np.linalg.norm(fore)  # forearms point to the front, …
        thumb = at[f"finger1-3.{letter}"] - at[f"finger5-1.{letter}"]
        assert thumb[2] > 0  # … thumbs up, …
        curl = at[f"finger3-3.{letter}"] - at[f"metacarpal3.{letter}"]
        assert inward * curl[0] > 0  # … fingers curl inward
    assert at["foot.L"][1] > at["lowerleg01.L"][1] + 0.1  # a bent knee takes the foot backward
    assert at["lowerleg01.R"][1] < at["upperleg01.R"][1] - 0.1


@needs_anny
def test_a_turn_of_the_root_turns_the_whole_skin() -> None:
    model = body_model()
    turns = np.tile(np.eye(3), (len(model.bones), 1, 1))
    turns[0] = rotation(np.array([1.0, 2.0, 3.0]), 100)
    expected = (model.neutral - model.joints[0]) @ turns[0].T + model.joints[0]
    for smooth in (0.0, 0.4, 1.0):
        assert np.allclose(skin_points(model, model.neutral, model.joints, turns, smooth=smooth), expected)


@needs_anny
def test_template_is_a_closed_body_whose_sides_mirror_each_other() -> None:
    shape = template()
    report = shape.mesh.check()
    assert report.problems == []
    assert report.components == 1
    assert report.boundary_loops == 0
    assert len(shape.mesh.vertices) - len(shape.mesh.faces) // 2 == 2
    assert set(shape.fine) == set(range(32))
    away, other = cKDTree(shape.mesh.vertices).query(shape.mesh.vertices * [-1, 1, 1])
    swap = {"left": "right", "right": "left"}
    mirrored = np.array(
        [FINE_PARTS.index(" ".join(swap.get(word, word) for word in name.split())) for name in FINE_PARTS]
    )
    near = away < 0.002
    assert near.mean() > 0.95
    assert (mirrored[shape.fine[near]] == shape.fine[other[near]]).mean() > 0.97


@needs_anny
def test_limbs_in_the_trunk_are_noticed() -> None:
    model = body_model()
    free, through = (
        Pose(Arm(lift=60), Arm(lift=60), Leg(lift=10, toward=0), Leg(lift=10, toward=0)),
        Pose(
            Arm(lift=10, toward=0, elbow=90, twist=75),
            Arm(lift=60),
            Leg(lift=10, toward=0),
            Leg(lift=10, toward=0),
        ),
    )
    deep = [
        depth(
            skin_points(model, model.neutral, model.joints, turns_of(model, model.joints, pose)),
            model.faces,
            template().fine,
        )
        for pose in (free, through)
    ]
    assert deep[0] < 0.01
    assert deep[1] > 0.03


@needs_anny
@pytest.mark.parametrize("seed", range(3))
def test_bodies_are_sound_and_lie_on_the_template(seed: int) -> None:
    shape, body = template(), make_body(seed, vertices=1500, damage=0.0, clothes=0.0)
    again = make_body(seed, vertices=1500, damage=0.0, clothes=0.0)
    assert np.array_equal(body.mesh.vertices, again.mesh.vertices)
    assert len(body.mesh.vertices) == 1500
    report = body.mesh.check()
    assert report.boundary_loops == 0
    assert report.components == 1
    assert not len(report.non_manifold_edges)
    assert np.array_equal(PART_OF_FINE[body.fine], body.labels)
    # Neighbours are neighbours on the template, and all of the template is covered.
    position = shape.positions(body)
    a, b = body.mesh.faces[:, :2].T
    assert np.quantile(np.linalg.norm(position[a] - position[b], axis=1), 0.99) < 0.15
    share = np.bincount(body.labels, body.mesh.vertex_areas, 8) / body.mesh.area
    assert (share > 0.01).all()
    assert (body.labels == shape.labels[shape.nearest(body)]).mean() > 0.95
    # Left is left: the frame of trunk and shoulders is right-handed, as on the template.
    middle = {
        name: body.mesh.vertices[body.fine == number].mean(axis=0) for number, name in enumerate(FINE_PARTS)
    }
    up, front = middle["neck"] - middle["pelvis"], middle["chest"] - middle["upper back"]
    left = middle["left upper arm"] - middle["right upper arm"]
    assert np.linalg.det([left, -front, up]) > 0


@needs_anny
def test_damaged_bodies_have_truth_for_every_vertex() -> None:
    for seed in (6, 31, 121):
        body = make_body(seed, vertices=1200)
        count = len(body.mesh.vertices)
        assert body.weights.shape == (count, 3)
        assert np.allclose(body.weights.sum(axis=1), 1)
        assert body.weights.min() >= -1e-9
        assert body.triangle.max() < len(template().mesh.faces)
    with pytest.raises(ValueError, match="700 to 50000"):
        make_body(0, vertices=100)
