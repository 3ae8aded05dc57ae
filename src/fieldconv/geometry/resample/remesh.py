"""Remesh a surface with a given number of vertices, each with its position on the old mesh.

Vertices of the new mesh slide over the old one: each records the triangle it lies in and moves to triangles
around it, never across a gap, so that limbs that touch stay apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import kernel
from fieldconv.geometry.mesh import halfedge
from fieldconv.geometry.mesh.halfedge import APEX, INSIDE, Net
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import manifold_part, renumber

EQUILATERAL = 0.866  # area of a vertex among equal triangles, in edge lengths squared
MIN_SIZE, MAX_SIZE = 0.15, 4.0  # limits of wanted edge lengths, relative to those of an even mesh


class Reference(NamedTuple):
    """The old mesh, for compiled loops."""

    point: Floats
    normal: Floats
    size: Floats  # wanted edge length
    corner: Ints  # (F, 3)
    first: Ints  # ring[first[v]:first[v + 1]] are the triangles about vertex v
    ring: Ints


def make_reference(mesh: Mesh, size: Floats) -> Reference:
    order = np.argsort(mesh.faces.ravel(), kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(mesh.faces.ravel(), minlength=len(mesh.vertices)))])
    return Reference(mesh.vertices, mesh.vertex_normals, size, mesh.faces, first, order // 3)


@kernel
def nearest_in_triangle(
    reference: Reference, face: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return the squared distance of a point to a triangle, and two barycentric coordinates of the foot."""
    p = reference.point[reference.corner[face, 0]]
    q = reference.point[reference.corner[face, 1]]
    r = reference.point[reference.corner[face, 2]]
    ux, uy, uz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    vx, vy, vz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    wx, wy, wz = x - p[0], y - p[1], z - p[2]
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    wu, wv = wx * ux + wy * uy + wz * uz, wx * vx + wy * vy + wz * vz
    ww = wx * wx + wy * wy + wz * wz
    determinant = uu * vv - uv * uv
    s = (vv * wu - uv * wv) / (determinant + 1e-300)
    t = (uu * wv - uv * wu) / (determinant + 1e-300)
    if determinant > 1e-14 * uu * vv and s >= 0.0 and t >= 0.0 and s + t <= 1.0:
        rest = ww - s * wu - t * wv
        return max(rest, 0.0), s, t
    # Outside: the nearest of the three sides.
    best, bs, bt = np.inf, 0.0, 0.0
    along = min(max(wu / (uu + 1e-300), 0.0), 1.0)
    away = ww - 2.0 * along * wu + along * along * uu
    if away < best:
        best, bs, bt = away, along, 0.0
    along = min(max(wv / (vv + 1e-300), 0.0), 1.0)
    away = ww - 2.0 * along * wv + along * along * vv
    if away < best:
        best, bs, bt = away, 0.0, along
    side = uu - 2.0 * uv + vv
    along = min(max((wv - wu - uv + uu) / (side + 1e-300), 0.0), 1.0)
    s, t = 1.0 - along, along
    away = ww - 2.0 * (s * wu + t * wv) + s * s * uu + 2.0 * s * t * uv + t * t * vv
    if away < best:
        best, bs, bt = away, s, t
    return max(best, 0.0), bs, bt


@kernel
def settle(reference: Reference, face: int, x: float, y: float, z: float) -> tuple[int, float, float, float]:
    """Walk to the triangle nearest to a point; return it, the squared distance, barycentric coordinates."""
    best, s, t = nearest_in_triangle(reference, face, x, y, z)
    for _ in range(200):
        previous = face
        a, b, c = 1.0 - s - t > 1e-9, s > 1e-9, t > 1e-9
        if a and b and c:
            break  # the foot is inside: no neighbour is nearer
        for corner in range(3):
            # Only neighbours at the side or corner where the nearest place is.
            if not ((corner == 0 and a) or (corner == 1 and b) or (corner == 2 and c)):
                continue
            v = reference.corner[previous, corner]
            for k in range(reference.first[v], reference.first[v + 1]):
                other = reference.ring[k]
                if other == previous:
                    continue
                away, os, ot = nearest_in_triangle(reference, other, x, y, z)
                if away < best * (1.0 - 1e-9) - 1e-30:
                    best, s, t, face = away, os, ot, other
        if face == previous:
            break
    return face, best, s, t


