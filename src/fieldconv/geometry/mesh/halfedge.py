"""Triangle meshes that can change: collapse, split and flip edges on half-edges.

Half-edge ``h`` of triangle ``h // 3`` starts at vertex ``start[h]``; ``twin[h]`` is the same edge in the
other triangle. Removed triangles have start −1, removed vertices have edge −1. A cone over an apex, which is
no vertex of the mesh, closes every rim. So each half-edge has a twin, and rims stay in place: nothing is
collapsed onto an apex, and no edge of a cone is flipped or split.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Array, Floats, Ints
from fieldconv._compiled import kernel
from fieldconv.geometry.mesh.topology import cap_rims
from fieldconv.geometry.mesh.triangles import vertex_normals

INSIDE, RIM, APEX = 0, 1, 2  # kinds of vertices


class Net(NamedTuple):
    """A triangle mesh that can change; its arrays are longer than it needs, so that it can grow."""

    point: Floats
    normal: Floats
    size: Floats  # wanted edge length at the vertex
    kind: NDArray[np.int8]  # INSIDE, RIM or APEX
    edge: Ints  # a half-edge that starts at the vertex, or −1
    start: Ints
    twin: Ints
    used: Ints  # number of vertices and of triangles, removed ones included


@kernel
def next_half(h: int) -> int:
    return h - 2 if h % 3 == 2 else h + 1


@kernel
def previous_half(h: int) -> int:
    return h + 2 if h % 3 == 0 else h - 1


def make_net(points: Floats, normals: Floats, faces: Ints, room: int) -> Net:
    """Return the net of an oriented manifold, with room for ``room`` more vertices.

    Examples
    --------
    >>> square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    >>> net = make_net(square, np.tile([0.0, 0, 1], (4, 1)), np.array([[0, 1, 2], [0, 2, 3]]), room=0)
    >>> net.kind.tolist(), net_arrays(net)[1].tolist()
    ([1, 1, 1, 1, 2], [[0, 1, 2], [0, 2, 3]])
    """
    n_points = len(points)
    faces, rim = cap_rims(n_points, faces)
    count = int(faces.max(initial=n_points - 1)) + 1
    kind = np.full(count, INSIDE, np.int8)
    kind[rim[:, 1]] = RIM
    kind[n_points:] = APEX
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    edge_key = np.minimum(start, end) * count + np.maximum(start, end)
    one, other = np.argsort(edge_key, kind="stable").reshape(-1, 2).T
    twin = np.empty(len(start), np.int64)
    twin[one], twin[other] = other, one
    edge = np.full(count, -1, np.int64)
    edge[start] = np.arange(len(start))
    used = np.array([count, len(faces)])

    def longer(array: Array, more: int) -> Array:
        return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])

    apexes = count - n_points
    return Net(
        longer(points, apexes + room), longer(normals, apexes + room), np.ones(count + room),
        longer(kind, room), longer(edge, room), longer(start, 6 * room), longer(twin, 6 * room), used,
    )  # fmt: skip


def net_vertices(net: Net) -> Ints:
    """Return the vertices in use, without apexes."""
    count = net.used[0]
    return np.flatnonzero((net.edge[:count] >= 0) & (net.kind[:count] != APEX))


def net_arrays(net: Net) -> tuple[Floats, Ints]:
    """Return points and triangles, without removed ones and cones."""
    keep = net_vertices(net)
    number = np.full(net.used[0], -1, np.int64)
    number[keep] = np.arange(len(keep))
    faces = net.start[: 3 * net.used[1]].reshape(-1, 3)
    faces = number[faces[faces[:, 0] >= 0]]
    return net.point[keep], faces[(faces >= 0).all(axis=1)]


@kernel
def _quality(net: Net, i: int, j: int, k: int) -> float:
    """Return the sine of a triangle's least angle; negative if it faces away from the surface; 1 in cones."""
    if net.kind[i] == APEX or net.kind[j] == APEX or net.kind[k] == APEX:
        return 1.0
    p, q, r = net.point[i], net.point[j], net.point[k]
    ux, uy, uz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    vx, vy, vz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    wx, wy, wz = vx - ux, vy - uy, vz - uz
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    area = np.sqrt(nx * nx + ny * ny + nz * nz) + 1e-300
    u = np.sqrt(ux * ux + uy * uy + uz * uz)
    v = np.sqrt(vx * vx + vy * vy + vz * vz)
    w = np.sqrt(wx * wx + wy * wy + wz * wz)
    sine = area / (u * v * w / min(u, v, w) + 1e-300)
    # At the rim of a fin a normal may point sideways, so the mean decides, unless a corner is far off.
    mean, facing = 0.0, 1.0
    for m in (i, j, k):
        normal = net.normal[m]
        cosine = (nx * normal[0] + ny * normal[1] + nz * normal[2]) / area
        facing = min(facing, cosine)
        mean += cosine / 3.0
    facing = min(mean - 0.3, facing - 0.1)
    return float(facing if facing < 0.0 else sine)


