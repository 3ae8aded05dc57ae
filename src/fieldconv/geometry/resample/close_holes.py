"""Close the holes of a mesh, so that measurements on a scan hardly depend on its gaps."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import dijkstra

from fieldconv._arrays import Floats
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import cap_rims, edge_graph, manifold_part, rims


def close_holes(mesh: Mesh) -> Mesh:
    """Return the mesh with a cone over every rim; the apexes are its last vertices.

    All faces stay. Edges where a surface branches, or where faces of both sides meet, are no rims.

    Examples
    --------
    >>> triangle = Mesh([[0, 0, 0], [3, 0, 0], [0, 3, 0]], [[0, 1, 2]])
    >>> close_holes(triangle).vertices[3].tolist(), len(close_holes(triangle).faces)
    ([1.0, 1.0, 0.0], 4)
    """
    count = len(mesh.vertices)
    whole = manifold_part(count, mesh.faces)
    closed, ends = cap_rims(count, whole)
    cones = closed[len(whole) :]
    low, high = np.sort(np.stack([mesh.faces, np.roll(mesh.faces, -1, axis=1)]), axis=0)
    key, times = np.unique(low * count + high, return_counts=True)
    low, high = np.sort(cones[:, :2], axis=1).T
    alone = times[np.searchsorted(key, low * count + high)] == 1
    keep = ~np.isin(ends[:, 0], ends[~alone, 0])
    if not keep.any():
        return mesh
    vertex = ends[keep, 1]
    apex = np.unique(ends[keep, 0], return_inverse=True)[1]
    cones = np.stack([*cones[keep, :2].T, count + apex], axis=1)
    around = np.bincount(apex)
    middle = np.stack([np.bincount(apex, mesh.vertices[vertex, i]) / around for i in range(3)], axis=1)
    return Mesh(np.concatenate([mesh.vertices, middle]), np.concatenate([mesh.faces, cones]), mesh.name)


def rim_distances(mesh: Mesh) -> Floats:
    """Return the distance (V,) of each vertex from the nearest rim, along edges; infinite if there is no rim.

    Examples
    --------
    >>> strip = Mesh([[x, y, 0] for x in range(5) for y in range(5)],
    ...              [[5 * x + y, 5 * x + y + 5, 5 * x + y + 6, 5 * x + y + 1]
    ...               for x in range(4) for y in range(4)])
    >>> rim_distances(strip).reshape(5, 5)[2].tolist()
    [0.0, 1.0, 2.0, 1.0, 0.0]
    """
    edges, _ = rims(len(mesh.vertices), mesh.faces)
    if not len(edges):
        return np.full(len(mesh.vertices), np.inf)
    graph = edge_graph(mesh.vertices, mesh.faces)
    return np.asarray(dijkstra(graph, indices=np.unique(edges), min_only=True), np.float64)
