"""Geodesic discs: for every vertex, who is within a radius, how far, in which direction, and how turned.

The local solver finds *exact* shortest paths on the polyhedron. From each source a wedge of light is sent
into every incident triangle; triangles are unfolded into the source's plane as the wedge crosses their
edges, so a path is a straight line there and its length and direction can be read off. Where a shortest
path can bend (a vertex with more than 2π of surface around it, a boundary, a non-manifold vertex), that
vertex sends its own light into its shadow. Wedges are taken nearest first and dropped once a path around a
vertex is shorter, and everything stops at the radius, so the cost is that of the disc.

What happens where the surface is not a smooth sheet:

- *boundary*: paths run along it and bend around it; nothing lies beyond it. Angles there are not rescaled.
- *non-manifold edge*: light that reaches it enters every other sheet.
- *non-manifold vertex*: its fans of triangles are laid side by side and share 2π.
- *inconsistent orientation*: paths do not care. Each vertex measures angles the way its first triangle
  turns; between vertices that disagree, the transport still takes the path's direction to its direction.
- *several components*: a disc never leaves its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._compiled import kernel, num_threads, run_blocks
from .mesh import Mesh, MeshError

SOLVER_VERSION = 1  # part of every cache key: raise it when results change

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Discs:
    """Geodesic discs as flat arrays, disc after disc (CSR order by source).

    Disc ``i`` occupies ``offsets[i]:offsets[i + 1]`` of the flat arrays, its targets in ascending order.
    It contains its own centre at distance 0.

    Attributes
    ----------
    sources : (S,) int64
        Vertex at the centre of each disc.
    offsets : (S + 1,) int64
    targets : (E,) int64
        Vertex ids.
    distance : (E,) float64
        Geodesic distance r from source to target.
    angle : (E,) float64
        Direction θ of log_source(target), in radians from the source's frame.
    transport : (E,) float64
        Angle φ: a tangent vector z at the source becomes e^{iφ} z at the target.
    """

    sources: Ints
    offsets: Ints
    targets: Ints
    distance: Floats
    angle: Floats
    transport: Floats

    @property
    def centres(self) -> Ints:
        """(E,) source vertex of every pair."""
        return np.repeat(self.sources, np.diff(self.offsets))

    def __len__(self) -> int:
        return len(self.targets)


def geodesic_discs(
    mesh: Mesh,
    radius: float,
    sources: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    *,
    solver: Literal["local", "heat"] = "local",
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
    solver : {"local", "heat"}
        Exact unfolding of triangles, or the vector heat method (what the paper used).

    Returns
    -------
    Discs
        If ``sources`` and ``targets`` are the same set, the pairs are symmetric, r and the transport
        exactly so: φ(q, p) = −φ(p, q).

    Examples
    --------
    >>> import numpy as np
    >>> square = Mesh(np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    >>> discs = geodesic_discs(square, radius=1.2, sources=[0])
    >>> discs.targets, discs.distance
    (array([0, 1, 3]), array([0., 1., 1.]))
    """
    if not np.isfinite(radius) or radius <= 0:
        raise ValueError(f"The radius must be a positive number, not {radius}.")
    source_ids = _vertex_ids(sources, mesh, "sources")
    target_ids = _vertex_ids(targets, mesh, "targets")
    mesh.require_usable()
    if solver == "heat":
        from .heat import heat_discs

        return heat_discs(mesh, radius, source_ids, target_ids)
    if solver != "local":
        raise ValueError(f"Unknown solver {solver!r}: choose 'local' or 'heat'.")
    discs = _local_discs(charts(mesh), radius, source_ids, target_ids)
    return symmetric(discs) if np.array_equal(source_ids, target_ids) else discs


