"""Damage as real scans have it: holes, cuts, missing limbs, noise, contacts, other triangles.

Every kind returns a `Damaged`: the new mesh, and where its vertices lie on the old one, so that labels can
follow. docs/damage.md shows a picture of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import dijkstra

from fieldconv._arrays import Array, Bools, Floats, Ints
from fieldconv.geometry.damage.build_bridge import build_bridge, facing_pairs
from fieldconv.geometry.damage.voxels import outer_surface
from fieldconv.geometry.geodesic.geodesic_discs import tangent_frames
from fieldconv.geometry.mesh import halfedge, topology
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.resample.remesh import EQUILATERAL, even_size, remesh, unevenness
from fieldconv.geometry.resample.resolution import subdivision

MIN_PIECE = 0.02  # share of the faces: smaller pieces that come off are dropped
MIN_VERTICES = 100  # `damage_mesh` makes no mesh coarser than that


@dataclass(frozen=True, eq=False)
class Damaged:
    """A damaged mesh, and where its vertices lie on the old one."""

    mesh: Mesh
    origin: csr_array  # (V, V_old) weights of old vertices; each row sums to 1

    @cached_property
    def nearest(self) -> Ints:
        """(V,) the old vertex with the greatest weight."""
        row = np.repeat(np.arange(self.origin.shape[0]), np.diff(self.origin.indptr))
        order = np.lexsort((self.origin.data, row))
        return np.asarray(self.origin.indices[order[self.origin.indptr[1:] - 1]], np.int64)

    def carry(self, values: Array) -> Array:
        """Return data (V_old, …) at the new vertices: floats averaged, other types from the nearest vertex.

        Examples
        --------
        >>> triangle = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> no_damage(triangle).carry(np.array([3, 1, 2])).tolist()
        [3, 1, 2]
        """
        values = np.asarray(values)
        if values.dtype.kind != "f":
            return np.asarray(values[self.nearest])
        flat = self.origin @ values.reshape(len(values), -1)
        return np.asarray(flat).reshape(-1, *values.shape[1:])

    def then(self, more: Damaged) -> Damaged:
        """Return this damage followed by more, as damage to the original mesh."""
        return Damaged(more.mesh, csr_array(more.origin @ self.origin))


def carry_vectors(vectors: Array, mesh: Mesh, done: Damaged) -> NDArray[np.complex128]:
    """Return tangent vectors (V_old, …) of the old ``mesh`` on the damaged one, in `tangent_frames` of each.

    Examples
    --------
    >>> triangle = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> carry_vectors(np.array([1j, 2, 3]), triangle, no_damage(triangle)).round(9).tolist()
    [1j, (2+0j), (3+0j)]
    """
    flat = np.asarray(vectors, np.complex128).reshape(len(vectors), -1)
    frame, normal = tangent_frames(mesh)
    across = np.cross(normal, frame)
    space = done.carry(flat.real[:, :, None] * frame[:, None] + flat.imag[:, :, None] * across[:, None])
    frame, normal = tangent_frames(done.mesh)
    across = np.cross(normal, frame)
    turned = (space * frame[:, None]).sum(2) + 1j * (space * across[:, None]).sum(2)
    return np.asarray(turned.reshape(-1, *vectors.shape[1:]))


def no_damage(mesh: Mesh) -> Damaged:
    """Return the mesh itself, each vertex its own origin."""
    return Damaged(mesh, _rows(mesh, np.arange(len(mesh.vertices))))


def add_holes(
    mesh: Mesh,
    rng: Generator,
    number: int = 4,
    share: tuple[float, float] = (0.01, 0.03),
    *,
    pieces: float = MIN_PIECE,
) -> Damaged:
    """Return the mesh with ``number`` round holes.

    Parameters
    ----------
    share : (least, greatest)
        Share of the surface that a hole removes.
    pieces : float
        Share of the faces that a detached piece needs to stay; 1 keeps only the largest piece.

    Examples
    --------
    >>> x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    >>> corner = (np.arange(19)[:, None] * 20 + np.arange(19)).reshape(-1, 1)
    >>> sheet = Mesh(np.stack([x, y, 0 * x], -1).reshape(-1, 3), corner + [0, 1, 21, 20])
    >>> torn = add_holes(sheet, np.random.default_rng(0), number=2)
    >>> len(torn.mesh.vertices) < 400, bool((torn.carry(sheet.vertices) == torn.mesh.vertices).all())
    (True, True)
    """
    graph = topology.edge_graph(mesh.vertices, mesh.faces)
    size = _edge_length(mesh)
    area = EQUILATERAL * size**2 * len(mesh.vertices)
    gone = np.zeros(len(mesh.vertices), bool)
    for centre in rng.choice(len(mesh.vertices), number, replace=False):
        radius = max(1.2 * size, np.sqrt(rng.uniform(*share) * area / np.pi))
        gone |= dijkstra(graph, indices=int(centre), limit=radius) <= radius
    return _without(mesh, gone, pieces)


def cut(
    mesh: Mesh,
    rng: Generator,
    share: float = 0.3,
    *,
    direction: ArrayLike | None = None,
    pieces: float = MIN_PIECE,
) -> Damaged:
    """Return the part of the mesh on one side of a plane.

    Parameters
    ----------
    share : float
        Share of the vertices that are removed.
    direction : (3,) float, optional
        Normal of the plane, pointing away from the part that stays; random by default.
    pieces : float
        As for `add_holes`.

    Examples
    --------
    >>> bar = Mesh([[x, y, 0] for x in range(5) for y in (0, 1)],
    ...            [[2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1] for i in range(4)])
    >>> float(cut(bar, np.random.default_rng(0), 0.2, direction=[1, 0, 0]).mesh.vertices[:, 0].max())
    3.0
    """
    away = np.asarray(rng.standard_normal(3) if direction is None else direction, np.float64)
    height = mesh.vertices @ (away / np.linalg.norm(away))
    return _without(mesh, height > np.quantile(height, 1 - share), pieces)


def remove_tip(
    mesh: Mesh, rng: Generator, share: tuple[float, float] = (0.02, 0.12), *, closed: bool | None = None
) -> Damaged:
    """Return the mesh without an end of the shape: the region nearest, along the surface, to a tip.

    Parameters
    ----------
    share : (least, greatest)
        Share of the surface that is removed.
    closed : bool, optional
        Whether the stump is closed; by default chosen at random, with even odds.
    """
    graph = topology.edge_graph(mesh.vertices, mesh.faces)
    near = np.full(len(mesh.vertices), np.inf)
    tips = [int(np.argmax(_distance(graph, int(rng.integers(len(near))))))]
    while len(tips) < 6:  # each is farthest from those before
        near = np.minimum(near, _distance(graph, tips[-1]))
        tips.append(int(np.argmax(near)))
    away = _distance(graph, tips[rng.integers(len(tips))])
    order = np.argsort(away)
    gone = np.zeros(len(mesh.vertices), bool)
    swept = np.cumsum(mesh.vertex_areas[order])
    gone[order[: np.searchsorted(swept, rng.uniform(*share) * mesh.area) + 1]] = True
    stump = _without(mesh, gone, MIN_PIECE)
    closed = bool(rng.integers(2)) if closed is None else closed
    return stump.then(fill_holes(stump.mesh)) if closed else stump


def fill_holes(mesh: Mesh) -> Damaged:
    """Return the mesh with every rim closed by a fan around a new vertex in its middle.

    Examples
    --------
    >>> triangle = Mesh([[0, 0, 0], [3, 0, 0], [0, 3, 0]], [[0, 1, 2]])
    >>> fill_holes(triangle).mesh.vertices[3].tolist()
    [1.0, 1.0, 0.0]
    """
    count = len(mesh.vertices)
    faces, rim = topology.cap_rims(count, topology.manifold_part(count, mesh.faces))
    apex, beside = rim.T
    weight = np.concatenate([np.ones(count), 1 / np.bincount(apex)[apex]])
    row, column = np.append(np.arange(count), apex), np.append(np.arange(count), beside)
    origin = csr_array((weight, (row, column)), (int(row.max()) + 1, count))
    return Damaged(Mesh(origin @ mesh.vertices, faces, mesh.name), origin)


def add_noise(
    mesh: Mesh,
    rng: Generator,
    share: float = 0.003,
    *,
    unit: Literal["diagonal", "edge"] = "diagonal",
    grain: float = 0.0,
    max_deviations: float = np.inf,
) -> Damaged:
    """Return the mesh with its vertices moved along their normals.

    Parameters
    ----------
    share : float
        Standard deviation of the move, in diagonals of the bounding box or in mean edge lengths (``unit``).
    grain : float
        0 moves each vertex independently; otherwise the length of the ripples, in diagonals.
    max_deviations : float
        Largest move, in standard deviations.
    """
    diagonal = np.linalg.norm(np.ptp(mesh.vertices, axis=0))
    size = _edge_length(mesh) if unit == "edge" else diagonal
    if grain:
        waves = rng.standard_normal((48, 3)) * (2 * np.pi / (grain * diagonal)) / np.sqrt(3)
        phase = rng.uniform(0, 2 * np.pi, 48)
        height = np.sqrt(2 / 48) * np.cos(mesh.vertices @ waves.T + phase).sum(axis=1, keepdims=True)
    else:
        height = rng.standard_normal((len(mesh.vertices), 1))
    height = np.clip(height, -max_deviations, max_deviations)
    moved = mesh.vertices + share * size * height * mesh.vertex_normals
    return Damaged(Mesh(moved, mesh.faces, mesh.name), no_damage(mesh).origin)


def smooth(mesh: Mesh, width: float = 0.01) -> Damaged:
    """Return a smoother surface: folds and bumps narrower than ``width``, in diagonals of the box, fade.

    Each vertex moves towards the mean of its neighbours and then a little less far back, repeatedly, so
    that limbs do not shrink.
    """
    mean = topology.neighbour_means(len(mesh.vertices), mesh.faces)
    alone = (np.diff(mean.indptr) == 0)[:, None]
    reach = width * np.linalg.norm(np.ptp(mesh.vertices, axis=0)) / _edge_length(mesh)
    points = mesh.vertices
    for _ in range(min(200, int(np.ceil(2 * reach**2)))):
        for step in (0.6, -0.5):
            points = points + step * np.where(alone, 0, mean @ points - points)
    return Damaged(Mesh(points, mesh.faces, mesh.name), no_damage(mesh).origin)


def retriangulate(mesh: Mesh, rng: Generator, vertices: int | None = None, *, uneven: float = 0.0) -> Damaged:
    """Return the surface with another triangulation.

    Parameters
    ----------
    vertices : int, optional
        Number of vertices of the new mesh; by default unchanged.
    uneven : float
        1 gives triangles of very different sizes, 0 gives equal ones.
    """
    density = unevenness(mesh.vertices, rng, uneven) if uneven else None
    return Damaged(*remesh(mesh, vertices or len(mesh.vertices), rng, density=density))


def refine(mesh: Mesh, vertices: int) -> Damaged:
    """Return the same surface with more vertices, see `fieldconv.geometry.subdivide`.

    Examples
    --------
    >>> triangle = Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
    >>> fine = refine(triangle, 12)
    >>> len(fine.mesh.vertices) > 6, np.allclose(fine.carry(triangle.vertices), fine.mesh.vertices)
    (True, True)
    """
    fine, parents = subdivision(mesh, vertices)
    origin = no_damage(mesh).origin
    for _, ends in parents:
        origin = vstack([origin, 0.5 * (origin[ends[:, 0]] + origin[ends[:, 1]])], "csr")
    return Damaged(fine, csr_array(origin))


def decimate(mesh: Mesh, vertices: int) -> Damaged:
    """Return the mesh with its shortest edges collapsed until ``vertices`` vertices are left.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> fine = retriangulate(tetrahedron, np.random.default_rng(0), 400).mesh
    >>> len(decimate(fine, 200).mesh.vertices)
    200
    """
    kept = np.arange(len(mesh.vertices))
    faces = topology.manifold_part(len(kept), mesh.faces)
    points, normals = mesh.vertices, mesh.vertex_normals
    for _ in range(50):
        more = len(points) - vertices
        if more <= 0:
            break
        net = halfedge.make_net(points, normals, faces, 0)
        halves, length = halfedge.edge_ratios(net)
        halves = halves[np.argsort(length)]
        # Only the shorter half at a time, and none that grow twice as long, so that triangles stay alike.
        if not halfedge.collapse_edges(
            net, halves, float(np.median(length)), 2 * float(length.max()), 0.1, more
        ):
            break
        halfedge.flip_edges(net, 5, 0.0, 0.45)
        kept = kept[halfedge.net_vertices(net)]
        points, faces = halfedge.net_arrays(net)
        normals = Mesh(points, faces).vertex_normals
    return Damaged(Mesh(points, faces, mesh.name), _rows(mesh, kept))


def fuse(mesh: Mesh, rng: Generator, gap: float = 0.01, *, vertices: int | None = None) -> Damaged:
    """Return the mesh with parts joined that touch or nearly touch, as when a scanner cannot tell them apart.

    Parameters
    ----------
    mesh : Mesh
        Closed but for some holes, and facing outward.
    gap : float
        Distance below which parts fuse, as a share of the bounding box's diagonal. Parts closer than 0.016 of
        it, or closer than an edge length, may fuse too.
    vertices : int, optional
        Number of vertices of the new mesh; by default unchanged.
    """
    vertices = vertices or len(mesh.vertices)
    diagonal = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    # Cells small enough to give three vertices for each wanted one, and to leave wider gaps open.
    cell = min(1.9 * even_size(mesh, vertices), 0.016 * diagonal)
    surface, face, share = outer_surface(mesh, cell, rng, gap=gap * diagonal)
    first = Damaged(surface, weights_of(mesh, mesh.faces[face], share))
    return first.then(Damaged(*remesh(surface, vertices, rng, rounds=2)))


def join(mesh: Mesh, rng: Generator, reach: float = 0.15) -> Damaged:
    """Return the mesh with a bridge between two parts that face each other, bent until they almost touch.

    The narrowest gap between some random vertices is bridged, if it is less than ``reach`` diagonals of the
    bounding box wide. Along the surface, the parts are at least twice as far apart as across the gap, and too
    far for a disc to hold both. The surface, which must face outward, gets one handle more. A mesh without
    such parts is unchanged.
    """
    points, faces = mesh.vertices, mesh.faces
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
    some = np.sort(rng.permutation(len(points))[:300])
    a, b, gap = facing_pairs(points, faces, some, reach * diagonal)
    narrow = np.argsort(gap, kind="stable")
    graph = topology.edge_graph(points, faces)
    apart = max(0.25 * float(np.sqrt(mesh.area)), 7 * _edge_length(mesh))
    for source in dict.fromkeys(a[narrow].tolist()):  # the narrowest first
        along = dijkstra(graph, indices=source)
        own = narrow[a[narrow] == source]
        far = own[along[b[own]] > np.maximum(apart, 2 * gap[own])]
        if len(far):
            moved, keep, rest = build_bridge(points, faces, source, int(b[far[0]]))
            return Damaged(Mesh(moved[keep], rest, mesh.name), _rows(mesh, keep))
    return no_damage(mesh)


def damage_mesh(mesh: Mesh, seed: int | Sequence[int], strength: float = 1.0) -> Damaged:
    """Return the mesh with a random combination of all kinds of damage.

    Parameters
    ----------
    seed : int, or several
        Seed of all random choices.
    strength : float
        0 does nothing; 1 is like a poor scan: every kind occurs with probability 1/6 to 1/2, at full size.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> fine = retriangulate(tetrahedron, np.random.default_rng(0), 400).mesh
    >>> one, two = damage_mesh(fine, seed=3), damage_mesh(fine, seed=3)
    >>> bool((one.mesh.vertices == two.mesh.vertices).all()), one.mesh.vertices.shape == fine.vertices.shape
    (True, False)
    """
    rng = np.random.default_rng(seed)
    result = no_damage(mesh)

    def happens(chance: float) -> bool:
        return bool(rng.random() < chance * min(strength, 1.0))

    def then(more: Damaged) -> None:
        nonlocal result
        result = result.then(more)

    count = len(mesh.vertices)
    if happens(0.2) and count >= 500 and not len(topology.rims(count, mesh.faces)[0]):
        then(fuse(result.mesh, rng, strength * rng.uniform(0.002, 0.02)))
    if happens(0.2):
        then(join(result.mesh, rng, strength * rng.uniform(0.02, 0.2)))
    if happens(0.5):
        coarser = strength * rng.uniform(0, np.log(8)) if rng.random() < 0.5 else 0.0
        wanted = max(min(count, max(MIN_VERTICES, count // 8)), round(count * np.exp(-coarser)))
        then(retriangulate(result.mesh, rng, wanted, uneven=strength * rng.uniform(0, 1)))
    if happens(0.25):
        then(remove_tip(result.mesh, rng, (0.01, 0.01 + 0.12 * strength)))
    if happens(0.25):
        then(cut(result.mesh, rng, strength * rng.uniform(0.02, 0.3)))
    if happens(0.4):
        then(add_holes(result.mesh, rng, int(rng.integers(1, 6)), (0.002, 0.002 + 0.02 * strength)))
        if rng.random() < 0.3:
            then(fill_holes(result.mesh))
    if happens(0.2):
        then(smooth(result.mesh, strength * rng.uniform(0.002, 0.012)))
    if happens(0.3):
        then(add_noise(result.mesh, rng, strength * rng.uniform(0.0, 0.004), grain=rng.uniform(0.02, 0.15)))
    if happens(0.5):
        if rng.random() < 0.5:
            then(add_noise(result.mesh, rng, strength * rng.uniform(0, 0.006)))
        else:
            then(add_noise(result.mesh, rng, strength * rng.uniform(0, 0.3), unit="edge"))
    return result


def _without(mesh: Mesh, gone: Bools, pieces: float) -> Damaged:
    """The mesh without some vertices and the small pieces that come off; unchanged if nothing is left."""
    count = len(mesh.vertices)
    faces = topology.without_pinches(count, mesh.faces[~gone[mesh.faces].any(axis=1)])
    if not len(faces):
        return no_damage(mesh)
    component = topology.components(count, faces)[faces[:, 0]]
    size = np.bincount(component)
    large = size >= min(pieces * len(faces), size.max())
    if pieces >= 1:
        large = np.arange(len(size)) == size.argmax()
    keep, faces = topology.renumber(faces[large[component]])
    return Damaged(Mesh(mesh.vertices[keep], faces, mesh.name), _rows(mesh, keep))


def weights_of(mesh: Mesh, corners: Ints, share: Floats) -> csr_array:
    """Return the origin (n, V) of points with barycentric coordinates (n, 3) between three vertices (n, 3).

    Examples
    --------
    >>> triangle = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> weights_of(triangle, triangle.faces, np.array([[0.5, 0.5, 0.0]])).toarray().tolist()
    [[0.5, 0.5, 0.0]]
    """
    place = (np.repeat(np.arange(len(corners)), 3), corners.ravel())
    return csr_array((share.ravel(), place), (len(corners), len(mesh.vertices)))


def _rows(mesh: Mesh, kept: Ints) -> csr_array:
    """Origin of vertices that were vertices before."""
    count = len(kept)
    return csr_array((np.ones(count), kept, np.arange(count + 1)), (count, len(mesh.vertices)))


def _edge_length(mesh: Mesh) -> float:
    """Mean length of one side of each triangle."""
    sides = mesh.vertices[mesh.faces[:, 0]] - mesh.vertices[mesh.faces[:, 1]]
    return float(np.linalg.norm(sides, axis=1).mean())


def _distance(graph: csr_array, vertex: int) -> Floats:
    """Return distances along edges; 0 where a vertex is not connected."""
    found = dijkstra(graph, indices=vertex)
    return np.asarray(np.where(np.isfinite(found), found, 0.0))
