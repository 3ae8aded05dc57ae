"""Exact geodesic discs: light that spreads over the surface in straight lines, triangle after triangle.

Light leaves a vertex, its *origin*, through a corner of that vertex, its *root*, and crosses one edge after
the other. Each triangle is unfolded into the plane of the root's: there the origin is at 0, and the root's
first edge lies on the positive x axis. Light that has crossed the same edges is a *wedge*, bounded by a ray
on its left and one on its right; the next edge that it crosses has a left and a right end, the corner beyond
it is the wedge's *apex*.

The nearest item is taken from a heap repeatedly: a vertex sends light, or a wedge crosses its edge, so
that light may arrive at the apex and goes on as one wedge or two. A wedge is dropped beyond the radius, and
where a path by way of a vertex is shorter.
"""

from __future__ import annotations

import numpy as np

from fieldconv._compiled import kernel
from fieldconv.geometry.geodesic.charts import next_corner
from fieldconv.geometry.geodesic.discs import (
    ENTRY,
    LENGTH_TOLERANCE,
    MAX_SPREAD,
    PAIR,
    grow,
    push,
    remove_first,
    wrap_angle,
)

SAME_ANGLE = 1e-9  # radians; light along an edge is in both triangles beside it
RIM = 1e-11  # radians by which light may miss an apex: a path through a vertex lies on the rims of two wedges
MIN_WIDTH = 1e-12  # radians; narrower wedges are dropped: the rims of their neighbours light the same
# Paths of the same length may differ by rounding. Light is dropped only if another path is shorter by
SLACK = 1e-11  # this part of the way from its origin, and
NOISE = 1e-14  # this part of the way from the source, and of the edge that it crosses
MIN_SHORTENING = 1e-13  # part by which a path to a vertex must be shorter to replace another one
CHECK_INTERVAL = 16  # edges between checks whether light has entered a triangle twice
# Typed, because a literal argument has a kernel compiled again for its value.
ZERO, NO_WEDGE = np.int64(0), np.int64(-1)
LEFT, RIGHT = np.bool_(True), np.bool_(False)
# F triangles in reach may need up to a + b F^1.5 wedges. Sound meshes of any size need 0.4 F^1.5.
FREE_WEDGES, WEDGES = 1000, 2.0

WEDGE = np.dtype(
    [
        ("left_x", np.float64),  # ends of the edge
        ("left_y", np.float64),
        ("right_x", np.float64),
        ("right_y", np.float64),
        ("left_ray_x", np.float64),  # a point on the left ray
        ("left_ray_y", np.float64),
        ("right_ray_x", np.float64),
        ("right_ray_y", np.float64),
        ("behind", np.float64),  # distance from the source to the origin
        ("apex", np.int64),
        ("origin", np.int64),
        ("root", np.int64),
        ("parent", np.int64),  # the wedge that it is a part of, −1 if it comes from the origin
        ("depth", np.int64),  # number of edges crossed before this one
        ("left_is_first", np.bool_),  # whether the edge's left end is the first neighbour of the apex
    ],
    align=True,
)
# A vertex, for the present source.
REACHED = np.dtype(
    [
        ("distance", np.float64),
        ("x", np.float64),  # end of the path in the plane of the source, bends unrolled
        ("y", np.float64),
        ("transport", np.float64),  # transport from the source
        ("incoming", np.float64),  # fan angle from which the path arrives
        ("incoming_fan", np.int64),
        # Range of directions and transports of other paths of the same length, relative to this one.
        ("least_aside", np.float64),
        ("most_aside", np.float64),
        ("least_transport", np.float64),
        ("most_transport", np.float64),
        ("ambiguous", np.bool_),  # whether paths of the same length are far apart
        ("settled", np.bool_),  # whether it has sent its light
    ],
    align=True,
)
# The shortest light that reached a corner as an apex, and its angle from the corner's first edge.
LIT = np.dtype([("distance", np.float64), ("angle", np.float64)], align=True)
# For the present source:
TALLY = np.dtype(
    [
        ("seen", np.int64),  # number of records of each kind in use
        ("lit", np.int64),
        ("wedges", np.int64),
        ("heap", np.int64),
        ("faces", np.int64),  # triangles entered
        ("allowed", np.float64),  # wedges that this many triangles may need
        ("edges_only", np.bool_),  # whether more wedges were needed
    ],
    align=True,
)


