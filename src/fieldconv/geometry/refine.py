"""Improve a dense map between two shapes with their eigenfunctions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .embedding import nearest_in_triangles
from .mesh import Mesh
from .sampling import farthest_points
from .spectral import Eigenbasis, eigenbasis

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LOWEST, HIGHEST, STEP = 10, 100, 4  # eigenfunctions at the beginning, at the end, and added in each step
SUPPORT = 1500  # vertices on which all but the last map are found
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
    a: Mesh, b: Mesh, target: NDArray[np.integer], *, lowest: int = LOWEST, highest: int = HIGHEST
) -> Refined:
    """Return a map that is smooth and as near to an isometry as the shapes allow, near a given one.

    As in ZoomOut (Melzi et al., 2019): the map carries functions of B to A, written in k eigenfunctions of
    each; from the rotation nearest to that matrix a map is read again, with more eigenfunctions every time.

    Parameters
    ----------
    a, b : Mesh
    target : (V_A,) int
        Vertex of B at each vertex of A; −1 where there is none.
    lowest, highest : int
        Numbers of eigenfunctions at the beginning and at the end.

    Raises
    ------
    ValueError
        If no vertex of A has a target.
    """
    aims: Ints = np.asarray(target).astype(np.int64)
    if not (aims >= 0).any():
        raise ValueError("there is no map to refine: no vertex has a target")
    one, two = (eigenbasis(mesh.normalised(), highest) for mesh in (a, b))
    highest = min(highest, one.functions.shape[1], two.functions.shape[1])
    some = [farthest_points(mesh.vertices, min(SUPPORT, len(mesh.vertices))) for mesh in (a, b)]
    some[0] = some[0][aims[some[0]] >= 0] if (aims[some[0]] >= 0).any() else np.flatnonzero(aims >= 0)
    here = aims[some[0]]
    for k in range(min(lowest, highest), highest, STEP):
        carried = _carried(one, two, some[0], here, k)
        here = some[1][_nearest(one.functions[some[0], :k], two.functions[some[1], :k] @ carried.T)]
    carried = _carried(one, two, some[0], here, highest)
    place = two.functions[:, :highest] @ carried.T
    found = _nearest(one.functions[:, :highest], place)
    triangle, weights, _ = nearest_in_triangles(one.functions[:, :highest], place, b.faces, vertex=found)
    return Refined(found, triangle, weights)


def _carried(one: Eigenbasis, two: Eigenbasis, rows: Ints, target: Ints, k: int) -> Floats:
    """(k, k) coefficients on A of functions of B, fitted at some vertices, as a rotation.

    Isometries are rotations here. Wrong targets shrink what is fitted; the nearest rotation undoes that.
    """
    fitted = np.linalg.lstsq(one.functions[rows, :k], two.functions[target, :k], rcond=1e-9)[0]
    left, _, right = np.linalg.svd(fitted)
    return np.asarray(left @ right)


def _nearest(points: Floats, places: Floats) -> Ints:
    """(n,) the row of ``places`` nearest to each point: in many dimensions, trying all is fastest."""
    squares = (places**2).sum(1)
    step = max(1, ROWS // len(places))
    parts = [
        (squares - 2 * points[first : first + step] @ places.T).argmin(1)
        for first in range(0, len(points), step)
    ]
    return np.concatenate(parts).astype(np.int64)
