"""The outer surface of a mesh, as from a scanner: overlapping parts are one solid, narrow gaps are closed.

The signed distance to the mesh is sampled on a lattice and its zero set triangulated again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import kernel
from fieldconv.geometry.damage.lattice import cut_cells, lattice_mesh, random_turn
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import manifold_part, tidy
from fieldconv.geometry.resample.close_holes import close_holes
from fieldconv.geometry.resample.remesh import Reference, make_reference, nearest_in_triangle, settle

MAX_POINTS = 6_000_000  # of the lattice; larger cells keep below


@kernel
def _winding(points: Floats, faces: Ints, shape: tuple[int, int, int], shift: float) -> NDArray[np.int8]:
    """Winding number of the surface about each lattice point: signed crossings of the line from below."""
    nx, ny, nz = shape
    turns = np.zeros((nx, ny, nz), np.int8)
    for f in range(len(faces)):
        a, b, c = points[faces[f, 0]], points[faces[f, 1]], points[faces[f, 2]]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if area == 0.0:
            continue
        sign = 1 if area < 0 else -1
        low_x, high_x = min(a[0], b[0], c[0]) - shift, max(a[0], b[0], c[0]) - shift
        low_y, high_y = min(a[1], b[1], c[1]) - shift, max(a[1], b[1], c[1]) - shift
        for i in range(max(0, int(np.ceil(low_x))), min(nx - 1, int(np.floor(high_x))) + 1):
            for j in range(max(0, int(np.ceil(low_y))), min(ny - 1, int(np.floor(high_y))) + 1):
                x, y = i + shift, j + shift
                u = _side(b, c, x, y)
                v = _side(c, a, x, y)
                w = _side(a, b, x, y)
                if not ((u > 0 and v > 0 and w > 0) or (u < 0 and v < 0 and w < 0)):
                    continue
                z = (u * a[2] + v * b[2] + w * c[2]) / (u + v + w) - shift
                k = max(0, int(np.ceil(z)))
                if k < nz:
                    turns[i, j, k] += sign
    for i in range(nx):
        for j in range(ny):
            for k in range(1, nz):
                turns[i, j, k] += turns[i, j, k - 1]
    return turns


@kernel
def _side(p: Floats, q: Floats, x: float, y: float) -> float:
    """Side of the line p q on which a point lies; exactly opposite for q p, so that no ray is lost."""
    if p[0] < q[0] or (p[0] == q[0] and p[1] < q[1]):
        return float((q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]))
    return -float((p[0] - q[0]) * (y - q[1]) - (p[1] - q[1]) * (x - q[0]))


@kernel
def _distances(
    reference: Reference, shape: tuple[int, int, int], shift: float, band: float
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Distance of each lattice point to the mesh, at most ``band``, and the nearest triangle, or −1."""
    nx, ny, nz = shape
    square = np.full((nx, ny, nz), band * band, np.float32)
    nearest = np.full((nx, ny, nz), -1, np.int32)
    low, high = np.empty(3), np.empty(3)
    for f in range(len(reference.corner)):
        a = reference.point[reference.corner[f, 0]]
        b = reference.point[reference.corner[f, 1]]
        c = reference.point[reference.corner[f, 2]]
        for axis in range(3):
            low[axis] = min(a[axis], b[axis], c[axis]) - band - shift
            high[axis] = max(a[axis], b[axis], c[axis]) + band - shift
        ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        px, py, pz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        norm = np.sqrt(px * px + py * py + pz * pz) + 1e-300
        px, py, pz = px / norm, py / norm, pz / norm
        for i in range(max(0, int(np.ceil(low[0]))), min(nx - 1, int(np.floor(high[0]))) + 1):
            for j in range(max(0, int(np.ceil(low[1]))), min(ny - 1, int(np.floor(high[1]))) + 1):
                for k in range(max(0, int(np.ceil(low[2]))), min(nz - 1, int(np.floor(high[2]))) + 1):
                    x, y, z = i + shift, j + shift, k + shift
                    plane = px * (x - a[0]) + py * (y - a[1]) + pz * (z - a[2])
                    if plane * plane >= square[i, j, k]:  # no triangle is nearer than its plane
                        continue
                    away, _, _ = nearest_in_triangle(reference, f, x, y, z)
                    if away < square[i, j, k]:
                        square[i, j, k] = away
                        nearest[i, j, k] = f
    return np.sqrt(square), nearest


@kernel
def _origins(reference: Reference, points: Floats, normals: Floats, candidates: Ints) -> tuple[Ints, Floats]:
    """The triangle and barycentric coordinates nearest to each point that face the same way, or −1."""
    face = np.full(len(points), -1, np.int64)
    share = np.zeros((len(points), 3))
    for v in range(len(points)):
        best = np.inf
        for m in range(candidates.shape[1]):
            if candidates[v, m] < 0:
                continue
            f, away, s, t = settle(reference, candidates[v, m], points[v, 0], points[v, 1], points[v, 2])
            i, j, k = reference.corner[f]
            facing = 0.0
            for axis in range(3):
                normal = (1 - s - t) * reference.normal[i, axis]
                normal += s * reference.normal[j, axis] + t * reference.normal[k, axis]
                facing += normal * normals[v, axis]
            if facing < 0.0:
                away = 4.0 * away + 1.0
            if away < best:
                best = away
                face[v] = f
                share[v, 0], share[v, 1], share[v, 2] = 1 - s - t, s, t
    return face, share