@kernel
def exact_block(chart, sources, radius, wanted):  # type: ignore[no-untyped-def]
    """Return discs of some sources: the number of pairs of each, all pairs, the tally of each source."""
    reached, seen = np.empty(len(chart.vertices), REACHED), np.empty(len(chart.vertices), np.int64)
    for vertex in range(len(reached)):
        reached[vertex].distance, reached[vertex].settled = np.inf, False
    lit, lit_corners = np.empty(len(chart.corners), LIT), np.empty(len(chart.corners), np.int64)
    for corner in range(len(lit)):
        lit[corner].distance = np.inf
    entered = np.full(len(chart.faces), -1)  # number of the last source whose light entered each triangle
    wedges, heap = np.empty(1024, WEDGE), np.empty(1024, ENTRY)
    sheets, needles = chart.max_sheets, chart.min_angle < MIN_WIDTH
    # What a vertex may put on the heap: per corner two wedges in each sheet, and two vertices for each.
    max_entries = 4 * (sheets + 1) * chart.max_corners
    tallies, counts = np.zeros(len(sources), TALLY), np.zeros(len(sources), np.int64)
    pairs, count = np.empty(max(64 * len(sources), 64), PAIR), ZERO
    for number in range(len(sources)):
        tally = tallies[number]
        wedges, heap = _spread(
            chart, sources[number], radius, sheets, max_entries, needles, reached, seen, lit, lit_corners,
            entered, number, wedges, heap, tally,
        )  # fmt: skip
        pairs = grow(pairs, count, tally.seen)
        before = count
        for target in np.sort(seen[: tally.seen]):
            end = reached[target]
            if wanted[target]:
                _average_equal_paths(end)
                pair = pairs[count]
                pair.target, pair.distance, pair.ambiguous = target, end.distance, end.ambiguous
                pair.angle, pair.transport = np.arctan2(end.y, end.x), wrap_angle(end.transport)
                count += 1
            end.distance, end.settled = np.inf, False
        counts[number] = count - before
        for place in range(tally.lit):
            lit[lit_corners[place]].distance = np.inf
    return counts, pairs[:count].copy(), tallies


