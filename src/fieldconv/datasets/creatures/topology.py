"""Small tools for meshes that had triangles taken away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from .skeleton import Array
from .solid import Faces

Index = NDArray[np.int64]


def edge_graph(points: Array, faces: Faces) -> csr_array:
    """Sparse symmetric matrix of edge lengths."""
    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    i, j = np.unique(ends, axis=0).T
    length = np.linalg.norm(points[i] - points[j], axis=1)
    count = len(points)
    return coo_array((np.tile(length, 2), (np.append(i, j), np.append(j, i))), (count, count)).tocsr()


def tidy(count: int, faces: Faces) -> tuple[Index, Faces]:
    """Largest component without pinched vertices; give the vertices kept and the renumbered faces."""
    while True:
        # Corners of one vertex that hang together through edges form one fan; keep the largest fan.
        corner = np.arange(3 * len(faces)).reshape(-1, 3)
        start, end = faces, np.roll(faces, -1, axis=1)
        key = np.minimum(start, end) * count + np.maximum(start, end)
        order = np.argsort(key.ravel(), kind="stable")
        same = key.ravel()[order][1:] == key.ravel()[order][:-1]
        one, two = order[:-1][same], order[1:][same]
        follow = np.roll(corner, -1, axis=1).ravel()
        links = np.concatenate([np.stack([one, follow[two]]), np.stack([follow[one], two])], axis=1)
        n = corner.size
        fan = connected_components(coo_array((np.ones(links.shape[1]), links), (n, n)), directed=False)[1]
        vertex = faces.ravel()
        sizes = np.bincount(fan)
        best = np.zeros(count, np.int64)
        np.maximum.at(best, vertex, sizes[fan] * (n + 1) + fan)
        bad = (best[vertex] != sizes[fan] * (n + 1) + fan).reshape(-1, 3).any(axis=1)
        if not bad.any():
            break
        faces = faces[~bad]
    graph = coo_array((np.ones(faces.size), (faces.ravel(), np.roll(faces, 1, 1).ravel())), (count, count))
    component = connected_components(graph, directed=False)[1]
    largest = np.bincount(component[faces[:, 0]]).argmax()
    faces = faces[component[faces[:, 0]] == largest]
    keep = np.unique(faces)
    return keep, np.searchsorted(keep, faces)
