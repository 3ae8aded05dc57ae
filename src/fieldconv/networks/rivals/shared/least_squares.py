"""Gradients at points from values at their neighbours, by fitting polynomials: no triangles are needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fieldconv._arrays import Ints


class PointGradients(NamedTuple):
    """∇f at each point as a sum over its neighbours: ∇f(p) = Σ_e c_e f(q) over the edges e = (q → p).

    Attributes
    ----------
    sender, receiver : (E,) int64
        q and p, sorted by receiver, then sender; each point is its own neighbour.
    coefficient : (E,) complex128
        c, in the tangent frame of the receiver.
    """

    sender: Ints
    receiver: Ints
    coefficient: NDArray[np.complex128]


def point_gradients(
    points: ArrayLike,
    frames: ArrayLike,
    normals: ArrayLike,
    *,
    neighbours: int = 20,
    regulariser: float = 1e-3,
) -> PointGradients:
    """Return the gradient operator of a point cloud by weighted least squares.

    A polynomial of second degree is fitted to the values at the nearest neighbours, projected to the tangent
    plane; its slope is the gradient. Neighbours at distance d count e^{−d²/h²}, with h the mean distance of
    neighbours. Gradients of constants are exactly zero.

    Parameters
    ----------
    points : (n, 3)
    frames, normals : (n, 3)
        Unit vectors: direction θ = 0 of the tangent plane, and normal, at each point.
    neighbours : int
        Number of neighbours, the point itself included; all points if there are fewer.
    regulariser : float
        λ, added to the normal equations of slopes and curvatures, in units of h.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> points = np.append(draw.random((50, 2)), np.zeros((50, 1)), 1)
    >>> frames, normals = np.tile([1.0, 0, 0], (50, 1)), np.tile([0, 0, 1.0], (50, 1))
    >>> found = point_gradients(points, frames, normals, regulariser=0.0)
    >>> slope = np.bincount(found.receiver, (found.coefficient * 3 * points[found.sender, 0]).real)
    >>> slope.round(6)[:3].tolist()
    [3.0, 3.0, 3.0]
    """
    points, frames, normals = (np.asarray(each, np.float64) for each in (points, frames, normals))
    count = len(points)
    k = min(neighbours, count)
    distance, near = scipy.spatial.cKDTree(points).query(points, k)
    order = np.argsort(near.reshape(count, k), axis=1)
    near = np.take_along_axis(near.reshape(count, k), order, 1)
    distance = np.take_along_axis(distance.reshape(count, k), order, 1)
    size = float(distance.mean()) or 1.0
    offset = (points[near] - points[:, None]) / size
    u = (offset * frames[:, None]).sum(2)
    v = (offset * np.cross(normals, frames)[:, None]).sum(2)
    weight = np.exp(-((distance / size) ** 2))
    weight /= weight.sum(1, keepdims=True)
    terms = np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], 2)
    weighted = weight[:, :, None] * terms
    # Constants are free; of the curvatures, the sum of squares that no choice of frame changes.
    penalty = max(regulariser, 1e-9) * np.diag([0.0, 1.0, 1.0, 1.0, 0.5, 1.0])
    fit = np.linalg.solve(weighted.transpose(0, 2, 1) @ terms + penalty, weighted.transpose(0, 2, 1))
    receiver = np.repeat(np.arange(count), k)
    return PointGradients(near.ravel(), receiver, (fit[:, 1] + 1j * fit[:, 2]).ravel() / size)
