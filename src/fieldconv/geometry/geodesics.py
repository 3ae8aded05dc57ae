"""Geodesic discs: for every vertex, who is within a radius, how far, in which direction, and how turned.

The local solver finds *exact* shortest paths on the polyhedron. From each source a wedge of light is sent
into every incident triangle; triangles are unfolded into the source's plane as the wedge crosses their
edges, so a path is a straight line there and its length and direction can be read off. Where a shortest
path can bend (a vertex with more than 2π of surface around it, a boundary, a non-manifold vertex), that
vertex sends its own light into its shadow. Wedges are taken nearest first and dropped once a path around a
vertex is shorter, and everything stops at the radius, so the cost is that of the disc.

Directions are corrected for the curvature that a polyhedron gathers in its vertices, as if each shared it
with its cell. On a sphere that makes them ten times as accurate; on flat surfaces it changes nothing.

What happens where the surface is not a smooth sheet:

- *boundary*: paths run along it and bend around it; nothing lies beyond it. Angles there are not rescaled.
- *non-manifold edge*: light that reaches it enters every other sheet.
- *non-manifold vertex*: its fans of triangles are laid side by side and share 2π.
- *inconsistent orientation*: paths do not care. Each vertex measures angles the way its first triangle
  turns; between vertices that disagree, the transport still takes the path's direction to its direction.
- *several components*: a disc never leaves its own.
"""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._compiled import kernel, num_threads, run_blocks
from .discs import Discs, Floats, Ints, symmetric, with_room, wrapped
from .front import front_block
from .mesh import Mesh, MeshError

SOLVER_VERSION = 8  # part of every cache key: raise it when results change


def geodesic_discs(
    mesh: Mesh,
    radius: float,
    sources: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    *,
    solver: Literal["local", "front", "heat"] = "local",
) -> Discs:
    """Distance, direction and parallel transport from every source to all targets within ``radius``.

    Parameters
    ----------
    mesh : Mesh
        Any triangle mesh: open, with several components, non-manifold or non-orientable.
    radius : float
        Geodesic radius ε, in the units of the mesh.
    sources, targets : (S,), (T,) int array, optional
        Vertex ids; all vertices by default. Paths always run on the whole mesh.
    solver : {"local", "front", "heat"}
        Exact unfolding of triangles; a front that is nearly exact, and ten times as fast in discs of many
        vertices; or the vector heat method (what the paper used).

    Returns
    -------
    Discs
        If ``sources`` and ``targets`` are the same set, the pairs are symmetric, r and the transport
        exactly so: φ(q, p) = −φ(p, q).

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> discs = geodesic_discs(square, radius=1.2, sources=[0])
    >>> discs.targets, discs.distance
    (array([0, 1, 3]), array([0., 1., 1.]))
    """
    if not np.isfinite(radius) or radius <= 0:
        raise ValueError(f"The radius must be a positive number, not {radius}.")
    source_ids = _vertex_ids(sources, mesh, "sources")
    target_ids = _vertex_ids(targets, mesh, "targets")
    mesh.validate()
    if solver == "heat":
        from .heat import heat_discs

        return heat_discs(mesh, radius, source_ids, target_ids)
    if solver not in ("local", "front"):
        raise ValueError(f"Unknown solver {solver!r}: choose 'local', 'front' or 'heat'.")
    discs = _local_discs(mesh, radius, source_ids, target_ids, exact=solver == "local")
    return symmetric(discs) if np.array_equal(source_ids, target_ids) else discs


def tangent_frames(mesh: Mesh) -> tuple[Floats, Floats]:
    """Unit vectors (V, 3) of each vertex's direction θ = 0, and unit normals (V, 3).

    θ = 0 points along one edge of the vertex, projected to the tangent plane; θ grows counter-clockwise
    seen from the tip of the normal.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> frames, normals = tangent_frames(square)
    >>> frames[0], normals[0]
    (array([1., 0., 0.]), array([0., 0., 1.]))
    """
    frame_vertex = charts(mesh).frame_vertex
    normals = mesh.vertex_normals
    edge = mesh.vertices[frame_vertex] - mesh.vertices
    tangent = edge - (edge * normals).sum(1, keepdims=True) * normals
    # An edge along the normal, a zero edge or a vertex without faces: any perpendicular direction will do.
    axis = np.eye(3)[np.abs(normals).argmin(1)]
    spare = np.cross(normals, axis)
    spare /= np.maximum(np.linalg.norm(spare, axis=1, keepdims=True), 1e-300)
    length = np.linalg.norm(tangent, axis=1, keepdims=True)
    usable = length > 1e-8 * np.maximum(np.linalg.norm(edge, axis=1, keepdims=True), 1e-300)
    return np.where(usable, tangent / np.where(usable, length, 1.0), spare), normals


