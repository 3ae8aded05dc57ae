"""The species: each function draws one skeleton in its rest pose, limbs on the left side only."""

# A bone on one or two lines reads as a table:
# fmt: off

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from fieldconv._arrays import Floats
from fieldconv.datasets.creatures.skeleton import Skeleton, Sketch

FORWARD, SIDE, UP = (1, 0, 0), (0, 1, 0), (0, 0, 1)


def _directions(angle: float) -> tuple[Floats, Floats]:
    """Return the horizontal unit vectors at an angle from the x axis, and at a right angle to its left."""
    out = np.array([np.cos(angle), np.sin(angle), 0.0])
    return out, np.array([-out[1], out[0], 0.0])


def _leg(
    s: Sketch, name: str, parent: str, hip: tuple[float, float, float], angle: float,
    joints: list[tuple[float, float]], bones: list[tuple[float, float, float, float]],
    yaw: float, blend: float | None = None,
) -> None:
    """Draw a leg in direction ``angle``, with joints at these distances from the hip and heights above it.

    Each bone has two radii and the limits of its hinge; yaw and blend are those of the first.
    """
    out, across = _directions(angle)
    points = [np.array(hip), *(np.array(hip) + r * out + (0, 0, z) for r, z in joints)]
    for i, (start, end, least, most) in enumerate(bones):
        bone, part = (("femur", "upper leg"), ("tibia", "lower leg"), ("tarsus", "foot"))[i]
        parent = s.bone(f"{bone}{name}.l", parent, part, points[i], points[i + 1], start, end,
                        hinge=(across, least, most), yaw=0 if i else yaw, blend=None if i else blend)


def biped(s: Sketch) -> None:
    s.bone("pelvis", None, "torso", (0, 0, 0.93), (0, 0, 1.02), (0.15, 0.1), (0.13, 0.095), thin=FORWARD)
    s.bone("belly", "pelvis", "torso", (0, 0, 1.03), (0, 0, 1.2), (0.125, 0.09), (0.14, 0.1), thin=FORWARD,
           pitch=(-15, 25), yaw=15, roll=12, blend=0.08)
    s.bone("chest", "belly", "torso", (0, 0, 1.22), (0, 0, 1.38), (0.145, 0.1), (0.16, 0.09), thin=FORWARD,
           pitch=(-10, 15), yaw=15, roll=8, blend=0.08)
    s.bone("neck", "chest", "neck", (0, 0, 1.44), (0.015, 0, 1.57), 0.055, 0.05, pitch=15, yaw=20, roll=12)
    s.bone("head", "neck", "head", (0.03, 0, 1.62), (0.025, 0, 1.71), 0.085, 0.105, pitch=15, yaw=30, roll=12)
    s.bone("nose", "head", "head", (0.11, 0, 1.65), (0.14, 0, 1.625), 0.02, 0.022)
    s.bone("shoulder.l", "chest", "torso", (0, 0.09, 1.38), (0, 0.18, 1.39), 0.08, 0.07, blend=0.06)
    s.bone("upperarm.l", "shoulder.l", "upper arm", (0, 0.2, 1.39), (-0.01, 0.37, 1.17), 0.058, 0.045,
           swell=0.08, pitch=(-70, 35), roll=(-25, 45), yaw=25)
    s.bone("lowerarm.l", "upperarm.l", "lower arm", (-0.01, 0.37, 1.17), (0.03, 0.53, 0.95), 0.046, 0.032,
           swell=0.1, hinge=((0, 1, 0.7), -95, 0), roll=10)
    s.bone("hand.l", "lowerarm.l", "hand", (0.035, 0.545, 0.925), (0.045, 0.6, 0.84), (0.045, 0.024),
           (0.05, 0.024), thin=(0, 1, 0.6), pitch=25, roll=25)
    s.bone("fingers.l", "hand.l", "hand", (0.05, 0.61, 0.82), (0.055, 0.64, 0.74), (0.048, 0.022),
           (0.038, 0.02), thin=(0, 1, 0.4), roll=(-5, 35))
    s.bone("thumb.l", "hand.l", "hand", (0.07, 0.56, 0.89), (0.115, 0.58, 0.82), 0.022, 0.019)
    s.bone("upperleg.l", "pelvis", "upper leg", (0, 0.092, 0.9), (0.01, 0.115, 0.5), 0.083, 0.055, swell=0.06,
           pitch=(-55, 25), roll=(-5, 30), yaw=10, blend=0.05)
    s.bone("lowerleg.l", "upperleg.l", "lower leg", (0.01, 0.115, 0.5), (-0.02, 0.12, 0.07), 0.055, 0.036,
           swell=0.15, pitch=(0, 75))
    s.bone("foot.l", "lowerleg.l", "foot", (-0.05, 0.12, 0.045), (0.15, 0.135, 0.035), (0.042, 0.04),
           (0.048, 0.03), pitch=(-20, 25), blend=0.05)


