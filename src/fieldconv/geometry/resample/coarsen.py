"""A coarser mesh of the same surface, and where each vertex of the finer one is on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.mesh import Mesh

CELLS_PER_VERTEX = 0.75  # of the grid, for each wanted vertex: a cell has one seed for each sheet in it
ROUNDS = 1  # how often seeds move to the middle of their region


@dataclass(frozen=True)
class Resampled:
    """The same surface with fewer or more vertices: what `coarsen` and `subdivide` return."""

    mesh: Mesh
    vertex_map: Ints  # (V,) its vertex at each given vertex; −1 for those on none of its triangles
    origin: Ints  # (V_other,) given vertex in the middle of a coarse region, or near a new vertex


def coarsen(mesh: Mesh, vertices: int, *, rounds: int = ROUNDS) -> Resampled:
    """Return a mesh with about ``vertices`` vertices, evenly spread over the surface.

    Each vertex joins the region of the seed nearest along edges; regions become vertices, with triangles
    where three of them meet. Sheets that are close in space but not along the surface, such as fingers that
    nearly touch, stay apart. The result does not depend on the numbering of vertices, up to ties.

    Parameters
    ----------
    vertices : int
        Approximate number of vertices; a mesh that has no more is returned as it is.
    rounds : int
        How often seeds move to the middle of their region; 0 is faster and gives a less even mesh.

    Examples
    --------
    >>> side = np.linspace(0, 1, 40)
    >>> x, y = (grid.ravel() for grid in np.meshgrid(side, side))
    >>> corner = (np.arange(39)[:, None] * 40 + np.arange(39)).ravel()
    >>> faces = np.concatenate([np.stack([corner, corner + 1, corner + 41], 1),
    ...                         np.stack([corner, corner + 41, corner + 40], 1)])
    >>> small = coarsen(Mesh(np.stack([x, y, 0 * x], 1), faces), 100)
    >>> 60 < len(small.mesh.vertices) < 160, len(small.vertex_map)
    (True, 1600)
    """
    count = len(mesh.vertices)
    if vertices >= count:
        return Resampled(mesh, np.arange(count), np.arange(count))
    used = np.zeros(count, bool)
    used[mesh.faces.ravel()] = True
    edges, lengths = _edges(mesh)
    seeds = _seeds(mesh.vertices, mesh.vertex_areas, edges, used, vertices)
    start, end = edges.astype(np.int32).T  # the only integers that old versions of dijkstra take
    graph = csr_array((lengths, (start, end)), (count, count))
    region = _regions(graph, seeds, count)
    for _ in range(rounds):
        seeds = _middles(mesh, region, len(seeds))
        region = _regions(graph, seeds, count)
    return _dual(mesh, region, seeds)


def _edges(mesh: Mesh) -> tuple[Ints, Floats]:
    """(E, 2) the edges, once each, and their lengths."""
    start, end = mesh.faces.ravel(), np.roll(mesh.faces, -1, axis=1).ravel()
    # Sorting is far faster than np.unique, which hashes.
    key = np.sort(np.minimum(start, end) * len(mesh.vertices) + np.maximum(start, end))
    key = key[np.flatnonzero(np.r_[True, key[1:] != key[:-1]])]
    edges = np.stack(np.divmod(key, len(mesh.vertices)), 1)
    edges = edges[edges[:, 0] != edges[:, 1]]
    lengths = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
    return edges, np.maximum(lengths, 1e-12 * max(float(lengths.max(initial=0)), 1e-300))


def _seeds(points: Floats, areas: Floats, edges: Ints, used: Bools, wanted: int) -> Ints:
    """A vertex of each connected piece of the surface in each cell of a grid: the one nearest its middle."""
    size = np.sqrt(areas.sum() / max(CELLS_PER_VERTEX * wanted, 1))
    low = points[used].min(0)
    cell = np.floor((points - low) / size).astype(np.int64)
    same = (cell[edges[:, 0]] == cell[edges[:, 1]]).all(1)
    inside = edges[same]
    links = csr_array((np.ones(len(inside), bool), (inside[:, 0], inside[:, 1])), (len(points),) * 2)
    _, piece = connected_components(links, directed=False)
    away = np.linalg.norm(points - (low + (cell + 0.5) * size), axis=1)
    candidates = np.flatnonzero(used)
    return candidates[_nearest_of_each(piece[candidates], away[candidates], points[candidates])]


def _nearest_of_each(group: Ints, away: Floats, points: Floats) -> Ints:
    """Return the row of each group with the smallest ``away``; ties are decided by position."""
    best = np.full(group.max(initial=-1) + 1, np.inf)
    np.minimum.at(best, group, away)
    near = np.flatnonzero(away == best[group])
    near = near[np.lexsort((*points[near].T[::-1], group[near]))]
    return np.asarray(near[np.flatnonzero(np.diff(group[near], prepend=-1))])


def _regions(graph: csr_array, seeds: Ints, count: int) -> Ints:
    """(V,) the number of the seed nearest along edges, −1 where none is reached."""
    _, _, source = dijkstra(graph, directed=False, indices=seeds, min_only=True, return_predecessors=True)
    number = np.full(count + 1, -1)
    number[seeds] = np.arange(len(seeds))
    return number[np.where(source >= 0, source, count)]


def _middles(mesh: Mesh, region: Ints, count: int) -> Ints:
    """The vertex of each region that is nearest to the region's middle."""
    known, middle = np.flatnonzero(region >= 0), _means(mesh, region, count)
    away = np.linalg.norm(mesh.vertices[known] - middle[region[known]], axis=1)
    return np.asarray(known[_nearest_of_each(region[known], away, mesh.vertices[known])])


def _means(mesh: Mesh, region: Ints, count: int) -> Floats:
    """(count, 3) mean of the vertices of each region, weighted by area."""
    known = region >= 0
    points, weights, group = mesh.vertices[known], mesh.vertex_areas[known], region[known]
    # Regions without area have a mean, too.
    weights = weights + 1e-12 * max(float(weights.max(initial=0)), 1e-300)
    total = np.bincount(group, weights, minlength=count)
    sums = [np.bincount(group, weights * column, minlength=count) for column in points.T]
    return np.stack(sums, 1) / np.where(total > 0, total, 1)[:, None]


def _dual(mesh: Mesh, region: Ints, seeds: Ints) -> Resampled:
    """The mesh whose vertices are the regions."""
    count = len(seeds)
    corners = region[mesh.faces]
    a, b, c = corners.T
    three = (a >= 0) & (a != b) & (b != c) & (c != a)
    faces = corners[three]
    # Each triangle once, from its lowest corner; a triangle in both senses is a fold.
    faces = np.take_along_axis(faces, (faces.argmin(1)[:, None] + np.arange(3)) % 3, 1)
    faces = np.unique(faces, axis=0)
    kept = np.zeros(count, bool)
    kept[faces.ravel()] = True
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    coarse = Mesh(_means(mesh, region, count)[kept], number[faces], mesh.name)
    return Resampled(coarse, np.where(region >= 0, number[region], -1), seeds[kept])
