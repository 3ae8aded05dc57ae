"""Edges of faces: which faces share them, fans around vertices, boundary loops."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fieldconv._arrays import Bools, Ints


class FaceEdges:
    """Edges of faces that name three different vertices each.

    Half-edge 3f + i of face f runs from its corner i to corner i + 1.
    """

    def __init__(self, faces: Ints, n_vertices: int) -> None:
        self.faces, self.n_vertices = faces, n_vertices
        start, end = faces.reshape(-1), np.roll(faces, -1, axis=1).reshape(-1)
        self.forward = start < end
        key = np.minimum(start, end)
        key *= n_vertices
        key += np.maximum(start, end, out=end)
        small = np.int32 if len(key) < 2**31 else np.int64  # half the memory
        self.order: Ints = np.argsort(key, kind="stable").astype(small)
        ordered = key[self.order]
        # Neighbours in this order share an edge where `linked`.
        linked = ordered[1:] == ordered[:-1]
        self.left, self.right = self.order[:-1][linked], self.order[1:][linked]
        begins = np.flatnonzero(np.r_[np.ones(min(len(key), 1), dtype=bool), ~linked])
        unique = ordered[begins]
        self.faces_of: Ints = np.diff(begins, append=len(key))
        self.edge_of = np.empty(len(key), small)
        self.edge_of[self.order] = np.repeat(np.arange(len(unique), dtype=small), self.faces_of)
        self.unique: Ints = np.stack([unique // n_vertices, unique % n_vertices], axis=1).reshape(-1, 2)
        forward_count = np.bincount(self.edge_of, self.forward, minlength=len(unique))
        self.disagree = (self.faces_of == 2) & (forward_count != 1)
        self._fan: Ints | None = None

    def fans(self) -> Ints:
        """(3F,) number of the fan each corner belongs to: faces around a vertex joined by edges."""
        if self._fan is None:
            here = np.arange(len(self.edge_of), dtype=self.order.dtype)
            after = here - here % 3 + (here + 1) % 3
            # The corner of each half-edge at the edge's smaller and at its larger vertex.
            low, high = np.where(self.forward, here, after), np.where(self.forward, after, here)
            left, right = self.left, self.right
            _, self._fan = components_of(len(here), low[left], low[right], high[left], high[right])
        return self._fan

    def vertices_of_several_fans(self) -> Ints:
        fans = self.fans()
        vertex = np.empty(fans.max(initial=-1) + 1, np.int64)
        vertex[fans] = self.faces.reshape(-1)
        count = np.bincount(vertex, minlength=self.n_vertices)
        return np.flatnonzero(count > 1)

    def boundary_loops(self) -> int:
        """Connected curves of boundary edges; curves that meet in one vertex but different fans are two."""
        boundary = np.flatnonzero(self.faces_of[self.edge_of] == 1)
        if not len(boundary):
            return 0
        after = boundary - boundary % 3 + (boundary + 1) % 3
        _, ends = np.unique(self.fans()[np.concatenate([boundary, after])], return_inverse=True)
        start, end = ends[: len(boundary)], ends[len(boundary) :]
        return components_of(int(ends.max()) + 1, start, end)[0]


def components_of(size: int, *links: Ints) -> tuple[int, Ints]:
    """Connected components of a graph given as pairs of arrays of linked nodes."""
    small = np.int32 if size < 2**31 else np.int64  # half the memory
    rows, columns = (np.concatenate(ends, dtype=small) for ends in (links[0::2], links[1::2]))
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))
    count, label = connected_components(graph, directed=False)
    return int(count), label.astype(np.int64)


def repeats_vertex(faces: Ints) -> Bools:
    a, b, c = faces.T
    return np.asarray((a == b) | (b == c) | (c == a))
