"""Even, well-shaped triangles: split, collapse, flip and relax a closed mesh on the solid's surface.

Half-edge ``h`` of triangle ``h // 3`` starts at vertex ``start[h]``; ``twin[h]`` is the same edge seen from
the other triangle. Removed triangles have start −1, removed vertices have no half-edge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldconv._compiled import kernel

from .skeleton import Array
from .solid import Faces, Solid, field, lattice_surface, project, project_all

Index = NDArray[np.int64]


GOOD_ANGLE = 20.0  # degrees; a mesh whose triangles all exceed it is kept at once
BLUR = 0.2  # normals are means over this share of the edge length, so that creases do not upset them


class Net(NamedTuple):
    """A closed triangle mesh that can change; the arrays have room to grow."""

    point: Array
    normal: Array
    size: Array  # wanted edge length at the vertex
    edge: Index  # a half-edge that starts at the vertex, or −1
    start: Index
    twin: Index
    used: Index  # vertices and triangles in use, removed ones included


@kernel
def _next(h: int) -> int:
    return h - 2 if h % 3 == 2 else h + 1


@kernel
def _previous(h: int) -> int:
    return h + 2 if h % 3 == 0 else h - 1


def make_net(points: Array, normals: Array, faces: Faces, room: int) -> Net:
    """Find twins; leave room for ``room`` more vertices."""
    start = faces.ravel()
    end = np.roll(faces, -1, axis=1).ravel()
    count = len(points)
    order = np.argsort(np.minimum(start, end) * count + np.maximum(start, end), kind="stable").reshape(-1, 2)
    twin = np.empty(len(start), np.int64)
    twin[order[:, 0]], twin[order[:, 1]] = order[:, 1], order[:, 0]
    edge = np.full(count, -1, np.int64)
    edge[start] = np.arange(len(start))
    used = np.array([count, len(faces)])

    def roomy(array: NDArray[Any], more: int) -> NDArray[Any]:
        return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])

    return Net(
        roomy(points, room), roomy(normals, room), np.ones(count + room), roomy(edge, room),
        roomy(start, 6 * room), roomy(twin, 6 * room), used,
    )  # fmt: skip


def net_arrays(net: Net) -> tuple[Array, Faces]:
    """Points and triangles, without the removed ones."""
    vertices, triangles = net.used
    keep = net.edge[:vertices] >= 0
    number = np.cumsum(keep) - 1
    faces = net.start[: 3 * triangles].reshape(-1, 3)
    return net.point[:vertices][keep], number[faces[faces[:, 0] >= 0]]


@kernel
def _quality(net: Net, i: int, j: int, k: int) -> float:
    """Sine of the least angle of a triangle; negative where it faces away from the surface."""
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
    # The rim of a fin may look sideways, so it is the mean that counts, unless a corner looks well away.
    mean, facing = 0.0, 1.0
    for m in (i, j, k):
        normal = net.normal[m]
        cosine = (nx * normal[0] + ny * normal[1] + nz * normal[2]) / area
        facing = min(facing, cosine)
        mean += cosine / 3.0
    facing = min(mean - 0.3, facing - 0.1)
    return float(facing if facing < 0.0 else sine)


@kernel
def _ratio(net: Net, i: int, j: int) -> float:
    """Edge length over wanted edge length."""
    p, q = net.point[i], net.point[j]
    dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return float(np.sqrt(dx * dx + dy * dy + dz * dz) / (0.5 * (net.size[i] + net.size[j])))


@kernel
def edge_ratios(net: Net) -> tuple[Index, Array]:
    """One half-edge of every edge, with its length over the wanted one."""
    half = np.empty(3 * net.used[1], np.int64)
    ratio = np.empty(3 * net.used[1])
    count = 0
    for h in range(3 * net.used[1]):
        if net.start[h] >= 0 and h < net.twin[h]:
            half[count] = h
            ratio[count] = _ratio(net, net.start[h], net.start[net.twin[h]])
            count += 1
    return half[:count], ratio[:count]


@kernel
def _collapsible(net: Net, h: int, longest: float, least: float, fewest: int) -> bool:
    """Whether vertex a = start of ``h`` may be pulled onto the end b.

    The topology stays, no edge grows beyond ``longest``, no triangle falls below quality ``least`` unless
    there was a worse one before, no vertex is left with fewer than ``fewest`` triangles.
    """
    start, twin = net.start, net.twin
    a, b = start[h], start[twin[h]]
    c, d = start[_previous(h)], start[_previous(twin[h])]
    # Link condition: a and b share the neighbours c and d only.
    shared = 0
    g = h
    while True:
        neighbour = start[twin[g]]
        if neighbour != b:
            e = net.edge[b]
            while True:
                if start[twin[e]] == neighbour:
                    shared += 1
                    break
                e = twin[_previous(e)]
                if e == net.edge[b]:
                    break
            if _ratio(net, neighbour, b) > longest:
                return False
        g = twin[_previous(g)]
        if g == h:
            break
    if shared != 2:
        return False
    for apex in (c, d):
        valence = 0
        e = net.edge[apex]
        while True:
            valence += 1
            e = twin[_previous(e)]
            if e == net.edge[apex]:
                break
        if valence <= fewest:
            return False
    before, after = 1.0, 1.0
    g = h
    while True:
        i, j = start[_next(g)], start[_previous(g)]
        before = min(before, _quality(net, a, i, j))
        if i != b and j != b:
            after = min(after, _quality(net, b, i, j))
        g = twin[_previous(g)]
        if g == h:
            break
    return bool(after > max(min(least, before), 0.02))


@kernel
def _collapse(net: Net, h: int) -> None:
    """Pull the start of ``h`` onto its end and remove the two triangles between."""
    start, twin, edge = net.start, net.twin, net.edge
    t = twin[h]
    a, b = start[h], start[t]
    g = h
    while True:
        start[g] = b
        g = twin[_previous(g)]
        if g == h:
            break
    for side in (h, t):
        left, right = twin[_next(side)], twin[_previous(side)]
        twin[left], twin[right] = right, left
        edge[start[left]], edge[start[right]] = left, right
    for side in (h, t):
        triangle = side // 3
        start[3 * triangle : 3 * triangle + 3] = -1
    edge[a] = -1


@kernel
def collapse_edges(net: Net, halves: Index, shortest: float, longest: float, least: float, most: int) -> int:
    """Collapse edges below ``shortest``, in the given order, at most ``most``; give their number."""
    done = 0
    for h in halves:
        if done == most:
            break
        if net.start[h] < 0 or _ratio(net, net.start[h], net.start[net.twin[h]]) > shortest:
            continue
        if _collapsible(net, h, longest, least, 4):
            _collapse(net, h)
            done += 1
        elif _collapsible(net, net.twin[h], longest, least, 4):
            _collapse(net, net.twin[h])
            done += 1
    return done


@kernel
def collapse_slivers(net: Net, goal: float) -> int:
    """Collapse the shortest edge of every triangle worse than ``goal``, where that makes things better."""
    done = 0
    for h in range(3 * net.used[1]):
        if net.start[h] < 0:
            continue
        i, j, k = net.start[h], net.start[_next(h)], net.start[_previous(h)]
        if _quality(net, i, j, k) > goal or _ratio(net, i, j) > min(_ratio(net, j, k), _ratio(net, k, i)):
            continue
        if _collapsible(net, h, 3.0, goal, 3):
            _collapse(net, h)
            done += 1
        elif _collapsible(net, net.twin[h], 3.0, goal, 3):
            _collapse(net, net.twin[h])
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
def split_edges(net: Net, solid: Solid, halves: Index, longest: float, most: int) -> int:
    """Split edges above ``longest``, in the given order, at most ``most``; give their number."""
    done = 0
    distance = np.empty(len(solid.parent))
    for h in halves:
        if done == most or net.used[0] == len(net.point):
            break
        t = net.twin[h]
        a, b = net.start[h], net.start[t]
        if a < 0 or _ratio(net, a, b) < longest:
            continue
        c, d = net.start[_previous(h)], net.start[_previous(t)]
        m = net.used[0]
        net.used[0] += 1
        net.point[m] = 0.5 * (net.point[a] + net.point[b])
        net.size[m] = 0.5 * (net.size[a] + net.size[b])
        nx, ny, nz = project(solid, net.point[m], distance, 4, BLUR * net.size[m])
        net.normal[m, 0], net.normal[m, 1], net.normal[m, 2] = nx, ny, nz
        f0, f1, f2, f3 = h // 3, t // 3, net.used[1], net.used[1] + 1
        net.used[1] += 2
        bc, ca = net.twin[_next(h)], net.twin[_previous(h)]
        ad, db = net.twin[_next(t)], net.twin[_previous(t)]
        _set(net, f0, a, m, c, 3 * f1 + 2, 3 * f2 + 2, ca)
        _set(net, f2, m, b, c, 3 * f3 + 0, bc, 3 * f0 + 1)
        _set(net, f1, a, d, m, ad, 3 * f3 + 1, 3 * f0 + 0)
        _set(net, f3, b, m, d, 3 * f2 + 0, 3 * f1 + 1, db)
        done += 1
    return done


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
            c, d = start[_previous(h)], start[_previous(t)]
            now = min(_quality(net, a, b, c), _quality(net, b, a, d))
            if now < least or now > most:
                continue
            if min(_quality(net, a, d, c), _quality(net, d, b, c)) <= now + 1e-6:
                continue
            allowed = True
            for end in (a, b):
                valence = 0
                e = net.edge[end]
                while True:
                    valence += 1
                    e = twin[_previous(e)]
                    if e == net.edge[end]:
                        break
                allowed &= valence > 4
            e = net.edge[c]
            while True:
                allowed &= start[twin[e]] != d
                e = twin[_previous(e)]
                if e == net.edge[c]:
                    break
            if not allowed:
                continue
            f0, f1 = h // 3, t // 3
            bc, ca = twin[_next(h)], twin[_previous(h)]
            ad, db = twin[_next(t)], twin[_previous(t)]
            _set(net, f0, a, d, c, ad, 3 * f1 + 2, ca)
            _set(net, f1, d, b, c, db, bc, 3 * f0 + 1)
            done += 1
        if done == before:
            break
    return done


@kernel
def _worst(net: Net, v: int) -> float:
    """Least quality of the triangles about a vertex."""
    least = 1.0
    e = net.edge[v]
    while True:
        least = min(least, _quality(net, v, net.start[_next(e)], net.start[_previous(e)]))
        e = net.twin[_previous(e)]
        if e == net.edge[v]:
            break
    return float(least)


@kernel
def relax(net: Net, solid: Solid, passes: int) -> None:
    """Move vertices along the surface towards the middle of their triangles, small ones counting more."""
    distance = np.empty(len(solid.parent))
    old = np.empty(3)
    for _ in range(passes):
        for v in range(net.used[0]):
            if net.edge[v] < 0:
                continue
            point, normal = net.point[v], net.normal[v]
            old[:] = point
            total = 0.0
            mx, my, mz = 0.0, 0.0, 0.0
            e = net.edge[v]
            while True:
                q, r = net.point[net.start[_next(e)]], net.point[net.start[_previous(e)]]
                ux, uy, uz = q[0] - point[0], q[1] - point[1], q[2] - point[2]
                vx, vy, vz = r[0] - point[0], r[1] - point[1], r[2] - point[2]
                nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
                size = (net.size[net.start[_next(e)]] + net.size[net.start[_previous(e)]] + net.size[v]) / 3.0
                weight = np.sqrt(nx * nx + ny * ny + nz * nz) / (size * size) + 1e-12
                total += weight
                mx += weight * (ux + vx) / 3.0
                my += weight * (uy + vy) / 3.0
                mz += weight * (uz + vz) / 3.0
                e = net.twin[_previous(e)]
                if e == net.edge[v]:
                    break
            mx, my, mz = mx / total, my / total, mz / total
            off = mx * normal[0] + my * normal[1] + mz * normal[2]
            before = _worst(net, v)
            point[0] += mx - off * normal[0]
            point[1] += my - off * normal[1]
            point[2] += mz - off * normal[2]
            ox, oy, oz = normal[0], normal[1], normal[2]
            nx, ny, nz = project(solid, point, distance, 3, BLUR * net.size[v])
            normal[0], normal[1], normal[2] = nx, ny, nz
            if _worst(net, v) < min(before, 0.25):
                point[:] = old
                normal[0], normal[1], normal[2] = ox, oy, oz


@kernel
def mend(net: Net, solid: Solid, goal: float, passes: int) -> int:
    """Move each vertex of a triangle worse than ``goal`` to where its worst triangle is best."""
    distance = np.empty(len(solid.parent))
    old, best = np.empty(3), np.empty(3)
    bad = 0
    for _ in range(passes):
        bad = 0
        for v in range(net.used[0]):
            if net.edge[v] < 0:
                continue
            value = _worst(net, v)
            if value > goal:
                continue
            bad += 1
            point, normal = net.point[v], net.normal[v]
            step = 0.25 * net.size[v]
            for _ in range(6):
                old[:] = point
                best[:] = point
                ox, oy, oz = normal[0], normal[1], normal[2]
                bx, by, bz = ox, oy, oz
                # Two directions along the surface.
                if abs(ox) < 0.6:
                    ax, ay, az = 0.0, oz, -oy
                else:
                    ax, ay, az = -oz, 0.0, ox
                norm = np.sqrt(ax * ax + ay * ay + az * az)
                ax, ay, az = ax / norm, ay / norm, az / norm
                cx, cy, cz = oy * az - oz * ay, oz * ax - ox * az, ox * ay - oy * ax
                for direction in range(8):
                    s, t = np.cos(direction * np.pi / 4), np.sin(direction * np.pi / 4)
                    point[0] = old[0] + step * (s * ax + t * cx)
                    point[1] = old[1] + step * (s * ay + t * cy)
                    point[2] = old[2] + step * (s * az + t * cz)
                    nx, ny, nz = project(solid, point, distance, 3, BLUR * net.size[v])
                    normal[0], normal[1], normal[2] = nx, ny, nz
                    now = _worst(net, v)
                    if now > value + 1e-9:
                        value = now
                        best[:] = point
                        bx, by, bz = nx, ny, nz
                if best[0] == old[0] and best[1] == old[1] and best[2] == old[2]:
                    step *= 0.5
                point[:] = best
                normal[0], normal[1], normal[2] = bx, by, bz
        if bad == 0:
            break
    return bad


@kernel
def longest_edge(solid: Solid, points: Array) -> Array:
    """The edge length that still resolves the solid at each point; it grows away from thin bones."""
    result = np.empty(len(points))
    distance = np.empty(len(solid.parent))
    for i in range(len(points)):
        field(solid, points[i, 0], points[i, 1], points[i, 2], distance)
        least = np.inf
        for b in range(len(solid.parent)):
            least = min(least, 1.4 * solid.girth[b] + 0.5 * max(distance[b], 0.0))
        result[i] = least
    return result


def random_turn(rng: np.random.Generator) -> Array:
    """A random rotation matrix."""
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q *= np.sign(np.diag(r))
    return np.asarray(q * np.linalg.det(q))


def _sizes(length: float, longest: Array, uneven: Array) -> Array:
    """Wanted edge lengths; thin parts allow no great ones, however uneven."""
    return np.asarray(np.minimum(length * uneven, longest * np.minimum(uneven, 1.2)))


def _edge_lengths(area: Array, longest: Array, uneven: Array, vertices: int) -> tuple[float, float]:
    """The (length, factor) for which `_sizes` takes that many vertices."""

    def count(length: float) -> float:
        return float((area / (0.866 * _sizes(length, longest, uneven) ** 2)).sum())

    low, high = 1e-4, 1e2
    if count(high) > vertices:
        return high, float(np.sqrt(count(high) / vertices))
    for _ in range(50):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if count(middle) > vertices else (low, middle)
    return high, 1.0


def vertex_areas(points: Array, faces: Faces) -> Array:
    """A third of the area of the triangles about each vertex."""
    p, q, r = points[faces.T]
    area = np.linalg.norm(np.cross(q - p, r - p), axis=1) / 6
    return np.bincount(faces.ravel(), np.repeat(area, 3), len(points)).astype(float)


def least_angle(points: Array, faces: Faces) -> float:
    """The smallest angle of all triangles, in degrees."""
    p, q, r = points[faces.T]
    edges = np.stack([q - p, r - q, p - r])
    edges /= np.linalg.norm(edges, axis=2, keepdims=True) + 1e-300
    cosine = -(edges * np.roll(edges, 1, axis=0)).sum(axis=2)
    return float(np.degrees(np.arccos(np.clip(cosine.max(), -1, 1))))


def vertex_normals(points: Array, faces: Faces) -> Array:
    """Unit normals, triangles counting by their area."""
    p, q, r = points[faces.T]
    normal = np.zeros_like(points)
    np.add.at(normal, faces.ravel(), np.repeat(np.cross(q - p, r - p), 3, axis=0))
    return np.asarray(normal / (np.linalg.norm(normal, axis=1, keepdims=True) + 1e-300))


def flip_slivers(points: Array, faces: Faces) -> Faces:
    """Flip edges of a posed mesh where limbs bent so far that other diagonals fit better."""
    net = make_net(points, vertex_normals(points, faces), faces, 0)
    flip_edges(net, 5, 0.0, 0.45)
    return net_arrays(net)[1]


def _is_closed(faces: Faces) -> bool:
    """Whether each edge is used once in either direction."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    count = int(faces.max()) + 1
    there, back = np.sort(start * count + end), np.sort(end * count + start)
    return bool((there == back).all() and (np.diff(there) > 0).all())


