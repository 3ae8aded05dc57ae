"""Joints that turn: from angles as an anatomist names them to a posed skin.

Angles are in degrees. Left and right are alike: positive means the same movement on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from fieldconv.datasets.creatures.pose import blend_motions
from recipes.bodies.model import BodyModel, Floats, Ints

UP, FRONT, LEFT = np.array([0.0, 0, 1]), np.array([0.0, -1, 0]), np.array([1.0, 0, 0])
SIDES = {"L": 1.0, "R": -1.0}
FINGERS = ("finger2", "finger3", "finger4", "finger5")


@dataclass
class Hand:
    """``bend`` of each of four fingers at each joint, ``spread`` between them, ``thumb`` across the palm."""

    bend: Floats = field(default_factory=lambda: np.full(4, 20.0))
    spread: float = 0.0
    thumb: float = 10.0


@dataclass
class Arm:
    """The pose of an arm.

    Attributes
    ----------
    lift : of the upper arm: 0 hangs, 90 is level, 180 points up.
    toward : the direction in which it is lifted: 0 sideways, 90 to the front, −60 backward, 130 across.
    twist : of the upper arm about itself, inward.
    elbow : 0 is straight.
    palm : turn of the forearm: 0 has the palm inward as the arm hangs, 90 has it look backward.
    wrist, sway : bend of the hand towards the palm, and towards the thumb.
    shrug : lift of the shoulder.
    """

    lift: float = 10.0
    toward: float = 0.0
    twist: float = 0.0
    elbow: float = 10.0
    palm: float = 30.0
    wrist: float = 0.0
    sway: float = 0.0
    shrug: float = 0.0
    hand: Hand = field(default_factory=Hand)


@dataclass
class Leg:
    """The pose of a leg.

    Attributes
    ----------
    lift, toward : of the thigh, as for `Arm`.
    twist : of the thigh about itself, inward.
    knee : 0 is straight.
    ankle : the foot's tip downward.
    toes : toes upward.
    """

    lift: float = 0.0
    toward: float = 90.0
    twist: float = 0.0
    knee: float = 0.0
    ankle: float = 0.0
    toes: float = 0.0


@dataclass
class Pose:
    """All joints: bend to the front, lean to the left, turn to the left, of trunk and of neck with head."""

    left_arm: Arm = field(default_factory=Arm)
    right_arm: Arm = field(default_factory=Arm)
    left_leg: Leg = field(default_factory=Leg)
    right_leg: Leg = field(default_factory=Leg)
    bend: float = 0.0
    lean: float = 0.0
    turn: float = 0.0
    nod: float = 0.0
    tilt: float = 0.0
    look: float = 0.0


def rotation(axis: Floats, degrees: float) -> Floats:
    """Return the matrix that turns about an axis, counter-clockwise.

    Examples
    --------
    >>> rotation(np.array([0, 0, 2.0]), 90).round(6).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    x, y, z = axis / np.linalg.norm(axis)
    angle = np.radians(degrees)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def _swing(start: Floats, end: Floats) -> Floats:
    """Return the shortest rotation of one unit vector to another."""
    axis = np.cross(start, end)
    sine, cosine = np.linalg.norm(axis), start @ end
    if sine < 1e-9:
        return np.eye(3) if cosine > 0 else rotation(LEFT, 180)
    return rotation(axis, float(np.degrees(np.arctan2(sine, cosine))))


def _frame(along: Floats, hinge: Floats) -> Floats:
    """Return orthonormal columns: along, the hinge made perpendicular, and the third."""
    along = along / np.linalg.norm(along)
    hinge = hinge - (hinge @ along) * along
    hinge = hinge / np.linalg.norm(hinge)
    return np.stack([along, hinge, np.cross(along, hinge)], axis=1)


def _direction(lift: float, toward: float, side: float) -> Floats:
    a, b = np.radians([lift, toward])
    level = np.cos(b) * side * LEFT + np.sin(b) * FRONT
    return np.asarray(np.sin(a) * level - np.cos(a) * UP)


def _aim(along: Floats, hinge: Floats, hinge_hanging: Floats, target: Floats, twist: float) -> Floats:
    """Return the rotation of a limb at rest, with its hinge, to a direction, by a swing from hanging."""
    hanging = _frame(-UP, hinge_hanging)
    return rotation(target, twist) @ _swing(-UP, target) @ hanging @ _frame(along, hinge).T


