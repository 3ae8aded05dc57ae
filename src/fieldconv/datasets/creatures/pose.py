"""Poses and proportions: skinning weights at rest, bones that grow and turn, and where limbs come close."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import splu

from fieldconv._arrays import Floats, Ints
from fieldconv.datasets.creatures.skeleton import Skeleton
from fieldconv.datasets.creatures.solid import bone_distances, make_solid
from fieldconv.geometry.damage.build_bridge import facing_pairs
from fieldconv.geometry.mesh.triangles import vertex_areas

Quaternion = Floats

MAX_EXAMINED = 1500  # vertices of a mesh that are compared to find where limbs come close


def skin_weights(skeleton: Skeleton, rest: Floats, faces: Ints) -> Floats:
    """Return the share of each bone in the motion of each vertex, (V, bones); rows sum to 1.

    From the root outwards, a vertex's share is divided between a bone and its child limbs according to their
    distances; then the shares diffuse along the surface. So a vertex never follows a limb it is not connected
    to, however close that limb is at rest, and bends are smooth.
    """
    distance = bone_distances(make_solid(skeleton), rest)
    children: list[list[int]] = [[] for _ in skeleton.bones]
    limb = distance.copy()  # distance to the bone and its descendants
    for b in range(len(skeleton) - 1, 0, -1):
        parent = int(skeleton.parent[b])
        children[parent].append(b)
        limb[:, parent] = np.minimum(limb[:, parent], limb[:, b])
    share = np.zeros_like(distance)
    share[:, 0] = 1.0
    for b, limbs in enumerate(children):
        if not limbs:
            continue
        options = np.column_stack([distance[:, b], limb[:, limbs]])
        width = 0.25 * skeleton.radii[[b, *limbs], :2].mean(axis=1)
        width[0] = width[1:].mean()
        excess = (options - options.min(axis=1, keepdims=True)) / width
        ease = np.clip(1 - excess, 0, 1)
        ease = ease * ease * (3 - 2 * ease)
        ease *= share[:, [b]] / ease.sum(axis=1, keepdims=True)
        share[:, limbs] = ease[:, 1:]
        share[:, b] = ease[:, 0]
    girth = np.median([np.mean(bone.radii) for bone in skeleton.bones if bone.turns])
    return _spread(share, rest, faces, float(1.2 * girth) ** 2)


def _spread(values: Floats, points: Floats, faces: Ints, time: float) -> Floats:
    """Return the weights after one implicit step of heat flow, which preserves row sums of 1."""
    count = len(points)
    rows, columns, weights = [], [], []
    for i in range(3):
        corner, one, two = faces[:, i], faces[:, i - 2], faces[:, i - 1]
        u, v = points[one] - points[corner], points[two] - points[corner]
        cotangent = (u * v).sum(axis=1) / np.linalg.norm(np.cross(u, v), axis=1)
        rows += [one, two]
        columns += [two, one]
        weights += [cotangent / 2, cotangent / 2]
    link = coo_array(
        (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))), (count, count)
    )
    area = vertex_areas(points, faces)
    flow = diags_array(area + time * link.sum(axis=1)) - time * link
    spread = np.maximum(splu(flow.tocsc()).solve(area[:, None] * values), 0)
    return np.asarray(spread / spread.sum(axis=1, keepdims=True))


def nearest_bones(skeleton: Skeleton, rest: Floats) -> Ints:
    """Return the bone whose surface is nearest to each point."""
    return np.asarray(bone_distances(make_solid(skeleton), rest).argmin(axis=1), np.int64)


def grow(
    skeleton: Skeleton, rest: Floats, weights: Floats, rng: np.random.Generator, strength: float
) -> tuple[Floats, Floats]:
    """Return points and joints after scaling lengths and girths of the bones, left and right alike."""
    groups = sorted({bone.group for bone in skeleton.bones})
    drawn = {group: np.clip(rng.standard_normal(2), -2, 2) for group in groups}
    whole = 0.5 * np.clip(rng.standard_normal(2), -2, 2)
    moved = np.zeros_like(rest)
    joints = skeleton.head.copy()
    maps = np.empty((len(skeleton), 3, 3))
    for b, bone in enumerate(skeleton.bones):
        parent = bone.parent
        if parent >= 0:
            joints[b] = joints[parent] + maps[parent] @ (skeleton.head[b] - skeleton.head[parent])
        if parent >= 0 and not bone.turns:
            maps[b] = maps[parent]  # a bulge on its parent
        else:
            length, girth = np.exp(0.07 * strength * (drawn[bone.group] + whole))
            along = np.outer(skeleton.along[b], skeleton.along[b])
            maps[b] = length * along + girth * (np.eye(3) - along)
        moved += weights[:, [b]] * (joints[b] + (rest - skeleton.head[b]) @ maps[b].T)
    return moved, joints


def _product(p: Quaternion, q: Quaternion) -> Quaternion:
    """Hamilton product, along the last axis."""
    a, u = p[..., :1], p[..., 1:]
    b, v = q[..., :1], q[..., 1:]
    return np.concatenate([a * b - (u * v).sum(-1, keepdims=True), a * v + b * u + np.cross(u, v)], axis=-1)


def _rotate(q: Quaternion, x: Floats) -> Floats:
    u = q[..., 1:]
    t = 2 * np.cross(u, x)
    return np.asarray(x + q[..., :1] * t + np.cross(u, t))


def draw_turns(skeleton: Skeleton, rng: np.random.Generator, strength: float) -> Floats:
    """Return a rotation (unit quaternion) for every joint, within its limits times ``strength``."""
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(skeleton), 1))
    levels: list[list[float]] = []
    for b, bone in enumerate(skeleton.bones):
        fresh = [float(rng.uniform(-1, 1)) for _ in bone.turns]
        if bone.follows:
            before = levels[bone.parent]
            fresh = [0.8 * old + 0.6 * new for old, new in zip(before, fresh, strict=True)]
        levels.append(fresh)
        for level, (axis, least, most) in zip(fresh, bone.turns, strict=True):
            # Level 0 is the rest pose when the limits are even, and their middle when they are not.
            level = float(np.clip(level, -1, 1))
            half = np.radians(strength * ((least + most) / 2 + level * (most - least) / 2)) / 2
            turns[b] = _product(np.array([np.cos(half), *(np.sin(half) * np.array(axis))]), turns[b])
    return turns


def _chain(skeleton: Skeleton, joints: Floats, turns: Floats) -> tuple[Floats, Floats]:
    """Return the world rotation of each bone and the place of its joint."""
    rotation, place = turns.copy(), joints.copy()
    for b in range(1, len(skeleton)):
        parent = skeleton.parent[b]
        rotation[b] = _product(rotation[parent], turns[b])
        place[b] = place[parent] + _rotate(rotation[parent], joints[b] - joints[parent])
    return rotation, place


def _depth(skeleton: Skeleton, rotation: Floats, place: Floats) -> Floats:
    """Return the depth by which each two bones intersect, 0 where they are apart."""
    s = np.linspace(0, 1, 5)
    axis = _rotate(rotation, skeleton.along * skeleton.length[:, None])
    points = place[:, None] + s[:, None] * axis[:, None]
    radius = skeleton.radii[:, 1::2].min(axis=1)
    gap = np.linalg.norm(points[:, None, :, None] - points[None, :, None], axis=-1).min(axis=(2, 3))
    return np.asarray(np.maximum(0, radius[:, None] + radius[None] - gap))


def find_turns(skeleton: Skeleton, joints: Floats, rng: np.random.Generator, strength: float) -> Floats:
    """Return the rotations of a random pose, weakened until limbs intersect no more deeply than at rest."""
    still = np.tile([1.0, 0.0, 0.0, 0.0], (len(skeleton), 1))
    allowed = _depth(skeleton, *_chain(skeleton, joints, still)) + 0.25 * skeleton.radii.min(axis=1)
    for attempt in range(24):
        turns = draw_turns(skeleton, rng, strength * (1 - attempt / 30))
        if (_depth(skeleton, *_chain(skeleton, joints, turns)) <= allowed).all():
            break
    return turns


def articulate(skeleton: Skeleton, points: Floats, joints: Floats, weights: Floats, turns: Floats) -> Floats:
    """Return the points skinned with blended dual quaternions, which preserve volume where limbs bend."""
    rotation, place = _chain(skeleton, joints, turns)
    for b in range(1, len(skeleton)):
        if rotation[b] @ rotation[skeleton.parent[b]] < 0:
            rotation[b] *= -1
    return blend_motions(points, weights, rotation, place - _rotate(rotation, joints))


def blend_motions(points: Floats, weights: Floats, rotation: Quaternion, shift: Floats) -> Floats:
    """Move points (n, 3) by blended dual quaternions of the bones' motions x ↦ R x + t, R as quaternions.

    Quaternions of neighbouring bones must be on one side of the sphere: no two of opposite sign.
    """
    # As a dual quaternion, a motion is (R, ½ t R).
    dual = 0.5 * _product(np.column_stack([np.zeros(len(shift)), shift]), rotation)
    real, dual = weights @ rotation, weights @ dual
    norm = np.linalg.norm(real, axis=1, keepdims=True)
    real, dual = real / norm, dual / norm
    conjugate = real * np.array([1, -1, -1, -1])
    return np.asarray(_rotate(real, points) + 2 * _product(dual, conjugate)[:, 1:])


def closest_approach(points: Floats, faces: Ints, rest: Floats) -> tuple[float, int, int]:
    """Return the least distance of two vertices that face each other and are far apart at rest, and the two.

    The distance is infinite if there are none. At most `MAX_EXAMINED` vertices are compared.
    """
    examined = np.linspace(0, len(points) - 1, min(MAX_EXAMINED, len(points))).astype(int)
    scale = np.sqrt(vertex_areas(points, faces).sum())
    a, b, gap = facing_pairs(points, faces, examined, 0.6 * scale)
    edge = np.linalg.norm(points[faces[:, 0]] - points[faces[:, 1]], axis=1).mean()
    far = np.linalg.norm(rest[a] - rest[b], axis=1) > max(0.25 * scale, 7 * edge)  # discs must not meet
    if not far.any():
        return np.inf, 0, 0
    best = int(np.flatnonzero(far)[gap[far].argmin()])
    return float(gap[best]), int(a[best]), int(b[best])