def quadruped(s: Sketch) -> None:
    s.bone("belly", None, "torso", (0.12, 0, 0.72), (-0.18, 0, 0.73), (0.15, 0.125), (0.12, 0.11), thin=SIDE)
    s.bone("chest", "belly", "torso", (0.16, 0, 0.72), (0.3, 0, 0.74), (0.165, 0.125), (0.15, 0.11),
           thin=SIDE, pitch=8, yaw=12, blend=0.1)
    s.bone("rump", "belly", "torso", (-0.22, 0, 0.73), (-0.34, 0, 0.74), (0.125, 0.115), (0.13, 0.11),
           thin=SIDE, pitch=8, yaw=12, blend=0.1)
    s.bone("neck", "chest", "neck", (0.36, 0, 0.82), (0.53, 0, 1.04), (0.1, 0.08), 0.062, thin=SIDE,
           pitch=(-20, 40), yaw=25)
    s.bone("head", "neck", "head", (0.56, 0, 1.08), (0.66, 0, 1.05), 0.078, 0.062, pitch=20, yaw=25, roll=15)
    s.bone("snout", "head", "head", (0.68, 0, 1.03), (0.83, 0, 0.97), 0.05, 0.04)
    s.bone("ear.l", "head", "ear", (0.53, 0.045, 1.13), (0.5, 0.075, 1.25), (0.034, 0.02), (0.014, 0.014),
           thin=FORWARD, roll=15)
    s.bone("frontleg.l", "chest", "upper leg", (0.28, 0.085, 0.66), (0.25, 0.095, 0.4), 0.07, 0.043,
           pitch=(-35, 35), roll=(0, 12), blend=0.05)
    s.bone("frontshin.l", "frontleg.l", "lower leg", (0.25, 0.095, 0.4), (0.27, 0.1, 0.06), 0.04, 0.028,
           pitch=(0, 55))
    s.bone("frontfoot.l", "frontshin.l", "foot", (0.27, 0.1, 0.05), (0.34, 0.1, 0.035), 0.037, 0.036,
           pitch=(-15, 30))
    s.bone("hindleg.l", "rump", "upper leg", (-0.34, 0.075, 0.68), (-0.27, 0.095, 0.42), 0.095, 0.052,
           pitch=(-35, 30), roll=(0, 12), blend=0.06)
    s.bone("hindshin.l", "hindleg.l", "lower leg", (-0.27, 0.095, 0.42), (-0.38, 0.1, 0.07), 0.045, 0.028,
           pitch=(-35, 25))
    s.bone("hindfoot.l", "hindshin.l", "foot", (-0.375, 0.1, 0.05), (-0.3, 0.1, 0.035), 0.037, 0.036,
           pitch=(-15, 30))
    s.chain("tail", "rump", "tail", [(-0.4, 0, 0.78), (-0.57, 0, 0.8), (-0.68, 0, 0.72), (-0.76, 0, 0.6)],
            [0.038, 0.034, 0.03, 0.022], pitch=18, yaw=28)


def giraffe(s: Sketch) -> None:
    s.bone("chest", None, "torso", (0.06, 0, 0.88), (0.18, 0, 0.93), (0.15, 0.11), (0.14, 0.1), thin=SIDE)
    s.bone("rump", "chest", "torso", (0.04, 0, 0.87), (-0.2, 0, 0.78), (0.14, 0.11), (0.115, 0.095),
           thin=SIDE, pitch=6, yaw=10, blend=0.1)
    s.chain("neck", "chest", "neck", [(0.22, 0, 1.0), (0.32, 0, 1.2), (0.4, 0, 1.4), (0.47, 0, 1.6)],
            [0.085, 0.062, 0.052, 0.046], pitch=14, yaw=12)
    s.bone("head", "neck3", "head", (0.485, 0, 1.635), (0.56, 0, 1.63), 0.062, 0.052, pitch=20, yaw=25)
    s.bone("snout", "head", "head", (0.575, 0, 1.62), (0.71, 0, 1.56), 0.042, 0.036)
    s.bone("horn.l", "head", "head", (0.475, 0.03, 1.68), (0.455, 0.04, 1.8), 0.018, 0.021, blend=0.01)
    s.bone("ear.l", "head", "ear", (0.455, 0.045, 1.66), (0.42, 0.13, 1.69), (0.026, 0.017), (0.013, 0.013),
           thin=FORWARD, roll=15)
    s.bone("frontleg.l", "chest", "upper leg", (0.16, 0.075, 0.86), (0.15, 0.09, 0.45), 0.058, 0.036,
           pitch=(-28, 28), roll=(0, 12), blend=0.05)
    s.bone("frontshin.l", "frontleg.l", "lower leg", (0.15, 0.09, 0.45), (0.15, 0.09, 0.055), 0.035, 0.026,
           pitch=(0, 40))
    s.bone("frontfoot.l", "frontshin.l", "foot", (0.15, 0.09, 0.05), (0.19, 0.09, 0.03), 0.036, 0.036,
           pitch=15)
    s.bone("hindleg.l", "rump", "upper leg", (-0.19, 0.074, 0.75), (-0.16, 0.09, 0.42), 0.066, 0.038,
           pitch=(-28, 28), roll=(0, 12), blend=0.05)
    s.bone("hindshin.l", "hindleg.l", "lower leg", (-0.16, 0.09, 0.42), (-0.21, 0.09, 0.055), 0.036, 0.026,
           pitch=(-20, 20))
    s.bone("hindfoot.l", "hindshin.l", "foot", (-0.205, 0.09, 0.05), (-0.165, 0.09, 0.03), 0.036, 0.036,
           pitch=15)
    s.chain("tail", "rump", "tail", [(-0.26, 0, 0.82), (-0.36, 0, 0.74), (-0.39, 0, 0.6), (-0.4, 0, 0.52)],
            [0.022, 0.018, 0.02, 0.028], pitch=15, yaw=20)


