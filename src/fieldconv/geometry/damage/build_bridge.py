"""A bridge between two parts of a surface that face each other, as when a scanner cannot tell them apart."""

from __future__ import annotations

import numpy as np
import scipy
from scipy.sparse.csgraph import dijkstra

from fieldconv._arrays import Floats, Ints
from fieldconv.geometry.mesh.topology import edge_graph, tidy
from fieldconv.geometry.mesh.triangles import vertex_areas, vertex_normals


def facing_pairs(points: Floats, faces: Ints, some: Ints, reach: float) -> tuple[Ints, Ints, Floats]:
    """Return pairs of vertices that face each other across a gap, and the width of the gap, (n,) each.

    ``faces`` face outward, ``some`` are the vertices that are examined, ``reach`` is the widest gap.

    Examples
    --------
    >>> points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1.]])
    >>> a, b, gap = facing_pairs(points, np.array([[0, 1, 2], [3, 5, 4]]), np.arange(6), 1.1)
    >>> a.tolist(), b.tolist(), gap.tolist()
    ([0, 1, 2], [3, 4, 5], [1.0, 1.0, 1.0])
    """
    normal = vertex_normals(points, faces)
    a, b = some[scipy.spatial.cKDTree(points[some]).query_pairs(reach, output_type="ndarray").T]
    way = points[b] - points[a]
    gap = np.linalg.norm(way, axis=1)
    facing = np.minimum((normal[a] * way).sum(axis=1), -(normal[b] * way).sum(axis=1)) >= 0.3 * gap
    return a[facing], b[facing], gap[facing]


def build_bridge(points: Floats, faces: Ints, a: int, b: int) -> tuple[Floats, Ints, Ints]:
    """Return the surface bent at two vertices until they almost touch, with the gap bridged.

    Returns the moved points, the vertices kept and the renumbered faces. If the surface around the two
    vertices is not a disc, which is rare, nothing is changed.
    """
    graph = edge_graph(points, faces)
    edge = float(graph.data.mean())
    distance = dijkstra(graph, indices=[a, b])
    way = points[b] - points[a]
    gap = float(np.linalg.norm(way))
    move = 0.5 * max(0.0, 1 - edge / gap) * way
    width = max(4 * edge, gap, 0.1 * float(np.sqrt(vertex_areas(points, faces).sum())))
    pull = np.exp(-((distance / width) ** 2))
    moved = points + pull[0][:, None] * move - pull[1][:, None] * move
    for radius in (1.5 * edge, 0.0):
        gone = distance.min(axis=0) <= radius
        open_faces = gone[faces].any(axis=1)
        near = distance.argmin(axis=0)[faces].min(axis=1)
        loops = [_rim(faces[open_faces & (near == side)]) for side in (0, 1)]
        if loops[0] is None or loops[1] is None:
            continue
        if not set(loops[0]) & set(loops[1]) and graph[loops[0]][:, loops[1]].nnz == 0:
            bridge = _bridge(moved, loops[0], loops[1])
            keep, rest = tidy(len(points), np.concatenate([faces[~open_faces], bridge]))
            return moved, keep, rest
    return points, np.arange(len(points)), faces


def _rim(disc: Ints) -> list[int] | None:
    """The boundary of a disc of triangles in order, or None if it is not one simple loop."""
    follow: dict[int, int] = {}
    edges = {(int(i), int(j)) for face in disc for i, j in zip(face, np.roll(face, -1), strict=True)}
    for i, j in edges:
        if (j, i) not in edges:
            if i in follow:
                return None
            follow[i] = j
    if not follow:
        return None
    loop = [min(follow)]
    while follow[loop[-1]] != loop[0]:
        loop.append(follow[loop[-1]])
    return loop if len(loop) == len(follow) else None


def _bridge(points: Floats, one: list[int], two: list[int]) -> Ints:
    """A band of triangles between two rims, both walked at the same pace."""
    two = two[::-1]
    starts = [two[k:] + two[:k] for k in range(len(two))]
    even = np.arange(24) / 24
    marks = [points[[rim[int(s * len(rim))] for s in even]] for rim in [one, *starts]]
    two = starts[int(np.argmin([np.linalg.norm(marks[0] - mark) for mark in marks[1:]]))]
    i, j = 0, 0
    band = []
    while i < len(one) or j < len(two):
        p, q = one[i % len(one)], two[j % len(two)]
        if (i + 1) * len(two) <= (j + 1) * len(one):
            i += 1
            band.append((p, one[i % len(one)], q))
        else:
            j += 1
            band.append((two[j % len(two)], q, p))
    return np.array(band, np.int64)
