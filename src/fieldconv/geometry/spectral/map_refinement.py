"""Improve a dense map between two shapes with their eigenfunctions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from fieldconv._arrays import Ints
from fieldconv._compiled import blocks
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import neighbour_means
from fieldconv.geometry.resample.resolution import Resampled, coarsen
from fieldconv.geometry.resample.sampling import farthest_points
from fieldconv.geometry.spectral.embedding import nearest_in_triangles
from fieldconv.geometry.spectral.signatures import Eigenbasis, eigenbasis

Numbers = NDArray[np.floating]  # of single or double precision

FUNCTIONS = 200  # eigenfunctions: fewer are less precise than the given map
MIN_VERTICES_PER_FUNCTION = 10
FITTED_VERTICES = 4000  # at which the matrix is fitted
NEARNESS = 3.0  # weight of the given place; eigenfunctions change about 25 times as fast
NOISE = 0.3  # singular values of the fitted matrix below this are mostly chance
MAX_NEIGHBOUR_DISTANCE = 0.1  # at unit area: a target farther than this from its neighbours' is a mistake
MAX_VERTICES = 8000  # denser meshes are refined on coarser copies
NEAR_VERTICES = 8  # vertices near a point, searched for one in the right region
MAX_DISTANCES = 2**22  # squared distances at a time


class RefinedMap(NamedTuple):
    """A map from A to B: vertices of B, and the same more precisely as points in its triangles."""

    target: Ints  # (V_A,)
    triangle: Ints  # (V_A,)
    weights: Numbers  # (V_A, 3)


def refine_map(
    a: Mesh,
    b: Mesh,
    target: NDArray[np.integer],
    *,
    nearness: float = NEARNESS,
    max_vertices: int = MAX_VERTICES,
) -> RefinedMap:
    """Return a map that is smoother than a given one and close to it.

    The map takes functions on B to A, in k eigenfunctions of each. From that matrix, made nearly a rotation,
    the map is read again, as in one step of ZoomOut (Melzi et al., 2019): the target of a point is the vertex
    of B with the nearest values of eigenfunctions and, with less weight, nearest to the given place.
    Repeating the step, or starting with fewer eigenfunctions, improves poor maps; maps of a trained network
    are more precise than few eigenfunctions can express, and get worse.

    Parameters
    ----------
    target : (V_A,) int
        Vertex of B at each vertex of A; −1 where there is none, but not everywhere.
    nearness : float
        Weight of the given place; 0 leaves it out.
    max_vertices : int
        A mesh with more vertices is refined on a coarser copy.
    """
    one, two = _prepare(a, b, max_vertices)
    return _refine(one, two, target, nearness)


def refine_maps(
    a: Mesh,
    b: Mesh,
    there: NDArray[np.integer],
    back: NDArray[np.integer],
    *,
    max_vertices: int = MAX_VERTICES,
) -> tuple[RefinedMap, RefinedMap]:
    """Return better maps from A to B and from B to A, as two calls of `refine_map` in less time."""
    one, two = _prepare(a, b, max_vertices)
    return _refine(one, two, there, NEARNESS), _refine(two, one, back, NEARNESS)


class _Side(NamedTuple):
    """One of the two meshes at unit area, its coarse copy, and the eigenfunctions of that."""

    given: Mesh
    coarse: Resampled
    basis: Eigenbasis


def _prepare(a: Mesh, b: Mesh, max_vertices: int) -> tuple[_Side, _Side]:
    given = a.normalised(), b.normalised()
    coarse = [coarsen(mesh, max_vertices) for mesh in given]
    size = min(len(part.mesh.vertices) for part in coarse)
    k = max(2, min(FUNCTIONS, size // MIN_VERTICES_PER_FUNCTION))
    bases = [eigenbasis(part.mesh, k) for part in coarse]
    return _Side(given[0], coarse[0], bases[0]), _Side(given[1], coarse[1], bases[1])


def _refine(one: _Side, two: _Side, target: NDArray[np.integer], nearness: float) -> RefinedMap:
    targets: Ints = np.asarray(target, np.int64)
    if not (targets >= 0).any():
        raise ValueError("there is no map to refine: no vertex has a target")
    region, at_origin = two.coarse.vertex_map, targets[one.coarse.origin]
    coarse = np.where(at_origin >= 0, region[at_origin], -1)
    if not (coarse >= 0).any():
        coarse = np.full_like(coarse, region[targets[targets >= 0][0]])
    here, there = _describe(one, two, coarse, nearness)
    mesh, found = two.coarse.mesh, _nearest(here, there)
    triangle, weights, _ = nearest_in_triangles(here, there, mesh.faces, vertex=found)
    if one.coarse.mesh is one.given and mesh is two.given:
        return RefinedMap(found, triangle, weights)
    # From the vertices of A's coarse mesh to all of A, and to the vertices and triangles of B.
    corners = np.where(triangle[:, None] >= 0, mesh.faces[triangle], found[:, None])
    weights = np.where(triangle[:, None] >= 0, weights, [1, 0, 0])
    points = np.einsum("nc,ncd->nd", weights, mesh.vertices[corners])
    around, share = _interpolation(one)
    points = np.einsum("nc,ncd->nd", share, points[around])
    return _place(two, points, corners[around].reshape(len(around), -1))


def _interpolation(side: _Side) -> tuple[Ints, Numbers]:
    """(V, 3) the vertices of the coarse mesh around each vertex, and their shares."""
    mesh, region = side.coarse.mesh, np.maximum(side.coarse.vertex_map, 0)
    triangle, share, _ = nearest_in_triangles(side.given.vertices, mesh.vertices, mesh.faces, vertex=region)
    outside = triangle[:, None] < 0
    return np.where(outside, region[:, None], mesh.faces[triangle]), np.where(outside, [1, 0, 0], share)


def _place(side: _Side, points: Numbers, regions: Ints) -> RefinedMap:
    """The vertices and triangles of the given mesh nearest to points near some regions of the coarse one."""
    # Other vertices may be closer in space, on another limb.
    mesh = side.given
    close = scipy.spatial.cKDTree(mesh.vertices).query(points, k=NEAR_VERTICES)[1]
    right = (side.coarse.vertex_map[close][:, :, None] == regions[:, None]).any(2)
    best = close[np.arange(len(close)), right.argmax(1)]
    target = np.where(right.any(1), best, side.coarse.origin[regions[:, 0]])
    triangle, weights, _ = nearest_in_triangles(points, mesh.vertices, mesh.faces, vertex=target)
    return RefinedMap(target, triangle, weights)


def _describe(
    one: _Side, two: _Side, targets: Ints, nearness: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(V_A, k + 3) and (V_B, k + 3): points that are near each other in these numbers belong together."""
    a, b = one.coarse.mesh, two.coarse.mesh
    of_a, of_b = one.basis.functions, two.basis.functions
    k = min(of_a.shape[1], of_b.shape[1])
    known = targets >= 0
    # A target that is far from its neighbours' is a mistake: theirs say more.
    given = np.where(known[:, None], b.vertices[targets], 0)
    means = neighbour_means(len(targets), a.faces)
    share = means @ known
    around = means @ given / np.maximum(share, 1e-9)[:, None]
    alone = ~known | ((np.linalg.norm(given - around, axis=1) > MAX_NEIGHBOUR_DISTANCE) & (share > 0))
    given = np.where(alone[:, None], around, given)
    rows = np.flatnonzero(known)
    rows = rows[farthest_points(a.vertices[rows], min(FITTED_VERTICES, len(rows)))]
    # Coefficients on A of functions on B. Isometries are rotations; wrong targets shrink the matrix, which is
    # undone except in directions with hardly anything left.
    left, size, right = np.linalg.svd(np.linalg.lstsq(of_a[rows, :k], of_b[targets[rows], :k], rcond=1e-9)[0])
    rotation = (left * (size**2 / (size**2 + NOISE**2))) @ right
    here = np.hstack([of_a[:, :k] / k**0.5, nearness * given])
    there = np.hstack([of_b[:, :k] @ rotation.T / k**0.5, nearness * b.vertices])
    return here.astype(np.float32), there.astype(np.float32)


def _nearest(points: Numbers, places: Numbers) -> Ints:
    """(n,) the row of ``places`` nearest to each point: in many dimensions, trying all is fastest."""
    squares = (places**2).sum(1)
    step = max(1, MAX_DISTANCES // len(places))
    parts = [(squares - 2 * points[a:b] @ places.T).argmin(1) for a, b in blocks(len(points), step)]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