def elephant(s: Sketch) -> None:
    s.bone("chest", None, "torso", (0.05, 0, 0.72), (0.28, 0, 0.78), (0.25, 0.22), (0.22, 0.19), thin=SIDE)
    s.bone("rump", "chest", "torso", (0.0, 0, 0.72), (-0.28, 0, 0.7), (0.25, 0.22), (0.22, 0.18), thin=SIDE,
           pitch=5, yaw=8, blend=0.12)
    s.bone("head", "chest", "head", (0.48, 0, 0.92), (0.56, 0, 0.9), 0.16, 0.14, pitch=15, yaw=20, blend=0.1)
    s.bone("ear.l", "head", "ear", (0.46, 0.14, 0.93), (0.36, 0.38, 0.88), (0.09, 0.03), (0.18, 0.026),
           thin=(0.8, 0.5, 0), hinge=((0, 0, 1), -20, 35))
    s.chain("trunk", "head", "trunk",
            [(0.66, 0, 0.84), (0.76, 0, 0.7), (0.8, 0, 0.54), (0.81, 0, 0.38), (0.86, 0, 0.24)],
            [0.085, 0.066, 0.052, 0.042, 0.034], pitch=22, yaw=20)
    s.bone("tusk.l", "head", "head", (0.55, 0.1, 0.84), (0.84, 0.19, 0.68), 0.032, 0.022, blend=0.04)
    for name, bone, x in (("front", "chest", 0.24), ("hind", "rump", -0.28)):
        s.bone(f"{name}leg.l", bone, "upper leg", (x, 0.12, 0.58), (x + 0.01, 0.135, 0.34), 0.1, 0.08,
               pitch=(-25, 25), roll=(0, 8), blend=0.06)
        s.bone(f"{name}shin.l", f"{name}leg.l", "lower leg", (x + 0.01, 0.135, 0.34), (x, 0.14, 0.12), 0.078,
               0.07, pitch=(0, 35) if name == "front" else (-10, 30))
        s.bone(f"{name}foot.l", f"{name}shin.l", "foot", (x + 0.005, 0.14, 0.085), (x + 0.02, 0.14, 0.07),
               0.08, 0.082, pitch=10, blend=0.03)
    s.chain("tail", "rump", "tail", [(-0.42, 0, 0.78), (-0.56, 0, 0.68), (-0.58, 0, 0.52), (-0.58, 0, 0.42)],
            [0.028, 0.022, 0.022, 0.032], pitch=18, yaw=22)