@kernel
def settle_all(reference: Reference, face: Ints, points: Floats) -> tuple[Ints, Floats]:
    """Return the triangle and barycentric coordinates nearest to each point, found from given triangles."""
    found = np.empty(len(points), np.int64)
    share = np.empty((len(points), 3))
    for v in range(len(points)):
        found[v], _, s, t = settle(reference, face[v], points[v, 0], points[v, 1], points[v, 2])
        share[v, 0], share[v, 1], share[v, 2] = 1.0 - s - t, s, t
    return found, share


@kernel
def _place(net: Net, reference: Reference, face: Ints, share: Floats, v: int, start: int) -> None:
    """Move a vertex onto the old mesh, looking from triangle ``start`` on."""
    point = net.point[v]
    found, _, s, t = settle(reference, start, point[0], point[1], point[2])
    face[v] = found
    share[v, 0], share[v, 1], share[v, 2] = 1.0 - s - t, s, t
    size = 0.0
    nx, ny, nz = 0.0, 0.0, 0.0
    point[:] = 0.0
    for corner in range(3):
        w = share[v, corner]
        c = reference.corner[found, corner]
        for axis in range(3):
            point[axis] += w * reference.point[c, axis]
        nx += w * reference.normal[c, 0]
        ny += w * reference.normal[c, 1]
        nz += w * reference.normal[c, 2]
        size += w * reference.size[c]
    norm = np.sqrt(nx * nx + ny * ny + nz * nz)
    if norm > 1e-6:
        net.normal[v, 0], net.normal[v, 1], net.normal[v, 2] = nx / norm, ny / norm, nz / norm
    net.size[v] = size


