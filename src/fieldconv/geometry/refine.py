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

LOWEST, HIGHEST, STEP = 10, 100, 4  # eigenfunctions at the beginning, at the end, and added in each step
SUPPORT = 1500  # vertices on which all but the last map are found
FARTHEST = 0.1  # at unit area: a point that would move farther than this stays where it was
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
    lowest: int = LOWEST,
    highest: int = HIGHEST,
    farthest: float = FARTHEST,
) -> Refined:
    """Return a map that is smooth and as near to an isometry as the shapes allow, near a given one.

    As in ZoomOut (Melzi et al., 2019): the map carries functions of B to A, written in k eigenfunctions of
    each; from the rotation nearest to that matrix a map is read again, with more eigenfunctions every time.
    Shapes that are far from isometric, cut or fused can lead it astray. So a point that would end far from
    where the given map had it keeps its target, unless its neighbours' targets are far from it, too.

    Parameters
    ----------
    a, b : Mesh
    target : (V_A,) int
        Vertex of B at each vertex of A; −1 where there is none.
    lowest, highest : int
        Numbers of eigenfunctions at the beginning and at the end.
    farthest : float
        How far a point may move on B, scaled to unit area.

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
    given = b.vertices[aims]
    around = neighbour_means(len(aims), a.faces) @ given
    apart = [
        np.linalg.norm(given - other, axis=1) > farthest * b.area**0.5
        for other in (b.vertices[found], around)
    ]
    stays = (aims >= 0) & apart[0] & ~apart[1]
    found[stays] = aims[stays]
    triangle[stays], weights[stays] = _corners(b, aims[stays])
    return Refined(found, triangle, weights)


def _corners(mesh: Mesh, vertices: Ints) -> tuple[Ints, Floats]:
    """(n,) a triangle at each vertex, and (n, 3) weights that are 1 at its corner there."""
    first = np.zeros(len(mesh.vertices), np.int64)
    first[mesh.faces[::-1].ravel()] = np.repeat(np.arange(len(mesh.faces))[::-1], 3)
    return first[vertices], (mesh.faces[first[vertices]] == vertices[:, None]).astype(np.float64)


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