def lizard(s: Sketch) -> None:
    s.bone("belly", None, "torso", (0.15, 0, 0.16), (-0.1, 0, 0.16), (0.12, 0.09), (0.125, 0.09), thin=UP)
    s.bone("chest", "belly", "torso", (0.18, 0, 0.16), (0.34, 0, 0.17), (0.115, 0.085), (0.09, 0.075),
           thin=UP, yaw=22, pitch=6, blend=0.08)
    s.bone("hips", "belly", "torso", (-0.13, 0, 0.16), (-0.3, 0, 0.16), (0.115, 0.085), (0.08, 0.07), thin=UP,
           yaw=22, pitch=6, blend=0.08)
    s.bone("neck", "chest", "neck", (0.38, 0, 0.18), (0.5, 0, 0.21), 0.07, 0.062, pitch=(-25, 10), yaw=20)
    s.bone("head", "neck", "head", (0.55, 0, 0.22), (0.63, 0, 0.215), (0.095, 0.07), (0.085, 0.058), yaw=20,
           pitch=15)
    s.bone("snout", "head", "head", (0.66, 0, 0.205), (0.78, 0, 0.19), (0.065, 0.042), (0.04, 0.032))
    s.chain("tail", "hips", "tail",
            [(-0.36, 0, 0.15), (-0.54, 0, 0.13), (-0.72, 0, 0.11), (-0.9, 0, 0.09), (-1.08, 0, 0.08),
             (-1.24, 0, 0.07)],
            [0.07, 0.058, 0.048, 0.038, 0.03, 0.02], yaw=26, pitch=6)
    for name, bone, x, back in (("front", "chest", 0.3, 1), ("hind", "hips", -0.24, -1)):
        knee, wrist = (x - 0.06 * back, 0.27, 0.2), (x + 0.03 * back, 0.36, 0.045)
        s.bone(f"{name}leg.l", bone, "upper leg", (x, 0.07, 0.15), knee, 0.05, 0.04, yaw=28, roll=12)
        s.bone(f"{name}shin.l", f"{name}leg.l", "lower leg", knee, wrist, 0.038, 0.03, yaw=20, roll=10)
        s.bone(f"{name}foot.l", f"{name}shin.l", "foot", wrist, (wrist[0] + 0.05, 0.39, 0.03), (0.036, 0.026),
               (0.034, 0.024))
        for i, (dx, dy) in enumerate(((0.03, 0.12), (0.1, 0.09), (0.13, 0.01))):
            toe = (wrist[0] + 0.05 + dx * 0.9, 0.39 + dy * 0.9, 0.025)
            s.bone(f"{name}toe{i}.l", f"{name}foot.l", "foot", (wrist[0] + 0.05, 0.39, 0.03), toe, 0.022,
                   0.017, blend=0.015)


def turtle(s: Sketch) -> None:
    s.bone("shell", None, "shell", (0.14, 0, 0.3), (-0.16, 0, 0.29), (0.33, 0.17), (0.31, 0.15),
           thin=UP)
    s.bone("rim", "shell", "shell", (0.12, 0, 0.22), (-0.18, 0, 0.22), (0.37, 0.05), (0.35, 0.045),
           thin=UP, blend=0.06)
    s.bone("neck", "shell", "neck", (0.34, 0, 0.25), (0.6, 0, 0.3), 0.072, 0.06, pitch=(-30, 15), yaw=30,
           blend=0.05)
    s.bone("head", "neck", "head", (0.65, 0, 0.32), (0.74, 0, 0.31), 0.085, 0.065, pitch=20, yaw=20)
    s.bone("beak", "head", "beak", (0.78, 0, 0.295), (0.85, 0, 0.275), 0.042, 0.026)
    s.bone("frontarm.l", "shell", "upper arm", (0.24, 0.22, 0.22), (0.38, 0.46, 0.19), (0.085, 0.045),
           (0.08, 0.036), yaw=(-25, 25), roll=15, blend=0.04)
    s.chain("flipper", "frontarm.l", "fin", [(0.39, 0.48, 0.19), (0.3, 0.68, 0.17), (0.14, 0.84, 0.16)],
            [(0.085, 0.034), (0.075, 0.028), (0.035, 0.022)], side=".l", yaw=(-20, 20), roll=20)
    s.bone("hindleg.l", "shell", "upper leg", (-0.28, 0.17, 0.21), (-0.5, 0.32, 0.17), (0.08, 0.045),
           (0.07, 0.034), yaw=(-25, 20), roll=15, blend=0.04)
    s.bone("hindflipper.l", "hindleg.l", "fin", (-0.52, 0.34, 0.17), (-0.64, 0.4, 0.15), (0.075, 0.03),
           (0.04, 0.022), yaw=20, roll=15)
    s.bone("tail", "shell", "tail", (-0.34, 0, 0.2), (-0.58, 0, 0.16), 0.055, 0.022, yaw=30, pitch=10)