@kernel
def _split(
    net: Net, reference: Reference, face: Ints, share: Floats, halves: Ints, longest: float, max_splits: int
) -> int:
    """Split edges above ``longest``, in the given order, at most ``max_splits``; return their number."""
    done = 0
    for h in halves:
        if done == max_splits or net.used[0] == len(net.point):
            break
        a, b = net.start[h], net.start[net.twin[h]]
        if a < 0 or net.kind[a] == APEX or net.kind[b] == APEX or halfedge.edge_ratio(net, a, b) < longest:
            continue
        c, d = net.start[halfedge.previous_half(h)], net.start[halfedge.previous_half(net.twin[h])]
        m = halfedge.split_edge(net, h)
        net.normal[m] = net.normal[a]
        _place(net, reference, face, share, m, face[a])
        if _meets(net, m, a) or _meets(net, m, b) or _meets(net, m, c) or _meets(net, m, d):
            # In a valley, all near points move to the one vertex at its bottom: undo the split.
            halfedge.collapse_edge(net, net.twin[3 * (h // 3)])
        else:
            done += 1
    return done


@kernel
def _meets(net: Net, a: int, b: int) -> bool:
    """Whether two vertices are so close that a triangle between them has no area."""
    return bool(net.kind[b] != APEX and halfedge.edge_ratio(net, a, b) < 0.01)


@kernel
def _relax(net: Net, reference: Reference, face: Ints, share: Floats, passes: int) -> None:
    """Move vertices along the surface towards the middle of their triangles; rims stay."""
    old, normal, weight = np.empty(3), np.empty(3), np.empty(3)
    for _ in range(passes):
        for v in range(net.used[0]):
            if net.edge[v] < 0 or net.kind[v] != INSIDE:
                continue
            before = halfedge.worst_quality(net, v)
            old[:], normal[:], weight[:] = net.point[v], net.normal[v], share[v]
            size, where = net.size[v], face[v]
            mx, my, mz = halfedge.step_to_middle(net, v)
            net.point[v, 0] += mx
            net.point[v, 1] += my
            net.point[v, 2] += mz
            _place(net, reference, face, share, v, where)
            if halfedge.worst_quality(net, v) < min(before, 0.25):
                net.point[v], net.normal[v], share[v] = old, normal, weight
                net.size[v], face[v] = size, where


def even_size(mesh: Mesh, vertices: int) -> float:
    """Return the edge length of equal triangles that cover the mesh with ``vertices`` vertices."""
    return float(np.sqrt(mesh.area / (EQUILATERAL * vertices)))


def unevenness(points: Floats, rng: np.random.Generator, strength: float) -> Floats:
    """Return a factor per point, a random wave in space that spans about 1 : 10 for strength 1."""
    centred = points - points.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=1).mean())
    waves, phases = 1.5 * rng.standard_normal((4, 3)), rng.uniform(0, 2 * np.pi, 4)
    return np.asarray(np.exp(strength * np.cos(centred @ waves.T / scale + phases).sum(axis=1) / 2))


def remesh(
    mesh: Mesh, vertices: int, rng: np.random.Generator, *, density: Floats | None = None, rounds: int = 3
) -> tuple[Mesh, csr_array]:
    """Return the surface with another triangulation, and the shares (V_new, V) of old vertices in new ones.

    Edges are collapsed, split and flipped and vertices moved along the surface, in an order drawn by ``rng``.
    Holes, rims and connected components stay. Parts that branch, or face the wrong way, are left out.

    Parameters
    ----------
    vertices : int
        Number of vertices of the new mesh; it may have a few more or fewer where the topology requires it.
    density : (V,) float, optional
        Wanted edge length at each vertex relative to others; equal by default.
    rounds : int
        How often triangles are improved.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> finer, origin = remesh(tetrahedron, 100, np.random.default_rng(0))
    >>> len(finer.vertices), bool(np.allclose(origin @ tetrahedron.vertices, finer.vertices))
    (100, True)
    """
    kept, faces = renumber(manifold_part(len(mesh.vertices), mesh.faces))
    old = Mesh(mesh.vertices[kept], faces)
    size: Floats = np.ones(len(kept)) if density is None else np.asarray(density, np.float64)[kept]
    size = _scale(size, old, vertices)
    reference = make_reference(old, size)

    room = max(0, 2 * vertices - len(kept)) + vertices // 2
    net = halfedge.make_net(old.vertices, old.vertex_normals, old.faces, room)
    net.size[: len(kept)] = size
    face = np.zeros(len(net.point), np.int64)
    face[: len(kept)] = reference.ring[reference.first[:-1]]
    share = np.zeros((len(net.point), 3))
    share[: len(kept)] = old.faces[face[: len(kept)]] == np.arange(len(kept))[:, None]
    on = (net, reference, face, share)

    def count() -> int:
        return int(((net.edge[: net.used[0]] >= 0) & (net.kind[: net.used[0]] != APEX)).sum())

    def by_length(chance: float = 0.0) -> Ints:
        half, ratio = halfedge.edge_ratios(net)
        return np.asarray(half[np.argsort(ratio * np.exp(chance * rng.standard_normal(len(ratio))))])

    if count() > 1.2 * vertices:
        for shortest in (0.35, 0.55, 0.75):
            while halfedge.collapse_edges(net, by_length(0.2), shortest, 1.4, 0.2, -1) > 0.05 * count():
                pass
            halfedge.flip_edges(net, 2, -np.inf, 1.0)
    for _ in range(rounds):
        _split(*on, by_length(0.2)[::-1], 1.4, -1)
        halfedge.collapse_edges(net, by_length(0.2), 0.7, 1.4, 0.2, -1)
        halfedge.flip_edges(net, 2, -np.inf, 1.0)
        _relax(*on, 2)
    for attempt in range(10):
        surplus = count() - vertices
        if surplus > 0:  # less strict with every round
            halfedge.collapse_edges(
                net, by_length(), 3.0, 2.0 + 0.5 * attempt, 0.35 - 0.035 * attempt, surplus
            )
        elif surplus < 0:
            _split(*on, by_length()[::-1], 0.0, -surplus)
        halfedge.flip_edges(net, 2, -np.inf, 1.0)
        _relax(*on, 1)
        if halfedge.collapse_slivers(net, 0.0 if attempt else 0.2) == 0 and count() == vertices:
            break

    points, triangles = halfedge.net_arrays(net)
    used = halfedge.net_vertices(net)
    rows = np.repeat(np.arange(len(used)), 3)
    columns = kept[old.faces[face[used]]].ravel()
    origin = csr_array((share[used].ravel(), (rows, columns)), (len(used), len(mesh.vertices)))
    origin.sum_duplicates()
    origin.eliminate_zeros()
    return Mesh(points, triangles, mesh.name), origin


def _scale(size: Floats, mesh: Mesh, vertices: int) -> Floats:
    """Edge lengths in the given proportions, within limits, that give ``vertices`` vertices."""
    even = even_size(mesh, vertices)
    factor = even / float(np.median(size))
    for _ in range(20):
        lengths = np.clip(factor * size, MIN_SIZE * even, MAX_SIZE * even)
        factor *= float(np.sqrt((mesh.vertex_areas / (EQUILATERAL * lengths**2)).sum() / vertices))
    return np.asarray(np.clip(factor * size, MIN_SIZE * even, MAX_SIZE * even))
