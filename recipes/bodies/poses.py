"""Random poses: those of legs and trunk, of arms and of hands are drawn separately and combined.

A stance or gesture is a range for each joint; what is not named stays as `rig` has it. Angles are in degrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np

from recipes.bodies.rig import Arm, Hand, Leg, Pose

Rng = np.random.Generator
Limb = TypeVar("Limb", Arm, Leg)
Ranges = Mapping[str, tuple[float, float]]

# Limits of the joints.
ARM_LIMITS: Ranges = {
    "lift": (-5, 175), "toward": (-80, 135), "twist": (-90, 80), "elbow": (0, 145), "palm": (-80, 100),
    "wrist": (-60, 60), "sway": (-25, 20), "shrug": (-5, 25),
}  # fmt: skip
LEG_LIMITS: Ranges = {
    "lift": (-5, 125), "toward": (-100, 130), "twist": (-85, 40), "knee": (0, 145), "ankle": (-25, 50),
    "toes": (-20, 40),
}  # fmt: skip
FORWARD, BACKWARD, ASIDE = (90, 90), (-90, -90), (0, 0)  # for "toward"


class Stance(NamedTuple):
    """A pose of legs and trunk.

    Attributes
    ----------
    chance : how often, relative to others.
    one, other : joints of the two legs; without the other both are alike.
    trunk : bend, lean, turn.
    scale : range of a factor on what both legs do.
    swing : whether arms may swing against the legs.
    """

    chance: float
    one: Ranges
    other: Ranges | None = None
    trunk: Ranges = MappingProxyType({})
    scale: tuple[float, float] = (1, 1)
    swing: bool = False


STANCES = {
    "stand": Stance(20, {"lift": (0, 12), "toward": ASIDE, "twist": (-15, 0)}, trunk={"bend": (-8, 8)}),
    "stand wide": Stance(12, {"lift": (8, 32), "toward": (-10, 25), "twist": (-20, 0), "knee": (0, 20)}),
    "one leg eased": Stance(
        6,
        {"lift": (0, 4), "toward": ASIDE},
        {"lift": (8, 25), "toward": (40, 80), "knee": (15, 40), "twist": (-20, -5)},
        {"lean": (-15, 15), "turn": (-15, 15)},
    ),
    "legs crossed": Stance(
        2, {"lift": (3, 7), "toward": BACKWARD}, {"lift": (10, 20), "toward": (115, 130), "knee": (0, 15)}
    ),
    "walk": Stance(
        12,
        {"lift": (15, 35), "toward": FORWARD, "knee": (0, 50)},
        {"lift": (10, 28), "toward": BACKWARD, "knee": (5, 50), "ankle": (10, 25)},
        {"bend": (0, 8), "turn": (-12, 12)},
        scale=(0.4, 1.0),
        swing=True,
    ),
    "run": Stance(
        6,
        {"lift": (25, 55), "toward": FORWARD, "knee": (30, 100)},
        {"lift": (15, 40), "toward": BACKWARD, "knee": (35, 100), "ankle": (15, 40)},
        {"bend": (5, 25), "turn": (-12, 12)},
        swing=True,
    ),
    "lunge": Stance(
        5,
        {"lift": (50, 95), "toward": (60, 95), "knee": (60, 105)},
        {"lift": (10, 25), "toward": BACKWARD, "knee": (5, 70), "ankle": (-20, -20), "toes": (10, 30)},
        {"bend": (-5, 25), "turn": (-20, 20)},
    ),
    "sit": Stance(
        7,
        {"lift": (80, 95), "toward": (65, 95), "knee": (70, 110)},
        {"lift": (80, 95), "toward": (65, 95), "knee": (60, 115)},
        {"bend": (-10, 30)},
    ),
    "sit, legs crossed": Stance(
        2,
        {"lift": (85, 92), "toward": FORWARD, "knee": (80, 100)},
        {"lift": (103, 112), "toward": (108, 118), "twist": (-20, 0), "knee": (60, 100), "ankle": (0, 30)},
        {"bend": (-10, 20)},
    ),
    "sit on the floor": Stance(
        3,
        {"lift": (80, 105), "toward": (60, 90), "knee": (0, 40), "ankle": (0, 20)},
        {"lift": (80, 120), "toward": (60, 90), "knee": (0, 110), "ankle": (0, 20)},
        {"bend": (-10, 40)},
    ),
    "tailor's seat": Stance(
        3,
        {"lift": (85, 100), "toward": (30, 50), "twist": (-85, -65), "knee": (115, 140), "ankle": (10, 30)},
        {"lift": (75, 90), "toward": (30, 50), "twist": (-85, -65), "knee": (105, 130), "ankle": (10, 30)},
        {"bend": (-5, 30)},
    ),
    "crouch": Stance(
        6,
        {"lift": (120, 120), "toward": (50, 85), "twist": (-15, -5), "knee": (140, 140), "ankle": (-22, -15)},
        trunk={"bend": (5, 50)},
        scale=(0.45, 1.0),
    ),
    "kneel": Stance(
        2,
        {"lift": (0, 60), "toward": FORWARD, "knee": (95, 135), "ankle": (20, 45)},
        trunk={"bend": (-5, 20)},
    ),
    "kneel on one knee": Stance(
        2,
        {"lift": (80, 100), "toward": (70, 90), "knee": (80, 105)},
        {"lift": (0, 15), "toward": FORWARD, "knee": (85, 105), "ankle": (0, 45), "toes": (0, 30)},
        {"bend": (-5, 30)},
    ),
    "kick": Stance(
        3,
        {"lift": (0, 6), "toward": ASIDE, "knee": (0, 15)},
        {"lift": (35, 110), "toward": (-10, 95), "knee": (0, 25), "twist": (-35, 10), "ankle": (-10, 40)},
        {"lean": (-15, 15), "bend": (-15, 15)},
    ),
    "knee up": Stance(
        3,
        {"lift": (0, 6), "toward": ASIDE, "knee": (0, 15)},
        {"lift": (35, 110), "toward": (-10, 95), "knee": (50, 130), "twist": (-35, 10), "ankle": (-10, 40)},
        {"lean": (-15, 15)},
    ),
    "leg behind": Stance(
        2,
        {"lift": (0, 6), "toward": ASIDE, "knee": (0, 15)},
        {"lift": (20, 60), "toward": BACKWARD, "knee": (0, 110), "ankle": (0, 40)},
        {"bend": (0, 60)},
    ),
    "bend down": Stance(
        5,
        {"lift": (20, 75), "toward": FORWARD, "knee": (0, 30)},
        trunk={"bend": (30, 75), "lean": (-20, 20), "turn": (-25, 25)},
    ),
    "twist": Stance(
        5,
        {"lift": (8, 32), "toward": (-10, 25), "twist": (-20, 0), "knee": (0, 20)},
        trunk={"bend": (-20, 30), "lean": (-30, 30), "turn": (-50, 50)},
    ),
    "anything": Stance(
        5,
        {**LEG_LIMITS, "lift": (0, 90), "toward": (-30, 95), "twist": (-40, 30)},
        {**LEG_LIMITS, "lift": (0, 90), "toward": (-30, 95), "twist": (-40, 30)},
        {"bend": (-20, 50), "lean": (-25, 25), "turn": (-35, 35)},
    ),
}


class Gesture(NamedTuple):
    """A pose of an arm; ``alike`` if mostly both arms have it."""

    chance: float
    joints: Ranges
    alike: bool = False


GESTURES = {
    "hang": Gesture(17, {"lift": (4, 18), "toward": (-30, 60), "elbow": (0, 30), "palm": (-10, 60)}, True),
    "A": Gesture(17, {"lift": (20, 60), "toward": (-15, 20), "elbow": (0, 25), "palm": (-20, 60)}, True),
    "T": Gesture(11, {"lift": (80, 97), "toward": (-8, 12), "elbow": (0, 12), "palm": (-30, 50)}, True),
    "up": Gesture(9, {"lift": (125, 175), "toward": (-5, 60), "elbow": (0, 80), "palm": (-40, 60)}, True),
    "forward": Gesture(
        8, {"lift": (50, 110), "toward": (60, 105), "elbow": (0, 50), "palm": (-60, 90)}, True
    ),
    "on the hip": Gesture(
        5,
        {"lift": (38, 50), "toward": (-35, -10), "twist": (60, 75), "elbow": (85, 105), "palm": (20, 60)},
        True,
    ),
    "folded": Gesture(
        3, {"lift": (25, 40), "toward": (60, 90), "twist": (45, 65), "elbow": (85, 115), "palm": (0, 40)}
    ),
    "to the head": Gesture(
        5, {"lift": (60, 110), "toward": (10, 85), "twist": (-60, -5), "elbow": (115, 142), "palm": (-60, 40)}
    ),
    "guard": Gesture(
        7, {"lift": (15, 55), "toward": (30, 90), "twist": (-20, 35), "elbow": (80, 140), "palm": (-40, 60)}
    ),
    "flexed": Gesture(
        5,
        {"lift": (75, 105), "toward": (-10, 25), "twist": (-90, -60), "elbow": (60, 130), "palm": (-60, 40)},
    ),
    "behind": Gesture(
        3, {"lift": (20, 45), "toward": (-80, -50), "twist": (0, 60), "elbow": (0, 80), "palm": (0, 80)}
    ),
    "reach": Gesture(
        6, {"lift": (10, 60), "toward": (60, 110), "twist": (-20, 40), "elbow": (20, 90), "palm": (-60, 60)}
    ),
    "anything": Gesture(9, {**ARM_LIMITS, "lift": (0, 150), "shrug": (0, 10)}),
}


class Grip(NamedTuple):
    """A pose of a hand: bend of all fingers, and of each; spread; thumb."""

    chance: float
    bend: tuple[float, float]
    each: tuple[float, float]
    spread: tuple[float, float]
    thumb: tuple[float, float]


GRIPS = {
    "open": Grip(20, (-10, 3), (-3, 3), (-3, 8), (-10, 15)),
    "relaxed": Grip(40, (5, 22), (0, 15), (-3, 2), (0, 20)),
    "fist": Grip(15, (55, 75), (-4, 4), (-2, -2), (20, 42)),
    "spread": Grip(12, (-15, 0), (-3, 3), (8, 18), (-20, -5)),
    "anything": Grip(13, (20, 40), (-30, 30), (-3, 10), (-15, 40)),
}


def draw_pose(rng: Rng) -> Pose:
    """Return a random pose; limbs may still run through each other."""
    stance = STANCES[_draw_name(rng, {name: stance.chance for name, stance in STANCES.items()})]
    trunk, factor = _draw_angles(rng, stance.trunk), rng.uniform(*stance.scale)
    one = _leg(rng, stance.one, factor)
    legs = [one, replace(one) if stance.other is None else _leg(rng, stance.other, factor)]
    if rng.random() < 0.5:
        legs.reverse()
    arms = _swing_arms(rng, legs) if stance.swing and rng.random() < 0.7 else _draw_gestures(rng)
    grips = {name: grip.chance for name, grip in GRIPS.items()}
    grip = _draw_name(rng, grips)
    for arm in arms:
        arm.hand = _hand(rng, GRIPS[grip if rng.random() < 0.85 else _draw_name(rng, grips)])
    nods, looks = rng.normal(0, [12, 7, 20]), (45, 30, 65)
    nod, tilt, look = (float(np.clip(angle, -most, most)) for angle, most in zip(nods, looks, strict=True))
    return Pose(
        _jitter(rng, arms[0], ARM_LIMITS, 5),
        _jitter(rng, arms[1], ARM_LIMITS, 5),
        _jitter(rng, legs[0], LEG_LIMITS, 3),
        _jitter(rng, legs[1], LEG_LIMITS, 3),
        bend=trunk.get("bend", 0) + 4 * rng.standard_normal(),
        lean=trunk.get("lean", 0) + 4 * rng.standard_normal(),
        turn=trunk.get("turn", 0) + 7 * rng.standard_normal(),
        nod=nod,
        tilt=tilt,
        look=look,
    )


def move_arms_out(pose: Pose, share: float) -> Pose:
    """Return the pose with arms moved by that share towards arms half raised aside."""
    aside = Arm(lift=40, toward=10, elbow=15)

    def eased(arm: Arm) -> Arm:
        mixed = {name: (1 - share) * getattr(arm, name) + share * getattr(aside, name) for name in ARM_LIMITS}
        return replace(aside, hand=arm.hand, **mixed)

    return replace(pose, left_arm=eased(pose.left_arm), right_arm=eased(pose.right_arm))


def _draw_name(rng: Rng, chances: Mapping[str, float]) -> str:
    share = np.array(list(chances.values()), np.float64)
    return list(chances)[rng.choice(len(share), p=share / share.sum())]


def _draw_angles(rng: Rng, ranges: Ranges) -> dict[str, float]:
    return {name: float(rng.uniform(*ends)) for name, ends in ranges.items()}


def _leg(rng: Rng, joints: Ranges, factor: float) -> Leg:
    angles = _draw_angles(rng, joints)
    return Leg(**{name: angle if name == "toward" else factor * angle for name, angle in angles.items()})


def _draw_gestures(rng: Rng) -> list[Arm]:
    """Return two arms, mostly with one gesture; which is left and which right is random."""
    chances = {name: gesture.chance for name, gesture in GESTURES.items()}
    first = GESTURES[_draw_name(rng, chances)]
    second = first if rng.random() < 0.72 else GESTURES[_draw_name(rng, chances)]
    arms = [_arm(rng, first.joints), _arm(rng, second.joints)]
    if first is second and first.alike and rng.random() < 0.8:
        arms[1] = replace(arms[0])
    return arms


def _arm(rng: Rng, joints: Ranges) -> Arm:
    arm = Arm()
    for name, angle in _draw_angles(rng, joints).items():
        setattr(arm, name, angle)
    return arm


def _swing_arms(rng: Rng, legs: Sequence[Leg]) -> list[Arm]:
    """Return arms that swing against the legs."""
    elbow, wide, palm = rng.uniform(5, 100), rng.uniform(0.6, 1.3), rng.uniform(-10, 40)
    return [
        Arm(lift=8 + wide * abs(leg.lift), toward=-60 if leg.toward > 0 else 80, elbow=elbow, palm=palm)
        for leg in legs
    ]


def _hand(rng: Rng, grip: Grip) -> Hand:
    bend = rng.uniform(*grip.bend) + rng.uniform(*grip.each, 4)
    return Hand(bend, rng.uniform(*grip.spread), rng.uniform(*grip.thumb))


def _jitter(rng: Rng, limb: Limb, limits: Ranges, spread: float) -> Limb:
    """Return the limb with small random changes of every joint, within its limits."""
    for name, ends in limits.items():
        setattr(limb, name, float(np.clip(getattr(limb, name) + spread * rng.standard_normal(), *ends)))
    return limb
