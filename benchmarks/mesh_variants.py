"""Other meshes of the same shape: finer, triangulated anew.

Every function takes a closed mesh. It returns a mesh and, for each of its vertices, the original vertex, or
the nearest one, to transfer a ground truth. `fieldconv.geometry.damage` makes noisier and coarser meshes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fieldconv import Mesh
from fieldconv.geometry.damage import decimate

Ints = NDArray[np.int64]
Variant = tuple[Mesh, Ints]


def subdivided(mesh: Mesh, vertices: int, rng: np.random.Generator) -> Variant:
    """Split random edges in the middle, up to that number of vertices, for triangles of mixed sizes."""
    original, origin = mesh.vertices, np.arange(len(mesh.vertices))
    while len(mesh.vertices) < vertices:
        edges = _some_edges(mesh, rng)[: vertices - len(mesh.vertices)]
        a, b, c, d = _corners(mesh, edges)
        middle = len(mesh.vertices) + np.arange(len(edges))
        point = (mesh.vertices[a] + mesh.vertices[b]) / 2
        nearer = np.linalg.norm(original[origin[a]] - point, axis=1) < np.linalg.norm(
            original[origin[b]] - point, axis=1
        )
        origin = np.concatenate([origin, np.where(nearer, origin[a], origin[b])])
        faces = _replace(mesh, edges, [(a, middle, c), (middle, b, c), (b, middle, d), (middle, a, d)])
        mesh = Mesh(np.concatenate([mesh.vertices, point]), faces)
    return mesh, origin


def flipped(mesh: Mesh, rounds: int, rng: np.random.Generator) -> Variant:
    """Flip random edges where that gives good triangles."""
    for _ in range(rounds):
        edges = _some_edges(mesh, rng)
        a, b, c, d = _corners(mesh, edges)
        normal = _normals(mesh, a, b, c) + _normals(mesh, b, a, d)
        total = (normal**2).sum(axis=1)
        # Both new triangles have the same orientation, and neither is a sliver.
        good = np.ones(len(edges), bool)
        for triangle in ((a, d, c), (d, b, c)):
            good &= (_normals(mesh, *triangle) * normal).sum(axis=1) > 0.2 * total
        degree = np.bincount(mesh.faces.ravel())
        gone = np.bincount(np.concatenate([a, b]), minlength=len(degree))
        good &= (degree - gone >= 4)[np.stack([a, b])].all(axis=0)
        known = np.sort(np.stack([mesh.faces, np.roll(mesh.faces, 1, axis=1)], axis=2).reshape(-1, 2), axis=1)
        new = np.sort(np.stack([c, d], axis=1), axis=1)
        _, first, count = np.unique(
            np.concatenate([known, new]), axis=0, return_index=True, return_counts=True
        )
        alone = np.zeros(len(known) + len(new), bool)
        alone[first[count == 1]] = True  # new diagonals that are not edges yet, each once
        good &= alone[len(known) :]
        a, b, c, d = a[good], b[good], c[good], d[good]
        mesh = Mesh(mesh.vertices, _replace(mesh, edges[good], [(a, d, c), (d, b, c)]))
    return mesh, np.arange(len(mesh.vertices))


def remeshed(mesh: Mesh, rng: np.random.Generator) -> Variant:
    """Subdivide, then decimate: about as many vertices at other places, with other edges."""
    finer, first = subdivided(mesh, 2 * len(mesh.vertices), rng)
    coarser = decimate(finer, len(mesh.vertices))
    return coarser.mesh, first[coarser.nearest]


def _some_edges(mesh: Mesh, rng: np.random.Generator) -> Ints:
    """Return (k, 2) random edges, no two of one triangle, as their corners 3 f + i in both triangles."""
    ends = np.sort(np.stack([mesh.faces, np.roll(mesh.faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    edges = np.lexsort(ends.T).reshape(-1, 2)
    rank = np.empty(len(ends), np.int64)
    rank[edges] = rng.permutation(len(edges))[:, None]
    first = rank.reshape(-1, 3).max(axis=1).repeat(3) == rank
    return edges[first[edges].all(axis=1)]


def _corners(mesh: Mesh, edges: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return a, b, c, d of the triangles (a, b, c) and (b, a, d) at each edge (a, b)."""
    corners = mesh.faces.ravel()
    face, corner = np.divmod(edges, 3)
    a, b = corners[edges].T
    c, d = mesh.faces[face, (corner + 2) % 3].T
    return a, b, c, d


def _replace(mesh: Mesh, edges: Ints, triangles: list[tuple[Ints, Ints, Ints]]) -> Ints:
    """Return the faces, with other triangles at the edges."""
    left = np.delete(mesh.faces, (edges // 3).ravel(), axis=0)
    return np.concatenate([left, *(np.stack(corners, axis=1) for corners in triangles)])


def _normals(mesh: Mesh, a: Ints, b: Ints, c: Ints) -> NDArray[np.float64]:
    p = mesh.vertices
    return np.cross(p[b] - p[a], p[c] - p[a])