def snake(s: Sketch) -> None:
    points = [(0.1 - 0.2 * i, 0, 0) for i in range(15)]
    radii = [0.062, 0.066, 0.072, 0.078, 0.083, 0.086, 0.086, 0.085, 0.082, 0.078, 0.07, 0.06, 0.048, 0.035,
             0.02]
    s.bone("body0", None, "torso", (0.3, 0, 0), (0.1, 0, 0), 0.06, 0.062)
    last = s.chain("body", "body0", "torso", points[:11], radii[:11], yaw=34, pitch=7, blend=0.03)
    s.chain("tail", last, "tail", points[10:], radii[10:], yaw=34, pitch=7, blend=0.03)
    s.bone("neck", "body0", "neck", (0.3, 0, 0), (0.44, 0, 0.02), 0.055, 0.055, yaw=30, pitch=(-25, 5))
    s.bone("head", "neck", "head", (0.52, 0, 0.03), (0.6, 0, 0.03), (0.1, 0.065), (0.085, 0.055), yaw=20,
           pitch=15)
    s.bone("snout", "head", "head", (0.62, 0, 0.025), (0.7, 0, 0.015), (0.07, 0.045), (0.05, 0.035))


def bird(s: Sketch) -> None:
    s.bone("body", None, "torso", (0.12, 0, 0.56), (-0.16, 0, 0.5), 0.15, 0.105, swell=0.05)
    s.bone("neck", "body", "neck", (0.2, 0, 0.66), (0.28, 0, 0.8), 0.095, 0.07, pitch=(-20, 25), yaw=20,
           blend=0.08)
    s.bone("head", "neck", "head", (0.3, 0, 0.87), (0.35, 0, 0.87), 0.092, 0.08, pitch=20, yaw=35, roll=20)
    s.bone("beak", "head", "beak", (0.42, 0, 0.86), (0.56, 0, 0.83), 0.04, 0.018, blend=0.02)
    s.bone("upperwing.l", "body", "wing", (0.04, 0.09, 0.61), (0.0, 0.34, 0.67), (0.13, 0.036),
           (0.145, 0.028), thin=UP, roll=(-50, 45), yaw=15, pitch=10)
    s.bone("midwing.l", "upperwing.l", "wing", (0.0, 0.36, 0.67), (-0.04, 0.6, 0.68), (0.145, 0.028),
           (0.12, 0.024), thin=UP, roll=(-35, 25), yaw=(-5, 20))
    s.bone("wingtip.l", "midwing.l", "wing", (-0.05, 0.62, 0.68), (-0.18, 0.86, 0.67), (0.12, 0.024),
           (0.03, 0.02), thin=UP, roll=(-25, 20), yaw=(-5, 25))
    s.bone("tail", "body", "tail", (-0.26, 0, 0.48), (-0.52, 0, 0.44), (0.075, 0.036), (0.15, 0.024), thin=UP,
           pitch=25, yaw=15, roll=15)
    s.bone("upperleg.l", "body", "upper leg", (0.0, 0.075, 0.47), (0.03, 0.085, 0.28), 0.055, 0.034,
           pitch=(-35, 30), roll=(-3, 15))
    s.bone("lowerleg.l", "upperleg.l", "lower leg", (0.03, 0.085, 0.28), (-0.01, 0.09, 0.05), 0.03, 0.022,
           pitch=(-25, 30))
    s.bone("foot.l", "lowerleg.l", "foot", (-0.01, 0.09, 0.03), (0.13, 0.09, 0.022), 0.026, 0.018,
           pitch=(-15, 25))
    s.bone("outertoe.l", "foot.l", "foot", (0.0, 0.09, 0.03), (0.09, 0.17, 0.022), 0.022, 0.018)
    s.bone("innertoe.l", "foot.l", "foot", (0.0, 0.09, 0.03), (0.11, 0.04, 0.022), 0.022, 0.018)
    s.bone("backtoe.l", "foot.l", "foot", (-0.01, 0.09, 0.03), (-0.1, 0.09, 0.022), 0.024, 0.018)


