"""The smooth solid around a skeleton, and its surface on a lattice.

The solid is {f < 0}. Every bone has a distance-like function d; f is the minimum of d over all bones, blended
smoothly with the d of each bone's parent. Only neighbours in the skeleton are blended, so fingers side by
side stay apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import kernel
from fieldconv.datasets.creatures.skeleton import Skeleton
from fieldconv.geometry.damage.lattice import cut_cells, lattice_mesh
from fieldconv.geometry.mesh.topology import components, renumber

BLOCK = 4  # lattice cells along the side of a block; blocks away from the surface are skipped


class Solid(NamedTuple):
    """The skeleton as plain arrays for compiled loops, one row per bone."""

    parent: Ints
    head: Floats
    frame: Floats  # (B, 3, 3): along, wide, thin
    length: Floats
    radii: Floats
    swell: Floats
    blend: Floats
    girth: Floats  # mean radius half-way; reduced for thick bones, so that they stay round
    bound: Floats  # radius of a ball about the middle that holds the bone


def make_solid(skeleton: Skeleton) -> Solid:
    middle = (skeleton.radii[:, :2] + skeleton.radii[:, 2:]) / 2 * (1 + skeleton.swell[:, None])
    girth = middle.mean(axis=1)
    usual = np.median(girth)
    return Solid(
        skeleton.parent.astype(np.int64),
        skeleton.head,
        np.stack([skeleton.along, skeleton.wide, skeleton.thin], axis=1),
        skeleton.length,
        skeleton.radii,
        skeleton.swell,
        skeleton.blend,
        np.where(girth > usual, usual + 0.35 * (girth - usual), girth),
        skeleton.length / 2 + np.maximum(skeleton.radii.max(axis=1), middle.max(axis=1)),
    )


@kernel
def bone_distance(solid: Solid, b: int, x: float, y: float, z: float) -> float:
    """Return the signed distance to one bone: exact across a round bone, to first order across a flat one."""
    frame = solid.frame[b]
    dx, dy, dz = x - solid.head[b, 0], y - solid.head[b, 1], z - solid.head[b, 2]
    along = dx * frame[0, 0] + dy * frame[0, 1] + dz * frame[0, 2]
    wide = dx * frame[1, 0] + dy * frame[1, 1] + dz * frame[1, 2]
    thin = dx * frame[2, 0] + dy * frame[2, 1] + dz * frame[2, 2]
    s = min(max(along / solid.length[b], 0.0), 1.0)
    along -= s * solid.length[b]
    swell = 1.0 + solid.swell[b] * 4.0 * s * (1.0 - s)
    width = ((1.0 - s) * solid.radii[b, 0] + s * solid.radii[b, 2]) * swell
    thickness = ((1.0 - s) * solid.radii[b, 1] + s * solid.radii[b, 3]) * swell
    cap = 0.5 * (width + thickness)
    a, w, t = along / cap, wide / width, thin / thickness
    level = np.sqrt(a * a + w * w + t * t)
    a, w, t = a / cap, w / width, t / thickness
    slope = np.sqrt(a * a + w * w + t * t)
    depth = -min(width, thickness)  # no point of the bone is deeper
    if slope * cap < 1e-9:
        return float(depth)
    return float(max(level * (level - 1.0) / slope, depth))


@kernel
def field(solid: Solid, x: float, y: float, z: float, distance: Floats) -> float:
    """Return f at a point; ``distance`` is scratch space, one number per bone."""
    bones = len(solid.parent)
    nearest = np.inf
    for b in range(bones):
        half = 0.5 * solid.length[b]
        dx = x - solid.head[b, 0] - half * solid.frame[b, 0, 0]
        dy = y - solid.head[b, 1] - half * solid.frame[b, 0, 1]
        dz = z - solid.head[b, 2] - half * solid.frame[b, 0, 2]
        centre = np.sqrt(dx * dx + dy * dy + dz * dz)
        nearest = min(nearest, centre + solid.blend[b])
        distance[b] = centre - solid.bound[b]
    value = np.inf
    for b in range(bones):
        if distance[b] < nearest:  # bones farther away than this have no influence here
            distance[b] = bone_distance(solid, b, x, y, z)
        blended = distance[b]
        parent = solid.parent[b]
        if parent >= 0:
            k = solid.blend[b]
            other = distance[parent]
            gap = abs(blended - other)
            blended = min(blended, other)
            if gap < k:
                h = (k - gap) / k
                blended -= h * h * h * k / 6.0
        value = min(value, blended)
    return value


@kernel
def project(
    solid: Solid, point: Floats, distance: Floats, steps: int, reach: float
) -> tuple[float, float, float]:
    """Move a point onto the surface by Newton steps, in place; return the normal, a mean over ``reach``."""
    eps = 1e-6
    for _ in range(steps):
        x, y, z = point[0], point[1], point[2]
        value = field(solid, x, y, z, distance)
        if abs(value) < 1e-9:
            break
        gx = (field(solid, x + eps, y, z, distance) - value) / eps
        gy = (field(solid, x, y + eps, z, distance) - value) / eps
        gz = (field(solid, x, y, z + eps, distance) - value) / eps
        square = gx * gx + gy * gy + gz * gz
        if square < 1e-12:
            break
        step = value / square
        point[0] -= step * gx
        point[1] -= step * gy
        point[2] -= step * gz
    x, y, z = point[0], point[1], point[2]
    gx = field(solid, x + reach, y, z, distance) - field(solid, x - reach, y, z, distance)
    gy = field(solid, x, y + reach, z, distance) - field(solid, x, y - reach, z, distance)
    gz = field(solid, x, y, z + reach, distance) - field(solid, x, y, z - reach, distance)
    norm = np.sqrt(gx * gx + gy * gy + gz * gz) + 1e-30
    return gx / norm, gy / norm, gz / norm


@kernel
def project_all(solid: Solid, points: Floats, steps: int, reach: Floats) -> Floats:
    """Move points onto the surface in place; return the normals."""
    normals = np.empty_like(points)
    distance = np.empty(len(solid.parent))
    for i in range(len(points)):
        normals[i, 0], normals[i, 1], normals[i, 2] = project(solid, points[i], distance, steps, reach[i])
    return normals


@kernel
def bone_distances(solid: Solid, points: Floats) -> Floats:
    """Return the distance of every point to every bone, (n, bones)."""
    result = np.empty((len(points), len(solid.parent)))
    for i in range(len(points)):
        for b in range(len(solid.parent)):
            result[i, b] = bone_distance(solid, b, points[i, 0], points[i, 1], points[i, 2])
    return result


@kernel
def _lattice_point(
    origin: Floats, turn: Floats, cell: float, i: float, j: float, k: float
) -> tuple[float, float, float]:
    u, v, w = i * cell, j * cell, k * cell
    return (
        origin[0] + turn[0, 0] * u + turn[0, 1] * v + turn[0, 2] * w,
        origin[1] + turn[1, 0] * u + turn[1, 1] * v + turn[1, 2] * w,
        origin[2] + turn[2, 0] * u + turn[2, 1] * v + turn[2, 2] * w,
    )


@kernel
def _blocks_near_surface(solid: Solid, origin: Floats, turn: Floats, cell: float, blocks: Ints) -> Ints:
    """Return the blocks that the surface may cross, by the distance of their middle."""
    side = BLOCK * cell
    reach = 1.5 * side * np.sqrt(3.0) / 2.0
    distance = np.empty(len(solid.parent))
    found = np.empty((blocks[0] * blocks[1] * blocks[2], 3), np.int64)
    count = 0
    for i in range(blocks[0]):
        for j in range(blocks[1]):
            for k in range(blocks[2]):
                x, y, z = _lattice_point(origin, turn, side, i + 0.5, j + 0.5, k + 0.5)
                if abs(field(solid, x, y, z, distance)) < reach:
                    found[count, 0], found[count, 1], found[count, 2] = i, j, k
                    count += 1
    return found[:count]


@kernel
def _tetrahedra_surface(
    solid: Solid,
    origin: Floats,
    turn: Floats,
    cell: float,
    blocks: Ints,
    active: Ints,
) -> tuple[Ints, Floats]:
    """Return the surface triangles on the lattice, as `cut_cells` does."""
    n = BLOCK + 1
    ny, nz = blocks[1] * BLOCK + 1, blocks[2] * BLOCK + 1
    value = np.empty((2, n, n, n))
    ends = np.empty((4096, 2), np.int64)
    height = np.empty((4096, 2))
    count = 0
    distance = np.empty(len(solid.parent))
    for a in range(len(active)):
        i0, j0, k0 = active[a, 0] * BLOCK, active[a, 1] * BLOCK, active[a, 2] * BLOCK
        for centre in range(2):
            for i in range(n):
                for j in range(n):
                    for k in range(n):
                        h = 0.5 * centre
                        x, y, z = _lattice_point(origin, turn, cell, i0 + i + h, j0 + j + h, k0 + k + h)
                        value[centre, i, j, k] = field(solid, x, y, z, distance)
        ends, height, count = cut_cells(value, i0, j0, k0, ny, nz, ends, height, count)
    return ends[:count], height[:count]


def lattice_surface(solid: Solid, cell: float, turn: Floats, shift: Floats) -> tuple[Floats, Ints]:
    """Return the largest component of {f = 0} on a lattice: closed, manifold, with slivers."""
    ends = np.concatenate([solid.head, solid.head + solid.length[:, None] * solid.frame[:, 0]])
    reach = np.tile(solid.bound - solid.length / 2, 2)[:, None]
    low = ((ends @ turn) - reach).min(axis=0) - 2 * cell + (shift - 1) * cell
    high = ((ends @ turn) + reach).max(axis=0) + 2 * cell
    blocks = np.ceil((high - low) / (BLOCK * cell)).astype(np.int64)
    origin = turn @ low
    active = _blocks_near_surface(solid, origin, turn, cell, blocks)
    edges, height = _tetrahedra_surface(solid, origin, turn, cell, blocks, active)

    lattice, faces, _ = lattice_mesh(edges, height, blocks[1] * BLOCK + 1, blocks[2] * BLOCK + 1)
    points = origin + cell * lattice @ turn.T
    component = components(len(points), faces)
    keep, faces = renumber(faces[component[faces[:, 0]] == np.bincount(component).argmax()])
    return points[keep], faces
