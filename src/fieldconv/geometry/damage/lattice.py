"""The surface {f = 0} of a function known on a lattice: closed, manifold triangles.

The lattice is body-centred cubic: corners (kind 0) and centres (kind 1) of cubic cells. A tetrahedron joins
two neighbouring centres to an edge of the face between them; in each, f is taken to be linear.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import kernel


def random_turn(rng: np.random.Generator) -> Floats:
    """Return a random rotation matrix.

    Examples
    --------
    >>> turn = random_turn(np.random.default_rng(0))
    >>> bool(np.allclose(turn @ turn.T, np.eye(3))), round(float(np.linalg.det(turn)), 6)
    (True, 1.0)
    """
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q *= np.sign(np.diag(r))
    return np.asarray(q * np.linalg.det(q))


@kernel
def _cut_tetrahedron(
    number: Ints, level: Floats, a: int, b: int, c: int, d: int, ends: Ints, height: Floats, count: int
) -> int:
    """Append the surface triangles of the positive tetrahedron a, b, c, d; return the new count."""
    # Bring the inside corners to the front by even permutations only: the orientation stays.
    inside = (level[a] < 0) + (level[b] < 0) + (level[c] < 0) + (level[d] < 0)
    if inside == 0 or inside == 4:
        return count
    odd_one = inside == 1
    if inside != 2:
        # The one corner that differs from the others becomes a.
        if (level[b] < 0) == odd_one:
            a, b, c = b, c, a
        elif (level[c] < 0) == odd_one:
            a, b, c = c, a, b
        elif (level[d] < 0) == odd_one:
            a, d, b = d, b, a
        path = ((a, b), (a, c), (a, d), (a, b), (a, b), (a, b))
        used = 3
        if not odd_one:
            path = ((a, b), (a, d), (a, c), (a, b), (a, b), (a, b))
    else:
        # The two inside corners become a and b.
        if level[a] >= 0:
            if level[b] < 0:
                a, b, c = b, c, a
            else:
                a, b, c, d = c, d, a, b
        if level[c] < 0:
            b, c, d = c, d, b
        elif level[d] < 0:
            b, c, d = d, b, c
        path = ((a, c), (a, d), (b, d), (a, c), (b, d), (b, c))
        used = 6
    for m in range(used):
        low, high = path[m]
        if number[low] > number[high]:
            low, high = high, low
        ends[count, 0], ends[count, 1] = number[low], number[high]
        height[count, 0], height[count, 1] = level[low], level[high]
        count += 1
    return count


@kernel
def cut_cells(
    value: NDArray[np.floating],
    i0: int,
    j0: int,
    k0: int,
    ny: int,
    nz: int,
    ends: Ints,
    height: Floats,
    count: int,
) -> tuple[Ints, Floats, int]:
    """Append the surface triangles in a block of cells, which begins at cell (i0, j0, k0) of the lattice.

    ``value`` (2, n + 1, m + 1, l + 1) are the values at corners and centres; ``ny`` and ``nz`` count the
    corners of the whole lattice. Three rows of ``ends`` and ``height`` are a triangle: the numbers of the two
    ends of the lattice edge below each corner, and the values there. Returns both, which may have grown.
    """
    number = np.empty(6, np.int64)
    level = np.empty(6)
    at = np.empty(3, np.int64)
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    for i in range(value.shape[1] - 1):
        for j in range(value.shape[2] - 1):
            for k in range(value.shape[3] - 1):
                for axis in range(3):
                    # Six lattice points: two centres, then the four corners of the face between them.
                    p, q = (axis + 1) % 3, (axis + 2) % 3
                    inside = 0
                    for m in range(6):
                        at[0], at[1], at[2] = i, j, k
                        if m > 0:
                            at[axis] += 1
                        if m > 1:
                            at[p] += square[m - 2, 0]
                            at[q] += square[m - 2, 1]
                        kind = 1 if m < 2 else 0
                        level[m] = value[kind, at[0], at[1], at[2]]
                        number[m] = 2 * (((i0 + at[0]) * ny + j0 + at[1]) * nz + k0 + at[2]) + kind
                        inside += level[m] < 0
                    if inside == 0 or inside == 6:
                        continue
                    if count + 24 > len(ends):
                        ends = np.concatenate((ends, np.empty_like(ends)))
                        height = np.concatenate((height, np.empty_like(height)))
                    for m in range(4):
                        count = _cut_tetrahedron(
                            number, level, 0, 1, 2 + m, 2 + (m + 1) % 4, ends, height, count
                        )
    return ends, height, count


def lattice_mesh(ends: Ints, height: Floats, ny: int, nz: int) -> tuple[Floats, Ints, Ints]:
    """Return the points in cells, the faces, and the two lattice ends (V, 2) of each point's edge."""
    key, first, corner = np.unique(ends[:, 0] << 32 | ends[:, 1], return_index=True, return_inverse=True)
    numbers = np.stack([key >> 32, key & 0xFFFFFFFF], axis=1)
    index, centre = numbers // 2, numbers % 2
    lattice = np.stack([index // (ny * nz), index // nz % ny, index % nz], axis=2) + 0.5 * centre[..., None]
    f = height[first]
    share = np.clip(f[:, 0] / (f[:, 0] - f[:, 1]), 0.05, 0.95)[:, None]
    points = (1 - share) * lattice[:, 0] + share * lattice[:, 1]
    return points, corner.reshape(-1, 3), numbers