class Charts(NamedTuple):
    """The intrinsic geometry paths need. Corner ``3f + k`` is vertex ``faces[f, k]`` of face ``f``.

    Around a vertex, triangles form fans. ``edge_angle`` lays a fan's corners side by side, in unscaled
    radians, starting with the frame's edge; ``scale`` turns them into angles θ of the tangent plane.
    """

    faces: Ints  # (F, 3)
    twin: Ints  # (3F,) next corner facing the same edge, in a circle: itself at a boundary
    facing_length: Floats  # (3F,) length of the edge the corner faces, which runs from first to second
    apex_along: Floats  # (3F,) the corner's position over that edge: along it …
    apex_height: Floats  # (3F,) … and across it, in units of its length
    corner_angle: Floats  # (3F,)
    edge_angle: Floats  # (3F,) fan angle of the corner's first edge
    turn: Floats  # (3F,) +1 if fan angles grow from the corner's first to its second edge, else −1
    fan: Ints  # (3F,)
    fan_total: Floats  # (fans,) sum of its corner angles
    fan_open: NDArray[np.bool_]  # (fans,)
    scale: Floats  # (V,)
    bends: NDArray[np.bool_]  # (V,) whether a shortest path may bend here
    curvature: Floats  # (V,) angle missing from 2π at an inner vertex, 0 at others
    extent: Floats  # (V,) radius of a disc as large as the vertex's share of the area
    frame_vertex: Ints  # (V,) other end of the edge at θ = 0
    corner_offsets: Ints  # (V + 1,)
    corners: Ints  # (3F,) corners of each vertex


def charts(mesh: Mesh) -> Charts:
    """Unfolding coordinates and vertex angles; without faces that repeat a vertex or another face."""
    if mesh not in _charts:
        _charts[mesh] = _make_charts(mesh)
    return _charts[mesh]


_charts: WeakKeyDictionary[Mesh, Charts] = WeakKeyDictionary()  # discs of one mesh are often asked for twice


def _make_charts(mesh: Mesh) -> Charts:
    _, first_of_kind = np.unique(np.sort(mesh.faces, axis=1), axis=0, return_index=True)
    faces = mesh.faces[np.sort(first_of_kind)]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = np.ascontiguousarray(faces[distinct])
    count = len(mesh.vertices)
    points = mesh.vertices[faces]
    first, second = np.roll(points, -1, axis=1), np.roll(points, -2, axis=1)
    base, side = second - first, points - first
    squared = (base**2).sum(-1)
    safe = np.where(squared > 0, squared, 1.0)
    double_area = np.linalg.norm(np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]), axis=-1)
    corner_angle = np.arctan2(double_area[:, None], ((first - points) * (second - points)).sum(-1))

    ends = np.stack([np.roll(faces, -1, axis=1), np.roll(faces, -2, axis=1)], -1).reshape(-1, 2)
    ends.sort(axis=1)
    key = ends[:, 0] * count + ends[:, 1]
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.r_[True, np.diff(key[order]) > 0]) if len(order) else np.zeros(0, np.int64)
    following = np.r_[order[1:], order[:1]]
    following[np.r_[begins[1:], len(order)][: len(begins)] - 1] = order[begins]
    twin = np.empty_like(order)
    twin[order] = following

    corners = np.argsort(faces.ravel(), kind="stable")
    corner_offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(faces.ravel(), minlength=count), out=corner_offsets[1:])
    edge_angle, turn, fan, fan_total, fan_open, scale, bends, curvature, frame_vertex = _lay_fans(
        faces, twin, corner_angle.ravel(), corner_offsets, corners
    )
    share = np.bincount(faces.ravel(), np.repeat(double_area / 6, 3), minlength=count)
    return Charts(
        faces, twin, np.sqrt(squared).ravel(), ((side * base).sum(-1) / safe).ravel(),
        (double_area[:, None] / safe * (squared > 0)).ravel(), corner_angle.ravel(),
        edge_angle, turn, fan, fan_total, fan_open, scale, bends, curvature,
        np.sqrt(share / np.pi), frame_vertex, corner_offsets, corners,
    )  # fmt: skip