@kernel
def _spread(  # type: ignore[no-untyped-def]
    chart, source, radius, sheets, max_entries, needles, reached, seen, lit, lit_corners,
    entered, number, wedges, heap, tally,
):  # fmt: skip
    """Let light spread from a source as far as the radius; return the two arrays that may have grown."""
    corners, vertices = chart.corners, chart.vertices
    start = reached[source]
    start.distance = start.x = start.y = start.transport = 0.0
    _forget_equal_paths(start)
    start.ambiguous = False
    seen[0], tally.seen, tally.allowed = source, 1, FREE_WEDGES
    heap[0].key, heap[0].item, tally.heap = 0.0, -1 - source, 1
    while True:
        done = tally.heap == 0
        # Too much light is stopped. Light does not enter very narrow corners, which may miss vertices.
        if not tally.edges_only and (tally.wedges > tally.allowed or (done and needles)):
            heap = grow(heap, ZERO, tally.seen + max_entries)
            _go_along_edges(reached, seen, heap, tally)
        elif done:
            return wedges, heap
        key, item = heap[0].key, heap[0].item
        remove_first(heap, tally.heap)
        tally.heap -= 1
        if tally.wedges + max_entries > len(wedges):
            wedges = grow(wedges, tally.wedges, max_entries)
        if tally.heap + max_entries > len(heap):
            heap = grow(heap, tally.heap, max_entries)
        if item < 0:
            origin = -1 - item
            if not reached[origin].settled and key <= reached[origin].distance:
                _send_light(
                    chart, reached, seen, entered, number, wedges, heap, tally, origin, source, sheets, radius
                )
            continue

        wedge = wedges[item]
        apex = wedge.apex
        row = corners[apex]
        x, y = _apex_position(wedge, row)
        length = np.sqrt(x * x + y * y)
        inside_left, inside_right = _inside(wedge, x, y)
        goes_left, goes_right = inside_left > 0, inside_right > 0
        if _touches(wedge, inside_left, inside_right, length + NOISE / RIM * row.facing_length):
            total = wedge.behind + length
            from_first = _return_angle(wedge, row, x, y)
            if total < reached[row.vertex].distance * (1 + LENGTH_TOLERANCE):
                back = row.edge_angle + row.turn * from_first
                _arrive(corners, vertices, reached, seen, wedges, heap, tally,
                        wedge.root, item, apex, length, np.arctan2(y, x), back, x, y, radius)  # fmt: skip
            if goes_left and goes_right:
                best = lit[apex]
                if best.distance == np.inf:
                    lit_corners[tally.lit] = apex
                    tally.lit += 1
                goes_left, goes_right = _useful_sides(best, length, total, from_first, wedge.left_is_first)

        left = next_corner(apex, 1 if wedge.left_is_first else 2)
        right = next_corner(apex, 2 if wedge.left_is_first else 1)
        at_left, at_right = reached[corners[left].vertex].distance, reached[corners[right].vertex].distance
        at_apex = reached[row.vertex].distance
        if goes_left:
            part = wedges[tally.wedges]
            _take_left_part(part, wedge, item, x, y, inside_right > 0)
            edge = corners[right].facing_length
            begin, end, nearest = _lit_part(part, edge)
            if nearest <= radius and not _is_longer(
                part, begin, end, edge, at_left, at_apex, at_right, wedge.right_x, wedge.right_y, LEFT
            ):
                _enter(corners, entered, number, wedges, heap, tally, right, left, nearest, sheets)
        if goes_right:
            part = wedges[tally.wedges]
            _take_right_part(part, wedge, item, x, y, inside_left > 0)
            edge = corners[left].facing_length
            begin, end, nearest = _lit_part(part, edge)
            if nearest <= radius and not _is_longer(
                part, begin, end, edge, at_apex, at_right, at_left, wedge.left_x, wedge.left_y, RIGHT
            ):
                _enter(corners, entered, number, wedges, heap, tally, left, apex, nearest, sheets)


@kernel
def _send_light(  # type: ignore[no-untyped-def]
    chart, reached, seen, entered, number, wedges, heap, tally, origin, source, sheets, radius
):
    """Send light from a vertex: all around from the source, else into the shadow behind the vertex."""
    corners, vertices = chart.corners, chart.vertices
    here = reached[origin]
    _average_equal_paths(here)
    here.settled = True
    for slot in range(chart.first_corner[origin], chart.first_corner[origin + 1]):
        root = chart.corners_of[slot]
        row = corners[root]
        width = row.angle
        whole = origin == source or row.fan != here.incoming_fan or tally.edges_only
        first, second = next_corner(root, 1), next_corner(root, 2)
        right_length, left_length = corners[second].facing_length, corners[first].facing_length
        for side in range(1 if whole else 2):
            low, high = (0.0, width) if whole else _shadow(row, chart.fans[row.fan], here.incoming, side)
            if high < low - SAME_ANGLE:
                continue
            # Straight along the corner's edges, where they are lit. Seen from the other end, the way back is
            # its second edge in this face, or its first.
            if low < SAME_ANGLE:
                back = corners[first].edge_angle + corners[first].turn * corners[first].angle
                _arrive(corners, vertices, reached, seen, wedges, heap, tally,
                        root, NO_WEDGE, first, right_length, 0.0, back, 0.0, 0.0, radius)  # fmt: skip
            if high > width - SAME_ANGLE:
                back = corners[second].edge_angle
                _arrive(corners, vertices, reached, seen, wedges, heap, tally,
                        root, NO_WEDGE, second, left_length, width, back, 0.0, 0.0, radius)  # fmt: skip
            if high - low > MIN_WIDTH and not tally.edges_only:
                wedge = wedges[tally.wedges]
                wedge.left_x, wedge.left_y = left_length * np.cos(width), left_length * np.sin(width)
                wedge.right_x, wedge.right_y = right_length, 0.0
                wedge.left_ray_x, wedge.left_ray_y = np.cos(high), np.sin(high)
                wedge.right_ray_x, wedge.right_ray_y = np.cos(low), np.sin(low)
                wedge.behind, wedge.origin, wedge.root = here.distance, origin, root
                wedge.parent, wedge.depth = -1, 0
                _, _, nearest = _lit_part(wedge, row.facing_length)
                if nearest <= radius:
                    _enter(corners, entered, number, wedges, heap, tally, root, second, nearest, sheets)