@kernel
def edge_ratio(net: Net, i: int, j: int) -> float:
    """Return the length of an edge over the wanted length."""
    p, q = net.point[i], net.point[j]
    dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return float(np.sqrt(dx * dx + dy * dy + dz * dz) / (0.5 * (net.size[i] + net.size[j])))


@kernel
def edge_ratios(net: Net) -> tuple[Ints, Floats]:
    """Return one half-edge of every edge of the mesh, with its length over the wanted one."""
    half = np.empty(3 * net.used[1], np.int64)
    ratio = np.empty(3 * net.used[1])
    count = 0
    for h in range(3 * net.used[1]):
        if net.start[h] >= 0 and h < net.twin[h]:
            a, b = net.start[h], net.start[net.twin[h]]
            if net.kind[a] == APEX or net.kind[b] == APEX:
                continue
            half[count] = h
            ratio[count] = edge_ratio(net, a, b)
            count += 1
    return half[:count], ratio[:count]


@kernel
def _valence(twin: Ints, first: int) -> int:
    """Return the number of triangles around the start of a half-edge."""
    count = 0
    e = first
    while True:
        count += 1
        e = twin[previous_half(e)]
        if e == first:
            return count


@kernel
def _reaches(start: Ints, twin: Ints, first: int, end: int) -> bool:
    """Return whether an edge joins the start of a half-edge to another vertex."""
    e = first
    while True:
        if start[twin[e]] == end:
            return True
        e = twin[previous_half(e)]
        if e == first:
            return False


@kernel
def _collapsible(net: Net, h: int, longest: float, least: float, fewest: int) -> bool:
    """Return whether the start a of ``h`` may be pulled onto its end b.

    The topology must stay, no edge may grow beyond ``longest``, no triangle may fall below quality ``least``
    unless there was a worse one before, every vertex must keep ``fewest`` triangles, and a rim may be
    shortened only along itself.
    """
    start, twin, kind = net.start, net.twin, net.kind
    a, b = start[h], start[twin[h]]
    c, d = start[previous_half(h)], start[previous_half(twin[h])]
    if kind[a] == APEX or kind[b] == APEX:
        return False
    if kind[a] == RIM and kind[c] != APEX and kind[d] != APEX:
        return False
    # Link condition: a and b share the neighbours c and d only.
    shared = 0
    g = h
    while True:
        neighbour = start[twin[g]]
        if neighbour != b:
            shared += _reaches(start, twin, net.edge[b], neighbour)
            if kind[neighbour] != APEX and edge_ratio(net, neighbour, b) > longest:
                return False
        g = twin[previous_half(g)]
        if g == h:
            break
    if shared != 2 or _valence(twin, net.edge[c]) <= fewest or _valence(twin, net.edge[d]) <= fewest:
        return False
    if edge_ratio(net, a, b) < 1e-6:
        return True  # both are at one place already: no triangle changes
    before, after = 1.0, 1.0
    g = h
    while True:
        i, j = start[next_half(g)], start[previous_half(g)]
        before = min(before, _quality(net, a, i, j))
        if i != b and j != b:
            after = min(after, _quality(net, b, i, j))
        g = twin[previous_half(g)]
        if g == h:
            break
    return bool(after > max(min(least, before), 0.02))


