"""Ball integrals: the shape around a point in space, independent of triangles and of connections.

Heat signatures change with every cut, hole and contact, however far away. Integrals over the part of a
surface within a ball around a point do not: a contact changes nothing, a cut only the balls that reach it,
and noise is averaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldconv._arrays import Floats
from fieldconv._compiled import blocks
from fieldconv.geometry.mesh.mesh import Mesh

Numbers = NDArray[np.floating]  # of single or double precision

RADII = (0.06, 0.1, 0.16, 0.26, 0.42, 0.68)  # at unit area
COLUMNS = 7 * len(RADII) - 1
UNITS = (0.25, 0.1, 0.1, 0.05, 0.05, 0.3, 0.01)  # typical variation of each number over a body
MAX_ROWS = 256  # at a time, which bounds the memory


def ball_integrals(mesh: Mesh, vertices: ArrayLike, radii: ArrayLike = RADII) -> Floats:
    """Return the shape within balls around some vertices of a mesh, as numbers that no rigid motion changes.

    A point q of the surface within a ball of radius R around p has the weight area(q) (1 − |q − p|² / R²).
    From the total weight m, the mean offset d from p, the second moments C about p, all in units of R, and a
    mean normal, with n the normal at p and t the tangential part of d, follow:

    - m, relative to that of a flat disc
    - d · n and |t|, which tell peaks from pits and ends from middles
    - n · C n, and how elongated C is in the tangent plane
    - the mean normal · n, which is small where other sheets lie opposite
    - n · (t × t′), t′ of the next larger ball: positive on one hand and negative on the other

    Parameters
    ----------
    mesh : Mesh
        Scaled to unit area for the usual radii.
    vertices : (n,) int
        Centres of the balls.
    radii : (k,) float
        Ascending.

    Returns
    -------
    (n, 7k − 1) float64
        The seven numbers of each ball, in `UNITS`, smallest ball first; the largest ball lacks the seventh.

    Examples
    --------
    >>> flat = Mesh([[x / 9, y / 9, 0] for x in range(10) for y in range(10)],
    ...             [[10 * x + y, 10 * x + y + 10, 10 * x + y + 11, 10 * x + y + 1]
    ...              for x in range(9) for y in range(9)])
    >>> (ball_integrals(flat, [44], radii=[0.4])[0] * UNITS[:6]).round(1).tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """
    chosen, sizes = np.asarray(vertices, np.int64), np.asarray(radii, np.float32)
    # Single precision is enough for sums over thousands of vertices, and twice as fast.
    points, areas = mesh.vertices.astype(np.float32), mesh.vertex_areas.astype(np.float32)
    normals = np.nan_to_num(mesh.vertex_normals).astype(np.float32)
    squares = points[:, [0, 0, 0, 1, 1, 2]] * points[:, [0, 1, 2, 1, 2, 2]]
    moments = areas[:, None] * np.hstack([np.ones_like(points[:, :1]), points, squares, normals])
    found = np.empty((len(chosen), 7 * len(sizes) - 1))
    for rows in (slice(*block) for block in blocks(len(chosen), MAX_ROWS)):
        own = points[chosen[rows]]
        squared = (own**2).sum(1)[:, None] + (points**2).sum(1) - 2 * own @ points.T
        normal = _smooth_normals(squared, normals[chosen[rows]], normals, areas, sizes[0])
        balls = [_in_ball(squared, own, normal, moments, size) for size in sizes]
        found[rows] = _columns(balls, normal)
    return found


def _smooth_normals(
    squared: Numbers, own: Numbers, normals: Numbers, areas: Numbers, radius: float
) -> Numbers:
    """(n, 3) normals averaged over the smallest ball, without sheets that face the other way."""
    weight = areas * np.maximum(1 - squared / radius**2, 0) * np.maximum(own @ normals.T, 0)
    mean = weight @ normals
    length = np.linalg.norm(mean, axis=1, keepdims=True)
    return np.asarray(np.where(length > 0, mean / np.where(length > 0, length, 1), own))


def _in_ball(
    squared: Numbers, own: Numbers, normal: Numbers, moments: Numbers, radius: float
) -> tuple[Numbers, Numbers]:
    """Six numbers of each point (n, 6), and the tangential part of the mean offset (n, 3)."""
    sums = (np.maximum(1 - squared / radius**2, 0) @ moments).astype(np.float64)
    own, normal = own.astype(np.float64), normal.astype(np.float64)
    total = np.where(sums[:, 0] > 0, sums[:, 0], 1)[:, None]
    mean = sums[:, 1:4] / total
    second = (sums[:, 4:10] / total)[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
    cross = mean[:, :, None] * own[:, None]
    second = (second - cross - cross.transpose(0, 2, 1) + own[:, :, None] * own[:, None]) / radius**2
    offset = (mean - own) / radius
    height = (offset * normal).sum(1)
    along = offset - height[:, None] * normal
    flat = np.eye(3) - normal[:, :, None] * normal[:, None]
    lengths = np.linalg.eigvalsh(flat @ second @ flat)  # the third direction has none
    numbers = [
        sums[:, 0] / (np.pi / 2 * radius**2),
        height,
        np.linalg.norm(along, axis=1),
        np.einsum("ni,nij,nj->n", normal, second, normal),
        lengths[:, 2] - np.maximum(lengths.sum(1) - lengths[:, 2], 0),
        (sums[:, 10:13] / total * normal).sum(1),
    ]
    return np.stack(numbers, 1), along


def _columns(balls: list[tuple[Numbers, Numbers]], normal: Numbers) -> Numbers:
    """Put the numbers of all balls side by side, each with its handedness to the next."""
    columns = []
    for k, (numbers, along) in enumerate(balls):
        columns.append(numbers / UNITS[:6])
        if k + 1 < len(balls):
            hand = (normal * np.cross(along, balls[k + 1][1])).sum(1, keepdims=True)
            columns.append(hand / UNITS[6])
    return np.hstack(columns)