def _genus_zero(solid: Solid, vertices: int, rng: np.random.Generator) -> tuple[Array, Faces]:
    """A lattice surface without handles and with enough vertices to choose from."""
    thinnest = (solid.radii[:, :2] + solid.radii[:, 2:]) / 2 * (1 + solid.swell[:, None])
    cell = rng.uniform(1.3, 1.6) * float(thinnest.min())
    for _ in range(20):
        points, faces = lattice_surface(solid, cell, random_turn(rng), rng.random(3))
        needed = np.sqrt(3.5 * vertex_areas(points, faces).sum() / vertices)
        if cell > 1.1 * needed:
            cell = needed * rng.uniform(0.9, 1.0)
        elif len(points) - len(faces) // 2 == 2 and _is_closed(faces):
            return points, faces
        else:  # a narrow gap was bridged, or a thin part torn: try another lattice
            cell *= 0.95
    raise RuntimeError("The solid is not a topological ball: its bones touch where they should not.")


def triangulate(
    solid: Solid, vertices: int, rng: np.random.Generator, *, uneven: float = 0.0
) -> tuple[Array, Faces]:
    """Mesh the solid's surface with the given number of vertices: closed, manifold, genus 0.

    The lattice is turned, shifted and sized at random, so every call gives another triangulation. Should it
    have a sliver, or the wrong number of vertices, another lattice is tried.
    """
    best, found = -np.inf, None
    for _ in range(4):
        points, faces = _triangulate(solid, vertices, rng, uneven)
        score = least_angle(points, faces) - 100 * abs(len(points) - vertices)
        if score > best:
            best, found = score, (points, faces)
        if score > GOOD_ANGLE:
            break
    assert found is not None
    return found


