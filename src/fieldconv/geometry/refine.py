"""Improve a dense map between two shapes with their eigenfunctions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .embedding import nearest_in_triangles
from .mesh import Mesh
from .sampling import farthest_points
from .spectral import Eigenbasis, eigenbasis
from .topology import neighbour_means

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FUNCTIONS = 200  # eigenfunctions: fewer tell less than the map that is given
SPARSE = 10  # vertices for each eigenfunction, at least
SUPPORT = 4000  # vertices at which the matrix is fitted
NEARNESS = (
    3.0  # how much the given place counts beside the eigenfunctions, which change about 25 times as fast
)
NOISE = 0.3  # singular values of the fitted matrix below this are mostly chance
FARTHEST = 0.1  # at unit area: a target that is farther than this from its neighbours' is not believed
ROWS = 2**22  # squared distances at a time


class Refined(NamedTuple):
    """A map from A to B.

    Attributes
    ----------
    target : (V_A,) int64, vertex of B.
    triangle, weights : (V_A,) int64 and (V_A, 3) float64, the same as points inside B's triangles.
    """

    target: Ints
    triangle: Ints
    weights: Floats


def refined(
    a: Mesh,
    b: Mesh,
    target: NDArray[np.integer],
    *,
    functions: int = FUNCTIONS,
    nearness: float = NEARNESS,
) -> Refined:
    """Return a map that is smoother than a given one, and near it.

    The map carries functions of B to A, written in k eigenfunctions of each. From that matrix, made nearly a
    rotation, the map is read again, as in one step of ZoomOut (Melzi et al., 2019): the target of a point is
    the vertex of B with the nearest values of eigenfunctions and, with less weight, the nearest place to the
    one given. Repeating the step, or beginning with fewer eigenfunctions, helps poor maps; those of a
    trained network are better than what few eigenfunctions can tell, and get worse by it.

    Parameters
    ----------
    a, b : Mesh
    target : (V_A,) int
        Vertex of B at each vertex of A; −1 where there is none.
    functions : int
        Number of eigenfunctions k; fewer if a mesh has less than ten vertices for each.
    nearness : float
        Weight of the given place; 0 leaves it out.

    Raises
    ------
    ValueError
        If no vertex of A has a target.
    """
    aims: Ints = np.asarray(target).astype(np.int64)
    known = np.flatnonzero(aims >= 0)
    if not len(known):
        raise ValueError("there is no map to refine: no vertex has a target")
    a, b = a.normalised(), b.normalised()
    k = max(2, min(functions, len(a.vertices) // SPARSE, len(b.vertices) // SPARSE))
    one, two = (eigenbasis(mesh, k) for mesh in (a, b))
    k = min(one.functions.shape[1], two.functions.shape[1])
    # A target that is far from its neighbours' is a mistake: theirs say more.
    given = np.where(aims[:, None] >= 0, b.vertices[aims], 0)
    means = neighbour_means(len(aims), a.faces)
    share = means @ (aims >= 0)
    around = means @ given / np.maximum(share, 1e-9)[:, None]
    alone = (aims < 0) | ((np.linalg.norm(given - around, axis=1) > FARTHEST) & (share > 0))
    given = np.where(alone[:, None], around, given)
    placed = ~alone | (share > 0)
    fitted = known[farthest_points(a.vertices[known], min(SUPPORT, len(known)))]
    carried = _carried(one, two, fitted, aims[fitted], k)
    found, triangle = np.zeros_like(aims), np.zeros_like(aims)
    weights = np.zeros((len(aims), 3))
    for asked, weight in ((placed, nearness), (~placed, 0.0)):
        here = np.hstack([one.functions[asked, :k] / k**0.5, weight * given[asked]])
        there = np.hstack([two.functions[:, :k] @ carried.T / k**0.5, weight * b.vertices])
        found[asked] = nearest = _nearest(here, there)
        triangle[asked], weights[asked], _ = nearest_in_triangles(here, there, b.faces, vertex=nearest)
    return Refined(found, triangle, weights)


def _carried(one: Eigenbasis, two: Eigenbasis, rows: Ints, target: Ints, k: int) -> Floats:
    """(k, k) coefficients on A of functions of B, fitted at some vertices; nearly a rotation.

    Isometries are rotations here. Wrong targets shrink what is fitted, which is undone, but for directions of
    which hardly anything is left.
    """
    fitted = np.linalg.lstsq(one.functions[rows, :k], two.functions[target, :k], rcond=1e-9)[0]
    left, size, right = np.linalg.svd(fitted)
    return np.asarray((left * (size**2 / (size**2 + NOISE**2))) @ right)


def _nearest(points: Floats, places: Floats) -> Ints:
    """(n,) the row of ``places`` nearest to each point: in many dimensions, trying all is fastest."""
    points, places = points.astype(np.float32), places.astype(np.float32)
    squares = (places**2).sum(1)
    step = max(1, ROWS // len(places))
    parts = [
        (squares - 2 * points[first : first + step] @ places.T).argmin(1)
        for first in range(0, len(points), step)
    ]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
