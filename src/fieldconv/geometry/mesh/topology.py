"""Connectivity of triangle meshes: edges, components, pinched vertices, rims of holes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from fieldconv._arrays import Floats, Ints


def edge_graph(points: Floats, faces: Ints) -> csr_array:
    """Return the sparse symmetric matrix of edge lengths.

    Examples
    --------
    >>> edge_graph(np.eye(3), np.array([[0, 1, 2]])).toarray().round(3).tolist()
    [[0.0, 1.414, 1.414], [1.414, 0.0, 1.414], [1.414, 1.414, 0.0]]
    """
    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    i, j = np.unique(ends, axis=0).astype(np.int32).T  # the only integers that old versions of dijkstra take
    length = np.linalg.norm(points[i] - points[j], axis=1)
    count = len(points)
    return coo_array((np.tile(length, 2), (np.append(i, j), np.append(j, i))), (count, count)).tocsr()


def neighbour_means(count: int, faces: Ints) -> csr_array:
    """Return the sparse matrix that takes values at vertices to the mean over each one's neighbours.

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
    """Return the vertices kept and the renumbered faces of the largest component, pinched vertices gone.

    Examples
    --------
    >>> keep, faces = tidy(7, np.array([[0, 1, 2], [4, 5, 6], [4, 6, 3]]))
    >>> keep.tolist(), faces.tolist()
    ([3, 4, 5, 6], [[1, 2, 3], [1, 3, 0]])
    """
    faces = without_pinches(count, faces)
    component = components(count, faces)
    largest = np.bincount(component[faces[:, 0]]).argmax()
    return renumbered(faces[component[faces[:, 0]] == largest])


def renumbered(faces: Ints) -> tuple[Ints, Ints]:
    """Return the vertices that the faces name, and the faces in numbers of these.

    Examples
    --------
    >>> renumbered(np.array([[5, 2, 9]]))[1].tolist()
    [[1, 0, 2]]
    """
    keep = np.unique(faces)
    return keep, np.searchsorted(keep, faces)


def components(count: int, faces: Ints) -> Ints:
    """Return for each vertex the number of its component.

    Examples
    --------
    >>> components(7, np.array([[0, 1, 2], [4, 5, 6]])).tolist()
    [0, 0, 0, 1, 2, 2, 2]
    """
    graph = coo_array((np.ones(faces.size), (faces.ravel(), np.roll(faces, 1, 1).ravel())), (count, count))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def without_pinches(count: int, faces: Ints) -> Ints:
    """Return the faces without those by which a vertex has more than one fan: the largest fan stays.

    Examples
    --------
    >>> bow = np.array([[0, 1, 2], [0, 2, 3], [0, 4, 5]])
    >>> without_pinches(6, bow).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    while True:
        # Corners of one vertex that are connected through edges form one fan.
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
            return faces
        faces = faces[~bad]


def manifold_part(count: int, faces: Ints) -> Ints:
    """Return the faces without those that make the surface branch, or that face against a neighbour.

    What is left is a manifold with or without rims: each edge belongs to one or two faces that run along it
    in opposite directions, and each vertex has one fan.

    Examples
    --------
    >>> manifold_part(5, np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]])).tolist()
    [[0, 1, 2], [1, 0, 3]]
    """
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
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
    if not len(edges):
        return edges, np.zeros(0, np.int64)
    graph = coo_array((np.ones(len(edges)), tuple(edges.T)), (count, count))
    label = connected_components(graph, directed=False)[1][edges[:, 0]]
    return edges, np.unique(label, return_inverse=True)[1].astype(np.int64)


def capped(count: int, faces: Ints) -> tuple[Ints, Ints]:
    """Return the faces with a cone over every rim, and for each apex, numbered from ``count`` on, its rim.

    The second array (k, 2) has rows (apex, vertex of its rim).

    Examples
    --------
    >>> closed, ends = capped(3, np.array([[0, 1, 2]]))
    >>> closed.tolist(), ends.tolist()
    ([[0, 1, 2], [1, 0, 3], [2, 1, 3], [0, 2, 3]], [[3, 0], [3, 1], [3, 2]])
    """
    edges, rim = rims(count, faces)
    apex = count + rim
    cones = np.stack([edges[:, 1], edges[:, 0], apex], axis=1)
    return np.concatenate([faces, cones]), np.stack([apex, edges[:, 0]], axis=1)