def _triangulate(solid: Solid, vertices: int, rng: np.random.Generator, uneven: float) -> tuple[Array, Faces]:
    waves, phases = 2.5 * rng.standard_normal((4, 3)), rng.uniform(0, 2 * np.pi, 4)

    def unevenness(points: Array) -> Array:
        return np.asarray(np.exp(uneven * np.cos(points @ waves.T + phases).sum(axis=1) / 2))

    points, faces = _genus_zero(solid, vertices, rng)
    length, factor = _edge_lengths(
        vertex_areas(points, faces), longest_edge(solid, points), unevenness(points), vertices
    )

    def sizes(points: Array) -> Array:
        return factor * _sizes(length, longest_edge(solid, points), unevenness(points))

    def begin(points: Array, faces: Faces, steps: int) -> Net:
        size = sizes(points)
        net = make_net(points, project_all(solid, points, steps, BLUR * size), faces, 2 * vertices)
        net.size[: len(points)] = size
        return net

    def resize() -> None:
        net.size[: net.used[0]] = sizes(net.point[: net.used[0]])

    def count() -> int:
        return int((net.edge[: net.used[0]] >= 0).sum())

    def sorted_edges() -> Index:
        half, ratio = edge_ratios(net)
        return np.asarray(half[np.argsort(ratio, kind="stable")])

    net = begin(points, faces, 1)
    for shortest in (0.3, 0.5, 0.65, 0.75):
        while collapse_edges(net, sorted_edges(), shortest, 1.4, 0.3, -1) > 0.05 * count():
            pass
        flip_edges(net, 3, -np.inf, 1.0)
    net = begin(*net_arrays(net), 3)
    relax(net, solid, 3)
    for _ in range(4):
        resize()
        split_edges(net, solid, sorted_edges()[::-1], 1.4, -1)
        collapse_edges(net, sorted_edges(), 0.7, 1.4, 0.3, -1)
        flip_edges(net, 3, -np.inf, 1.0)
        relax(net, solid, 3)
    for attempt in range(10):
        resize()
        surplus = count() - vertices
        if surplus > 0:  # ever less choosy
            collapse_edges(net, sorted_edges(), 3.0, 2.0 + 0.2 * attempt, 0.4 - 0.03 * attempt, surplus)
        elif surplus < 0:
            split_edges(net, solid, sorted_edges()[::-1], 0.0, -surplus)
        flip_edges(net, 3, -np.inf, 1.0)
        relax(net, solid, 2)
        mend(net, solid, 0.5, 2)
        flip_edges(net, 2, -np.inf, 1.0)
        if count() == vertices and (mend(net, solid, 0.5, 2) == 0 or attempt >= 5):
            break
        if attempt < 9 and count() <= vertices:
            collapse_slivers(net, 0.36)
    return net_arrays(net)