@kernel
def collapse_edge(net: Net, h: int) -> None:
    """Pull the start of ``h`` onto its end and remove the two triangles between."""
    start, twin, edge = net.start, net.twin, net.edge
    t = twin[h]
    a, b = start[h], start[t]
    g = h
    while True:
        start[g] = b
        g = twin[previous_half(g)]
        if g == h:
            break
    for side in (h, t):
        left, right = twin[next_half(side)], twin[previous_half(side)]
        twin[left], twin[right] = right, left
        edge[start[left]], edge[start[right]] = left, right
    for side in (h, t):
        triangle = side // 3
        start[3 * triangle : 3 * triangle + 3] = -1
    edge[a] = -1


@kernel
def collapse_edges(net: Net, halves: Ints, shortest: float, longest: float, least: float, most: int) -> int:
    """Collapse at most ``most`` edges below ``shortest``, in their order; return how many."""
    done = 0
    for h in halves:
        if done == most:
            break
        if net.start[h] < 0 or edge_ratio(net, net.start[h], net.start[net.twin[h]]) > shortest:
            continue
        if _collapsible(net, h, longest, least, 4):
            collapse_edge(net, h)
            done += 1
        elif _collapsible(net, net.twin[h], longest, least, 4):
            collapse_edge(net, net.twin[h])
            done += 1
    return done


@kernel
def collapse_slivers(net: Net, goal: float) -> int:
    """Collapse the shortest edge of every triangle worse than ``goal``, where that improves the mesh."""
    done = 0
    for h in range(3 * net.used[1]):
        if net.start[h] < 0:
            continue
        i, j, k = net.start[h], net.start[next_half(h)], net.start[previous_half(h)]
        if net.kind[i] == APEX or net.kind[j] == APEX or net.kind[k] == APEX:
            continue
        if _quality(net, i, j, k) > goal or edge_ratio(net, i, j) > min(
            edge_ratio(net, j, k), edge_ratio(net, k, i)
        ):
            continue
        if _collapsible(net, h, 3.0, goal, 3):
            collapse_edge(net, h)
            done += 1
        elif _collapsible(net, net.twin[h], 3.0, goal, 3):
            collapse_edge(net, net.twin[h])
            done += 1
    return done


@kernel
def _set(net: Net, triangle: int, i: int, j: int, k: int, ti: int, tj: int, tk: int) -> None:
    """Write a triangle with the twins of its three half-edges."""
    h = 3 * triangle
    net.start[h], net.start[h + 1], net.start[h + 2] = i, j, k
    net.twin[h], net.twin[h + 1], net.twin[h + 2] = ti, tj, tk
    net.twin[ti], net.twin[tj], net.twin[tk] = h, h + 1, h + 2
    net.edge[i], net.edge[j], net.edge[k] = h, h + 1, h + 2


@kernel
def split_edge(net: Net, h: int) -> int:
    """Put a vertex in the middle of an edge that is no edge of a cone; return its number."""
    t = net.twin[h]
    a, b = net.start[h], net.start[t]
    c, d = net.start[previous_half(h)], net.start[previous_half(t)]
    m = net.used[0]
    net.used[0] += 1
    net.point[m] = 0.5 * (net.point[a] + net.point[b])
    net.size[m] = 0.5 * (net.size[a] + net.size[b])
    net.kind[m] = RIM if net.kind[c] == APEX or net.kind[d] == APEX else INSIDE
    f0, f1, f2, f3 = h // 3, t // 3, net.used[1], net.used[1] + 1
    net.used[1] += 2
    bc, ca = net.twin[next_half(h)], net.twin[previous_half(h)]
    ad, db = net.twin[next_half(t)], net.twin[previous_half(t)]
    _set(net, f0, a, m, c, 3 * f1 + 2, 3 * f2 + 2, ca)
    _set(net, f2, m, b, c, 3 * f3 + 0, bc, 3 * f0 + 1)
    _set(net, f1, a, d, m, ad, 3 * f3 + 1, 3 * f0 + 0)
    _set(net, f3, b, m, d, 3 * f2 + 0, 3 * f1 + 1, db)
    return int(m)


