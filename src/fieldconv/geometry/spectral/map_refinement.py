"""Improve a dense map between two shapes with their eigenfunctions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import neighbour_means
from fieldconv.geometry.resample.coarsen import coarsened
from fieldconv.geometry.resample.sampling import farthest_points
from fieldconv.geometry.spectral.embedding import nearest_in_triangles
from fieldconv.geometry.spectral.signatures import Eigenbasis, eigenbasis

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]

FUNCTIONS = 200  # eigenfunctions: fewer are less precise than the given map
SPARSE = 10  # vertices for each eigenfunction, at least
SUPPORT = 4000  # vertices at which the matrix is fitted
NEARNESS = (
    3.0  # how much the given place counts beside the eigenfunctions, which change about 25 times as fast
)
NOISE = 0.3  # singular values of the fitted matrix below this are mostly chance
FARTHEST = 0.1  # at unit area: a target that is farther than this from its neighbours' is taken for a mistake
MOST = 8000  # vertices of a mesh that is worked on; of denser ones a coarser copy is
CLOSE = 8  # vertices near a point of which one in the right region is taken
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
    most: int = MOST,
) -> Refined:
    """Return a map that is smoother than a given one and close to it.

    The map carries functions of B to A, written in k eigenfunctions of each. From that matrix, made nearly a
    rotation, the map is read again, as in one step of ZoomOut (Melzi et al., 2019): the target of a point is
    the vertex of B with the nearest values of eigenfunctions and, with less weight, the nearest place to the
    one given. Repeating the step, or starting with fewer eigenfunctions, improves poor maps; maps of a
    trained network are more precise than few eigenfunctions can express, and get worse.

    Parameters
    ----------
    a, b : Mesh
    target : (V_A,) int
        Vertex of B at each vertex of A; −1 where there is none.
    functions : int
        Number of eigenfunctions k; fewer if a mesh has less than ten vertices for each.
    nearness : float
        Weight of the given place; 0 leaves it out.
    most : int
        Vertices that are worked on; of a denser mesh a coarser copy is.

    Raises
    ------
    ValueError
        If no vertex of A has a target.
    """
    return _refined(_Coarse(a, most), _Coarse(b, most), np.asarray(target), functions, nearness)


def refined_both(
    a: Mesh, b: Mesh, there: NDArray[np.integer], back: NDArray[np.integer], *, most: int = MOST
) -> tuple[Refined, Refined]:
    """Return better maps from A to B and from B to A, as `refined`, in less time than one after the other."""
    one, two = _Coarse(a, most), _Coarse(b, most)
    return (
        _refined(one, two, np.asarray(there), FUNCTIONS, NEARNESS),
        _refined(two, one, np.asarray(back), FUNCTIONS, NEARNESS),
    )


def _refined(
    one: _Coarse, two: _Coarse, target: NDArray[np.integer], functions: int, nearness: float
) -> Refined:
    aims: Ints = target.astype(np.int64)
    if not (aims >= 0).any():
        raise ValueError("there is no map to refine: no vertex has a target")
    coarse = np.where(aims[one.origin] >= 0, two.region[aims[one.origin]], -1)
    if not (coarse >= 0).any():
        coarse = np.full_like(coarse, two.region[aims[aims >= 0][0]])
    here, there = _described(one, two, coarse, functions, nearness)
    faces, found = two.mesh.faces, _nearest(here, there)
    triangle, weights, _ = nearest_in_triangles(here, there, faces, vertex=found)
    if one.mesh is one.given and two.mesh is two.given:
        return Refined(found, triangle, weights)
    # From the vertices of A's coarse mesh to all of A, and to the vertices and triangles of B.
    corners = np.where(triangle[:, None] >= 0, faces[triangle], found[:, None])
    weights = np.where(triangle[:, None] >= 0, weights, [1, 0, 0])
    points = np.einsum("nc,ncd->nd", weights, two.mesh.vertices[corners])
    around, share = one.read()
    points = np.einsum("nc,ncd->nd", share, points[around])
    return two.placed(points, corners[around].reshape(len(around), -1))


class _Coarse:
    """A mesh of at most some thousand vertices in place of the given one.

    Attributes
    ----------
    given : Mesh, at unit area.
    mesh : Mesh, the coarse one, or the given one if it has few vertices.
    region : (V,) int64, vertex of the coarse mesh that each vertex belongs to; −1 if to none.
    origin : (V_coarse,) int64, a vertex in the middle of each region.
    """

    def __init__(self, mesh: Mesh, most: int) -> None:
        self.given = self.mesh = mesh.normalised()
        self.region = self.origin = np.arange(len(mesh.vertices))
        if len(mesh.vertices) > most:
            found = coarsened(self.given, most)
            self.mesh, self.region, self.origin = found.mesh, found.vertex_map, found.origin
        self._basis: tuple[int, Eigenbasis] | None = None

    def basis(self, functions: int) -> Eigenbasis:
        """Return the lowest eigenfunctions of the coarse mesh; the same number is found once."""
        if self._basis is None or self._basis[0] != functions:
            self._basis = functions, eigenbasis(self.mesh, functions)
        return self._basis[1]

    def read(self) -> tuple[Ints, Floats]:
        """Return (V, 3) the vertices of the coarse mesh around each vertex, and their shares."""
        region = np.where(self.region >= 0, self.region, 0)
        triangle, share, _ = nearest_in_triangles(
            self.given.vertices, self.mesh.vertices, self.mesh.faces, vertex=region
        )
        bare = triangle[:, None] < 0
        return np.where(bare, region[:, None], self.mesh.faces[triangle]), np.where(bare, [1, 0, 0], share)

    def placed(self, points: Floats, regions: Ints) -> Refined:
        """Return the vertices and triangles of the given mesh nearest to points near some regions."""
        # Other vertices may be closer in space, on another limb.
        close = scipy.spatial.cKDTree(self.given.vertices).query(points, k=CLOSE)[1]
        right = (self.region[close][:, :, None] == regions[:, None]).any(2)
        best = close[np.arange(len(close)), right.argmax(1)]
        target = np.where(right.any(1), best, self.origin[regions[:, 0]])
        triangle, weights, _ = nearest_in_triangles(
            points, self.given.vertices, self.given.faces, vertex=target
        )
        return Refined(target, triangle, weights)


def _described(
    of_a: _Coarse, of_b: _Coarse, aims: Ints, functions: int, nearness: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(V_A, k + 3) and (V_B, k + 3): points that are near each other in these numbers belong together."""
    a, b = of_a.mesh, of_b.mesh
    k = max(2, min(functions, len(a.vertices) // SPARSE, len(b.vertices) // SPARSE))
    one, two = of_a.basis(k), of_b.basis(k)
    k = min(one.functions.shape[1], two.functions.shape[1])
    known = aims >= 0
    # A target that is far from its neighbours' is a mistake: theirs say more.
    given = np.where(known[:, None], b.vertices[aims], 0)
    means = neighbour_means(len(aims), a.faces)
    share = means @ known
    around = means @ given / np.maximum(share, 1e-9)[:, None]
    alone = ~known | ((np.linalg.norm(given - around, axis=1) > FARTHEST) & (share > 0))
    given = np.where(alone[:, None], around, given)
    rows = np.flatnonzero(known)
    rows = rows[farthest_points(a.vertices[rows], min(SUPPORT, len(rows)))]
    carried = _carried(one, two, rows, aims[rows], k)
    here = np.hstack([one.functions[:, :k] / k**0.5, nearness * given])
    there = np.hstack([two.functions[:, :k] @ carried.T / k**0.5, nearness * b.vertices])
    return here.astype(np.float32), there.astype(np.float32)


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
    squares = (places**2).sum(1)
    step = max(1, ROWS // len(places))
    parts = [
        (squares - 2 * points[first : first + step] @ places.T).argmin(1)
        for first in range(0, len(points), step)
    ]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
