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
from .mesh import Mesh

SLIVERS = 0.25  # share of triangles with an angle above 135° beyond which too many paths are missed
WORTH = 1e-9  # an improvement by less than this part is rounding, and not followed up

# What a vertex knows of a triangle in which it may improve a target with the help of the third vertex.
LENGTH = 0  # of the edge to the target
EDGE, HALF = 1, 2  # length of the edge to the helper, and half its inverse
ALONG, HEIGHT = 3, 4  # where the target is over that edge
DIRECTION = 5  # angle θ of the edge to the target
OVER, OVER_HELPER = 6, 7  # transports φ to the target, from the vertex and from the helper


def suits_front(mesh: Mesh) -> bool:
    """Whether the front is close to exact on a mesh: not if it consists of thin, obtuse triangles.

    Examples
    --------
    >>> suits_front(Mesh([[0, 0, 0], [9, 0, 0], [4, 9, 0]], [[0, 1, 2]]))
    True
    >>> suits_front(Mesh([[0, 0, 0], [9, 0, 0], [4, 1, 0]], [[0, 1, 2]]))
    False
    """
    corners = mesh.vertices[mesh.faces]
    squares = np.sort(((corners - np.roll(corners, 1, axis=1)) ** 2).sum(-1), axis=1)
    obtuse = squares[:, 0] + squares[:, 1] - squares[:, 2] < -np.sqrt(2 * squares[:, 0] * squares[:, 1])
    return bool(obtuse.mean() <= SLIVERS)


@kernel
def front_block(chart, sources, radius, wanted):  # type: ignore[no-untyped-def]
    """Discs of some sources: number of targets of each, targets, distance, angle and transport of all."""
    offsets = chart.corner_offsets
    vertices = len(offsets) - 1
    target_of, helper_of, table = _updates(chart)

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
            known = key * key
            for update in range(2 * offsets[vertex], 2 * offsets[vertex + 1]):
                target, helper = target_of[update], helper_of[update]
                if target == source:
                    continue
                row = table[update]
                edge, along, height = row[EDGE], row[ALONG], row[HEIGHT]
                limit = distance[target] * (1 - WORTH)
                best, across = key + row[LENGTH], False
                if reached[helper] and vertex != source and helper != source:
                    # In the plane of the triangle: the edge from this vertex to the helper, the target above,
                    # and the source below.
                    at = (known - distance[helper] ** 2) * row[HALF] + edge / 2
                    below = np.sqrt(max(known - at * at, 0.0))
                    straight = (along - at) ** 2 + (height + below) ** 2
                    if straight < min(limit, best) ** 2 and below > 0:
                        crossing = at + (along - at) * below / (below + height)
                        if 0 <= crossing <= edge:
                            best, across = np.sqrt(straight), True
                if best > radius or best >= limit:
                    continue
                if across:
                    # Seen from the source: the part of the angle between the two that lies before the target.
                    x, y = along - at, height + below
                    part = np.arctan2(x * below + y * at, y * below - x * at)
                    part /= np.arctan2(edge * below, below * below - (edge - at) * at)
                    outgoing = angle[vertex] + part * wrapped(angle[helper] - angle[vertex])
                    turned = carried[vertex] + row[OVER]
                    turned += part * wrapped(carried[helper] + row[OVER_HELPER] - turned)
                else:
                    outgoing = row[DIRECTION] if vertex == source else angle[vertex]
                    turned = carried[vertex] + row[OVER]
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
def _updates(chart):  # type: ignore[no-untyped-def]
    """What each vertex may tell its neighbours, twice for every corner: target, helper, row of numbers."""
    count = len(chart.corners)
    vertex_of = chart.faces.ravel()
    target_of, helper_of = np.empty(2 * count, np.int64), np.empty(2 * count, np.int64)
    table = np.empty((2 * count, 8))
    for slot in range(count):
        corner = chart.corners[slot]
        base = corner - corner % 3
        first, second = base + (corner - base + 1) % 3, base + (corner - base + 2) % 3
        for side in range(2):
            target, helper = (first, second) if side == 0 else (second, first)
            edge = chart.facing_length[target]
            along = chart.apex_along[target] if side == 1 else 1 - chart.apex_along[target]
            update = 2 * slot + side
            target_of[update], helper_of[update] = vertex_of[target], vertex_of[helper]
            row = table[update]
            row[LENGTH], row[EDGE], row[HALF] = chart.facing_length[helper], edge, 0.5 / edge
            row[ALONG], row[HEIGHT] = along * edge, chart.apex_height[target] * edge
            row[DIRECTION] = _direction(chart, corner, side)
            row[OVER] = _direction(chart, target, 1 - side) + np.pi - row[DIRECTION]
            row[OVER_HELPER] = _direction(chart, target, side) + np.pi - _direction(chart, helper, 1 - side)
    return target_of, helper_of, table


@kernel
def _direction(chart, corner, side):  # type: ignore[no-untyped-def]
    """Angle θ of one of a corner's two edges, in the frame of its vertex."""
    angle = chart.edge_angle[corner] + (chart.corner_angle[corner] if side == 1 else 0.0)
    return chart.scale[chart.faces.ravel()[corner]] * angle


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