@kernel
def _go_along_edges(reached, seen, heap, tally):  # type: ignore[no-untyped-def]
    """Stop all light, and go on along edges from every vertex reached so far."""
    tally.edges_only, tally.heap = True, 0
    for place in range(tally.seen):
        vertex = reached[seen[place]]
        vertex.settled = False
        push(heap, tally.heap, vertex.distance, -1 - seen[place])
        tally.heap += 1


@kernel
def _shadow(corner, fan, incoming, side):  # type: ignore[no-untyped-def]
    """Part (low, high) of a corner that no straight path reaches past its vertex; empty if high < low.

    A shortest path leaves at least π on either side, in an open fan perhaps on both, hence ``side``.
    """
    width = corner.angle
    start = corner.edge_angle if corner.turn > 0 else corner.edge_angle - width
    if fan.open and side == 0:
        low, high = max(incoming + np.pi - start, 0.0), width
    elif fan.open:
        low, high = 0.0, min(incoming - np.pi - start, width)
    elif side == 0:
        begin = (start - incoming) % fan.total
        low, high = max(np.pi - begin, 0.0), min(fan.total - np.pi - begin, width)
    else:
        return 0.0, -1.0
    return (low, high) if corner.turn > 0 else (width - high, width - low)


@kernel
def _apex_position(wedge, corner):  # type: ignore[no-untyped-def]
    """Where the apex of a wedge is: the triangle beyond the edge, unfolded."""
    along = corner.apex_along if wedge.left_is_first else 1.0 - corner.apex_along
    edge_x, edge_y = wedge.right_x - wedge.left_x, wedge.right_y - wedge.left_y
    x = wedge.left_x + along * edge_x - corner.apex_height * edge_y
    y = wedge.left_y + along * edge_y + corner.apex_height * edge_x
    return x, y


@kernel
def _inside(wedge, x, y):  # type: ignore[no-untyped-def]
    """Whether (x, y) is inside the left ray, and inside the right ray: more than zero if so."""
    return x * wedge.left_ray_y - y * wedge.left_ray_x, wedge.right_ray_x * y - wedge.right_ray_y * x


@kernel
def _touches(wedge, inside_left, inside_right, length):  # type: ignore[no-untyped-def]
    """Whether a wedge lights its apex, at a distance of ``length``, be it on its rim."""
    rim = -RIM * length
    return inside_left >= rim * (abs(wedge.left_ray_x) + abs(wedge.left_ray_y)) and inside_right >= rim * (
        abs(wedge.right_ray_x) + abs(wedge.right_ray_y)
    )


@kernel
def _return_angle(wedge, corner, x, y):  # type: ignore[no-untyped-def]
    """Angle of the way back to the origin from an apex at (x, y), from the first edge of the apex."""
    to_left_x, to_left_y = wedge.left_x - x, wedge.left_y - y
    from_left = np.arctan2(abs(to_left_x * y - to_left_y * x), -(to_left_x * x + to_left_y * y))
    return from_left if wedge.left_is_first else corner.angle - from_left


