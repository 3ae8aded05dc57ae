"""Geodesic discs of many vertices: a front that is nearly exact, and far cheaper than unfolding all the way.

Exact paths need every wedge that crosses a triangle, and in a disc of a thousand vertices each triangle is
crossed by dozens. Here a vertex keeps one path only. Where two vertices of a triangle know their
distances, the source has one place in the triangle's plane; seen from there, the third vertex has a distance,
and its direction and transport lie between those of the two. Vertices are taken nearest first, and taken
again if a shorter path turns up later.
"""

from __future__ import annotations

import numpy as np

from fieldconv._compiled import kernel
from fieldconv.geometry.geodesic.charts import beside
from fieldconv.geometry.geodesic.discs import PAIR, grow, wrap_angle
from fieldconv.geometry.geodesic.heap import ENTRY, push, remove_first
from fieldconv.geometry.mesh.mesh import Mesh

SLIVERS = 0.25  # share of triangles with an angle above 135° beyond which too many paths are missed
WORTH = 1e-9  # an improvement by less than this part is rounding, and not followed up
TIMES = 16  # times that a vertex is taken at most: between needles, rounding could shorten paths forever

# What a vertex knows of a triangle in which it may improve a target with the help of the third vertex.
UPDATE = np.dtype(
    [
        ("target", np.int64),
        ("helper", np.int64),
        ("length", np.float64),  # of the edge to the target
        ("edge", np.float64),  # length of the edge to the helper …
        ("half", np.float64),  # … and half its inverse
        ("along", np.float64),  # where the target is over that edge
        ("height", np.float64),
        ("direction", np.float64),  # angle θ of the edge to the target
        ("over", np.float64),  # transport φ along the edge to the target, from the vertex …
        ("over_helper", np.float64),  # … and from the helper
    ],
    align=True,
)
# What is known of each vertex, for the present source.
REACHED = np.dtype(
    [
        ("distance", np.float64),
        ("angle", np.float64),
        ("carried", np.float64),  # transport from the source
        ("taken", np.int64),  # how many times it has updated its neighbours
    ],
    align=True,
)


def is_front_accurate(mesh: Mesh) -> bool:
    """Return whether the front is close to exact on a mesh: not if it consists of thin, obtuse triangles."""
    corners = mesh.vertices[mesh.faces]
    squares = np.sort(((corners - np.roll(corners, 1, axis=1)) ** 2).sum(-1), axis=1)
    obtuse = squares[:, 0] + squares[:, 1] - squares[:, 2] < -np.sqrt(2 * squares[:, 0] * squares[:, 1])
    return bool(obtuse.mean() <= SLIVERS)