@kernel
def flip_edges(net: Net, passes: int, least: float, most: float) -> int:
    """Flip edges while that improves the worse of two triangles, if its quality is in [least, most]."""
    done = 0
    start, twin = net.start, net.twin
    for _ in range(passes):
        before = done
        for h in range(3 * net.used[1]):
            if start[h] < 0 or h > twin[h]:
                continue
            t = twin[h]
            a, b = start[h], start[t]
            c, d = start[previous_half(h)], start[previous_half(t)]
            if net.kind[a] == APEX or net.kind[b] == APEX or net.kind[c] == APEX or net.kind[d] == APEX:
                continue
            now = min(_quality(net, a, b, c), _quality(net, b, a, d))
            if now < least or now > most:
                continue
            if min(_quality(net, a, d, c), _quality(net, d, b, c)) <= now + 1e-6:
                continue
            if min(_valence(twin, net.edge[a]), _valence(twin, net.edge[b])) <= 4:
                continue
            if _reaches(start, twin, net.edge[c], d):
                continue
            f0, f1 = h // 3, t // 3
            bc, ca = twin[next_half(h)], twin[previous_half(h)]
            ad, db = twin[next_half(t)], twin[previous_half(t)]
            _set(net, f0, a, d, c, ad, 3 * f1 + 2, ca)
            _set(net, f1, d, b, c, db, bc, 3 * f0 + 1)
            done += 1
        if done == before:
            break
    return done


@kernel
def worst_quality(net: Net, v: int) -> float:
    """Return the least quality of the triangles about a vertex."""
    least = 1.0
    e = net.edge[v]
    while True:
        least = min(least, _quality(net, v, net.start[next_half(e)], net.start[previous_half(e)]))
        e = net.twin[previous_half(e)]
        if e == net.edge[v]:
            break
    return float(least)


@kernel
def step_to_middle(net: Net, v: int) -> tuple[float, float, float]:
    """Return the step along the surface from a vertex to the weighted middle of its triangles."""
    point, normal = net.point[v], net.normal[v]
    total = 0.0
    mx, my, mz = 0.0, 0.0, 0.0
    e = net.edge[v]
    while True:
        q, r = net.point[net.start[next_half(e)]], net.point[net.start[previous_half(e)]]
        ux, uy, uz = q[0] - point[0], q[1] - point[1], q[2] - point[2]
        vx, vy, vz = r[0] - point[0], r[1] - point[1], r[2] - point[2]
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        size = (net.size[net.start[next_half(e)]] + net.size[net.start[previous_half(e)]] + net.size[v]) / 3.0
        weight = np.sqrt(nx * nx + ny * ny + nz * nz) / (size * size) + 1e-12
        total += weight
        mx += weight * (ux + vx) / 3.0
        my += weight * (uy + vy) / 3.0
        mz += weight * (uz + vz) / 3.0
        e = net.twin[previous_half(e)]
        if e == net.edge[v]:
            break
    mx, my, mz = mx / total, my / total, mz / total
    off = mx * normal[0] + my * normal[1] + mz * normal[2]
    return mx - off * normal[0], my - off * normal[1], mz - off * normal[2]


def flip_slivers(points: Floats, faces: Ints) -> Ints:
    """Return faces with edges flipped where bent limbs made slivers."""
    net = make_net(points, vertex_normals(points, faces), faces, 0)
    flip_edges(net, 5, 0.0, 0.45)
    return net_arrays(net)[1]