@kernel
def _useful_sides(best, length, total, from_first, left_is_first):  # type: ignore[no-untyped-def]
    """Whether light goes on to the left, and to the right, of an apex that it reaches after ``total``.

    Of all the light that reaches a corner, only the shortest matters on both its sides (Chen and Han 1990):
    light that comes from one side of the shortest is of no use on the other.
    """
    if total < best.distance:
        best.distance, best.angle = total, from_first
    elif total > best.distance + SLACK * length + NOISE * total:
        comes_from_left = (from_first < best.angle) == left_is_first
        return comes_from_left, not comes_from_left
    return True, True


@kernel
def _take_left_part(part, wedge, item, x, y, cut):  # type: ignore[no-untyped-def]
    """Make a wedge of the light that passes left of the apex; ``cut`` says if the apex bounds it."""
    part.left_x, part.left_y, part.right_x, part.right_y = wedge.left_x, wedge.left_y, x, y
    part.left_ray_x, part.left_ray_y = wedge.left_ray_x, wedge.left_ray_y
    part.right_ray_x, part.right_ray_y = (x, y) if cut else (wedge.right_ray_x, wedge.right_ray_y)
    part.behind, part.origin, part.root = wedge.behind, wedge.origin, wedge.root
    part.parent, part.depth = item, wedge.depth + 1


@kernel
def _take_right_part(part, wedge, item, x, y, cut):  # type: ignore[no-untyped-def]
    """Make a wedge of the light that passes right of the apex; ``cut`` says if the apex bounds it."""
    part.left_x, part.left_y, part.right_x, part.right_y = x, y, wedge.right_x, wedge.right_y
    part.left_ray_x, part.left_ray_y = (x, y) if cut else (wedge.left_ray_x, wedge.left_ray_y)
    part.right_ray_x, part.right_ray_y = wedge.right_ray_x, wedge.right_ray_y
    part.behind, part.origin, part.root = wedge.behind, wedge.origin, wedge.root
    part.parent, part.depth = item, wedge.depth + 1


@kernel
def _lit_part(wedge, edge):  # type: ignore[no-untyped-def]
    """Lit part of a wedge's edge, as fractions from the left end, and the distance of its nearest point."""
    opening = wedge.right_ray_x * wedge.left_ray_y - wedge.right_ray_y * wedge.left_ray_x
    size = abs(wedge.left_ray_x) + abs(wedge.left_ray_y)
    size *= abs(wedge.right_ray_x) + abs(wedge.right_ray_y)
    if edge == 0.0 or not opening > MIN_WIDTH * size:
        return 0.0, 0.0, np.inf
    left_x, left_y = wedge.left_x, wedge.left_y
    edge_x, edge_y = wedge.right_x - left_x, wedge.right_y - left_y
    slope = wedge.left_ray_x * edge_y - wedge.left_ray_y * edge_x
    begin = (wedge.left_ray_y * left_x - wedge.left_ray_x * left_y) / slope if slope < 0 else 0.0
    slope = wedge.right_ray_x * edge_y - wedge.right_ray_y * edge_x
    end = (wedge.right_ray_y * left_x - wedge.right_ray_x * left_y) / slope if slope < 0 else 1.0
    begin = min(max(begin, 0.0), 1.0)
    end = min(max(end, begin), 1.0)
    foot = min(max(-(left_x * edge_x + left_y * edge_y) / (edge * edge), begin), end)
    foot_x, foot_y = left_x + foot * edge_x, left_y + foot * edge_y
    return begin, end, wedge.behind + np.sqrt(foot_x * foot_x + foot_y * foot_y)


