"""Named levels of difficulty, and the damage they do to a mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra

from .remesh import random_turn, vertex_normals
from .skeleton import Array, Skeleton
from .solid import Faces

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
    fused : number of places where two limbs that come close are joined by a bridge.
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
    fused: int = 0
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
    "fused": Difficulty(fused=1),
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


def edge_graph(points: Array, faces: Faces) -> coo_array:
    """Sparse symmetric matrix of edge lengths."""
    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    i, j = np.unique(ends, axis=0).T
    length = np.linalg.norm(points[i] - points[j], axis=1)
    count = len(points)
    return coo_array((np.tile(length, 2), (np.append(i, j), np.append(j, i))), (count, count)).tocsr()


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


def _clean(points: Array, faces: Faces) -> tuple[Keep, Faces]:
    """Largest component without pinched vertices; give the vertices kept and the renumbered faces."""
    while True:
        count = len(points)
        # Corners of one vertex that hang together through edges form one fan; keep the largest fan.
        corner = np.arange(3 * len(faces)).reshape(-1, 3)
        start, end = faces, np.roll(faces, -1, axis=1)
        key = np.minimum(start, end) * count + np.maximum(start, end)
        order = np.argsort(key.ravel(), kind="stable")
        same = key.ravel()[order][1:] == key.ravel()[order][:-1]
        one, two = order[:-1][same], order[1:][same]
        follow = np.roll(corner, -1, axis=1).ravel()
        links = np.concatenate([np.stack([one, follow[two]]), np.stack([follow[one], two])], axis=1)
        n = corner.size
        fan = connected_components(coo_array((np.ones(links.shape[1]), links), (n, n)), directed=False)[1]
        vertex = faces.ravel()
        sizes = np.bincount(fan)
        best = np.zeros(count, np.int64)
        np.maximum.at(best, vertex, sizes[fan] * (n + 1) + fan)
        bad = (best[vertex] != sizes[fan] * (n + 1) + fan).reshape(-1, 3).any(axis=1)
        if not bad.any():
            break
        faces = faces[~bad]
    graph = coo_array((np.ones(faces.size), (faces.ravel(), np.roll(faces, 1, 1).ravel())), (count, count))
    component = connected_components(graph, directed=False)[1]
    largest = np.bincount(component[faces[:, 0]]).argmax()
    faces = faces[component[faces[:, 0]] == largest]
    keep = np.unique(faces)
    return keep, np.searchsorted(keep, faces)


def cut_holes(points: Array, faces: Faces, rng: np.random.Generator, number: int) -> tuple[Keep, Faces]:
    """Remove discs, each about 1 to 3 % of the surface."""
    graph = edge_graph(points, faces)
    size = np.linalg.norm(points[faces[:, 0]] - points[faces[:, 1]], axis=1).mean()
    area = 0.866 * size**2 * len(points)
    gone = np.zeros(len(points), bool)
    for centre in rng.choice(len(points), number, replace=False):
        radius = max(1.2 * size, np.sqrt(rng.uniform(0.01, 0.03) * area / np.pi))
        gone |= dijkstra(graph, indices=int(centre), limit=radius) <= radius
    return _clean(points, faces[~gone[faces].any(axis=1)])


def cut_plane(points: Array, faces: Faces, rng: np.random.Generator, share: float) -> tuple[Keep, Faces]:
    """Remove what lies beyond a plane in a random direction."""
    direction = rng.standard_normal(3)
    height = points @ (direction / np.linalg.norm(direction))
    gone = height > np.quantile(height, 1 - share)
    return _clean(points, faces[~gone[faces].any(axis=1)])


def add_noise(points: Array, faces: Faces, rng: np.random.Generator, noise: float) -> Array:
    """Displace vertices along their normals by a normal deviate of ``noise`` mean edge lengths."""
    normal = vertex_normals(points, faces)
    size = np.linalg.norm(points[faces[:, 0]] - points[faces[:, 1]], axis=1).mean()
    return points + noise * size * np.clip(rng.standard_normal((len(points), 1)), -2.5, 2.5) * normal


def place(points: Array, rng: np.random.Generator, difficulty: Difficulty) -> Array:
    """Turn and scale the whole mesh."""
    if difficulty.rotate:
        points = points @ random_turn(rng).T
    factor = np.exp(rng.uniform(-1, 1) * np.log(difficulty.scale))
    return np.asarray(points * factor)
