"""Random poses: what legs and trunk do, what arms do, what hands do, drawn apart and put together.

Each stance and gesture is a plain rule with its spread. Angles are those of `rig`, in degrees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from .rig import Arm, Hand, Leg, Pose

Rng = np.random.Generator
Limb = TypeVar("Limb", Arm, Leg)

# Least and greatest angle of each joint.
ARM_LIMITS = {
    "lift": (-5, 175), "toward": (-60, 135), "twist": (-80, 80), "elbow": (0, 145), "palm": (-80, 100),
    "wrist": (-60, 60), "sway": (-25, 20), "shrug": (-5, 25),
}  # fmt: skip
LEG_LIMITS = {
    "lift": (-5, 125), "toward": (-100, 130), "twist": (-85, 40), "knee": (0, 145), "ankle": (-25, 50),
    "toes": (-20, 40),
}  # fmt: skip


def draw_pose(rng: Rng) -> Pose:
    """Return a random pose; limbs may still run through each other."""
    stance = _chosen(rng, STANCES)
    pose = stance(rng)
    if stance in (_walk, _run) and rng.random() < 0.7:
        arms = _swinging(rng, pose)
    elif rng.random() < 0.72:
        gesture = _chosen(rng, GESTURES)
        arms = gesture(rng), gesture(rng)
        if gesture in SYMMETRIC and rng.random() < 0.8:
            arms = arms[0], replace(arms[0])
    else:
        arms = _chosen(rng, GESTURES)(rng), _chosen(rng, GESTURES)(rng)
    if rng.random() < 0.5:
        arms = arms[1], arms[0]
    left, right = (_jittered(rng, arm, ARM_LIMITS, 5) for arm in arms)
    hand = _chosen(rng, HANDS)
    left.hand = hand(rng)
    right.hand = hand(rng) if rng.random() < 0.8 else _chosen(rng, HANDS)(rng)
    legs = (pose.left_leg, pose.right_leg) if rng.random() < 0.5 else (pose.right_leg, pose.left_leg)
    return replace(
        pose,
        left_arm=left,
        right_arm=right,
        left_leg=_jittered(rng, legs[0], LEG_LIMITS, 3),
        right_leg=_jittered(rng, legs[1], LEG_LIMITS, 3),
        bend=pose.bend + 4 * rng.standard_normal(),
        lean=pose.lean + 4 * rng.standard_normal(),
        turn=pose.turn + 7 * rng.standard_normal(),
        nod=float(np.clip(pose.nod + 12 * rng.standard_normal(), -45, 45)),
        tilt=float(np.clip(7 * rng.standard_normal(), -30, 30)),
        look=float(np.clip(20 * rng.standard_normal(), -65, 65)),
    )


def gentler(pose: Pose, share: float) -> Pose:
    """Return the pose with arms held farther from the trunk: nearer, by that share, to half-raised arms."""
    aside = Arm(lift=40, toward=10, elbow=15)

    def eased(arm: Arm) -> Arm:
        mixed = {
            name: (1 - share) * getattr(arm, name) + share * getattr(aside, name) for name in ARM_LIMITS
        }
        return Arm(**mixed, hand=arm.hand)

    return replace(pose, left_arm=eased(pose.left_arm), right_arm=eased(pose.right_arm))


def _chosen(rng: Rng, table: dict[Callable[..., object], float]) -> Callable[..., object]:
    names = list(table)
    share = np.array([table[name] for name in names])
    return names[rng.choice(len(names), p=share / share.sum())]


def _jittered(rng: Rng, limb: Limb, limits: dict[str, tuple[float, float]], spread: float) -> Limb:
    """The limb with a little chance in every joint, within its limits."""
    moved = {
        item.name: float(np.clip(getattr(limb, item.name) + spread * rng.standard_normal(), *limits[item.name]))
        for item in fields(limb)
        if item.name in limits
    }
    return replace(limb, **moved)


def _free(rng: Rng, kind: type[Limb], limits: dict[str, tuple[float, float]]) -> Limb:
    return kind(**{name: float(rng.uniform(*ends)) for name, ends in limits.items()})


# What legs and trunk do.


def _two(one: Leg, other: Leg | None = None, **trunk: float) -> Pose:
    return Pose(left_leg=one, right_leg=replace(one) if other is None else other, **trunk)


def _stand(rng: Rng) -> Pose:
    apart = abs(rng.normal(0, 6))
    return _two(Leg(lift=apart, toward=0, twist=-rng.uniform(0, 15)), bend=rng.normal(0, 5))


def _stand_wide(rng: Rng) -> Pose:
    apart = rng.uniform(8, 32)
    return _two(Leg(lift=apart, toward=rng.uniform(-10, 25), twist=-rng.uniform(0, 20), knee=rng.uniform(0, 20)))


def _contrapposto(rng: Rng) -> Pose:
    bent = Leg(lift=rng.uniform(8, 25), toward=rng.uniform(40, 80), knee=rng.uniform(15, 40), twist=-15)
    return _two(Leg(lift=2, toward=0), bent, lean=rng.normal(0, 10), turn=rng.normal(0, 10))


def _legs_crossed_standing(rng: Rng) -> Pose:
    front = Leg(lift=rng.uniform(10, 20), toward=rng.uniform(115, 130), twist=5, knee=rng.uniform(0, 15))
    return _two(Leg(lift=5, toward=-90), front)


def _step(rng: Rng, stride: float) -> Pose:
    front = Leg(lift=stride * rng.uniform(15, 35), toward=90, knee=stride * rng.uniform(0, 50))
    back = Leg(lift=stride * rng.uniform(10, 28), toward=-90, knee=stride * rng.uniform(5, 50), ankle=20 * stride)
    return _two(front, back, bend=rng.uniform(0, 8) * stride, turn=rng.normal(0, 8))


def _walk(rng: Rng) -> Pose:
    return _step(rng, rng.uniform(0.4, 1.0))


def _run(rng: Rng) -> Pose:
    pose = _step(rng, rng.uniform(1.0, 1.7))
    pose.left_leg.knee += 30
    pose.right_leg.knee += 25
    return replace(pose, bend=rng.uniform(5, 25))


def _lunge(rng: Rng) -> Pose:
    front = Leg(lift=rng.uniform(50, 95), toward=rng.uniform(60, 95), knee=rng.uniform(60, 105))
    back = Leg(lift=rng.uniform(10, 25), toward=-90, knee=rng.uniform(5, 70), ankle=-20, toes=25)
    return _two(front, back, bend=rng.uniform(-5, 25), turn=rng.normal(0, 12))


def _sit(rng: Rng) -> Pose:
    apart = rng.uniform(65, 95)
    one = Leg(lift=rng.uniform(80, 95), toward=apart, knee=rng.uniform(70, 110))
    other = replace(one, knee=one.knee + rng.normal(0, 12), toward=apart + rng.normal(0, 5))
    return _two(one, other, bend=rng.uniform(-10, 30))


def _sit_legs_crossed(rng: Rng) -> Pose:
    below = Leg(lift=88, toward=90, knee=rng.uniform(80, 100))
    above = Leg(lift=rng.uniform(103, 112), toward=rng.uniform(108, 118), twist=-rng.uniform(0, 20), knee=rng.uniform(60, 100), ankle=20)
    return _two(below, above, bend=rng.uniform(-10, 20))


def _sit_on_floor(rng: Rng) -> Pose:
    one = Leg(lift=rng.uniform(80, 105), toward=rng.uniform(60, 90), knee=rng.uniform(0, 40), ankle=10)
    other = replace(one, knee=rng.uniform(0, 110), lift=rng.uniform(80, 120))
    return _two(one, other, bend=rng.uniform(-10, 40))


def _cross_legged(rng: Rng) -> Pose:
    one = Leg(lift=rng.uniform(80, 100), toward=rng.uniform(30, 50), twist=-rng.uniform(65, 85), knee=rng.uniform(115, 140), ankle=20)
    other = replace(one, lift=one.lift - 12, knee=one.knee - 10)
    return _two(one, other, bend=rng.uniform(-5, 30))


def _crouch(rng: Rng) -> Pose:
    deep = rng.uniform(0.45, 1.0)
    one = Leg(lift=120 * deep, toward=rng.uniform(50, 85), twist=-10, knee=140 * deep, ankle=-20)
    return _two(one, bend=rng.uniform(10, 50) * deep)


def _kneel(rng: Rng) -> Pose:
    down = Leg(lift=rng.uniform(0, 15), toward=90, knee=rng.uniform(85, 105), ankle=rng.uniform(0, 45), toes=20)
    if rng.random() < 0.5:
        back = rng.uniform(0, 1)  # sitting on the heels
        return _two(replace(down, lift=10 + 75 * back, knee=90 + 50 * back, ankle=40), bend=rng.uniform(-5, 20))
    return _two(Leg(lift=rng.uniform(80, 100), toward=80, knee=rng.uniform(80, 105)), down, bend=rng.uniform(-5, 30))


def _on_one_leg(rng: Rng) -> Pose:
    stretched = rng.random() < 0.5
    up = Leg(
        lift=rng.uniform(35, 110),
        toward=rng.uniform(-10, 95),
        knee=rng.uniform(0, 25) if stretched else rng.uniform(50, 130),
        twist=rng.uniform(-35, 10),
        ankle=rng.uniform(-10, 40),
    )
    if rng.random() < 0.25:
        up = Leg(lift=rng.uniform(20, 60), toward=-90, knee=rng.uniform(0, 110), ankle=30)
        return _two(Leg(), up, bend=rng.uniform(0, 60))
    return _two(Leg(lift=3, toward=0, knee=rng.uniform(0, 15)), up, lean=rng.normal(0, 10))


def _bend_down(rng: Rng) -> Pose:
    one = Leg(lift=rng.uniform(20, 75), toward=90, knee=rng.uniform(0, 30))
    return _two(one, bend=rng.uniform(30, 75), lean=rng.normal(0, 12), turn=rng.normal(0, 15), nod=rng.uniform(-30, 20))


def _twist(rng: Rng) -> Pose:
    pose = _stand_wide(rng)
    return replace(pose, turn=rng.uniform(-50, 50), lean=rng.uniform(-30, 30), bend=rng.uniform(-20, 30))


def _any_legs(rng: Rng) -> Pose:
    one, other = (_free(rng, Leg, LEG_LIMITS | {"lift": (0, 90), "toward": (-30, 95), "twist": (-40, 30)}) for _ in range(2))
    return _two(one, other, bend=rng.uniform(-20, 50), lean=rng.uniform(-25, 25), turn=rng.uniform(-35, 35))


STANCES: dict[Callable[[Rng], Pose], float] = {
    _stand: 20, _stand_wide: 12, _contrapposto: 6, _legs_crossed_standing: 2, _walk: 12, _run: 6, _lunge: 5,
    _sit: 7, _sit_legs_crossed: 2, _sit_on_floor: 3, _cross_legged: 3, _crouch: 6, _kneel: 4, _on_one_leg: 6,
    _bend_down: 5, _twist: 5, _any_legs: 5,
}  # fmt: skip


# What arms do.


def _hang(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(4, 18), toward=rng.uniform(-30, 60), elbow=rng.uniform(0, 30), palm=rng.uniform(-10, 60))


def _a_pose(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(20, 60), toward=rng.uniform(-15, 20), elbow=rng.uniform(0, 25), palm=rng.uniform(-20, 60))


def _t_pose(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(80, 97), toward=rng.uniform(-8, 12), elbow=rng.uniform(0, 12), palm=rng.uniform(-30, 50))


def _overhead(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(125, 175), toward=rng.uniform(-5, 60), elbow=rng.uniform(0, 80), palm=rng.uniform(-40, 60))


def _forward(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(50, 110), toward=rng.uniform(60, 105), elbow=rng.uniform(0, 50), palm=rng.uniform(-60, 90))


def _on_hip(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(38, 50), toward=rng.uniform(-35, -10), twist=rng.uniform(60, 75), elbow=rng.uniform(85, 105), palm=rng.uniform(20, 60), wrist=-20)


def _folded(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(25, 40), toward=rng.uniform(60, 90), twist=rng.uniform(45, 65), elbow=rng.uniform(85, 115), palm=rng.uniform(0, 40))


def _to_head(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(60, 110), toward=rng.uniform(10, 85), twist=rng.uniform(-60, -5), elbow=rng.uniform(115, 142), palm=rng.uniform(-60, 40))


def _guard(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(15, 55), toward=rng.uniform(30, 90), twist=rng.uniform(-20, 35), elbow=rng.uniform(80, 140), palm=rng.uniform(-40, 60))


def _flexed(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(75, 105), toward=rng.uniform(-10, 25), twist=rng.uniform(-90, -60), elbow=rng.uniform(60, 130), palm=rng.uniform(-60, 40))


def _behind(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(20, 45), toward=rng.uniform(-80, -50), twist=rng.uniform(0, 60), elbow=rng.uniform(0, 80), palm=rng.uniform(0, 80))


def _reach(rng: Rng) -> Arm:
    return Arm(lift=rng.uniform(10, 60), toward=rng.uniform(60, 110), elbow=rng.uniform(20, 90), palm=rng.uniform(-60, 60), twist=rng.uniform(-20, 40))


def _any_arm(rng: Rng) -> Arm:
    return _free(rng, Arm, ARM_LIMITS | {"shrug": (0, 10), "lift": (0, 150)})


GESTURES: dict[Callable[[Rng], Arm], float] = {
    _hang: 17, _a_pose: 17, _t_pose: 11, _overhead: 9, _forward: 8, _on_hip: 5, _folded: 3, _to_head: 5, _guard: 7,
    _flexed: 5, _behind: 3, _reach: 6, _any_arm: 9,
}  # fmt: skip
SYMMETRIC = {_hang, _a_pose, _t_pose, _overhead, _forward, _on_hip}


def _swinging(rng: Rng, pose: Pose) -> tuple[Arm, Arm]:
    """Arms that swing against the legs."""
    elbow = rng.uniform(5, 100)
    wide = rng.uniform(0.6, 1.3)
    left, right = (
        Arm(lift=8 + wide * abs(leg.lift), toward=-60 if leg.toward > 0 else 80, elbow=elbow, palm=rng.uniform(-10, 40))
        for leg in (pose.left_leg, pose.right_leg)
    )
    return left, right


# What hands do.


def _open(rng: Rng) -> Hand:
    return Hand(tuple(rng.uniform(-12, 5, 4)), rng.uniform(-3, 8), rng.uniform(-10, 15))


def _relaxed(rng: Rng) -> Hand:
    return Hand(tuple(rng.uniform(5, 20) + np.array([0, 5, 9, 12]) * rng.uniform(0, 1.5)), rng.uniform(-3, 2), rng.uniform(0, 20))


def _fist(rng: Rng) -> Hand:
    return Hand(tuple(rng.uniform(55, 75) + rng.uniform(-4, 4, 4)), -2, rng.uniform(20, 42))


def _spread(rng: Rng) -> Hand:
    return Hand(tuple(rng.uniform(-15, 0, 4)), rng.uniform(8, 18), rng.uniform(-20, -5))


def _pointing(rng: Rng) -> Hand:
    return Hand((rng.uniform(-10, 5), *rng.uniform(55, 75, 3)), 0, rng.uniform(10, 40))


def _any_hand(rng: Rng) -> Hand:
    return Hand(tuple(rng.uniform(-10, 70, 4)), rng.uniform(-3, 10), rng.uniform(-15, 40))


HANDS: dict[Callable[[Rng], Hand], float] = {
    _open: 20, _relaxed: 40, _fist: 15, _spread: 12, _pointing: 4, _any_hand: 9,
}  # fmt: skip
