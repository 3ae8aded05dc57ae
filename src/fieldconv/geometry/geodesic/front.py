"""Geodesic discs of many vertices: a front that is nearly exact, and far cheaper than unfolding all the way.

Exact paths need every wedge that crosses a triangle, and in a disc of a thousand vertices each triangle is
crossed by dozens. Here a vertex keeps one path only. Where two vertices of a triangle know their
distances, the source has one place in the triangle's plane; seen from there, the third vertex has a distance,
and its direction and transport lie between those of the two. Vertices are visited nearest first, and again
if a shorter path turns up later.
"""

from __future__ import annotations

import numpy as np

from fieldconv._compiled import kernel
from fieldconv.geometry.geodesic.charts import next_corner
from fieldconv.geometry.geodesic.discs import ENTRY, PAIR, grow, push, remove_first, wrap_angle
from fieldconv.geometry.mesh.mesh import Mesh

MAX_SLIVERS = 0.25  # share of triangles with an angle above 135° beyond which too many paths are missed
MIN_IMPROVEMENT = 1e-9  # relative; smaller improvements are rounding
MAX_VISITS = 16  # of a vertex: between needles, rounding could shorten paths forever

# A triangle in which a vertex may improve a target with the help of the third vertex.
UPDATE = np.dtype(
    [
        ("target", np.int64),
        ("helper", np.int64),
        ("length", np.float64),  # of the edge to the target
        ("edge", np.float64),  # length of the edge to the helper …
        ("half_inverse", np.float64),  # … and half its inverse
        ("along", np.float64),  # where the target is over that edge
        ("height", np.float64),
        ("direction", np.float64),  # angle θ of the edge to the target
        ("by_edge", np.float64),  # transport φ along the edge to the target, from the vertex …
        ("by_helper", np.float64),  # … and from the helper
    ],
    align=True,
)
# A vertex, for the present source.
REACHED = np.dtype(
    [
        ("distance", np.float64),
        ("angle", np.float64),
        ("transport", np.float64),  # transport from the source
        ("visits", np.int64),  # how often it has updated its neighbours
    ],
    align=True,
)


def is_front_accurate(mesh: Mesh) -> bool:
    """Return whether the front is close to exact on a mesh: not if it consists of thin, obtuse triangles."""
    corners = mesh.vertices[mesh.faces]
    squares = np.sort(((corners - np.roll(corners, 1, axis=1)) ** 2).sum(-1), axis=1)
    obtuse = squares[:, 0] + squares[:, 1] - squares[:, 2] < -np.sqrt(2 * squares[:, 0] * squares[:, 1])
    return bool(obtuse.mean() <= MAX_SLIVERS)


@kernel
def front_block(chart, sources, radius, wanted):  # type: ignore[no-untyped-def]
    """Return discs of some sources: the number of pairs of each, and all pairs."""
    first_corner = chart.first_corner
    updates = _updates(chart)
    reached, seen = np.empty(len(chart.vertices), REACHED), np.empty(len(chart.vertices), np.int64)
    for vertex in range(len(reached)):
        reached[vertex].distance, reached[vertex].visits = np.inf, 0
    heap = np.empty(256, ENTRY)
    counts, pairs, count = np.zeros(len(sources), np.int64), np.empty(1024, PAIR), 0
    for number in range(len(sources)):
        source = sources[number]
        start = reached[source]
        start.distance = start.angle = start.transport = 0.0
        seen[0], seen_count = source, 1
        heap[0].key, heap[0].item, heap_size = 0.0, source, 1
        while heap_size > 0:
            key, vertex = heap[0].key, heap[0].item
            remove_first(heap, heap_size)
            heap_size -= 1
            here = reached[vertex]
            if key > here.distance:
                continue  # a shorter path was found since
            here.visits += 1
            begin, end = 2 * first_corner[vertex], 2 * first_corner[vertex + 1]
            heap = grow(heap, heap_size, end - begin)
            for place in range(begin, end):
                update = updates[place]
                if update.target == source:
                    continue
                target, helper = reached[update.target], reached[update.helper]
                limit = target.distance * (1 - MIN_IMPROVEMENT)
                best, across = key + update.length, False
                if helper.visits > 0 and vertex != source and update.helper != source:
                    at, below, straight = _source_position(update, key, helper.distance)
                    if straight < min(limit, best) ** 2 and below > 0:
                        crossing = at + (update.along - at) * below / (below + update.height)
                        if 0 <= crossing <= update.edge:
                            best, across = np.sqrt(straight), True
                if best > radius or best >= limit or target.visits == MAX_VISITS:
                    continue
                turned = here.transport + update.by_edge
                if across:
                    part = _share_before_target(update, at, below)
                    outgoing = here.angle + part * wrap_angle(helper.angle - here.angle)
                    turned += part * wrap_angle(helper.transport + update.by_helper - turned)
                else:
                    outgoing = update.direction if vertex == source else here.angle
                if target.distance == np.inf:
                    seen[seen_count] = update.target
                    seen_count += 1
                target.distance, target.angle, target.transport = best, outgoing, turned
                push(heap, heap_size, best, update.target)
                heap_size += 1

        pairs = grow(pairs, count, seen_count)
        before = count
        for target_vertex in np.sort(seen[:seen_count]):
            end_point = reached[target_vertex]
            if wanted[target_vertex]:
                pair = pairs[count]
                pair.target, pair.distance, pair.ambiguous = target_vertex, end_point.distance, False
                pair.angle, pair.transport = wrap_angle(end_point.angle), wrap_angle(end_point.transport)
                count += 1
            end_point.distance, end_point.visits = np.inf, 0
        counts[number] = count - before
    return counts, pairs[:count].copy()


@kernel
def _source_position(update, distance, helper_distance):  # type: ignore[no-untyped-def]
    """Position (at, −below) of the source, the helper on the x axis; its squared distance to the target."""
    known = distance * distance
    at = (known - helper_distance**2) * update.half_inverse + update.edge / 2
    below = np.sqrt(max(known - at * at, 0.0))
    return at, below, (update.along - at) ** 2 + (update.height + below) ** 2


@kernel
def _share_before_target(update, at, below):  # type: ignore[no-untyped-def]
    """Share of the angle from vertex to helper, seen from the source, that lies before the target."""
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
            target, helper = next_corner(corner, 1 + side), next_corner(corner, 2 - side)
            edge, along = corners[target].facing_length, corners[target].apex_along
            update = updates[2 * slot + side]
            update.target, update.helper = corners[target].vertex, corners[helper].vertex
            update.length, update.edge, update.half_inverse = corners[helper].facing_length, edge, 0.5 / edge
            update.along = (along if side == 1 else 1 - along) * edge
            update.height = corners[target].apex_height * edge
            update.direction = _direction(chart, corner, side)
            update.by_edge = _direction(chart, target, 1 - side) + np.pi - update.direction
            update.by_helper = _direction(chart, target, side) + np.pi - _direction(chart, helper, 1 - side)
    return updates


@kernel
def _direction(chart, corner, side):  # type: ignore[no-untyped-def]
    """Angle θ of one of a corner's two edges, in the frame of its vertex."""
    row = chart.corners[corner]
    return chart.vertices[row.vertex].scale * (row.edge_angle + (row.angle if side == 1 else 0.0))
