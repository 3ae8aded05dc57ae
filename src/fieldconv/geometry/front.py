"""Geodesic discs of many vertices: a front that is nearly exact, and far cheaper than unfolding all the way.

Exact paths need every wedge of light that crosses a triangle, and in a disc of a thousand vertices each
triangle is crossed by dozens. Here a vertex keeps one path only. Where two vertices of a triangle know their
distances, the source has one place in the triangle's plane; seen from there, the third vertex has a distance,
and its direction and transport lie between those of the two. Vertices are taken nearest first, and taken
again if a shorter path turns up later.
"""

from __future__ import annotations

import numpy as np

from .._compiled import kernel
from .discs import with_room, wrapped

SLACK = 0.15  # a ray may miss the edge it should cross by this part of its length: distances are inexact
WORTH = 1e-9  # an improvement by less than this part is rounding, and not followed up


@kernel
def front_block(chart, sources, radius, wanted):  # type: ignore[no-untyped-def]
    """Discs of some sources: number of targets of each, targets, distance, angle and transport of all."""
    vertex_of = chart.faces.ravel()
    corners, offsets = chart.corners, chart.corner_offsets
    vertices = len(offsets) - 1
    to_first, to_second, over_first, over_second = _edge_directions(chart)

    distance = np.full(vertices, np.inf)
    angle, carried = np.zeros(vertices), np.zeros(vertices)
    reached, seen = np.zeros(vertices, np.bool_), np.empty(vertices, np.int64)
    heap_key, heap_vertex = np.empty(256), np.empty(256, np.int64)
    counts = np.zeros(len(sources), np.int64)
    targets, values = np.empty(1024, np.int64), np.empty((3, 1024))
    pairs = 0
    for number in range(len(sources)):
        source = sources[number]
        distance[source] = angle[source] = carried[source] = 0.0
        seen[0], seen_count = source, 1
        heap_key[0], heap_vertex[0], heap_size = 0.0, source, 1
        while heap_size > 0:
            key, vertex = heap_key[0], heap_vertex[0]
            heap_size -= 1
            _sift_down(heap_key, heap_vertex, heap_size)
            if key > distance[vertex]:
                continue  # a shorter path was found since
            reached[vertex] = True
            for slot in range(offsets[vertex], offsets[vertex + 1]):
                corner = corners[slot]
                base = corner - corner % 3
                for step in range(1, 3):
                    # The triangle's other two: the vertex to be improved and the one that may help.
                    apex = base + (corner - base + step) % 3
                    other = base + (corner - base + 3 - step) % 3
                    target, helper = vertex_of[apex], vertex_of[other]
                    if target == source:
                        continue
                    if vertex == source:
                        outgoing = to_first[corner] if step == 1 else to_second[corner]
                        turned = over_first[corner] if step == 1 else over_second[corner]
                    else:
                        outgoing = angle[vertex]
                        turned = carried[vertex] + (over_first[corner] if step == 1 else over_second[corner])
                    best = distance[vertex] + chart.facing_length[other]
                    if reached[helper] and vertex != source and helper != source:
                        # In the plane of the triangle: the edge from its first end on, the apex above.
                        first, second = (corner, other) if step == 2 else (other, corner)
                        edge = chart.facing_length[apex]
                        from_first, from_second = distance[vertex_of[first]], distance[vertex_of[second]]
                        along = chart.apex_along[apex] * edge
                        height = chart.apex_height[apex] * edge
                        at = (from_first * from_first - from_second * from_second + edge * edge) / (2 * edge)
                        below = np.sqrt(max(from_first * from_first - at * at, 0.0))
                        crossing = at + (along - at) * below / (below + height)
                        if below > 0 and -SLACK * edge <= crossing <= (1 + SLACK) * edge:
                            straight = np.sqrt((along - at) ** 2 + (height + below) ** 2)
                            if straight < best:
                                best = straight
                                # The part of the angle between the two that lies before the apex.
                                to_left, to_right = np.arctan2(-at, below), np.arctan2(edge - at, below)
                                to_apex = np.arctan2(along - at, height + below)
                                part = (to_apex - to_left) / (to_right - to_left)
                                left, right = vertex_of[first], vertex_of[second]
                                outgoing = angle[left] + part * wrapped(angle[right] - angle[left])
                                turned = carried[left] + over_second[first]
                                turned += part * wrapped(carried[right] + over_first[second] - turned)
                    if best > radius or best >= distance[target] * (1 - WORTH):
                        continue
                    if distance[target] == np.inf:
                        seen[seen_count] = target
                        seen_count += 1
                    distance[target], angle[target], carried[target] = best, outgoing, turned
                    if heap_size == len(heap_key):
                        more_key, more_vertex = np.empty(2 * heap_size), np.empty(2 * heap_size, np.int64)
                        more_key[:heap_size], more_vertex[:heap_size] = heap_key, heap_vertex
                        heap_key, heap_vertex = more_key, more_vertex
                    _sift_up(heap_key, heap_vertex, heap_size, best, target)
                    heap_size += 1

        found = np.sort(seen[:seen_count])
        targets, values = with_room(targets, values, pairs, seen_count)
        before = pairs
        for target in found:
            if wanted[target]:
                targets[pairs] = target
                values[0, pairs] = distance[target]
                values[1, pairs], values[2, pairs] = wrapped(angle[target]), wrapped(carried[target])
                pairs += 1
            distance[target] = np.inf
            reached[target] = False
        counts[number] = pairs - before
    return (
        counts, targets[:pairs].copy(), values[0, :pairs].copy(), values[1, :pairs].copy(),
        values[2, :pairs].copy(),
    )  # fmt: skip


@kernel
def _edge_directions(chart):  # type: ignore[no-untyped-def]
    """Of each corner: angles θ of its edges to its first and its second, and transports φ along them."""
    count = len(chart.corners)
    to_first, to_second = np.empty(count), np.empty(count)
    over_first, over_second = np.empty(count), np.empty(count)
    vertex_of = chart.faces.ravel()
    for corner in range(count):
        scale = chart.scale[vertex_of[corner]]
        to_first[corner] = scale * chart.edge_angle[corner]
        to_second[corner] = to_first[corner] + scale * chart.corner_angle[corner]
    for corner in range(count):
        base = corner - corner % 3
        first, second = base + (corner - base + 1) % 3, base + (corner - base + 2) % 3
        over_first[corner] = to_second[first] + np.pi - to_first[corner]
        over_second[corner] = to_first[second] + np.pi - to_second[corner]
    return to_first, to_second, over_first, over_second


@kernel
def _sift_up(keys, items, place, key, item):  # type: ignore[no-untyped-def]
    while place > 0 and keys[(place - 1) // 2] > key:
        keys[place], items[place] = keys[(place - 1) // 2], items[(place - 1) // 2]
        place = (place - 1) // 2
    keys[place], items[place] = key, item


@kernel
def _sift_down(keys, items, size):  # type: ignore[no-untyped-def]
    """Put the last entry, at ``size``, where the first was taken away."""
    key, item = keys[size], items[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], items[place] = keys[child], items[child]
        place = child
    keys[place], items[place] = key, item
