"""Connectivity of triangle meshes: shared edges, components, fans of faces around vertices, rims."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from fieldconv._arrays import Bools, Floats, Ints


class FaceEdges:
    """Edges of triangles, and the faces that share them.

    Half-edge 3f + i of face f runs from its corner i to corner i + 1. Fans and loops need faces of three
    different vertices.
    """

    unique: Ints  # (E, 2) each edge once, the smaller vertex first, in lexicographic order
    faces_of: Ints  # (E,) number of faces of each edge
    edge_of: Ints  # (3F,) edge of each half-edge
    order: Ints  # (3F,) half-edges, edge by edge, ascending for each
    begins: Ints  # (E,) place of each edge's first half-edge in `order`
    left: Ints  # (n,) and right: half-edges of one edge that follow each other in `order`
    right: Ints
    forward: Bools  # (3F,) whether a half-edge runs from its smaller to its larger vertex
    disagree: Bools  # (E,) whether the two faces of an edge are oriented differently

    def __init__(self, faces: Ints, n_vertices: int) -> None:
        self.faces, self.n_vertices = faces, n_vertices
        start, end = faces.reshape(-1), np.roll(faces, -1, axis=1).reshape(-1)
        self.forward = start < end
        key = np.minimum(start, end)
        key *= n_vertices
        key += np.maximum(start, end, out=end)
        small = np.int32 if len(key) < 2**31 else np.int64  # half the memory
        self.order = np.argsort(key, kind="stable").astype(small)
        ordered = key[self.order]
        linked = ordered[1:] == ordered[:-1]
        self.left, self.right = self.order[:-1][linked], self.order[1:][linked]
        self.begins = np.flatnonzero(np.r_[np.ones(min(len(key), 1), dtype=bool), ~linked])
        unique = ordered[self.begins]
        self.faces_of = np.diff(self.begins, append=len(key))
        self.edge_of = np.empty(len(key), small)
        self.edge_of[self.order] = np.repeat(np.arange(len(unique), dtype=small), self.faces_of)
        self.unique = np.stack([unique // n_vertices, unique % n_vertices], axis=1).reshape(-1, 2)
        forward_count = np.bincount(self.edge_of, self.forward, minlength=len(unique))
        self.disagree = (self.faces_of == 2) & (forward_count != 1)

    @cached_property
    def fans(self) -> Ints:
        """(3F,) number of the fan of each corner: faces around a vertex that are joined by edges."""
        here = np.arange(len(self.edge_of), dtype=self.order.dtype)
        after = next_corners(here)
        # The corner of each half-edge at the edge's smaller and at its larger vertex.
        low, high = np.where(self.forward, here, after), np.where(self.forward, after, here)
        left, right = self.left, self.right
        return components_of(len(here), low[left], low[right], high[left], high[right])[1]

    def vertices_of_several_fans(self) -> Ints:
        vertex = np.empty(self.fans.max(initial=-1) + 1, np.int64)
        vertex[self.fans] = self.faces.reshape(-1)
        count = np.bincount(vertex, minlength=self.n_vertices)
        return np.flatnonzero(count > 1)

    def boundary_loops(self) -> int:
        """Number of connected curves of boundary edges; curves that meet in two fans of a vertex are two."""
        boundary = np.flatnonzero(self.faces_of[self.edge_of] == 1)
        if not len(boundary):
            return 0
        corners = np.stack([boundary, next_corners(boundary)])
        fans, ends = np.unique(self.fans[corners], return_inverse=True)
        start, end = ends.reshape(2, -1)
        return components_of(len(fans), start, end)[0]


def next_corners(corners: Ints) -> Ints:
    """Return the corner that follows each corner 3f + i in its face."""
    return corners - corners % 3 + (corners + 1) % 3


def repeats_vertex(faces: Ints) -> Bools:
    """(F,) whether a face names a vertex twice."""
    a, b, c = faces.T
    return np.asarray((a == b) | (b == c) | (c == a))


def components_of(size: int, *links: Ints) -> tuple[int, Ints]:
    """Return the number of components of a graph, and that of each node; ``links`` are pairs of arrays."""
    small = np.int32 if size < 2**31 else np.int64  # half the memory
    rows, columns = (np.concatenate(ends, dtype=small) for ends in (links[0::2], links[1::2]))
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))
    count, label = connected_components(graph, directed=False)
    return int(count), label.astype(np.int64)


def components(count: int, faces: Ints) -> Ints:
    """Return the number of each vertex's component.

    Examples
    --------
    >>> components(7, np.array([[0, 1, 2], [4, 5, 6]])).tolist()
    [0, 0, 0, 1, 2, 2, 2]
    """
    return components_of(count, faces[:, 0], faces[:, 1], faces[:, 0], faces[:, 2])[1]


def number_of_components(component: Ints, faces: Ints) -> int:
    """Return the number of components that have a face, of those of all vertices."""
    return int(np.count_nonzero(np.bincount(component[faces[:, 0]])))


def edge_graph(points: Floats, faces: Ints) -> csr_array:
    """Return the sparse symmetric matrix of edge lengths.

    Examples
    --------
    >>> edge_graph(np.eye(3), np.array([[0, 1, 2]])).toarray().round(3).tolist()
    [[0.0, 1.414, 1.414], [1.414, 0.0, 1.414], [1.414, 1.414, 0.0]]
    """
    count = len(points)
    i, j = FaceEdges(faces, count).unique.astype(np.int32).T  # all that old versions of dijkstra take
    length = np.linalg.norm(points[i] - points[j], axis=1)
    return coo_array((np.tile(length, 2), (np.append(i, j), np.append(j, i))), (count, count)).tocsr()


def neighbour_means(count: int, faces: Ints) -> csr_array:
    """Return the sparse matrix whose product with values at vertices is the mean over each one's neighbours.

    Examples
    --------
    >>> neighbour_means(4, np.array([[0, 1, 2]])).toarray().tolist()
    [[0.0, 0.5, 0.5, 0.0], [0.5, 0.0, 0.5, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    i, j = np.concatenate([ends, ends[:, ::-1]]).T
    graph = coo_array((np.ones(len(i)), (i, j)), (count, count)).tocsr()
    graph.data[:] = 1
    graph.data /= np.repeat(np.diff(graph.indptr), np.diff(graph.indptr))
    return graph


def tidy(count: int, faces: Ints) -> tuple[Ints, Ints]:
    """Return vertices and renumbered faces of the largest component, once `without_pinches`.

    Examples
    --------
    >>> keep, faces = tidy(7, np.array([[0, 1, 2], [4, 5, 6], [4, 6, 3]]))
    >>> keep.tolist(), faces.tolist()
    ([3, 4, 5, 6], [[1, 2, 3], [1, 3, 0]])
    """
    faces = without_pinches(count, faces)
    component = components(count, faces)[faces[:, 0]]
    return renumber(faces[component == np.bincount(component).argmax()])


def renumber(faces: Ints) -> tuple[Ints, Ints]:
    """Return the vertices that faces name, and the faces as indices into these.

    Examples
    --------
    >>> renumber(np.array([[5, 2, 9]]))[1].tolist()
    [[1, 0, 2]]
    """
    keep = np.flatnonzero(np.bincount(faces.ravel()))  # faster than np.unique
    return keep, np.searchsorted(keep, faces)


def without_pinches(count: int, faces: Ints) -> Ints:
    """Return the faces without all but the largest fan of each vertex.

    Examples
    --------
    >>> bow = np.array([[0, 1, 2], [0, 2, 3], [0, 4, 5]])
    >>> without_pinches(6, bow).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    while True:
        # Neighbours run along an edge in opposite directions: where one begins, the other ends.
        edges = FaceEdges(faces, count)
        left, right, corners = edges.left, edges.right, faces.size
        _, fan = components_of(corners, left, next_corners(right), next_corners(left), right)
        vertex = faces.ravel()
        rank = np.bincount(fan)[fan] * (corners + 1) + fan  # by size, then by number
        best = np.zeros(count, np.int64)
        np.maximum.at(best, vertex, rank)
        bad = (best[vertex] != rank).reshape(-1, 3).any(axis=1)
        if not bad.any():
            return faces
        faces = faces[~bad]


def manifold_part(count: int, faces: Ints) -> Ints:
    """Return the faces without those where the surface branches or neighbours disagree.

    The rest is a manifold with or without rims: each edge has one face, or two that run along it in opposite
    directions, and each vertex has one fan.

    Examples
    --------
    >>> manifold_part(5, np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]])).tolist()
    [[0, 1, 2], [1, 0, 3]]
    """
    faces = faces[~repeats_vertex(faces)]
    while len(faces):
        key = (faces * count + np.roll(faces, -1, axis=1)).ravel()
        first = np.zeros(len(key), bool)
        first[np.unique(key, return_index=True)[1]] = True
        good = first.reshape(-1, 3).all(axis=1)
        if good.all():
            break
        faces = faces[good]
    return without_pinches(count, faces)


def rims(count: int, faces: Ints) -> tuple[Ints, Ints]:
    """Return the directed edges (k, 2) that have no face on their other side, and the rim (k,) of each.

    Examples
    --------
    >>> edges, rim = rims(6, np.array([[0, 1, 2], [3, 4, 5]]))
    >>> edges.tolist(), rim.tolist()
    ([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]], [0, 0, 0, 1, 1, 1])
    """
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    alone = ~np.isin(start * count + end, end * count + start)
    edges = np.stack([start[alone], end[alone]], axis=1)
    label = components_of(count, *edges.T)[1][edges[:, 0]]
    return edges, np.unique(label, return_inverse=True)[1].astype(np.int64)


def cap_rims(count: int, faces: Ints) -> tuple[Ints, Ints]:
    """Return the faces with a cone over every rim, and for each apex, numbered from ``count`` on, its rim.

    The second array (k, 2) has rows (apex, vertex of its rim).

    Examples
    --------
    >>> closed, ends = cap_rims(3, np.array([[0, 1, 2]]))
    >>> closed.tolist(), ends.tolist()
    ([[0, 1, 2], [1, 0, 3], [2, 1, 3], [0, 2, 3]], [[3, 0], [3, 1], [3, 2]])
    """
    edges, rim = rims(count, faces)
    apex = count + rim
    cones = np.stack([edges[:, 1], edges[:, 0], apex], axis=1)
    return np.concatenate([faces, cones]), np.stack([apex, edges[:, 0]], axis=1)
