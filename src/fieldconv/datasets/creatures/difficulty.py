"""Named levels of difficulty, and the damage they do to a mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from .remesh import random_turn, vertex_normals
from .skeleton import Array, Skeleton
from .solid import Faces
from .topology import edge_graph, tidy

Keep = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Difficulty:
    """What is done to a creature beyond its own triangulation.

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


def named(difficulty: str | Difficulty) -> Difficulty:
    """The level of that name; a Difficulty is given back as it is."""
    if isinstance(difficulty, Difficulty):
        return difficulty
    if difficulty not in DIFFICULTIES:
        raise ValueError(f"Unknown difficulty {difficulty!r}: choose one of {', '.join(DIFFICULTIES)}.")
    return DIFFICULTIES[difficulty]


def missing_limbs(skeleton: Skeleton, rng: np.random.Generator, number: int) -> NDArray[np.bool_]:
    """Choose limbs to leave out: subtrees that move, and are not most of the body."""
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


def cut_holes(points: Array, faces: Faces, rng: np.random.Generator, number: int) -> tuple[Keep, Faces]:
    """Remove discs, each about 1 to 3 % of the surface."""
    graph = edge_graph(points, faces)
    size = np.linalg.norm(points[faces[:, 0]] - points[faces[:, 1]], axis=1).mean()
    area = 0.866 * size**2 * len(points)
    gone = np.zeros(len(points), bool)
    for centre in rng.choice(len(points), number, replace=False):
        radius = max(1.2 * size, np.sqrt(rng.uniform(0.01, 0.03) * area / np.pi))
        gone |= dijkstra(graph, indices=int(centre), limit=radius) <= radius
    return tidy(len(points), faces[~gone[faces].any(axis=1)])


def cut_plane(points: Array, faces: Faces, rng: np.random.Generator, share: float) -> tuple[Keep, Faces]:
    """Remove what lies beyond a plane in a random direction."""
    direction = rng.standard_normal(3)
    height = points @ (direction / np.linalg.norm(direction))
    gone = height > np.quantile(height, 1 - share)
    return tidy(len(points), faces[~gone[faces].any(axis=1)])


def add_noise(points: Array, faces: Faces, rng: np.random.Generator, noise: float) -> Array:
    """Displace vertices along their normals by a normal deviate of ``noise`` mean edge lengths."""
    normal = vertex_normals(points, faces)
    size = np.linalg.norm(points[faces[:, 0]] - points[faces[:, 1]], axis=1).mean()
    deviate = np.clip(rng.standard_normal((len(points), 1)), -2.5, 2.5)
    return np.asarray(points + noise * size * deviate * normal)


def place(points: Array, rng: np.random.Generator, difficulty: Difficulty) -> Array:
    """Turn and scale the whole mesh."""
    if difficulty.rotate:
        points = points @ random_turn(rng).T
    factor = np.exp(rng.uniform(-1, 1) * np.log(difficulty.scale))
    return np.asarray(points * factor)