@kernel
def front_block(chart, sources, radius, wanted):  # type: ignore[no-untyped-def]
    """Discs of some sources: the number of pairs of each, and all pairs."""
    first_corner = chart.first_corner
    updates = _updates(chart)
    reached, seen = np.empty(len(chart.vertices), REACHED), np.empty(len(chart.vertices), np.int64)
    for vertex in range(len(reached)):
        reached[vertex].distance, reached[vertex].taken = np.inf, 0
    heap = np.empty(256, ENTRY)
    counts, pairs, count = np.zeros(len(sources), np.int64), np.empty(1024, PAIR), 0
    for number in range(len(sources)):
        source = sources[number]
        start = reached[source]
        start.distance = start.angle = start.carried = 0.0
        seen[0], seen_count = source, 1
        heap[0].key, heap[0].item, heap_size = 0.0, source, 1
        while heap_size > 0:
            key, vertex = heap[0].key, heap[0].item
            remove_first(heap, heap_size)
            heap_size -= 1
            here = reached[vertex]
            if key > here.distance:
                continue  # a shorter path was found since
            here.taken += 1
            begin, end = 2 * first_corner[vertex], 2 * first_corner[vertex + 1]
            heap = grow(heap, heap_size, end - begin)
            for place in range(begin, end):
                update = updates[place]
                if update.target == source:
                    continue
                target, helper = reached[update.target], reached[update.helper]
                limit = target.distance * (1 - WORTH)
                best, across = key + update.length, False
                if helper.taken > 0 and vertex != source and update.helper != source:
                    at, below, straight = _seen_from_source(update, key, helper.distance)
                    if straight < min(limit, best) ** 2 and below > 0:
                        crossing = at + (update.along - at) * below / (below + update.height)
                        if 0 <= crossing <= update.edge:
                            best, across = np.sqrt(straight), True
                if best > radius or best >= limit or target.taken == TIMES:
                    continue
                turned = here.carried + update.over
                if across:
                    part = _part_before_target(update, at, below)
                    outgoing = here.angle + part * wrap_angle(helper.angle - here.angle)
                    turned += part * wrap_angle(helper.carried + update.over_helper - turned)
                else:
                    outgoing = update.direction if vertex == source else here.angle
                if target.distance == np.inf:
                    seen[seen_count] = update.target
                    seen_count += 1
                target.distance, target.angle, target.carried = best, outgoing, turned
                push(heap, heap_size, best, update.target)
                heap_size += 1

        pairs = grow(pairs, count, seen_count)
        before = count
        for target_vertex in np.sort(seen[:seen_count]):
            end_point = reached[target_vertex]
            if wanted[target_vertex]:
                pair = pairs[count]
                pair.target, pair.distance, pair.ambiguous = target_vertex, end_point.distance, False
                pair.angle, pair.transport = wrap_angle(end_point.angle), wrap_angle(end_point.carried)
                count += 1
            end_point.distance, end_point.taken = np.inf, 0
        counts[number] = count - before
    return counts, pairs[:count].copy()


@kernel
def _seen_from_source(update, distance, helper_distance):  # type: ignore[no-untyped-def]
    """Where the source is below the edge from vertex to helper, and the square of its way to the target.

    In the plane of the triangle, with the target above that edge: (at, −below).
    """
    known = distance * distance
    at = (known - helper_distance**2) * update.half + update.edge / 2
    below = np.sqrt(max(known - at * at, 0.0))
    return at, below, (update.along - at) ** 2 + (update.height + below) ** 2


@kernel
def _part_before_target(update, at, below):  # type: ignore[no-untyped-def]
    """Seen from the source: the part of the angle from vertex to helper that lies before the target."""
    x, y = update.along - at, update.height + below
    part = np.arctan2(x * below + y * at, y * below - x * at)
    return part / np.arctan2(update.edge * below, below * below - (update.edge - at) * at)


@kernel
def _updates(chart):  # type: ignore[no-untyped-def]
    """Return the updates from each vertex to its neighbours, two records for each of its corners."""
    corners = chart.corners
    updates = np.empty(2 * len(corners), UPDATE)
    for slot in range(len(corners)):
        corner = chart.corners_of[slot]
        for side in range(2):
            target, helper = beside(corner, 1 + side), beside(corner, 2 - side)
            edge, along = corners[target].facing_length, corners[target].apex_along
            update = updates[2 * slot + side]
            update.target, update.helper = corners[target].vertex, corners[helper].vertex
            update.length, update.edge, update.half = corners[helper].facing_length, edge, 0.5 / edge
            update.along = (along if side == 1 else 1 - along) * edge
            update.height = corners[target].apex_height * edge
            update.direction = _direction(chart, corner, side)
            update.over = _direction(chart, target, 1 - side) + np.pi - update.direction
            update.over_helper = _direction(chart, target, side) + np.pi - _direction(chart, helper, 1 - side)
    return updates


@kernel
def _direction(chart, corner, side):  # type: ignore[no-untyped-def]
    """Angle θ of one of a corner's two edges, in the frame of its vertex."""
    row = chart.corners[corner]
    return chart.vertices[row.vertex].scale * (row.edge_angle + (row.angle if side == 1 else 0.0))
