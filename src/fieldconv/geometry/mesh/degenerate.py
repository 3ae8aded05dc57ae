"""Faces without an area, and rows that repeat an earlier one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.face_edges import repeats_vertex
from fieldconv.geometry.mesh.files.common import first_equal

# A face is degenerate when its height is below this part of its longest side: no direction in it is known.
_FLAT = 1e-12
AT_ONCE = 65_536  # faces that are looked at together: more would only take memory


def degenerate(vertices: Floats, faces: Ints) -> Bools:
    """(F,) whether a face names a vertex twice or has no area; faces with NaN are not judged."""
    judged = np.empty(len(faces), dtype=bool)
    for begin in range(0, len(faces), AT_ONCE):
        some = faces[begin : begin + AT_ONCE]
        judged[begin : begin + AT_ONCE] = _some_degenerate(vertices, some)
    return judged


def all_degenerate(vertices: Floats, faces: Ints) -> bool:
    """Whether no face has an area; looks no further than the first that has."""
    return all(
        _some_degenerate(vertices, faces[begin : begin + AT_ONCE]).all()
        for begin in range(0, len(faces), AT_ONCE)
    )


def _some_degenerate(vertices: Floats, faces: Ints) -> Bools:
    sides = scaled_sides(vertices, faces)
    doubled = np.linalg.norm(cross(sides[:, 0], sides[:, 1]), axis=1)
    flat = doubled <= _FLAT * (sides**2).sum(axis=2).max(axis=1)
    if flat.any():
        flat &= np.isfinite(vertices[faces]).all(axis=(1, 2))
    return np.asarray(repeats_vertex(faces) | flat)


def scaled_sides(vertices: Floats, faces: Ints) -> Floats:
    """(F, 3, 3) sides from corner i to i + 1, relative to the face's own size: no square overflows."""
    corners = vertices[faces].transpose(2, 1, 0).copy()  # arithmetic on long rows is faster
    corners = np.where(np.isfinite(corners), corners, 0) / 2  # halved: nor does a difference
    sides = np.roll(corners, -1, axis=1) - corners
    size = np.abs(sides).max(axis=(0, 1))
    return np.asarray(sides / np.where(size > 0, size, 1)).transpose(2, 1, 0)


def cross(a: Floats, b: Floats) -> Floats:
    """Cross products of rows (n, 3), as numpy.cross gives them, in less time and memory."""
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for axis in range(3):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        product[..., axis] = a[..., one] * b[..., other]
        product[..., axis] -= a[..., other] * b[..., one]
    return product


def first_of_equals(rows: Floats | Ints) -> Bools:
    """Whether no earlier row equals each one."""
    digest = np.sort(_digests(rows))
    if (digest[1:] != digest[:-1]).all():  # usually all differ, which is much faster to find out
        return np.ones(len(rows), dtype=bool)
    return np.asarray(first_equal(rows) == np.arange(len(rows)))


def _digests(rows: Floats | Ints) -> NDArray[np.uint64]:
    """(n,) a number for each row; equal rows have equal ones."""
    bits = np.ascontiguousarray(rows + rows.dtype.type(0)).view(np.uint64)  # no negative zeros
    digest = np.zeros(len(rows), np.uint64)
    for column in bits.T:
        digest = (digest ^ column) * np.uint64(0x9E3779B97F4A7C15)
        digest ^= digest >> np.uint64(29)
    return digest