def fish(s: Sketch) -> None:
    s.bone("body", None, "torso", (0.22, 0, 0), (-0.06, 0, 0), (0.23, 0.115), (0.21, 0.1), thin=SIDE,
           swell=0.06)
    s.bone("head", "body", "head", (0.3, 0, -0.01), (0.5, 0, -0.03), (0.2, 0.11), (0.09, 0.06), thin=SIDE,
           yaw=8, blend=0.1)
    s.bone("mouth", "head", "head", (0.5, 0, -0.04), (0.58, 0, -0.05), (0.05, 0.045), (0.045, 0.04),
           thin=SIDE)
    s.bone("eye.l", "head", "head", (0.42, 0.07, 0.03), (0.425, 0.075, 0.03), 0.034, 0.034, blend=0.01)
    s.bone("rear", "body", "torso", (-0.1, 0, 0), (-0.32, 0, 0), (0.19, 0.09), (0.105, 0.055), thin=SIDE,
           yaw=22, blend=0.1)
    s.bone("stalk", "rear", "tail", (-0.34, 0, 0), (-0.52, 0, 0), (0.09, 0.05), (0.058, 0.036), thin=SIDE,
           yaw=26, follows=True)
    s.bone("tailfin", "stalk", "tail", (-0.54, 0, 0), (-0.64, 0, 0), (0.07, 0.032), (0.09, 0.028), thin=SIDE,
           yaw=26, follows=True)
    s.bone("upperlobe", "tailfin", "tail", (-0.62, 0, 0.04), (-0.84, 0, 0.25), (0.085, 0.026), (0.03, 0.022),
           thin=SIDE, yaw=12)
    s.bone("lowerlobe", "tailfin", "tail", (-0.62, 0, -0.04), (-0.84, 0, -0.25), (0.085, 0.026),
           (0.03, 0.022), thin=SIDE, yaw=12)
    s.bone("dorsal", "body", "fin", (0.16, 0, 0.21), (-0.1, 0, 0.33), (0.11, 0.03), (0.05, 0.022), thin=SIDE,
           roll=15)
    s.bone("anal", "rear", "fin", (-0.16, 0, -0.15), (-0.3, 0, -0.27), (0.06, 0.026), (0.03, 0.022),
           thin=SIDE, roll=15)
    s.bone("pectoral.l", "body", "fin", (0.2, 0.085, -0.07), (0.02, 0.3, -0.17), (0.055, 0.026),
           (0.085, 0.022), thin=(0.3, -0.2, 1), roll=30, yaw=25)


def dolphin(s: Sketch) -> None:
    s.bone("body", None, "torso", (0.15, 0, 0), (-0.1, 0, 0), 0.165, 0.16, swell=0.02)
    s.bone("head", "body", "head", (0.28, 0, 0), (0.44, 0, 0.01), 0.15, 0.11, pitch=12, yaw=12, blend=0.1)
    s.bone("snout", "head", "beak", (0.5, 0, -0.035), (0.72, 0, -0.05), (0.055, 0.042), (0.032, 0.026))
    s.bone("rear", "body", "torso", (-0.15, 0, 0), (-0.36, 0, 0.0), 0.15, 0.105, pitch=18, yaw=10, blend=0.1)
    s.chain("stalk", "rear", "tail", [(-0.38, 0, 0), (-0.54, 0, 0), (-0.7, 0, 0)],
            [(0.098, 0.09), (0.066, 0.052), (0.042, 0.034)], thin=SIDE, pitch=22, yaw=10)
    s.bone("fluke.l", "stalk2", "fin", (-0.71, 0.01, 0), (-0.86, 0.26, 0), (0.07, 0.028), (0.025, 0.02),
           thin=UP, swell=0.15, roll=15, pitch=15)
    s.bone("dorsal", "body", "fin", (0.03, 0, 0.15), (-0.15, 0, 0.33), (0.085, 0.03), (0.025, 0.021),
           thin=SIDE, roll=10)
    s.bone("flipper.l", "body", "fin", (0.22, 0.1, -0.07), (0.03, 0.37, -0.2), (0.068, 0.032), (0.026, 0.021),
           thin=(0.3, -0.3, 1), swell=0.1, roll=30, yaw=20)


def octopus(s: Sketch) -> None:
    s.bone("head", None, "head", (0, 0, 0.36), (0, 0, 0.42), 0.15, 0.15)
    s.bone("mantle", "head", "head", (-0.03, 0, 0.5), (-0.14, 0, 0.74), 0.17, 0.2, pitch=25, roll=20,
           blend=0.1)
    s.bone("eye.l", "head", "head", (0.1, 0.11, 0.42), (0.115, 0.125, 0.425), 0.05, 0.045, blend=0.02)
    s.bone("skirt", "head", "head", (0.01, 0, 0.21), (-0.01, 0, 0.21), (0.2, 0.09), (0.2, 0.09), blend=0.12)
    for i in range(8):
        out, across = _directions(np.pi / 8 + i * np.pi / 4)
        reach = [(0.17, 0.2), (0.32, 0.15), (0.48, 0.1), (0.65, 0.07), (0.82, 0.06), (0.98, 0.06)]
        points = [r * out + (0, 0, z) for r, z in reach]
        s.chain(f"tentacle{'abcdefgh'[i]}", "skirt", "tentacle", points,
                [0.058, 0.053, 0.047, 0.04, 0.032, 0.022], hinge=(across, -24, 16), yaw=26)


def starfish(s: Sketch) -> None:
    s.bone("disc", None, "torso", (0.01, 0, 0), (-0.01, 0, 0), (0.2, 0.11), (0.2, 0.11), thin=UP)
    for i in range(5):
        out, across = _directions(2 * np.pi * i / 5)
        s.chain(f"arm{'abcde'[i]}", "disc", "tentacle", [r * out for r in (0.16, 0.36, 0.56, 0.74, 0.9)],
                [(0.13, 0.085), (0.105, 0.07), (0.082, 0.056), (0.058, 0.042), (0.03, 0.026)], thin=UP,
                hinge=(across, -18, 18), yaw=18, blend=0.07)


