"""The same surface with fewer or more vertices, and where the vertices of one mesh are on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import FaceEdges

CELLS_PER_VERTEX = 0.75  # of the grid, for each wanted vertex: a cell has one seed for each sheet in it
ROUNDS = 1  # how often seeds move to the middle of their region
MAX_ROUNDS = 24  # of `subdivide`; each halves the longest edges
TURN = np.array([0, 1, 2, 0, 1])


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
        How often seeds move to the middle of their region; with 0 the mesh is less even.

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


def subdivide(mesh: Mesh, vertices: int) -> Resampled:
    """Return the same surface with edges as short as those of an even mesh of ``vertices`` vertices.

    Long edges are split in the middle, repeatedly; the result has at most 1.5 times ``vertices``. A mesh that
    already has so many is returned as it is. The first vertices are those of the given mesh.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> fine = subdivide(square, 100)
    >>> 60 < len(fine.mesh.vertices) <= 150, round(fine.mesh.area, 12), fine.vertex_map.tolist()
    (True, 1.0, [0, 1, 2, 3])
    """
    fine, parents = subdivision(mesh, vertices)
    count = len(mesh.vertices)
    nearest = np.arange(len(fine.vertices))
    for first, ends in parents:
        nearest[first : first + len(ends)] = nearest[ends[:, 0]]
    return Resampled(fine, np.arange(count), nearest)


def subdivision(mesh: Mesh, vertices: int) -> tuple[Mesh, list[tuple[int, Ints]]]:
    """Return the mesh of `subdivide`, and for each round its first new vertex and the split edges (n, 2).

    New vertices are the middles of these edges, whose ends were there before.
    """
    points, faces, count = mesh.vertices, mesh.faces, len(mesh.vertices)
    parents: list[tuple[int, Ints]] = []
    longest = 1.4 * float(np.sqrt(2 / np.sqrt(3) * mesh.area / max(vertices, 1)))
    for _ in range(MAX_ROUNDS):
        room = vertices + vertices // 2 - len(points)
        halves = FaceEdges(faces, len(points))
        edges, of_face = halves.unique, halves.edge_of.reshape(-1, 3)
        length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
        chosen = np.flatnonzero(length > longest)
        if count >= vertices or room <= 0 or not len(chosen):
            break
        # The longest first; edges of one round differ by less than a factor of two, which avoids slivers.
        chosen = chosen[length[chosen] > 0.5 * length.max()]
        chosen = chosen[np.argsort(-length[chosen], kind="stable")[:room]]
        middle = np.full(len(edges), -1)
        middle[chosen] = len(points) + np.arange(len(chosen))
        faces = _split_faces(points, faces, middle[of_face])
        parents.append((len(points), edges[chosen]))
        points = np.concatenate([points, points[edges[chosen]].mean(axis=1)])
    return (Mesh(points, faces, mesh.name) if parents else mesh), parents


def _split_faces(points: Floats, faces: Ints, middle: Ints) -> Ints:
    """The faces, split at the vertices in the middle (F, 3) of their edges, −1 where an edge has none."""
    number = (middle >= 0).sum(axis=1)
    # Rotate corners: one split edge comes first, and of two split edges the whole one comes last.
    first = np.where(number == 2, (middle < 0).argmax(axis=1) + 1, (middle >= 0).argmax(axis=1)) % 3
    place = TURN[first[:, None] + np.arange(3)]
    a, b, c = np.take_along_axis(faces, place, axis=1).T
    ab, bc, ca = np.take_along_axis(middle, place, axis=1).T
    parts = [np.stack([a, b, c], axis=1)[number == 0]]

    def add(which: Bools, *corners: tuple[Ints, Ints, Ints]) -> None:
        parts.extend(np.stack(triangle, axis=1)[which] for triangle in corners)

    add(number == 1, (a, ab, c), (ab, b, c))
    add(number == 3, (a, ab, ca), (ab, b, bc), (bc, c, ca), (ab, bc, ca))
    two = number == 2
    add(two, (ab, b, bc))
    # The rest is a quadrangle, divided along its shorter diagonal.
    to_a = np.linalg.norm((points[b] + points[c]) / 2 - points[a], axis=1)
    to_c = np.linalg.norm((points[a] + points[b]) / 2 - points[c], axis=1)
    add(two & (to_a < to_c), (a, ab, bc), (a, bc, c))
    add(two & (to_a >= to_c), (a, ab, c), (ab, bc, c))
    return np.concatenate(parts)