@kernel
def _lay_fans(faces, twin, corner_angle, corner_offsets, corners):  # type: ignore[no-untyped-def]
    """Walk around every vertex and lay its corners side by side."""
    vertices = len(corner_offsets) - 1
    edge_angle = np.zeros(len(corners))
    turn = np.ones(len(corners))
    fan = np.full(len(corners), -1)
    fan_total = np.zeros(len(corners))
    fan_open = np.zeros(len(corners), np.bool_)
    scale = np.ones(vertices)
    bends = np.zeros(vertices, np.bool_)
    curvature = np.zeros(vertices)
    frame_vertex = np.arange(vertices)
    fans = 0
    for vertex in range(vertices):
        first_fan = fans
        angle = 0.0
        for slot in range(corner_offsets[vertex], corner_offsets[vertex + 1]):
            seed = corners[slot]
            if fan[seed] >= 0:
                continue
            # Back to the fan's beginning, if it has one, …
            corner, sense, is_open = seed, 1, False
            while True:
                neighbour, neighbour_sense = _around(faces, twin, corner, sense, -1)
                if neighbour < 0:
                    is_open = True
                    break
                corner, sense = neighbour, neighbour_sense
                if corner == seed:
                    break
            if not is_open:
                corner, sense = seed, 1
            if fans == first_fan:
                frame_vertex[vertex] = faces.flat[_beside(corner, 1 if sense > 0 else 2)]
            # … and forward through it.
            start = angle
            while corner >= 0 and fan[corner] < 0:
                fan[corner] = fans
                turn[corner] = sense
                edge_angle[corner] = angle if sense > 0 else angle + corner_angle[corner]
                angle += corner_angle[corner]
                corner, sense = _around(faces, twin, corner, sense, 1)
            fan_total[fans] = angle - start
            fan_open[fans] = is_open
            if (is_open and angle - start > np.pi - 1e-9) or (
                not is_open and angle - start > 2 * np.pi + 1e-9
            ):
                bends[vertex] = True
            fans += 1
        closed = fans == first_fan + 1 and not fan_open[first_fan]
        if fans > first_fan + 1:
            bends[vertex] = True
        if (closed or fans > first_fan + 1 or angle > 2 * np.pi) and angle > 0:
            scale[vertex] = 2 * np.pi / angle
        if closed:
            curvature[vertex] = 2 * np.pi - angle
    return (
        edge_angle, turn, fan, fan_total[:fans].copy(), fan_open[:fans].copy(), scale, bends, curvature,
        frame_vertex,
    )  # fmt: skip


@kernel
def _beside(corner, steps):  # type: ignore[no-untyped-def]
    """The corner of the same face ``steps`` further round."""
    return corner - corner % 3 + (corner + steps) % 3