def tangent_frames(mesh: Mesh) -> tuple[Floats, Floats]:
    """Unit vectors (V, 3) of each vertex's direction θ = 0, and unit normals (V, 3).

    θ = 0 points along one edge of the vertex, projected to the tangent plane; θ grows counter-clockwise
    seen from the tip of the normal.

    Examples
    --------
    >>> import numpy as np
    >>> square = Mesh(np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]]))
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
    frame_vertex: Ints  # (V,) other end of the edge at θ = 0
    corner_offsets: Ints  # (V + 1,)
    corners: Ints  # (3F,) corners of each vertex


def charts(mesh: Mesh) -> Charts:
    """Unfolding coordinates and vertex angles of a mesh; faces that repeat a vertex are left out."""
    faces = mesh.faces
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
    edge_angle, turn, fan, fan_total, fan_open, scale, bends, frame_vertex = _lay_fans(
        faces, twin, corner_angle.ravel(), corner_offsets, corners
    )
    return Charts(
        faces, twin, np.sqrt(squared).ravel(), ((side * base).sum(-1) / safe).ravel(),
        (double_area[:, None] / safe * (squared > 0)).ravel(), corner_angle.ravel(),
        edge_angle, turn, fan, fan_total, fan_open, scale, bends, frame_vertex, corner_offsets, corners,
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
            if (is_open and angle - start > np.pi - 1e-9) or (not is_open and angle - start > 2 * np.pi + 1e-9):
                bends[vertex] = True
            fans += 1
        closed = fans == first_fan + 1 and not fan_open[first_fan]
        if fans > first_fan + 1:
            bends[vertex] = True
        if (closed or fans > first_fan + 1 or angle > 2 * np.pi) and angle > 0:
            scale[vertex] = 2 * np.pi / angle
    return edge_angle, turn, fan, fan_total[:fans].copy(), fan_open[:fans].copy(), scale, bends, frame_vertex


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
        raise ValueError(f"{what} must be a list of vertex ids, not an array of {chosen.dtype} {chosen.shape}.")
    if chosen.size and (chosen.min() < 0 or chosen.max() >= len(mesh.vertices)):
        raise MeshError(f"{what} name a vertex outside 0…{len(mesh.vertices) - 1}.")
    return chosen.astype(np.int64)


def _local_discs(chart: Charts, radius: float, sources: Ints, targets: Ints) -> Discs:
    wanted = np.zeros(len(chart.scale), np.bool_)
    wanted[targets] = True
    # Several blocks a thread even out the work; each costs scratch arrays of the mesh's size.
    count = min(8 * num_threads(), max(len(sources) // 16, 1))
    cuts = np.linspace(0, len(sources), count + 1).astype(np.int64)
    blocks = [(chart, sources[a:b], float(radius), wanted) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
    parts = run_blocks(_disc_block, blocks)
    counts, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Discs(sources, np.r_[0, np.cumsum(counts)], *columns)


def symmetric(discs: Discs) -> Discs:
    """Keep mutual pairs, and let the lower vertex speak for both directions: rounding cannot differ then.

    A path keeps its angle to its tangent, so the way back is known: θ(q, p) = θ(p, q) + π + φ(p, q).
    """
    count = len(discs.sources)
    row = np.repeat(np.arange(count), np.diff(discs.offsets))
    position = np.full(int(discs.sources.max(initial=-1)) + 1, -1)
    position[discs.sources] = np.arange(count)
    column = position[discs.targets]
    pairs = sparse.csr_array((np.arange(1, len(row) + 1), (row, column)), shape=(count, count))
    mirror = np.asarray(pairs.T.tocsr()[row, column]).ravel() - 1 if len(row) else row
    mutual = mirror >= 0
    flipped = (row > column)[mutual]
    speaker = np.where(row > column, mirror, np.arange(len(row)))[mutual]
    angle, transport = discs.angle[speaker], discs.transport[speaker]
    return Discs(
        discs.sources,
        np.r_[0, np.cumsum(np.bincount(row[mutual], minlength=count))],
        discs.targets[mutual],
        discs.distance[speaker],
        np.where(flipped, wrapped(angle + np.pi + transport), angle),
        np.where(flipped, -transport, transport),
    )


def wrapped(angle: Floats) -> Floats:
    """The same angle in [−π, π]."""
    return angle - 2 * np.pi * np.round(angle / (2 * np.pi))


class _Known(NamedTuple):
    """What is known of each vertex, for the present source."""

    distance: Floats
    x: Floats  # end of the path, unrolled in the source's tangent plane
    y: Floats
    carried: Floats  # transport from the source
    incoming: Floats  # fan angle from which the path arrives
    incoming_fan: Ints
    settled: NDArray[np.bool_]
    seen: Ints
    seen_count: Ints  # (1,)
    corner_best: Floats  # shortest light each corner has received …
    corner_from: Floats  # … and the angle it came from
    corner_seen: Ints
    corner_count: Ints  # (1,)


class _Queue(NamedTuple):
    """Wedges of light and vertices about to send light, nearest first (a binary heap).

    A wedge's plane has its origin at the vertex the light comes from. ``rays``: left and right end of the
    edge it crosses, then its left and right bounding ray, then the length of the path behind its origin.
    ``ids``: the corner it will meet next, its origin, the corner it left the origin through, and whether
    the crossed edge's left end is the next corner's first neighbour.
    """

    key: Floats
    item: Ints  # a wedge, or −1 − vertex
    rays: Floats  # (room, 9)
    ids: Ints  # (room, 4)
    size: Ints  # (2,) length of the heap, number of wedges


@kernel
def _disc_block(chart, sources, radius, wanted):  # type: ignore[no-untyped-def]
    """Discs of some sources: pair counts, targets, distances, directions, transports."""
    vertices, corners = len(chart.scale), len(chart.twin)
    known = _Known(
        np.full(vertices, np.inf), np.zeros(vertices), np.zeros(vertices), np.zeros(vertices),
        np.zeros(vertices), np.zeros(vertices, np.int64), np.zeros(vertices, np.bool_),
        np.empty(vertices, np.int64), np.zeros(1, np.int64),
        np.full(corners, np.inf), np.zeros(corners), np.empty(corners, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip
    queue = _Queue(
        np.empty(1024), np.empty(1024, np.int64), np.empty((1024, 9)), np.empty((1024, 4), np.int64),
        np.zeros(2, np.int64),
    )  # fmt: skip
    # The most one step can add, so that room is checked once a step.
    most = 16 + 4 * np.diff(chart.corner_offsets).max() * _most_sheets(chart.twin)

    counts = np.zeros(len(sources), np.int64)
    targets = np.empty(max(64 * len(sources), 64), np.int64)
    values = np.empty((3, len(targets)))
    pairs = 0
    for number in range(len(sources)):
        source = sources[number]
        queue.size[:] = 0
        known.seen_count[0], known.corner_count[0] = 1, 0
        known.seen[0] = source
        known.distance[source] = known.x[source] = known.y[source] = known.carried[source] = 0.0
        _push(queue, 0.0, -1 - source)
        while queue.size[0] > 0:
            if max(queue.size[0], queue.size[1]) + most > len(queue.key):
                queue = _with_more_room(queue, most)
            key, item = _pop(queue)
            if item >= 0:
                _cross(chart, known, queue, item, radius)
            elif not known.settled[-1 - item] and key <= known.distance[-1 - item]:
                _send_from(chart, known, queue, -1 - item, source, radius)

        seen = known.seen[: known.seen_count[0]]
        found = np.sort(seen[wanted[seen]])
        counts[number] = len(found)
        if pairs + len(found) > len(targets):
            room = 2 * len(targets) + len(found)
            more_targets, more_values = np.empty(room, np.int64), np.empty((3, room))
            more_targets[:pairs], more_values[:, :pairs] = targets[:pairs], values[:, :pairs]
            targets, values = more_targets, more_values
        for target in found:
            targets[pairs] = target
            values[0, pairs] = known.distance[target]
            values[1, pairs] = np.arctan2(known.y[target], known.x[target])
            turned = known.carried[target]
            values[2, pairs] = turned - 2 * np.pi * np.round(turned / (2 * np.pi))
            pairs += 1

        for vertex in seen:
            known.distance[vertex] = np.inf
            known.settled[vertex] = False
        for corner in known.corner_seen[: known.corner_count[0]]:
            known.corner_best[corner] = np.inf
    return (
        counts, targets[:pairs].copy(), values[0, :pairs].copy(), values[1, :pairs].copy(),
        values[2, :pairs].copy(),
    )  # fmt: skip


@kernel
def _send_from(chart, known, queue, origin, source, radius):  # type: ignore[no-untyped-def]
    """Light from a vertex: everywhere from the source, into the shadow from where a path may bend."""
    known.settled[origin] = True
    behind = known.distance[origin]
    flat = chart.faces.ravel()
    for slot in range(chart.corner_offsets[origin], chart.corner_offsets[origin + 1]):
        corner = chart.corners[slot]
        width = chart.corner_angle[corner]
        first, second = _beside(corner, 1), _beside(corner, 2)
        right, left = chart.facing_length[second], chart.facing_length[first]
        for side in range(2):
            if origin == source:
                low, high = 0.0, width if side == 0 else -1.0
            else:
                low, high = _shadow(chart, corner, known.incoming[origin], known.incoming_fan[origin], side)
            if high < low - 1e-9:
                continue
            # Straight along the corner's two edges, where they are lit. The way back is the end's second
            # edge in this face, or its first.
            if low < 1e-9:
                back = chart.edge_angle[first] + chart.turn[first] * chart.corner_angle[first]
                _reach(chart, known, queue, origin, corner, 0.0, right, first, back, radius)
            if high > width - 1e-9:
                back = chart.edge_angle[second]
                _reach(chart, known, queue, origin, corner, width, left, second, back, radius)
            if high - low > 1e-12:
                _send(
                    chart, known, queue, radius, corner, origin, corner, behind, flat[second], flat[first],
                    left * np.cos(width), left * np.sin(width), right, 0.0,
                    np.cos(high), np.sin(high), np.cos(low), np.sin(low), -1, 0.0, 0.0, 0,
                )  # fmt: skip


@kernel
def _shadow(chart, corner, incoming, incoming_fan, side):  # type: ignore[no-untyped-def]
    """Part (low, high) of a corner, from its first edge, that no straight path reaches past its vertex.

    A shortest path leaves at least π on either side. In an open fan that may hold on both sides of the
    incoming path, hence ``side``; an empty part has high < low.
    """
    width, fan = chart.corner_angle[corner], chart.fan[corner]
    start = chart.edge_angle[corner] - (0.0 if chart.turn[corner] > 0 else width)
    if fan != incoming_fan:  # another sheet of a non-manifold vertex: all of it
        return 0.0, width if side == 0 else -1.0
    if chart.fan_open[fan]:
        if side == 0:
            low, high = max(incoming + np.pi - start, 0.0), width
        else:
            low, high = 0.0, min(incoming - np.pi - start, width)
    else:
        if side == 1:
            return 0.0, -1.0
        begin = (start - incoming) % chart.fan_total[fan]
        low = max(np.pi - begin, 0.0)
        high = min(chart.fan_total[fan] - np.pi - begin, width)
    if chart.turn[corner] < 0:
        return width - high, width - low
    return low, high


@kernel
def _cross(chart, known, queue, item, radius):  # type: ignore[no-untyped-def]
    """Unfold the face behind the edge a wedge has reached, light its far corner, pass the light on."""
    rays, ids = queue.rays, queue.ids
    apex, origin, root, left_is_first = ids[item, 0], ids[item, 1], ids[item, 2], ids[item, 3]
    left_x, left_y, right_x, right_y = rays[item, 0], rays[item, 1], rays[item, 2], rays[item, 3]
    ray_left_x, ray_left_y = rays[item, 4], rays[item, 5]
    ray_right_x, ray_right_y = rays[item, 6], rays[item, 7]
    behind = rays[item, 8]
    first, second = _beside(apex, 1), _beside(apex, 2)
    left, right = (first, second) if left_is_first else (second, first)

    along = chart.apex_along[apex] if left_is_first else 1.0 - chart.apex_along[apex]
    edge_x, edge_y = right_x - left_x, right_y - left_y
    x = left_x + along * edge_x - chart.apex_height[apex] * edge_y
    y = left_y + along * edge_y + chart.apex_height[apex] * edge_x
    length = np.sqrt(x * x + y * y)
    light_on_left = x * ray_left_y - y * ray_left_x  # > 0: the left ray passes left of the apex
    light_on_right = ray_right_x * y - ray_right_y * x
    goes_left, goes_right = light_on_left > 0, light_on_right > 0
    # A path straight through a vertex lies on the rim of two wedges and must not slip between them.
    rim = -1e-11 * length
    lit = light_on_left >= rim * (abs(ray_left_x) + abs(ray_left_y)) and light_on_right >= rim * (
        abs(ray_right_x) + abs(ray_right_y)
    )
    if lit:
        # Angle at the apex between its left edge and the way back to the origin.
        to_left_x, to_left_y = left_x - x, left_y - y
        back = np.arctan2(abs(to_left_x * y - to_left_y * x), -(to_left_x * x + to_left_y * y))
        from_first = back if left_is_first else chart.corner_angle[apex] - back
        incoming = chart.edge_angle[apex] + chart.turn[apex] * from_first
        _reach(chart, known, queue, origin, root, np.arctan2(y, x), length, apex, incoming, radius)
        # Of all the light that reaches a corner, only the shortest can matter on both sides of it.
        if goes_left and goes_right:
            total = behind + length
            if total < known.corner_best[apex]:
                if known.corner_best[apex] == np.inf:
                    known.corner_seen[known.corner_count[0]] = apex
                    known.corner_count[0] += 1
                known.corner_best[apex], known.corner_from[apex] = total, from_first
            elif total > known.corner_best[apex] + 1e-11 * radius:
                nearer_first = from_first < known.corner_from[apex]
                if nearer_first == (left_is_first == 1):
                    goes_right = False
                else:
                    goes_left = False

    flat = chart.faces.ravel()
    tip, left_vertex, right_vertex = flat[apex], flat[left], flat[right]
    if goes_left:
        bound_x, bound_y = (x, y) if light_on_right > 0 else (ray_right_x, ray_right_y)
        _send(
            chart, known, queue, radius, right, origin, root, behind, left_vertex, tip,
            left_x, left_y, x, y, ray_left_x, ray_left_y, bound_x, bound_y, right_vertex, right_x, right_y, 1,
        )  # fmt: skip
    if goes_right:
        bound_x, bound_y = (x, y) if light_on_left > 0 else (ray_left_x, ray_left_y)
        _send(
            chart, known, queue, radius, left, origin, root, behind, tip, right_vertex,
            x, y, right_x, right_y, bound_x, bound_y, ray_right_x, ray_right_y, left_vertex, left_x, left_y, 0,
        )  # fmt: skip


@kernel
def _reach(chart, known, queue, origin, root, direction, length, corner, incoming, radius):  # type: ignore[no-untyped-def]
    """A straight stretch from ``origin`` arrives at the vertex of ``corner``: keep it if it is shorter."""
    target = chart.faces[corner // 3, corner % 3]
    total = known.distance[origin] + length
    if total > radius or total >= known.distance[target] - 1e-13 * radius:
        return
    if known.distance[target] == np.inf:
        known.seen[known.seen_count[0]] = target
        known.seen_count[0] += 1
    outgoing = chart.scale[origin] * (chart.edge_angle[root] + chart.turn[root] * direction)
    known.distance[target] = total
    known.incoming[target], known.incoming_fan[target] = incoming, chart.fan[corner]
    # Bends are unrolled too: the direction to the target is that of the chord.
    unrolled = outgoing - known.carried[origin]
    known.x[target] = known.x[origin] + length * np.cos(unrolled)
    known.y[target] = known.y[origin] + length * np.sin(unrolled)
    known.carried[target] = known.carried[origin] + chart.scale[target] * incoming + np.pi - outgoing
    if chart.bends[target]:
        _push(queue, total, -1 - target)


@kernel
def _send(  # type: ignore[no-untyped-def]
    chart, known, queue, radius, facing, origin, root, behind, left_vertex, right_vertex,
    left_x, left_y, right_x, right_y, ray_left_x, ray_left_y, ray_right_x, ray_right_y,
    third_vertex, third_x, third_y, third_is_right,
):  # fmt: skip
    """Queue the light that leaves a face by the edge ``facing`` faces, unless it can be no shortest path."""
    edge_x, edge_y = right_x - left_x, right_y - left_y
    squared = edge_x * edge_x + edge_y * edge_y
    if squared == 0.0:
        return
    # The lit part of the edge, as fractions from its left end.
    slope = ray_left_x * edge_y - ray_left_y * edge_x
    begin = (ray_left_y * left_x - ray_left_x * left_y) / slope if slope < 0 else 0.0
    slope = ray_right_x * edge_y - ray_right_y * edge_x
    end = (ray_right_y * left_x - ray_right_x * left_y) / slope if slope < 0 else 1.0
    begin = min(max(begin, 0.0), 1.0)
    end = min(max(end, begin), 1.0)
    foot = min(max(-(left_x * edge_x + left_y * edge_y) / squared, begin), end)
    nearest = behind + np.hypot(left_x + foot * edge_x, left_y + foot * edge_y)
    if nearest > radius:
        return
    # If the far rim of the lit part is nearer by way of a vertex of the face, so is all of it
    # (Xin and Wang 2009): shortest paths do not cross.
    if third_vertex >= 0:
        slack = 1e-11 * radius
        edge = np.sqrt(squared)
        begin_x, begin_y = left_x + begin * edge_x, left_y + begin * edge_y
        end_x, end_y = left_x + end * edge_x, left_y + end * edge_y
        to_begin, to_end = behind + np.hypot(begin_x, begin_y) - slack, behind + np.hypot(end_x, end_y) - slack
        if known.distance[left_vertex] + end * edge < to_end:
            return
        if known.distance[right_vertex] + (1.0 - begin) * edge < to_begin:
            return
        around = known.distance[third_vertex]
        if third_is_right and around + np.hypot(third_x - begin_x, third_y - begin_y) < to_begin:
            return
        if not third_is_right and around + np.hypot(third_x - end_x, third_y - end_y) < to_end:
            return
    other = chart.twin[facing]
    while other != facing:
        wedge = queue.size[1]
        queue.size[1] += 1
        rays, ids = queue.rays, queue.ids
        rays[wedge, 0], rays[wedge, 1], rays[wedge, 2], rays[wedge, 3] = left_x, left_y, right_x, right_y
        rays[wedge, 4], rays[wedge, 5] = ray_left_x, ray_left_y
        rays[wedge, 6], rays[wedge, 7] = ray_right_x, ray_right_y
        rays[wedge, 8] = behind
        next_first = _beside(other, 1)
        left_is_first = chart.faces[next_first // 3, next_first % 3] == left_vertex
        ids[wedge, 0], ids[wedge, 1], ids[wedge, 2] = other, origin, root
        ids[wedge, 3] = 1 if left_is_first else 0
        _push(queue, nearest, wedge)
        other = chart.twin[other]


@kernel
def _most_sheets(twin):  # type: ignore[no-untyped-def]
    """The largest number of faces that share an edge."""
    most = 1
    for corner in range(len(twin)):
        sheets, other = 1, twin[corner]
        while other != corner and other > corner:
            sheets, other = sheets + 1, twin[other]
        most = max(most, sheets)
    return most


@kernel
def _with_more_room(queue, most):  # type: ignore[no-untyped-def]
    held, room = len(queue.key), 2 * len(queue.key) + most
    key, item = np.empty(room), np.empty(room, np.int64)
    rays, ids = np.empty((room, 9)), np.empty((room, 4), np.int64)
    key[:held], item[:held], rays[:held], ids[:held] = queue.key, queue.item, queue.rays, queue.ids
    return _Queue(key, item, rays, ids, queue.size)


@kernel
def _push(queue, key, item):  # type: ignore[no-untyped-def]
    place = queue.size[0]
    queue.size[0] += 1
    while place > 0:
        parent = (place - 1) // 2
        if queue.key[parent] <= key:
            break
        queue.key[place], queue.item[place] = queue.key[parent], queue.item[parent]
        place = parent
    queue.key[place], queue.item[place] = key, item


@kernel
def _pop(queue):  # type: ignore[no-untyped-def]
    top_key, top_item = queue.key[0], queue.item[0]
    queue.size[0] -= 1
    size = queue.size[0]
    key, item = queue.key[size], queue.item[size]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and queue.key[child + 1] < queue.key[child]:
            child += 1
        if queue.key[child] >= key:
            break
        queue.key[place], queue.item[place] = queue.key[child], queue.item[child]
        place = child
    queue.key[place], queue.item[place] = key, item
    return top_key, top_item