@kernel
def _is_longer(  # type: ignore[no-untyped-def]
    wedge, begin, end, edge, at_left, at_right, at_opposite, opposite_x, opposite_y, turns_left
):
    """Whether the lit part of an edge is nearer by way of a vertex of the triangle that light has crossed.

    That holds if its far rim is nearer that way (Xin and Wang 2009), because shortest paths do not cross.
    ``at_…`` are the distances of the triangle's vertices; the one opposite the edge is on the right of light
    that turns left.
    """
    edge_x, edge_y = wedge.right_x - wedge.left_x, wedge.right_y - wedge.left_y
    begin_x, begin_y = wedge.left_x + begin * edge_x, wedge.left_y + begin * edge_y
    end_x, end_y = wedge.left_x + end * edge_x, wedge.left_y + end * edge_y
    noise = NOISE * (wedge.behind + edge)
    to_begin = wedge.behind + (1 - SLACK) * np.sqrt(begin_x * begin_x + begin_y * begin_y) - noise
    to_end = wedge.behind + (1 - SLACK) * np.sqrt(end_x * end_x + end_y * end_y) - noise
    if at_left + end * edge < to_end or at_right + (1.0 - begin) * edge < to_begin:
        return True
    if turns_left:
        gap_x, gap_y, limit = opposite_x - begin_x, opposite_y - begin_y, to_begin
    else:
        gap_x, gap_y, limit = opposite_x - end_x, opposite_y - end_y, to_end
    return at_opposite + np.sqrt(gap_x * gap_x + gap_y * gap_y) < limit