def spider(s: Sketch) -> None:
    s.bone("thorax", None, "torso", (0.13, 0, 0.3), (-0.12, 0, 0.3), (0.11, 0.08), (0.115, 0.08),
           thin=UP)
    s.bone("head", "thorax", "head", (0.22, 0, 0.31), (0.27, 0, 0.31), 0.07, 0.065, blend=0.04)
    s.bone("waist", "thorax", "torso", (-0.15, 0, 0.31), (-0.28, 0, 0.34), 0.05, 0.05, blend=0.04)
    s.bone("abdomen", "waist", "abdomen", (-0.38, 0, 0.36), (-0.53, 0, 0.38), (0.16, 0.14), (0.15, 0.13),
           thin=UP, pitch=(-15, 20), yaw=20, blend=0.06)
    s.bone("fang.l", "head", "claw", (0.3, 0.045, 0.28), (0.37, 0.055, 0.19), 0.032, 0.021, pitch=(-20, 15))
    for i, angle in enumerate(np.radians([38, 70, 102, 128])):
        reach = 1.0 if i in (0, 3) else 0.88
        _leg(s, "abcd"[i], "thorax", (0.17 - 0.09 * i, 0.075, 0.29), angle,
             [(reach * 0.3, 0.26), (reach * 0.62, 0.0), (reach * 0.78, -0.26)],
             [(0.035, 0.034, -22, 18), (0.034, 0.029, -28, 22), (0.028, 0.02, -25, 25)], yaw=16, blend=0.03)


def scorpion(s: Sketch) -> None:
    s.bone("thorax", None, "torso", (0.16, 0, 0.16), (-0.05, 0, 0.16), (0.11, 0.07), (0.13, 0.08), thin=UP)
    s.bone("head", "thorax", "head", (0.2, 0, 0.16), (0.27, 0, 0.155), (0.1, 0.062), (0.085, 0.05), thin=UP,
           blend=0.04)
    s.bone("abdomen", "thorax", "abdomen", (-0.1, 0, 0.16), (-0.32, 0, 0.16), (0.13, 0.08), (0.08, 0.06),
           thin=UP, yaw=12, pitch=8, blend=0.06)
    s.chain("tail", "abdomen", "tail",
            [(-0.38, 0, 0.17), (-0.54, 0, 0.24), (-0.64, 0, 0.38), (-0.63, 0, 0.54), (-0.53, 0, 0.66),
             (-0.38, 0, 0.7)],
            [0.055, 0.05, 0.048, 0.046, 0.044, 0.05], pitch=(-14, 14), yaw=12, blend=0.02)
    s.bone("sting", "tail5", "claw", (-0.34, 0, 0.69), (-0.22, 0, 0.6), 0.048, 0.018, pitch=15)
    for i, angle in enumerate(np.radians([55, 80, 105, 132])):
        reach = 0.9 + 0.06 * i
        _leg(s, "abcd"[i], "thorax" if i < 3 else "abdomen", (0.13 - 0.085 * i, 0.085, 0.15), angle,
             [(reach * 0.22, 0.08), (reach * 0.48, -0.13)],
             [(0.034, 0.028, -18, 14), (0.027, 0.018, -22, 18)], yaw=14)
    s.bone("upperarm.l", "head", "upper arm", (0.25, 0.08, 0.15), (0.38, 0.27, 0.19), 0.04, 0.036,
           yaw=(-20, 15), roll=10)
    s.bone("lowerarm.l", "upperarm.l", "lower arm", (0.38, 0.27, 0.19), (0.58, 0.3, 0.17), 0.036, 0.04,
           yaw=(-25, 25))
    s.bone("claw.l", "lowerarm.l", "claw", (0.62, 0.3, 0.17), (0.74, 0.28, 0.17), (0.075, 0.05),
           (0.07, 0.045), thin=UP, yaw=15, blend=0.03)
    s.bone("outerpincer.l", "claw.l", "claw", (0.76, 0.325, 0.17), (0.95, 0.29, 0.17), 0.035, 0.018,
           yaw=(-5, 15), blend=0.02)
    s.bone("innerpincer.l", "claw.l", "claw", (0.76, 0.235, 0.17), (0.93, 0.19, 0.17), 0.033, 0.018,
           yaw=(-20, 5), blend=0.02)


