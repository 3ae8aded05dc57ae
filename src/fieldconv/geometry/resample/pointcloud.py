"""Geodesic discs on point clouds.

Each point's neighbours are triangulated in its tangent plane (by potpourri3d). Where these small
triangulations agree, which is almost everywhere, they form a mesh, on which the exact local solver runs.
The heat solver works on the points alone; it is slower, and directions are off by about 0.1 radians.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import potpourri3d
import scipy
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from fieldconv._arrays import Bools, Floats
from fieldconv.geometry.geodesic.discs import Discs
from fieldconv.geometry.geodesic.geodesic_discs import geodesic_discs, tangent_frames
from fieldconv.geometry.geodesic.heat import Columns, collect_discs
from fieldconv.geometry.mesh.mesh import Mesh, MeshError

MIN_POINTS = 32  # potpourri3d looks at 30 neighbours of each point


def point_cloud_discs(
    points: ArrayLike,
    radius: float,
    normals: ArrayLike | None = None,
    *,
    sources: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    solver: Literal["local", "heat"] = "local",
) -> tuple[Discs, Floats, Floats]:
    """Return the distance, direction and parallel transport between the points of a cloud within ``radius``.

    Parameters
    ----------
    points : (N, 3) float
        At least 32 points on a surface.
    normals : (N, 3) float, optional
        Which side is outside. By default neighbours agree, and each connected part points outward.
    sources, targets : (S,), (T,) int array, optional
        Indices of points; all points by default.
    solver : {"local", "heat"}
        Exact paths on `triangulate`, or the vector heat method on the points.

    Returns
    -------
    discs : Discs
        Symmetric as those of `geodesic_discs`.
    frames : (N, 3) float64
        Unit vectors of each point's direction θ = 0.
    normals : (N, 3) float64
        Unit normals; θ grows counter-clockwise seen from their tips.

    Examples
    --------
    >>> flat = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0), [0.0]), axis=-1).reshape(-1, 3)
    >>> discs, frames, normals = point_cloud_discs(flat, radius=1.2, sources=[27])
    >>> discs.targets
    array([19, 26, 27, 28, 35])
    """
    if solver == "local":
        mesh = triangulate(points, normals)
        return geodesic_discs(mesh, radius, sources, targets), *tangent_frames(mesh)
    if solver != "heat":
        raise ValueError(f"Unknown solver {solver!r}: choose 'local' or 'heat'.")
    if not np.isfinite(radius) or radius <= 0:
        raise ValueError(f"The radius must be a positive number, not {radius}.")
    positions = _check_points(points)
    try:
        heat = potpourri3d.PointCloudHeatSolver(positions)
        frames, _, fitted = heat.get_tangent_frames()
    except RuntimeError as error:
        raise MeshError("The points lie on a line or on one another and span no surface.") from error
    side = _sides(positions, fitted, normals)

    def disc(source: int, wanted: Bools) -> Columns:
        log = heat.compute_log_map(source) @ [1, 1j]
        carried = heat.transport_tangent_vector(source, [1.0, 0.0]) @ [1, 1j]
        log[source], carried[source] = 0, 1
        # No path is shorter than the straight line, but a logarithm may be, far away.
        near = np.linalg.norm(positions - positions[source], axis=1) <= radius
        with np.errstate(invalid="ignore"):
            inside = np.flatnonzero(wanted & near & (np.abs(log) <= radius) & np.isfinite(carried))
        # Turning a normal over mirrors its plane: angles there change their sign.
        angle, transport = side[source] * np.angle(log[inside]), side[inside] * np.angle(carried[inside])
        return inside, np.abs(log[inside]), angle, transport

    return collect_discs(disc, len(positions), sources, targets), frames, fitted * side[:, None]


def triangulate(points: ArrayLike, normals: ArrayLike | None = None) -> Mesh:
    """Return a mesh whose vertices are the points of a cloud.

    Triangles that all three of their points have in their own neighbourhoods come first, then those of two or
    one point, small before large. Triangles that overlap earlier ones are dropped; points without a triangle
    stay unreferenced. Parameters are those of `point_cloud_discs`.

    Examples
    --------
    >>> flat = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0), [0.0]), axis=-1).reshape(-1, 3)
    >>> triangulate(flat).area
    49.0
    """
    positions = _check_points(points)
    try:
        local = potpourri3d.PointCloudLocalTriangulation(positions).get_local_triangulation().reshape(-1, 3)
    except ValueError as error:  # it fails on its own empty result
        raise MeshError("The points lie on a line or on one another and span no surface.") from error
    faces, seen = np.unique(np.sort(local[local[:, 0] >= 0], axis=1), axis=0, return_counts=True)
    near = positions[scipy.spatial.cKDTree(positions).query(positions, k=12)[1]]
    near = near - near.mean(axis=1, keepdims=True)
    fitted = np.linalg.eigh(np.einsum("nki,nkj->nij", near, near))[1][:, :, 0]  # normals of planes
    outside = fitted * _sides(positions, fitted, normals)[:, None]
    a, b, c = positions[faces].transpose(1, 0, 2)
    across = np.cross(b - a, c - a)
    inward = (across * outside[faces].sum(1)).sum(1) < 0
    faces[inward] = faces[inward, ::-1]
    lengths = np.linalg.norm([b - a, c - b, a - c], axis=2)
    area = np.linalg.norm(across, axis=1)
    size = lengths.prod(0) / np.maximum(area, 1e-300)  # twice the radius of the circumscribed circle
    # Triangles on the same side of an edge overlap; turning alike, they would run along it the same way.
    taken: set[tuple[int, int]] = set()
    chosen = []
    for i in np.lexsort((size, -seen)):
        p, q, r = faces[i].tolist()
        edges = {(p, q), (q, r), (r, p)}
        if area[i] > 0 and not edges & taken:
            chosen.append(i)
            taken |= edges
    return Mesh(positions, faces[np.sort(chosen)])


def _sides(points: Floats, fitted: Floats, given: ArrayLike | None) -> Floats:
    """Signs (N,) that turn the fitted normals to the side of the given ones, or make them agree."""
    if given is not None:
        normals = np.asarray(given, np.float64)
        if normals.shape != points.shape:
            raise ValueError(
                f"Normals must have the shape {points.shape} of the points, not {normals.shape}."
            )
        return np.where((fitted * normals).sum(1) < 0, -1.0, 1.0)
    count = len(points)
    start, end = np.repeat(np.arange(count), 9), np.ravel(scipy.spatial.cKDTree(points).query(points, k=9)[1])
    # Walk first where normals are most parallel (Hoppe et al. 1992). A weight of 0 would be no edge.
    parallel = np.abs((fitted[start] * fitted[end]).sum(1))
    graph = csr_matrix((1.001 - np.minimum(parallel, 1.0), (start, end)), (count, count))
    tree = minimum_spanning_tree(graph.maximum(graph.T))
    side = np.ones(count)
    part = connected_components(tree, directed=False)[1]
    for first in np.unique(part, return_index=True)[1]:
        order, parent = breadth_first_order(tree, first, directed=False)
        for point in order[1:]:
            agree = fitted[point] @ fitted[parent[point]] >= 0
            side[point] = side[parent[point]] if agree else -side[parent[point]]
        outward = ((points[order] - points[order].mean(0)) * fitted[order]).sum(1) @ side[order]
        if outward < 0:
            side[order] *= -1
    return side


def _check_points(points: ArrayLike) -> Floats:
    positions = np.ascontiguousarray(points, dtype=np.float64)
    if positions.ndim != 2 or positions.shape[1] != 3 or len(positions) < MIN_POINTS:
        raise MeshError(f"A point cloud must have shape (N, 3) with N ≥ {MIN_POINTS}, not {positions.shape}.")
    if not np.isfinite(positions).all():
        raise MeshError("The point cloud has positions that are not finite; remove those points.")
    return positions