@kernel
def _enter(  # type: ignore[no-untyped-def]
    corners, entered, number, wedges, heap, tally, facing, left, nearest, sheets
):
    """Push the next free wedge, once for every other triangle at the edge that ``facing`` faces."""
    part = wedges[tally.wedges]
    left_vertex = corners[left].vertex
    other = corners[facing].twin
    while other != facing:
        # A shortest path never enters a triangle twice. Light that does so circles forever: where sheets
        # branch, and about anything that is thinner than the radius.
        check = sheets > 2 or (part.depth + 1) % CHECK_INTERVAL == 0
        if not check or not _has_crossed(wedges, part.parent, other // 3):
            if entered[other // 3] != number:
                entered[other // 3] = number
                tally.faces += 1
                tally.allowed = FREE_WEDGES + WEDGES * tally.faces * np.sqrt(tally.faces)
            wedges[tally.wedges] = part
            wedge = wedges[tally.wedges]
            wedge.apex = other
            wedge.left_is_first = corners[next_corner(other, 1)].vertex == left_vertex
            push(heap, tally.heap, nearest, tally.wedges)
            tally.heap += 1
            tally.wedges += 1
        other = corners[other].twin


@kernel
def _arrive(  # type: ignore[no-untyped-def]
    corners, vertices, reached, seen, wedges, heap, tally,
    root, item, corner, length, angle, back, x, y, radius,
):  # fmt: skip
    """Record a straight segment from an origin to a vertex if it gives the shortest path so far.

    It leaves by ``root`` in the direction ``angle``, or (x, y) in wedge ``item``, and ends at ``corner``,
    from where the way back has the fan angle ``back``. Equally long paths are averaged.
    """
    origin, target = corners[root].vertex, corners[corner].vertex
    start, end = reached[origin], reached[target]
    total = start.distance + length
    if total > radius or total > end.distance * (1 + LENGTH_TOLERANCE):
        return
    shorter = total < end.distance * (1 - MIN_SHORTENING)
    equal = total >= end.distance * (1 - LENGTH_TOLERANCE)
    if equal and (end.settled or tally.edges_only or total == 0.0):
        return
    # Bends are unrolled too: the direction to the target is that of the chord.
    outgoing = vertices[origin].scale * (corners[root].edge_angle + corners[root].turn * angle)
    arriving = vertices[target].scale * back
    if item >= 0:
        leaving_by, arriving_by = _spread_curvature(
            corners, vertices, wedges, item, x / length, y / length, length
        )
        outgoing += corners[root].turn * leaving_by
        arriving += corners[corner].turn * (arriving_by if wedges[item].left_is_first else -arriving_by)
    direction = outgoing - start.transport
    end_x, end_y = start.x + length * np.cos(direction), start.y + length * np.sin(direction)
    transport = start.transport + arriving + np.pi - outgoing
    if end.distance == np.inf:
        seen[tally.seen] = target
        tally.seen += 1
    if equal:
        _note_equal_path(end, end_x, end_y, transport)
        end.ambiguous = end.ambiguous or start.ambiguous
    else:
        end.x, end.y, end.transport, end.ambiguous = end_x, end_y, transport, start.ambiguous
        _forget_equal_paths(end)
    if shorter:
        end.distance, end.incoming, end.incoming_fan = total, back, corners[corner].fan
        if vertices[target].bends or tally.edges_only:
            push(heap, tally.heap, total, -1 - target)
            tally.heap += 1


@kernel
def _forget_equal_paths(end):  # type: ignore[no-untyped-def]
    end.least_aside = end.most_aside = end.least_transport = end.most_transport = 0.0


@kernel
def _note_equal_path(end, x, y, transport):  # type: ignore[no-untyped-def]
    """Record another path, to (x, y), as long as the known one; it may be the same."""
    aside = np.arctan2(end.x * y - end.y * x, end.x * x + end.y * y)
    transport = wrap_angle(transport - end.transport)
    end.least_aside, end.most_aside = min(end.least_aside, aside), max(end.most_aside, aside)
    end.least_transport = min(end.least_transport, transport)
    end.most_transport = max(end.most_transport, transport)
    spread = max(end.most_aside - end.least_aside, end.most_transport - end.least_transport)
    end.ambiguous = end.ambiguous or spread > MAX_SPREAD


@kernel
def _average_equal_paths(end):  # type: ignore[no-untyped-def]
    """Take the middle of paths of the same length, in whatever order they arrived."""
    aside, transport = (end.least_aside + end.most_aside) / 2, (end.least_transport + end.most_transport) / 2
    if aside != 0.0:
        cosine, sine = np.cos(aside), np.sin(aside)
        end.x, end.y = cosine * end.x - sine * end.y, sine * end.x + cosine * end.y
    end.transport += transport
    _forget_equal_paths(end)


@kernel
def _spread_curvature(corners, vertices, wedges, item, x, y, length):  # type: ignore[no-untyped-def]
    """Angles by which a path's two ends turn if vertices share their curvature with their cells.

    A polyhedron has all its curvature in points, which a path towards (x, y) leaves on one side or the
    other. Spread over a disc as large as the vertex's cell, a part f of the curvature K lies on the other
    side; passing it there turns the end of the path that is at distance a from it, in a path of length r,
    by K f (1 − a / r).
    """
    leaving = arriving = 0.0
    last_left = last_right = -1
    while item >= 0:
        wedge = wedges[item]
        first, second = next_corner(wedge.apex, 1), next_corner(wedge.apex, 2)
        left, right = (first, second) if wedge.left_is_first else (second, first)
        left, right = corners[left].vertex, corners[right].vertex
        if left != last_left:
            turned, along = _turn_past(vertices[left], wedge.left_x, wedge.left_y, x, y, length)
            leaving += turned * (1 - along)
            arriving -= turned * along
        if right != last_right:
            turned, along = _turn_past(vertices[right], wedge.right_x, wedge.right_y, x, y, length)
            leaving -= turned * (1 - along)
            arriving += turned * along
        last_left, last_right = left, right
        item = wedge.parent
    return leaving, arriving


@kernel
def _turn_past(vertex, at_x, at_y, x, y, length):  # type: ignore[no-untyped-def]
    """Part K f of a vertex's curvature on the other side of the path, and how far along the path it is."""
    off = abs(x * at_y - y * at_x) / vertex.extent if vertex.extent > 0 else 1.0
    along = (x * at_x + y * at_y) / length
    if off < 1 and 0 < along < 1:
        return vertex.curvature * ((np.arccos(off) - off * np.sqrt(1 - off * off)) / np.pi), along
    return 0.0, 0.0


@kernel
def _has_crossed(wedges, item, face):  # type: ignore[no-untyped-def]
    """Whether light that is now in a wedge has come through ``face``."""
    while item >= 0:
        wedge = wedges[item]
        if wedge.apex // 3 == face or (wedge.parent < 0 and wedge.root // 3 == face):
            return True
        item = wedge.parent
    return False