def turns_of(model: BodyModel, joints: Floats, pose: Pose) -> Floats:
    """Return the turn (B, 3, 3) of every bone against its parent, in axes of the body at rest."""
    at = {name: joints[number] for number, name in enumerate(model.bones)}
    turns = np.tile(np.eye(3), (len(model.bones), 1, 1))

    def set_turn(bone: str, turn: Floats) -> None:
        turns[model.bones.index(bone)] = turn

    spine = {"spine05": 0.15, "spine04": 0.25, "spine03": 0.25, "spine02": 0.2, "spine01": 0.15}
    for bone, share in spine.items():
        set_turn(bone, _trunk(share * pose.bend, share * pose.lean, share * pose.turn))
    for bone, share in {"neck01": 0.25, "neck02": 0.25, "neck03": 0.25, "head": 0.25}.items():
        set_turn(bone, _trunk(share * pose.nod, share * pose.tilt, share * pose.look))

    for letter, side in SIDES.items():
        arm = pose.left_arm if side > 0 else pose.right_arm
        upper, fore = (
            at[f"{end}.{letter}"] - at[f"{start}.{letter}"]
            for start, end in (("upperarm01", "lowerarm01"), ("lowerarm01", "wrist"))
        )
        hinge = np.cross(upper, fore)
        bent = np.degrees(np.arctan2(np.linalg.norm(hinge), upper @ fore))
        raised = max(0.0, arm.lift - 60) / 3 + arm.shrug
        clavicle = rotation(side * FRONT, 0.6 * raised)
        shoulder = rotation(side * FRONT, 0.4 * raised)
        set_turn(f"clavicle.{letter}", clavicle)
        set_turn(f"shoulder01.{letter}", shoulder)
        target = _direction(arm.lift, arm.toward, side)
        whole = _aim(upper, hinge, -LEFT, target, 0.0)
        # The twist is shared along the upper arm, so that the skin is wrung and not torn.
        set_turn(
            f"upperarm01.{letter}", (clavicle @ shoulder).T @ rotation(target, 0.4 * side * arm.twist) @ whole
        )
        set_turn(f"upperarm02.{letter}", rotation(upper, 0.6 * side * arm.twist))
        set_turn(f"lowerarm01.{letter}", rotation(hinge, arm.elbow - bent))
        across = at[f"finger2-1.{letter}"] - at[f"finger5-1.{letter}"]
        out = np.cross(fore, across) * side  # of the palm
        # The elbow's hinge points sideways: from it one sees how far the palm is turned at rest.
        flat = _frame(fore, side * hinge)
        palm = float(np.degrees(np.arctan2(out @ flat[:, 2], out @ flat[:, 1])))
        roll = (side * arm.palm - palm + 180) % 360 - 180
        set_turn(f"lowerarm02.{letter}", rotation(fore, 0.55 * roll))
        wrist = rotation(across, -side * arm.wrist) @ rotation(out, side * arm.sway)
        set_turn(f"wrist.{letter}", rotation(fore, 0.45 * roll) @ wrist)
        for number, finger in enumerate(FINGERS):
            along = at[f"{finger}-2.{letter}"] - at[f"{finger}-1.{letter}"]
            axis = np.cross(along, out)
            fan = rotation(out, side * arm.hand.spread * (1 - 2 * number / 3))
            set_turn(f"{finger}-1.{letter}", fan @ rotation(axis, float(arm.hand.bend[number])))
            for joint in (2, 3):
                set_turn(f"{finger}-{joint}.{letter}", rotation(axis, float(arm.hand.bend[number])))
        set_turn(f"finger1-1.{letter}", rotation(side * fore, 0.5 * arm.hand.thumb))
        for joint in (2, 3):
            set_turn(f"finger1-{joint}.{letter}", rotation(-side * out, arm.hand.thumb))

        leg = pose.left_leg if side > 0 else pose.right_leg
        thigh = at[f"lowerleg01.{letter}"] - at[f"upperleg01.{letter}"]
        target = _direction(leg.lift, leg.toward, side)
        whole = _aim(thigh, LEFT, LEFT, target, 0.0)
        set_turn(f"upperleg01.{letter}", rotation(target, 0.5 * side * leg.twist) @ whole)
        set_turn(f"upperleg02.{letter}", rotation(thigh, 0.5 * side * leg.twist))
        set_turn(f"lowerleg01.{letter}", rotation(LEFT, leg.knee))
        set_turn(f"foot.{letter}", rotation(LEFT, leg.ankle))
        for toe in range(1, 6):
            set_turn(f"toe{toe}-1.{letter}", rotation(LEFT, -leg.toes))
    return turns


def _trunk(bend: float, lean: float, turn: float) -> Floats:
    return rotation(UP, turn) @ rotation(-FRONT, lean) @ rotation(LEFT, bend)


def chain(model: BodyModel, joints: Floats, turns: Floats) -> tuple[Floats, Floats]:
    """Return the motion x ↦ R x + t of every bone: (B, 3, 3) and (B, 3)."""
    whole, shift = turns.copy(), np.zeros_like(joints)
    for b, parent in enumerate(model.parent):
        if parent < 0:
            shift[b] = joints[b] - whole[b] @ joints[b]
            continue
        whole[b] = whole[parent] @ turns[b]
        shift[b] = whole[parent] @ joints[b] + shift[parent] - whole[b] @ joints[b]
    return whole, shift


def skin_points(
    model: BodyModel,
    points: Floats,
    joints: Floats,
    turns: Floats,
    *,
    smooth: float = 0.0,
    some: Ints | None = None,
) -> Floats:
    """Return the skin moved with the bones.

    Parameters
    ----------
    model : BodyModel
    points, joints : (V, 3), (B, 3) float64
        Skin and bone heads at rest, as `BodyModel.build` gives.
    turns : (B, 3, 3) float64
        As `turns_of` gives.
    smooth : float
        0 blends matrices, which thins joints that bend far; 1 dual quaternions, which makes them bulge.
    some : (n,) int64, optional
        Only these vertices.
    """
    weights = model.weights
    if some is not None:
        points, weights = points[some], weights[some]
    whole, shift = chain(model, joints, turns)
    blended = weights @ np.concatenate([whole.reshape(-1, 9), shift], axis=1)
    moved = (blended[:, :9].reshape(-1, 3, 3) @ points[:, :, None])[:, :, 0] + blended[:, 9:]
    if smooth:
        quaternions = np.roll(Rotation.from_matrix(whole).as_quat(), 1, axis=1)
        for b, parent in enumerate(model.parent):
            if parent >= 0 and quaternions[b] @ quaternions[parent] < 0:
                quaternions[b] *= -1
        moved = (1 - smooth) * moved + smooth * blend_motions(points, weights, quaternions, shift)
    return np.asarray(moved)
