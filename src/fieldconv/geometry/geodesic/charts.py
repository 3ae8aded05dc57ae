"""Charts of a mesh: how triangles unfold into the plane, and how angles are measured around a vertex.

Corner ``3f + k`` is vertex ``faces[f, k]`` of face ``f``. The two others of its face are its first neighbour,
one step round the face, and its second, two steps round; it faces the edge between them.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import kernel
from fieldconv.geometry.mesh.mesh import Mesh

Records = NDArray[np.void]
MAX_CHARTED_FACES = 500_000  # larger meshes get no charts only for their frames
# Typed, because a literal argument has a kernel compiled again for its value.
ONWARD, BACKWARD = np.int64(1), np.int64(-1)

CORNER = np.dtype(
    [
        ("vertex", np.int64),
        ("twin", np.int64),  # next corner facing the same edge, in a circle: itself at a boundary
        ("facing_length", np.float64),  # length of the edge it faces, which runs from first to second
        ("apex_along", np.float64),  # the corner's position over that edge: along it …
        ("apex_height", np.float64),  # … and across it, in units of its length
        ("angle", np.float64),  # between its two edges
        ("edge_angle", np.float64),  # fan angle of the edge to its first neighbour
        ("turn", np.float64),  # +1 if fan angles grow from its first to its second edge, else −1
        ("fan", np.int64),
    ],
    align=True,
)
VERTEX = np.dtype(
    [
        ("scale", np.float64),  # turns fan angles into angles θ of the tangent plane
        ("curvature", np.float64),  # angle missing from 2π at an inner vertex, 0 at others
        ("extent", np.float64),  # radius of a disc as large as the vertex's share of the area
        ("frame_vertex", np.int64),  # other end of the edge at θ = 0
        ("bends", np.bool_),  # whether a shortest path may bend here
    ],
    align=True,
)
FAN = np.dtype([("total", np.float64), ("open", np.bool_)], align=True)  # sum of its corner angles


_charts: WeakKeyDictionary[Mesh, Charts] = WeakKeyDictionary()  # kept: one mesh often needs discs twice
_first_faces: WeakKeyDictionary[Mesh, Ints] = WeakKeyDictionary()


class Charts(NamedTuple):
    """The intrinsic geometry that paths need, as tables of records.

    Around a vertex, triangles form fans. A corner's ``edge_angle`` lays the corners of a fan side by side, in
    unscaled radians, starting with the frame's edge; the vertex's ``scale`` turns them into angles θ.
    """

    faces: Ints  # (F, 3)
    corners: Records  # (3F,) of CORNER
    vertices: Records  # (V,) of VERTEX
    fans: Records  # of FAN
    first_corner: Ints  # (V + 1,) where each vertex's corners begin in …
    corners_of: Ints  # (3F,) … the corners, vertex by vertex
    max_corners: int  # at a vertex, at least 1
    max_sheets: int  # faces at an edge
    min_angle: float  # of a corner


def charts(mesh: Mesh) -> Charts:
    """Return unfolding coordinates and vertex angles, without faces that repeat a vertex or another face."""
    if mesh not in _charts:
        _charts[mesh] = _make_charts(mesh)
    return _charts[mesh]


def frame_vertices(mesh: Mesh, *, max_charted: int = MAX_CHARTED_FACES) -> Ints:
    """Return for each vertex (V,) the other end of its edge at θ = 0.

    A mesh of ``max_charted`` faces or more gets no charts for this: where all edges have two faces, the other
    end is the next vertex in the first face around.
    """
    if len(mesh.faces) < max_charted or mesh in _charts or mesh in _first_faces:
        return np.asarray(charts(mesh).vertices["frame_vertex"])
    faces, count = mesh.faces[_distinct_faces(mesh.faces)], len(mesh.vertices)
    frame = np.arange(count)
    # Of several assignments the last one counts.
    frame[faces[::-1].ravel()] = np.roll(faces, -1, axis=1)[::-1].ravel()
    keys, faces_of = np.unique(_edge_keys(faces, count), return_counts=True)
    ends = np.zeros(count, bool)
    ends[np.concatenate(np.divmod(keys[faces_of != 2], count))] = True
    if ends.any():  # there fans begin at an edge of one face, or of several
        around = Mesh(mesh.vertices, faces[ends[faces].any(axis=1)])
        frame[ends] = _make_charts(around).vertices["frame_vertex"][ends]
    return frame


def set_first_faces(mesh: Mesh, faces: Ints) -> None:
    """Choose the face (V,) from which each vertex measures angles; by default the first around it."""
    _first_faces[mesh] = faces


def _make_charts(mesh: Mesh) -> Charts:
    distinct, count = _distinct_faces(mesh.faces), len(mesh.vertices)
    faces = np.ascontiguousarray(mesh.faces[distinct])
    number = np.full(len(mesh.faces), -1)
    number[distinct] = np.arange(len(distinct))
    corners, vertices = np.zeros(faces.size, CORNER), np.zeros(count, VERTEX)
    corners["vertex"] = faces.ravel()
    corners["twin"], max_sheets = _twins(faces, count)
    double_area = _measure(corners, mesh.vertices[faces])
    corners_of = np.argsort(faces.ravel(), kind="stable")
    first_corner = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(faces.ravel(), minlength=count), out=first_corner[1:])
    if mesh in _first_faces:
        _begin_with(number[_first_faces[mesh]], first_corner, corners_of)
    fans = np.zeros(faces.size, FAN)
    fans = fans[: _lay_fans(corners, vertices, fans, first_corner, corners_of)].copy()
    share = np.bincount(faces.ravel(), np.repeat(double_area / 6, 3), minlength=count)
    vertices["extent"] = np.sqrt(share / np.pi)
    max_corners = int(np.diff(first_corner).max(initial=1))
    min_angle = float(corners["angle"].min(initial=np.inf))
    return Charts(
        faces, corners, vertices, fans, first_corner, corners_of, max_corners, max_sheets, min_angle
    )


def _distinct_faces(faces: Ints) -> Ints:
    """Numbers of the faces of three different vertices, the first of each kind."""
    count = int(faces.max(initial=0)) + 1
    if count**3 < 2**63:  # three numbers make one, and are compared as one
        low, high = faces.min(axis=1), faces.max(axis=1)
        kind = (low * count + (faces.sum(axis=1) - low - high)) * count + high
        _, first_of_kind = np.unique(kind, return_index=True)
    else:
        _, first_of_kind = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    first = np.sort(first_of_kind)
    a, b, c = faces[first].T
    return np.asarray(first[(a != b) & (b != c) & (c != a)])


def _twins(faces: Ints, count: int) -> tuple[Ints, int]:
    """(3F,) next corner that faces the same edge, in a circle; and the largest number of faces at an edge."""
    key = _edge_keys(faces, count)
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.r_[True, np.diff(key[order]) > 0]) if len(order) else np.zeros(0, np.int64)
    ends = np.r_[begins[1:], len(order)][: len(begins)]
    following = np.r_[order[1:], order[:1]]
    following[ends - 1] = order[begins]
    twin = np.empty_like(order)
    twin[order] = following
    return twin, int((ends - begins).max(initial=1))


def _edge_keys(faces: Ints, count: int) -> Ints:
    """(3F,) a number for the edge that each corner faces, whichever way it runs."""
    start, end = np.roll(faces, -1, axis=1).reshape(-1), np.roll(faces, -2, axis=1).reshape(-1)
    key = np.minimum(start, end)
    key *= count
    key += np.maximum(start, end, out=end)
    return key


def _measure(corners: Records, points: Floats) -> Floats:
    """Fill in lengths and angles from the positions (F, 3, 3) of the corners; return twice the areas (F,)."""
    first, second = np.roll(points, -1, axis=1), np.roll(points, -2, axis=1)
    base, side = second - first, points - first
    squared = (base**2).sum(-1)
    safe = np.where(squared > 0, squared, 1.0)
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    double_area: Floats = np.linalg.norm(normals, axis=-1)
    corners["facing_length"] = np.sqrt(squared).ravel()
    corners["apex_along"] = ((side * base).sum(-1) / safe).ravel()
    corners["apex_height"] = (double_area[:, None] / safe * (squared > 0)).ravel()
    cosine = ((first - points) * (second - points)).sum(-1)
    corners["angle"] = np.arctan2(double_area[:, None], cosine).ravel()
    return double_area


@kernel
def _begin_with(first_face, first_corner, corners_of):  # type: ignore[no-untyped-def]
    """Let each vertex begin with its corner of the given face, if it has one there."""
    for vertex in range(len(first_corner) - 1):
        begin = first_corner[vertex]
        for slot in range(begin, first_corner[vertex + 1]):
            if corners_of[slot] // 3 == first_face[vertex]:
                corners_of[slot], corners_of[begin] = corners_of[begin], corners_of[slot]
                break


@kernel
def _lay_fans(corners, vertices, fans, first_corner, corners_of):  # type: ignore[no-untyped-def]
    """Walk around every vertex and lay its corners side by side; return the number of fans."""
    for corner in range(len(corners)):
        corners[corner].fan = -1
    count = 0
    for vertex in range(len(vertices)):
        first_fan = count
        angle = 0.0
        here = vertices[vertex]
        here.frame_vertex = vertex
        for slot in range(first_corner[vertex], first_corner[vertex + 1]):
            seed = corners_of[slot]
            if corners[seed].fan >= 0:
                continue
            corner, sense, is_open = _beginning(corners, seed)
            if count == first_fan:
                here.frame_vertex = corners[next_corner(corner, 1 if sense > 0 else 2)].vertex
            start = angle
            while corner >= 0 and corners[corner].fan < 0:
                row = corners[corner]
                row.fan, row.turn = count, sense
                row.edge_angle = angle if sense > 0 else angle + row.angle
                angle += row.angle
                corner, sense = _next_around(corners, corner, sense, ONWARD)
            fans[count].total, fans[count].open = angle - start, is_open
            if angle - start > (np.pi if is_open else 2 * np.pi) - (1e-9 if is_open else -1e-9):
                here.bends = True
            count += 1
        closed = count == first_fan + 1 and not fans[first_fan].open
        several = count > first_fan + 1
        if several:
            here.bends = True
        here.scale = 1.0
        if (closed or several or angle > 2 * np.pi) and angle > 0:
            here.scale = 2 * np.pi / angle
        if closed:
            here.curvature = 2 * np.pi - angle
    return count


@kernel
def _beginning(corners, seed):  # type: ignore[no-untyped-def]
    """First corner of the fan of ``seed``, itself in a closed fan; its sense; whether the fan is open."""
    corner, sense = seed, ONWARD
    while True:
        before, sense_before = _next_around(corners, corner, sense, BACKWARD)
        if before < 0:
            return corner, sense, True
        corner, sense = before, sense_before
        if corner == seed:
            return seed, ONWARD, False


@kernel
def next_corner(corner, steps):  # type: ignore[no-untyped-def]
    """Return the corner of the same face ``steps`` further round."""
    return corner - corner % 3 + (corner + steps) % 3


@kernel
def _next_around(corners, corner, sense, direction):  # type: ignore[no-untyped-def]
    """Next corner around across the second (direction +1) or first edge, and its sense; (−1, 0) at an end."""
    # The edge to the first neighbour is faced by the second neighbour's corner, and the other way round.
    facing = next_corner(corner, 1 if sense * direction > 0 else 2)
    other = corners[facing].twin
    if other == facing or corners[other].twin != facing:
        return -1, 0
    following = next_corner(other, 1)
    if corners[following].vertex != corners[corner].vertex:
        following = next_corner(other, 2)
    crossed_is_first = next_corner(following, 2) == other
    return following, direction if crossed_is_first else -direction
