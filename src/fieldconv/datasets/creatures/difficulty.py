"""Named levels of difficulty, and the damage they do to a mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldconv._arrays import Bools, Floats
from fieldconv.datasets.creatures.skeleton import Skeleton
from fieldconv.geometry.damage import damage
from fieldconv.geometry.damage.lattice import random_turn
from fieldconv.geometry.mesh.mesh import Mesh


@dataclass(frozen=True, kw_only=True)
class Difficulty:
    """How a creature differs from a plain one in its usual pose.

    Attributes
    ----------
    pose : factor on the pose strength.
    build : how much lengths and girths of limbs vary.
    noise : displacement along the normals, in mean edge lengths.
    uneven : how much the density of vertices varies (1: triangles of very different sizes).
    holes : number of round holes.
    cut : share of the surface cut away by a plane.
    fused : whether two limbs that come close are joined by a bridge.
    missing : number of limbs left out of the solid.
    rotate : whether the mesh is turned at random.
    scale : largest factor by which it is enlarged or shrunk.
    """

    pose: float = 1.0
    build: float = 1.0
    noise: float = 0.0
    uneven: float = 0.0
    holes: int = 0
    cut: float = 0.0
    fused: bool = False
    missing: int = 0
    rotate: bool = False
    scale: float = 1.0


DIFFICULTIES: dict[str, Difficulty] = {
    "rest": Difficulty(pose=0.0, build=0.0),
    "clean": Difficulty(),
    "posed": Difficulty(pose=1.6, build=1.5),
    "noise": Difficulty(noise=0.15),
    "uneven": Difficulty(uneven=1.0),
    "holes": Difficulty(holes=4),
    "cut": Difficulty(cut=0.3),
    "fused": Difficulty(fused=True),
    "missing": Difficulty(missing=1),
    "rotated": Difficulty(rotate=True),
    "scaled": Difficulty(rotate=True, scale=3.0),
    "hard": Difficulty(pose=1.3, noise=0.1, uneven=0.7, holes=3, missing=1, rotate=True, scale=2.0),
}


def difficulty_named(difficulty: str | Difficulty) -> Difficulty:
    """Return the difficulty of that name; a `Difficulty` is returned as it is."""
    if isinstance(difficulty, Difficulty):
        return difficulty
    if difficulty not in DIFFICULTIES:
        raise ValueError(f"Unknown difficulty {difficulty!r}: choose one of {', '.join(DIFFICULTIES)}.")
    return DIFFICULTIES[difficulty]


def draw_missing_limbs(skeleton: Skeleton, rng: np.random.Generator, number: int) -> Bools:
    """Return a mask of limbs to leave out: small subtrees of the skeleton that can move."""
    size = skeleton.length * skeleton.radii.mean(axis=1)
    removed = np.zeros(len(skeleton), bool)
    for _ in range(number):
        limbs = [
            limb
            for b, bone in enumerate(skeleton.bones)
            if b and bone.turns and not removed[b]
            for limb in [skeleton.subtree(b)]
            if 0.04 * size.sum() < size[limb].sum() < 0.35 * size.sum()
        ]
        if limbs:
            removed |= limbs[rng.integers(len(limbs))]
    return removed


def damage_creature(
    mesh: Mesh, rest: Floats, rng: np.random.Generator, difficulty: Difficulty
) -> tuple[Mesh, Floats]:
    """Return a posed mesh with holes, a cut and noise, and the rest positions of its vertices."""
    if difficulty.holes:
        done = damage.add_holes(mesh, rng, difficulty.holes, pieces=1.0)
        mesh, rest = done.mesh, rest[done.nearest]
    if difficulty.cut:
        done = damage.cut(mesh, rng, difficulty.cut, pieces=1.0)
        mesh, rest = done.mesh, rest[done.nearest]
    if difficulty.noise:
        mesh = damage.add_noise(mesh, rng, difficulty.noise, unit="edge", max_deviations=2.5).mesh
    return mesh, rest


def place_randomly(points: Floats, rng: np.random.Generator, difficulty: Difficulty) -> Floats:
    """Return the points rotated and scaled as a whole."""
    if difficulty.rotate:
        points = points @ random_turn(rng).T
    factor = np.exp(rng.uniform(-1, 1) * np.log(difficulty.scale))
    return np.asarray(points * factor)
