"""Triangles one by one: normals, areas, angles, and which are degenerate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.topology import repeats_vertex

MIN_HEIGHT = 1e-12  # of a face, over its longest side: below, directions in it are rounding errors
BLOCK = 65_536  # faces of one step, to save memory


def degenerate(vertices: Floats, faces: Ints) -> Bools:
    """(F,) whether a face names a vertex twice or has no area; faces with NaN are not judged."""
    return np.concatenate([np.zeros(0, bool), *degenerate_blocks(vertices, faces)])


def degenerate_blocks(vertices: Floats, faces: Ints) -> Iterator[Bools]:
    """Yield `degenerate` for one block of faces after the other."""
    for begin in range(0, len(faces), BLOCK):
        block = faces[begin : begin + BLOCK]
        sides = scaled_sides(vertices, block)
        doubled = np.linalg.norm(cross(sides[:, 0], sides[:, 1]), axis=1)
        flat = doubled <= MIN_HEIGHT * (sides**2).sum(axis=2).max(axis=1)
        if flat.any():
            flat &= np.isfinite(vertices[block]).all(axis=(1, 2))
        yield np.asarray(repeats_vertex(block) | flat)


def scaled_sides(vertices: Floats, faces: Ints) -> Floats:
    """(F, 3, 3) sides from corner i to i + 1, relative to the face's own size: no square overflows."""
    corners = vertices[faces].transpose(2, 1, 0).copy()  # arithmetic on long rows is faster
    corners = np.where(np.isfinite(corners), corners, 0) / 2  # halved: nor does a difference
    sides = np.roll(corners, -1, axis=1) - corners
    size = np.abs(sides).max(axis=(0, 1))
    return np.asarray(sides / np.where(size > 0, size, 1)).transpose(2, 1, 0)


def cross(a: Floats, b: Floats) -> Floats:
    """Cross products of rows (n, 3), as by numpy.cross, in less time and memory."""
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for axis in range(3):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        product[..., axis] = a[..., one] * b[..., other]
        product[..., axis] -= a[..., other] * b[..., one]
    return product


def doubled_normals(points: Floats, faces: Ints) -> Floats:
    """(F, 3) face normals as long as twice the face's area."""
    a, b, c = points[faces].transpose(1, 0, 2)
    return cross(b - a, c - a)


def sum_at_vertices(count: int, faces: Ints, per_face: Floats) -> Floats:
    """(V,) or (V, k) sum over the faces around each vertex of numbers (F,) or rows of them (F, k)."""
    if per_face.ndim == 2:
        return np.stack([sum_at_vertices(count, faces, column) for column in per_face.T], axis=1)
    return np.bincount(faces.ravel(), np.repeat(per_face, 3), count).astype(np.float64, copy=False)


def vertex_areas(points: Floats, faces: Ints) -> Floats:
    """Return a third of the area of the triangles about each vertex."""
    areas = 0.5 * np.linalg.norm(doubled_normals(points, faces), axis=1)
    return sum_at_vertices(len(points), faces, areas / 3)


def vertex_normals(points: Floats, faces: Ints) -> Floats:
    """Return the unit normals, triangles counting by their area; 0 where they cancel."""
    normal = sum_at_vertices(len(points), faces, doubled_normals(points, faces))
    return np.asarray(normal / (np.linalg.norm(normal, axis=1, keepdims=True) + 1e-300))


def least_angle(points: Floats, faces: Ints) -> float:
    """Return the smallest angle of all triangles, in degrees."""
    p, q, r = points[faces.T]
    edges = np.stack([q - p, r - q, p - r])
    edges /= np.linalg.norm(edges, axis=2, keepdims=True) + 1e-300
    cosine = -(edges * np.roll(edges, 1, axis=0)).sum(axis=2)
    return float(np.degrees(np.arccos(np.clip(cosine.max(), -1, 1))))