def crab(s: Sketch) -> None:
    s.bone("shell", None, "shell", (0, 0.14, 0.26), (0, -0.14, 0.26), (0.21, 0.115), (0.21, 0.115), thin=UP)
    s.bone("eyestalk.l", "shell", "head", (0.17, 0.07, 0.31), (0.21, 0.08, 0.4), 0.028, 0.024, blend=0.02,
           pitch=20)
    s.bone("eye.l", "eyestalk.l", "head", (0.213, 0.081, 0.41), (0.215, 0.081, 0.415), 0.036, 0.036,
           blend=0.01)
    for i, angle in enumerate(np.radians([72, 94, 116, 138])):
        _leg(s, "abcd"[i], "shell", (0.1 - 0.095 * i, 0.24 - 0.03 * i * (i > 1), 0.22), angle,
             [(0.26, 0.12), (0.44, -0.04), (0.54, -0.2)],
             [(0.037, 0.034, -20, 14), (0.034, 0.028, -25, 18), (0.028, 0.018, -20, 25)], yaw=10, blend=0.03)
    s.bone("upperarm.l", "shell", "upper arm", (0.16, 0.15, 0.24), (0.34, 0.36, 0.27), 0.044, 0.04,
           yaw=(-20, 15), roll=10, blend=0.03)
    s.bone("lowerarm.l", "upperarm.l", "lower arm", (0.34, 0.36, 0.27), (0.48, 0.33, 0.26), 0.044, 0.05,
           yaw=(-15, 30), roll=15)
    s.bone("claw.l", "lowerarm.l", "claw", (0.53, 0.31, 0.26), (0.62, 0.26, 0.27), (0.095, 0.06),
           (0.09, 0.055), thin=UP, yaw=20, blend=0.03)
    s.bone("outerpincer.l", "claw.l", "claw", (0.665, 0.29, 0.27), (0.85, 0.2, 0.27), 0.044, 0.02,
           yaw=(-5, 15), blend=0.02)
    s.bone("innerpincer.l", "claw.l", "claw", (0.625, 0.185, 0.27), (0.75, 0.08, 0.27), 0.038, 0.019,
           yaw=(-20, 5), blend=0.02)


def hand(s: Sketch) -> None:
    s.bone("palm", None, "hand", (-0.05, 0, 0), (0.2, 0, 0), (0.17, 0.075), (0.225, 0.065), thin=UP)
    s.bone("wrist", "palm", "lower arm", (-0.22, 0, 0), (-0.7, 0, 0), (0.125, 0.09), (0.15, 0.12), thin=UP,
           pitch=35, yaw=18, blend=0.09)
    fingers = (("index", 0.18, 11, 0.54, 0.048), ("middle", 0.062, 3, 0.6, 0.05),
               ("ring", -0.055, -5, 0.56, 0.048), ("little", -0.165, -14, 0.45, 0.042))
    for name, y, splay, length, radius in fingers:
        out, _ = _directions(np.radians(splay))
        base = np.array([0.27 - 1.8 * (y - 0.06) ** 2, y, 0.0])
        points = [base + length * r * out for r in (0.0, 0.45, 0.75, 1.0)]
        for i in range(3):
            s.bone(f"{name}{i + 1}", f"{name}{i}" if i else "palm", "finger", points[i], points[i + 1],
                   radius * (1 - 0.09 * i), radius * (0.91 - 0.09 * i), blend=0.02 if i else 0.045,
                   pitch=(0, 65) if i else (-12, 60), yaw=0 if i else 7)
    s.bone("thumb1", "palm", "thumb", (0.0, 0.14, -0.02), (0.14, 0.3, -0.05), 0.085, 0.062,
           hinge=((0.6, 0.3, -0.4), -25, 20), yaw=12, blend=0.06)
    s.bone("thumb2", "thumb1", "thumb", (0.14, 0.3, -0.05), (0.28, 0.39, -0.06), 0.06, 0.053,
           hinge=((0.5, -0.5, -0.4), 0, 35))
    s.bone("thumb3", "thumb2", "thumb", (0.28, 0.39, -0.06), (0.39, 0.44, -0.06), 0.053, 0.046,
           hinge=((0.5, -0.5, -0.4), 0, 45))


_DRAWINGS: dict[str, Callable[[Sketch], None]] = {
    function.__name__: function
    for function in (biped, quadruped, giraffe, elephant, lizard, turtle, snake, bird, fish, dolphin, octopus,
                     starfish, spider, scorpion, crab, hand)
}
SPECIES: tuple[str, ...] = tuple(_DRAWINGS)


@cache
def skeleton_of(species: str) -> Skeleton:
    """Return the skeleton of a species; raise ValueError if there is none of that name."""
    if species not in SPECIES:
        raise ValueError(f"Unknown species {species!r}: choose one of {', '.join(SPECIES)}.")
    sketch = Sketch()
    _DRAWINGS[species](sketch)
    return sketch.skeleton()
