"""Embed a surface in a space of few dimensions whose straight distances are nearly the geodesic ones."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from fieldconv._arrays import Floats, Ints
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.resample.sampling import farthest_point_samples, nearest_samples


def geodesic_embedding(mesh: Mesh, dims: int = 16, landmarks: int = 400) -> Floats:
    """Return coordinates (V, dims) whose straight distances are nearly the geodesic ones: landmark scaling.

    Classical multidimensional scaling of the distances between landmarks, which are farthest-point samples;
    every other vertex is placed by its distances from them (de Silva and Tenenbaum, 2004). The mesh must have
    a single component. The widest direction comes first; columns are zero where the distances span fewer.

    Examples
    --------
    A flat strip is its own embedding:

    >>> strip = Mesh([[x, y, 0] for x in range(5) for y in (0, 1)],
    ...              [[i, i + 2, i + 3, i + 1] for i in range(0, 8, 2)])
    >>> place = geodesic_embedding(strip, dims=2)
    >>> float(np.linalg.norm(place[0] - place[8]).round(3))
    4.0
    """
    chosen = farthest_point_samples(mesh, min(landmarks, len(mesh.vertices)))
    order, distance = nearest_samples(mesh, chosen, k=len(chosen))
    squared = np.full((len(mesh.vertices), len(chosen)), np.inf)
    np.put_along_axis(squared, order, distance**2, axis=1)
    if not np.isfinite(squared).all():
        raise ValueError(
            f"{mesh.name or 'mesh'}: has several components, without distances between them; pass one"
        )
    among = 0.5 * (squared[chosen] + squared[chosen].T)
    mean = among.mean(0)
    values, vectors = np.linalg.eigh(-0.5 * (among - mean - mean[:, None] + mean.mean()))
    kept = np.flatnonzero(values > 1e-9 * values[-1])[::-1][:dims]
    place = np.zeros((len(mesh.vertices), dims))
    place[:, : len(kept)] = -0.5 * (squared - mean) @ (vectors[:, kept] / np.sqrt(values[kept]))
    return place


def nearest_in_triangles(
    points: ArrayLike, place: ArrayLike, faces: ArrayLike, *, vertex: Ints | None = None
) -> tuple[Ints, Floats, Floats]:
    """Return the triangle (n,) around the nearest vertex that is nearest to each point (n, d), or −1.

    Also the barycentric coordinates (n, 3) and the distance (n,). ``place`` (V, d) are the vertices.
    """
    points, place, faces = np.asarray(points, float), np.asarray(place, float), np.asarray(faces)
    vertex = scipy.spatial.cKDTree(place).query(points)[1] if vertex is None else vertex
    around = np.argsort(faces.ravel(), kind="stable") // 3
    first = np.searchsorted(np.sort(faces.ravel()), np.arange(len(place) + 1))
    best = np.linalg.norm(points - place[vertex], axis=1) + 1e-9
    triangle, weights = np.full(len(points), -1), np.zeros((len(points), 3))
    for turn in range(int(np.diff(first)[vertex].max(initial=0))):
        rows = np.flatnonzero(first[vertex] + turn < first[vertex + 1])
        face = around[first[vertex[rows]] + turn]
        inside = _in_triangle(points[rows], place[faces[face]])
        away = np.linalg.norm(points[rows] - np.einsum("nc,ncd->nd", inside, place[faces[face]]), axis=1)
        nearer = away < best[rows]
        here = rows[nearer]
        best[here], triangle[here], weights[here] = away[nearer], face[nearer], inside[nearer]
    return triangle, weights, best


def _in_triangle(points: Floats, corners: Floats) -> Floats:
    """(n, 3) barycentric coordinates of the point of a triangle (n, 3, d) that is nearest to each point."""
    edges = corners[:, 1:] - corners[:, :1]
    gram = edges @ edges.transpose(0, 2, 1) + 1e-12 * np.eye(2) * (edges**2).sum((1, 2))[:, None, None]
    right = np.einsum("nid,nd->ni", edges, points - corners[:, 0])
    shares = np.linalg.solve(gram + 1e-300 * np.eye(2), right[:, :, None])[:, :, 0]
    inside = np.column_stack([1 - shares.sum(1), shares])
    outside = (inside < 0).any(1)
    if outside.any():  # the nearest place is on a side
        inside[outside] = _on_sides(points[outside], corners[outside])
    return inside


def _on_sides(points: Floats, corners: Floats) -> Floats:
    """As `_in_triangle`, for points that are nearest to a side or a corner."""
    rows = np.arange(len(points))
    best, found = np.full(len(points), np.inf), np.zeros((len(points), 3))
    for a, b in ((0, 1), (1, 2), (2, 0)):
        side = corners[:, b] - corners[:, a]
        length = np.maximum((side**2).sum(1), 1e-300)
        along = np.clip(((points - corners[:, a]) * side).sum(1) / length, 0, 1)
        away = ((points - corners[:, a] - along[:, None] * side) ** 2).sum(1)
        nearer = away < best
        best[nearer], found[nearer] = away[nearer], 0
        found[rows[nearer], a], found[rows[nearer], b] = 1 - along[nearer], along[nearer]
    return found
