"""Geodesic distances without directions: between all vertices, or from one vertex up to a limit.

A front grows from a vertex by unfolding triangles. Each vertex has a *limit*: reached at or beyond it, a
vertex does not pass the front on. Distances are within about half a percent of the exact ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Ints
from fieldconv._compiled import blocks, kernel, num_threads, run_blocks
from fieldconv.geometry.geodesic.discs import ENTRY, grow, push, remove_first
from fieldconv.geometry.geodesic.geodesic_discs import geodesic_discs
from fieldconv.geometry.mesh.mesh import Mesh


def all_distances(mesh: Mesh, exact: float = 0.15) -> NDArray[np.float32]:
    """Return the geodesic distances between all vertices, (V, V) float32, infinite between components.

    Distances up to ``exact`` are exact, those beyond are within about half a percent.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> all_distances(square).round(3)[0].tolist()
    [0.0, 1.0, 1.4140000343322754, 1.0]
    """
    mesh.validate()
    count = len(mesh.vertices)
    distances = np.full((count, count), np.inf, np.float32)
    corners = triangles_around(mesh)
    rows = blocks(count, max(count // (4 * num_threads()), 1))
    run_blocks(_fill_rows, [(mesh.vertices, *corners, a, b, distances) for a, b in rows])
    discs = geodesic_discs(mesh, exact)
    distances[discs.centres, discs.targets] = discs.distance
    return distances


def triangles_around(mesh: Mesh) -> tuple[Ints, Ints]:
    """Return, for each vertex in CSR order, the other two vertices of its faces: (V + 1,) and (3F, 2)."""
    corners = np.concatenate([mesh.faces, mesh.faces[:, [1, 2, 0]], mesh.faces[:, [2, 0, 1]]])
    corners = corners[np.argsort(corners[:, 0], kind="stable")]
    offsets = np.searchsorted(corners[:, 0], np.arange(len(mesh.vertices) + 1))
    return offsets, np.ascontiguousarray(corners[:, 1:])


@kernel
def _fill_rows(vertices, offsets, corners, first, last, distances):  # type: ignore[no-untyped-def]
    """Distances from the vertices ``first`` to ``last``."""
    limit = np.full(len(vertices), np.inf)
    distance = np.full(len(vertices), np.inf)
    reached = np.empty(len(vertices), np.int64)
    for source in range(first, last):
        for j in range(spread_distance(vertices, offsets, corners, source, limit, distance, reached)):
            distances[source, reached[j]] = distance[reached[j]]
            distance[reached[j]] = np.inf


@kernel
def spread_distance(vertices, offsets, corners, source, limit, distance, reached):  # type: ignore[no-untyped-def]
    """Spread geodesic distance from ``source`` as far as it stays below ``limit``.

    ``distance`` is infinite on entry. On return the first entries of ``reached``, as many as returned, are
    the vertices whose distance is not.
    """
    distance[source] = 0.0
    reached[0] = source
    count = 1
    heap = np.empty(64, ENTRY)
    heap[0].key, heap[0].item, size = 0.0, source, 1
    while size > 0:
        here, vertex = heap[0].key, heap[0].item
        remove_first(heap, size)
        size -= 1
        if here > distance[vertex] or here >= limit[vertex]:
            continue
        heap = grow(heap, size, 2 * (offsets[vertex + 1] - offsets[vertex]))
        for corner in range(offsets[vertex], offsets[vertex + 1]):
            for side in range(2):
                target, third = corners[corner, side], corners[corner, 1 - side]
                edge = length_between(vertices, vertex, target)
                new = here + edge
                if distance[third] < np.inf:
                    across = _distance_across(
                        here, distance[third], length_between(vertices, vertex, third), edge,
                        length_between(vertices, third, target),
                    )  # fmt: skip
                    if across >= here:  # so that distances never shrink below those already final
                        new = min(new, across)
                if new < distance[target]:
                    if distance[target] == np.inf:
                        reached[count] = target
                        count += 1
                    distance[target] = new
                    push(heap, size, new, target)
                    size += 1
    return count


@kernel
def _distance_across(at_a, at_b, ab, ac, bc):  # type: ignore[no-untyped-def]
    """Distance at c of a point source beyond the edge ab, laid flat; infinite if their line misses ab."""
    if ab <= 0.0:
        return np.inf
    source_x = (at_a**2 - at_b**2 + ab**2) / (2 * ab)
    source_y = np.sqrt(max(at_a**2 - source_x**2, 0.0))
    c_x = (ac**2 - bc**2 + ab**2) / (2 * ab)
    c_y = np.sqrt(max(ac**2 - c_x**2, 0.0))
    height = source_y + c_y
    crossing = source_x * c_y + c_x * source_y
    if height <= 0.0 or crossing < 0.0 or crossing > ab * height:
        return np.inf
    return np.sqrt((c_x - source_x) ** 2 + height**2)


@kernel
def length_between(vertices, i, j):  # type: ignore[no-untyped-def]
    """Return the length of the straight line between two vertices."""
    x = vertices[i, 0] - vertices[j, 0]
    y = vertices[i, 1] - vertices[j, 1]
    z = vertices[i, 2] - vertices[j, 2]
    return np.sqrt(x * x + y * y + z * z)
