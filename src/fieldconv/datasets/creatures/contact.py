"""A fused contact: two limbs that come close are joined, as when a scanner cannot tell them apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from fieldconv.geometry.halfedge import vertex_areas, vertex_normals
from fieldconv.geometry.topology import edge_graph, tidy

from .skeleton import Array
from .solid import Faces

Index = NDArray[np.int64]


def closest_approach(points: Array, faces: Faces, rest: Array, *, most: int = 1500) -> tuple[float, int, int]:
    """Return the two nearest vertices that face each other and are far apart at rest, and their distance.

    At most ``most`` vertices are examined. The distance is infinite if there is no such pair.
    """
    normal = vertex_normals(points, faces)
    some = np.linspace(0, len(points) - 1, min(most, len(points))).astype(int)
    scale = np.sqrt(vertex_areas(points, faces).sum())
    a, b = some[cKDTree(points[some]).query_pairs(0.6 * scale, output_type="ndarray").T]
    edge = np.linalg.norm(points[faces[:, 0]] - points[faces[:, 1]], axis=1).mean()
    far = np.linalg.norm(rest[a] - rest[b], axis=1) > max(0.25 * scale, 7 * edge)  # discs must not meet
    a, b = a[far], b[far]
    way = points[b] - points[a]
    gap = np.linalg.norm(way, axis=1) + 1e-12
    facing = np.minimum((normal[a] * way).sum(axis=1), -(normal[b] * way).sum(axis=1)) / gap
    gap[facing < 0.3] = np.inf
    if not np.isfinite(gap).any():
        return np.inf, 0, 0
    best = int(gap.argmin())
    return float(gap[best]), int(a[best]), int(b[best])


def fuse(points: Array, faces: Faces, a: int, b: int) -> tuple[Array, Index, Faces]:
    """Return the surface bent at two vertices until they almost touch, with the gap bridged.

    Returns the moved points, the vertices kept and the renumbered faces; the genus grows by one. If the
    surface around the two vertices is not a disc, which is rare, nothing is changed.
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


def _rim(disc: Faces) -> list[int] | None:
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


def _bridge(points: Array, one: list[int], two: list[int]) -> Faces:
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