def outer_surface(
    mesh: Mesh,
    cell: float,
    rng: np.random.Generator,
    *,
    gap: float = 0.0,
    extra: Callable[[Floats], Floats] | None = None,
) -> tuple[Mesh, Ints, Floats]:
    """Return a mesh of the outside of the solid that a mesh encloses, on a random lattice.

    Cones close the holes until inside and outside are known; then they are opened again.

    Parameters
    ----------
    mesh : Mesh
        Facing outward; it may intersect itself.
    cell : float
        Size of the lattice's cells. Triangles are about as large; much smaller details are lost.
    gap : float
        Distance below which parts fuse.
    extra : function of (n, 3) points to (n,), optional
        Negative in a further solid that is joined to the first, roughly a distance near its surface.

    Returns
    -------
    Mesh
        Manifold; the largest component.
    (V,) int64
        The nearest face of the given mesh to each vertex, −1 where none is near.
    (V, 3) float64
        Barycentric coordinates there.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> surface, face, share = outer_surface(tetrahedron, 0.1, np.random.default_rng(0))
    >>> round(surface.area / tetrahedron.area, 1), bool((face >= 0).all())
    (1.0, True)
    """
    faces = manifold_part(len(mesh.vertices), mesh.faces)
    whole = close_holes(Mesh(mesh.vertices, faces))
    points, closed = whole.vertices, whole.faces
    turn, shift = random_turn(rng), rng.random(3)
    extent = np.ptp(points @ turn, axis=0)
    cell = max(cell, float(np.cbrt(2 * extent.prod() / MAX_POINTS)))
    grown = gap / 2 / cell
    band = grown + 1.8
    margin = np.ceil(band) + 1
    low = (points @ turn).min(axis=0) / cell - margin - shift
    count = np.ceil(np.ptp(points @ turn, axis=0) / cell + 2 * margin + 1).astype(int) + 1
    shape = (int(count[0]), int(count[1]), int(count[2]))
    local = Mesh(points @ turn / cell - low, closed)  # in cells
    reference = make_reference(local, np.ones(len(points)))

    value = np.empty((2, *shape), np.float32)
    nearest = np.empty((2, *shape), np.int32)
    for centre in range(2):
        distance, nearest[centre] = _distances(reference, shape, 0.5 * centre, band)
        inside = _winding(local.vertices, closed, shape, 0.5 * centre) > 0
        value[centre] = np.where(inside, -distance, distance) - grown
        if extra is not None:
            grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
            other = extra((grid.reshape(-1, 3) + (low + 0.5 * centre)) * cell @ turn.T) / cell
            np.minimum(value[centre], other.reshape(shape), out=value[centre])
    ends, height, used = cut_cells(
        value, 0, 0, 0, shape[1], shape[2], np.empty((1 << 16, 2), np.int64), np.empty((1 << 16, 2)), 0
    )
    lattice, triangles, numbers = lattice_mesh(ends[:used], height[:used], shape[1], shape[2])
    keep, triangles = tidy(len(lattice), triangles)
    found = Mesh(lattice[keep], triangles)
    i, j, k = np.unravel_index(numbers[keep] // 2, shape)
    candidates = nearest[numbers[keep] % 2, i, j, k].astype(np.int64)
    face, share = _origins(reference, found.vertices, found.vertex_normals, candidates)
    position = (_shrink(found, local, face, share, grown) + low) * cell @ turn.T
    if len(closed) > len(faces):
        real = (face < len(faces)) | (face < 0)
        keep, triangles = tidy(len(lattice), triangles[real[triangles].all(axis=1)])
        position, face, share = position[keep], face[keep], share[keep]
    old_face = np.where(face >= 0, _row_numbers(mesh.faces, faces)[face], -1)
    return Mesh(position, triangles, mesh.name), old_face, share


def _shrink(grown: Mesh, mesh: Mesh, face: Ints, share: Floats, by: float) -> Floats:
    """The surface moved back by as much as the solid was grown, straight to its origin where possible."""
    foot = (share[:, :, None] * mesh.vertices[mesh.faces[face]]).sum(axis=1)
    way = grown.vertices - foot
    way /= np.linalg.norm(way, axis=1, keepdims=True) + 1e-12
    clear = (face >= 0) & ((way * grown.vertex_normals).sum(axis=1) > 0.7)
    return np.asarray(grown.vertices - by * np.where(clear[:, None], way, grown.vertex_normals))


def _row_numbers(faces: Ints, some: Ints) -> Ints:
    """Row of each of some faces in the array of all faces."""
    if len(some) == len(faces):
        return np.arange(len(faces))
    place = {tuple(face): number for number, face in enumerate(faces.tolist())}
    return np.array([place[tuple(face)] for face in some.tolist()], np.int64)