@kernel
def _around(faces, twin, corner, sense, direction):  # type: ignore[no-untyped-def]
    """Next corner of the same vertex across the second (direction +1) or first edge, as the fan turns.

    Gives (−1, 0) at a boundary and at a non-manifold edge, where fans end.
    """
    # The edge to the first neighbour is faced by the second neighbour's corner, and the other way round.
    facing = _beside(corner, 1 if sense * direction > 0 else 2)
    other = twin[facing]
    if other == facing or twin[other] != facing:
        return -1, 0
    vertex = faces[corner // 3, corner % 3]
    following = _beside(other, 1)
    if faces[following // 3, following % 3] != vertex:
        following = _beside(other, 2)
    crossed_is_first = _beside(following, 2) == other
    return following, direction if crossed_is_first else -direction


def _vertex_ids(ids: ArrayLike | None, mesh: Mesh, what: str) -> Ints:
    if ids is None:
        return np.arange(len(mesh.vertices))
    chosen = np.asarray(ids)
    if chosen.size == 0:
        chosen = chosen.astype(np.int64)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError(
            f"{what} must be a list of vertex ids, not an array of {chosen.dtype} {chosen.shape}."
        )
    if chosen.size and (chosen.min() < 0 or chosen.max() >= len(mesh.vertices)):
        raise MeshError(f"{what} name a vertex outside 0…{len(mesh.vertices) - 1}.")
    return chosen.astype(np.int64)


def _local_discs(mesh: Mesh, radius: float, sources: Ints, targets: Ints, *, exact: bool) -> Discs:
    chart = charts(mesh)
    # The front adds up transports from edge to edge, for which neighbours must turn the same way.
    block = front_block if not exact and (chart.turn > 0).all() else _disc_block
    wanted = np.zeros(len(chart.scale), np.bool_)
    wanted[targets] = True
    # Neighbours one after the other, whatever the numbering: they find most of what they need in the cache.
    order = np.lexsort(np.floor(mesh.vertices[sources] / (2 * radius)).T)
    # Several blocks a thread even out the work; each costs scratch arrays of the mesh's size.
    count = min(8 * num_threads(), max(len(sources) // 16, 1))
    cuts = np.linspace(0, len(sources), count + 1).astype(np.int64)
    rows = [order[a:b] for a, b in itertools.pairwise(cuts)]
    parts = run_blocks(block, [(chart, sources[some], float(radius), wanted) for some in rows])
    counts = np.zeros(len(sources), np.int64)
    for some, part in zip(rows, parts, strict=True):
        counts[some] = part[0]
    offsets = np.r_[0, np.cumsum(counts)]
    found = np.empty(offsets[-1], np.int64)
    values = np.empty(offsets[-1]), np.empty(offsets[-1]), np.empty(offsets[-1])
    run_blocks(
        _place, [(some, offsets, *part, found, *values) for some, part in zip(rows, parts, strict=True)]
    )
    return Discs(sources, offsets, found, *values)


@kernel
def _place(  # type: ignore[no-untyped-def]
    rows,
    offsets,
    counts,
    targets,
    distance,
    angle,
    transport,
    all_targets,
    all_distance,
    all_angle,
    all_transport,
):
    """Copy a block's discs to where they belong."""
    begin = 0
    for number in range(len(rows)):
        there, here = (
            slice(offsets[rows[number]], offsets[rows[number] + 1]),
            slice(begin, begin + counts[number]),
        )
        all_targets[there], all_distance[there] = targets[here], distance[here]
        all_angle[there], all_transport[there] = angle[here], transport[here]
        begin += counts[number]


@kernel
def _disc_block(chart, sources, radius, wanted):  # type: ignore[no-untyped-def]
    """Discs of some sources: pair counts, targets, distances, directions, transports.

    One function, because handing arrays from one compiled function to another costs more than the work.
    A step takes the nearest item from the heap: a wedge of light about to cross an edge, or a vertex about
    to send light. Either yields `arrivals` (straight stretches that end at a vertex) and `beams` (light that
    leaves a face by an edge); both are then judged, and what survives goes on the heap.
    """
    twin, facing_length, corner_angle = chart.twin, chart.facing_length, chart.corner_angle
    apex_along, apex_height = chart.apex_along, chart.apex_height
    edge_angle, turn, fan, scale, bends = chart.edge_angle, chart.turn, chart.fan, chart.scale, chart.bends
    curvature, extent = chart.curvature, chart.extent
    fan_total, fan_open = chart.fan_total, chart.fan_open
    corner_offsets, corners = chart.corner_offsets, chart.corners
    vertex_of = chart.faces.ravel()
    vertices = len(scale)
    slack = 1e-11 * radius

    # What is known of each vertex, for the present source.
    distance = np.full(vertices, np.inf)
    unrolled_x, unrolled_y = np.zeros(vertices), np.zeros(vertices)  # end of the path in the source's plane
    carried = np.zeros(vertices)  # transport from the source
    incoming = np.zeros(vertices)  # fan angle from which the path arrives
    incoming_fan = np.zeros(vertices, np.int64)
    settled = np.zeros(vertices, np.bool_)
    seen = np.empty(vertices, np.int64)
    # The shortest light each corner has received, and the angle it came from.
    corner_best = np.full(len(twin), np.inf)
    corner_from = np.zeros(len(twin))
    corner_seen = np.empty(len(twin), np.int64)

    # A wedge: left end and right end of the edge it crosses, left and right bounding ray, length behind its
    # origin; the corner it meets next, its origin, the corner it left the origin through, and whether the
    # edge's left end is the next corner's first neighbour, and the wedge it is part of.
    rays, ids = np.empty((1024, 9)), np.empty((1024, 5), np.int64)
    heap_key, heap_item = np.empty(1024), np.empty(1024, np.int64)
    # The most one step can yield.
    most = max(4 * np.diff(corner_offsets).max(), 4)
    arrival_ids, arrival = np.empty((most, 2), np.int64), np.empty((most, 3))
    beam_ids, beams = np.empty((most, 3), np.int64), np.empty((most, 10))
    sheets = _most_sheets(twin)
    fresh_key, fresh_item = np.empty(most * (sheets + 1)), np.empty(most * (sheets + 1), np.int64)

    counts = np.zeros(len(sources), np.int64)
    targets = np.empty(max(64 * len(sources), 64), np.int64)
    values = np.empty((3, len(targets)))
    pairs = 0
    for number in range(len(sources)):
        source = sources[number]
        seen_count, corner_count, wedges, heap_size = 1, 0, 0, 1
        seen[0] = source
        distance[source] = unrolled_x[source] = unrolled_y[source] = carried[source] = 0.0
        heap_key[0], heap_item[0] = 0.0, -1 - source

        while heap_size > 0:
            key, item = heap_key[0], heap_item[0]
            heap_size -= 1
            last_key, last_item = heap_key[heap_size], heap_item[heap_size]
            place = 0
            while 2 * place + 1 < heap_size:
                child = 2 * place + 1
                if child + 1 < heap_size and heap_key[child + 1] < heap_key[child]:
                    child += 1
                if heap_key[child] >= last_key:
                    break
                heap_key[place], heap_item[place] = heap_key[child], heap_item[child]
                place = child
            heap_key[place], heap_item[place] = last_key, last_item
            arrivals = beam_count = fresh = 0

            if item < 0:
                # Light from a vertex: everywhere from the source, else into the shadow behind it.
                origin = -1 - item
                if settled[origin] or key > distance[origin]:
                    continue
                settled[origin] = True
                for slot in range(corner_offsets[origin], corner_offsets[origin + 1]):
                    root = corners[slot]
                    width = corner_angle[root]
                    first, second = _beside(root, 1), _beside(root, 2)
                    right_length, left_length = facing_length[second], facing_length[first]
                    for side in range(2):
                        if origin == source or fan[root] != incoming_fan[origin]:
                            low, high = 0.0, width if side == 0 else -1.0
                        else:
                            low, high = _shadow(
                                width, edge_angle[root], turn[root], incoming[origin],
                                fan_total[fan[root]], fan_open[fan[root]], side,
                            )  # fmt: skip
                        if high < low - 1e-9:
                            continue
                        # Straight along the corner's edges, where they are lit. Seen from the other end,
                        # the way back is its second edge in this face, or its first.
                        if low < 1e-9:
                            arrival_ids[arrivals, 0], arrival_ids[arrivals, 1] = root, first
                            arrival[arrivals, 0], arrival[arrivals, 1] = 0.0, right_length
                            arrival[arrivals, 2] = edge_angle[first] + turn[first] * corner_angle[first]
                            arrivals += 1
                        if high > width - 1e-9:
                            arrival_ids[arrivals, 0], arrival_ids[arrivals, 1] = root, second
                            arrival[arrivals, 0], arrival[arrivals, 1] = width, left_length
                            arrival[arrivals, 2] = edge_angle[second]
                            arrivals += 1
                        if high - low > 1e-12:
                            beam_ids[beam_count, 0], beam_ids[beam_count, 1] = root, root
                            beam_ids[beam_count, 2] = second
                            beam = beams[beam_count]
                            beam[0], beam[1] = left_length * np.cos(width), left_length * np.sin(width)
                            beam[2], beam[3] = right_length, 0.0
                            beam[4], beam[5] = np.cos(high), np.sin(high)
                            beam[6], beam[7] = np.cos(low), np.sin(low)
                            beam_count += 1
            else:
                # A wedge crosses an edge: unfold the face behind it, light its far corner.
                ray = rays[item]
                apex, origin, root, left_is_first = (
                    ids[item, 0],
                    ids[item, 1],
                    ids[item, 2],
                    ids[item, 3] == 1,
                )
                left_x, left_y, right_x, right_y = ray[0], ray[1], ray[2], ray[3]
                first, second = _beside(apex, 1), _beside(apex, 2)
                left, right = (first, second) if left_is_first else (second, first)
                along = apex_along[apex] if left_is_first else 1.0 - apex_along[apex]
                edge_x, edge_y = right_x - left_x, right_y - left_y
                x = left_x + along * edge_x - apex_height[apex] * edge_y
                y = left_y + along * edge_y + apex_height[apex] * edge_x
                length = np.sqrt(x * x + y * y)
                light_on_left = x * ray[5] - y * ray[4]  # > 0: the left ray passes left of the apex
                light_on_right = ray[6] * y - ray[7] * x
                goes_left, goes_right = light_on_left > 0, light_on_right > 0
                # A path straight through a vertex lies on the rim of two wedges: not to slip between them.
                rim = -1e-11 * length
                if light_on_left >= rim * (abs(ray[4]) + abs(ray[5])) and light_on_right >= rim * (
                    abs(ray[6]) + abs(ray[7])
                ):
                    total = ray[8] + length
                    # Angle at the apex between its left edge and the way back to the origin.
                    to_left_x, to_left_y = left_x - x, left_y - y
                    back = np.arctan2(abs(to_left_x * y - to_left_y * x), -(to_left_x * x + to_left_y * y))
                    from_first = back if left_is_first else corner_angle[apex] - back
                    if total < distance[vertex_of[apex]]:
                        arrival_ids[0, 0], arrival_ids[0, 1] = root, apex
                        arrival[0, 0], arrival[0, 1] = np.arctan2(y, x), length
                        arrival[0, 2] = edge_angle[apex] + turn[apex] * from_first
                        arrivals = 1
                    # Of all the light that reaches a corner, only the shortest matters on both its sides.
                    if goes_left and goes_right:
                        if total < corner_best[apex]:
                            if corner_best[apex] == np.inf:
                                corner_seen[corner_count] = apex
                                corner_count += 1
                            corner_best[apex], corner_from[apex] = total, from_first
                        elif total > corner_best[apex] + slack:
                            if (from_first < corner_from[apex]) == left_is_first:
                                goes_right = False
                            else:
                                goes_left = False
                if goes_left:
                    beam = beams[0]
                    beam_ids[0, 0], beam_ids[0, 1], beam_ids[0, 2] = right, root, left
                    beam[0], beam[1], beam[2], beam[3], beam[4], beam[5] = (
                        left_x,
                        left_y,
                        x,
                        y,
                        ray[4],
                        ray[5],
                    )
                    beam[6], beam[7] = (x, y) if light_on_right > 0 else (ray[6], ray[7])
                    beam[8], beam[9] = right_x, right_y
                    beam_count = 1
                if goes_right:
                    beam = beams[beam_count]
                    beam_ids[beam_count, 0], beam_ids[beam_count, 1], beam_ids[beam_count, 2] = (
                        left,
                        root,
                        apex,
                    )
                    beam[0], beam[1], beam[2], beam[3], beam[6], beam[7] = (
                        x,
                        y,
                        right_x,
                        right_y,
                        ray[6],
                        ray[7],
                    )
                    beam[4], beam[5] = (x, y) if light_on_left > 0 else (ray[4], ray[5])
                    beam[8], beam[9] = left_x, left_y
                    beam_count += 1

            behind = distance[origin]
            for number_here in range(arrivals):
                root, corner = arrival_ids[number_here, 0], arrival_ids[number_here, 1]
                length, back = arrival[number_here, 1], arrival[number_here, 2]
                target = vertex_of[corner]
                total = behind + length
                if total > radius or total >= distance[target] - 1e-13 * radius:
                    continue
                if distance[target] == np.inf:
                    seen[seen_count] = target
                    seen_count += 1
                distance[target] = total
                incoming[target], incoming_fan[target] = back, fan[corner]
                # Bends are unrolled too: the direction to the target is that of the chord.
                outgoing = scale[origin] * (edge_angle[root] + turn[root] * arrival[number_here, 0])
                arriving = scale[target] * back
                if item >= 0:
                    leaving_by, arriving_by = _spread_curvature(
                        rays, ids, item, x / length, y / length, length, vertex_of, curvature, extent
                    )
                    outgoing += turn[root] * leaving_by
                    arriving += turn[corner] * (arriving_by if left_is_first else -arriving_by)
                direction = outgoing - carried[origin]
                unrolled_x[target] = unrolled_x[origin] + length * np.cos(direction)
                unrolled_y[target] = unrolled_y[origin] + length * np.sin(direction)
                carried[target] = carried[origin] + arriving + np.pi - outgoing
                if bends[target]:
                    fresh_key[fresh], fresh_item[fresh] = total, -1 - target
                    fresh += 1

            for number_here in range(beam_count):
                facing, root, left = (
                    beam_ids[number_here, 0],
                    beam_ids[number_here, 1],
                    beam_ids[number_here, 2],
                )
                beam = beams[number_here]
                left_x, left_y = beam[0], beam[1]
                edge_x, edge_y = beam[2] - left_x, beam[3] - left_y
                edge = facing_length[facing]
                if edge == 0.0:
                    continue
                # The lit part of the edge, as fractions from its left end.
                slope = beam[4] * edge_y - beam[5] * edge_x
                begin = (beam[5] * left_x - beam[4] * left_y) / slope if slope < 0 else 0.0
                slope = beam[6] * edge_y - beam[7] * edge_x
                end = (beam[7] * left_x - beam[6] * left_y) / slope if slope < 0 else 1.0
                begin = min(max(begin, 0.0), 1.0)
                end = min(max(end, begin), 1.0)
                foot = min(max(-(left_x * edge_x + left_y * edge_y) / (edge * edge), begin), end)
                foot_x, foot_y = left_x + foot * edge_x, left_y + foot * edge_y
                nearest = behind + np.sqrt(foot_x * foot_x + foot_y * foot_y)
                if nearest > radius:
                    continue
                left_vertex = vertex_of[left]
                if item >= 0:
                    # If the far rim of the lit part is nearer by way of a vertex of this face, so is all
                    # of it (Xin and Wang 2009): shortest paths do not cross.
                    begin_x, begin_y = left_x + begin * edge_x, left_y + begin * edge_y
                    end_x, end_y = left_x + end * edge_x, left_y + end * edge_y
                    to_begin = behind + np.sqrt(begin_x * begin_x + begin_y * begin_y) - slack
                    to_end = behind + np.sqrt(end_x * end_x + end_y * end_y) - slack
                    right = 9 * (facing // 3) + 3 - facing - left
                    if distance[left_vertex] + end * edge < to_end:
                        continue
                    if distance[vertex_of[right]] + (1.0 - begin) * edge < to_begin:
                        continue
                    # The vertex opposite is on the right of light that turned left, and the other way round.
                    if left != apex:
                        gap_x, gap_y, limit = beam[8] - begin_x, beam[9] - begin_y, to_begin
                    else:
                        gap_x, gap_y, limit = beam[8] - end_x, beam[9] - end_y, to_end
                    if distance[vertex_of[facing]] + np.sqrt(gap_x * gap_x + gap_y * gap_y) < limit:
                        continue
                other = twin[facing]
                while other != facing:
                    # Where sheets branch, light could be passed round and round; a shortest path
                    # never enters a face twice.
                    if sheets > 2 and _has_crossed(ids, item, other // 3):
                        other = twin[other]
                        continue
                    if wedges == len(rays):
                        more_rays, more_ids = np.empty((2 * wedges, 9)), np.empty((2 * wedges, 5), np.int64)
                        more_rays[:wedges], more_ids[:wedges] = rays, ids
                        rays, ids = more_rays, more_ids
                    ray = rays[wedges]
                    for column in range(8):
                        ray[column] = beam[column]
                    ray[8] = behind
                    ids[wedges, 0], ids[wedges, 1], ids[wedges, 2] = other, origin, root
                    ids[wedges, 3] = 1 if vertex_of[_beside(other, 1)] == left_vertex else 0
                    ids[wedges, 4] = item
                    fresh_key[fresh], fresh_item[fresh] = nearest, wedges
                    fresh += 1
                    wedges += 1
                    other = twin[other]

            if heap_size + fresh > len(heap_key):
                more_key = np.empty(2 * len(heap_key) + fresh)
                more_item = np.empty(len(more_key), np.int64)
                more_key[:heap_size], more_item[:heap_size] = heap_key[:heap_size], heap_item[:heap_size]
                heap_key, heap_item = more_key, more_item
            for number_here in range(fresh):
                key = fresh_key[number_here]
                place = heap_size
                heap_size += 1
                while place > 0 and heap_key[(place - 1) // 2] > key:
                    heap_key[place], heap_item[place] = (
                        heap_key[(place - 1) // 2],
                        heap_item[(place - 1) // 2],
                    )
                    place = (place - 1) // 2
                heap_key[place], heap_item[place] = key, fresh_item[number_here]

        found = np.sort(seen[:seen_count])
        targets, values = with_room(targets, values, pairs, seen_count)
        before = pairs
        for target in found:
            if wanted[target]:
                targets[pairs] = target
                values[0, pairs] = distance[target]
                values[1, pairs] = np.arctan2(unrolled_y[target], unrolled_x[target])
                values[2, pairs] = wrapped(carried[target])
                pairs += 1
            distance[target] = np.inf
            settled[target] = False
        counts[number] = pairs - before
        for place in range(corner_count):
            corner_best[corner_seen[place]] = np.inf
    return (
        counts, targets[:pairs].copy(), values[0, :pairs].copy(), values[1, :pairs].copy(),
        values[2, :pairs].copy(),
    )  # fmt: skip


@kernel
def _shadow(width, first_angle, turn, incoming, fan_total, fan_open, side):  # type: ignore[no-untyped-def]
    """Part (low, high) of a corner, from its first edge, that no straight path reaches past its vertex.

    A shortest path leaves at least π on either side. In an open fan that may hold on both sides of the
    incoming path, hence ``side``; an empty part has high < low.
    """
    start = first_angle if turn > 0 else first_angle - width
    if fan_open and side == 0:
        low, high = max(incoming + np.pi - start, 0.0), width
    elif fan_open:
        low, high = 0.0, min(incoming - np.pi - start, width)
    elif side == 0:
        begin = (start - incoming) % fan_total
        low, high = max(np.pi - begin, 0.0), min(fan_total - np.pi - begin, width)
    else:
        return 0.0, -1.0
    return (low, high) if turn > 0 else (width - high, width - low)


@kernel
def _spread_curvature(rays, ids, wedge, x, y, length, vertex_of, curvature, extent):  # type: ignore[no-untyped-def]
    """How far a path's directions at its two ends turn if vertices share their curvature with their cells.

    A polyhedron has all its curvature in points, which a path towards (x, y) leaves on one side or the
    other. Spread over a disc as large as the vertex's cell, a part f of the curvature K lies on the other
    side; passing it there turns the end of the path that is at distance a from it, in a path of length r,
    by K f (1 − a / r).
    """
    leaving = arriving = 0.0
    last_left = last_right = -1
    while wedge >= 0:
        first, second = _beside(ids[wedge, 0], 1), _beside(ids[wedge, 0], 2)
        left, right = (first, second) if ids[wedge, 3] == 1 else (second, first)
        for side in range(2):
            vertex = vertex_of[left if side == 0 else right]
            if vertex == (last_left if side == 0 else last_right):
                continue
            at_x, at_y = rays[wedge, 2 * side], rays[wedge, 2 * side + 1]
            off = abs(x * at_y - y * at_x) / extent[vertex] if extent[vertex] > 0 else 1.0
            along = (x * at_x + y * at_y) / length
            if off < 1 and 0 < along < 1:
                part = (np.arccos(off) - off * np.sqrt(1 - off * off)) / np.pi
                turned = (1 - 2 * side) * curvature[vertex] * part
                leaving += turned * (1 - along)
                arriving -= turned * along
            if side == 0:
                last_left = vertex
            else:
                last_right = vertex
        wedge = ids[wedge, 4]
    return leaving, arriving


@kernel
def _has_crossed(ids, wedge, face):  # type: ignore[no-untyped-def]
    """Whether light that is now in ``wedge`` has come through ``face``."""
    while wedge >= 0:
        if ids[wedge, 0] // 3 == face or (ids[wedge, 4] < 0 and ids[wedge, 2] // 3 == face):
            return True
        wedge = ids[wedge, 4]
    return False


@kernel
def _most_sheets(twin):  # type: ignore[no-untyped-def]
    """The largest number of faces that share an edge."""
    most = 1
    for corner in range(len(twin)):
        sheets, other = 1, twin[corner]
        while other > corner:
            sheets, other = sheets + 1, twin[other]
        most = max(most, sheets)
    return most
