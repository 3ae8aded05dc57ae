"""Geodesic discs: the vertices within a radius of each vertex, their distance, direction and transport.

The local solver finds *exact* shortest paths on the polyhedron (`unfolding`). Light spreads from each source
over triangles that are unfolded into its plane, so a path is a straight line whose length and direction can
be read off. Where a shortest path can bend (a vertex with more than 2π of surface around it, a boundary, a
non-manifold vertex), that vertex sends its own light into its shadow. Everything stops at the radius, so the
cost is that of the disc.

Directions are corrected for the curvature that a polyhedron concentrates in its vertices, as if it were
spread over each vertex's cell. On a sphere they become ten times as accurate; flat surfaces stay exact.

Where the surface is not a smooth sheet:

- *boundary*: paths run along it and bend around it. Angles there are not rescaled.
- *non-manifold edge*: light that reaches it enters every other sheet.
- *non-manifold vertex*: its fans of triangles are laid side by side and share 2π.
- *inconsistent orientation*: paths do not depend on it. Each vertex measures angles the way its first
  triangle turns; the transport still takes the path's direction to its direction.
- *several components*: a disc never leaves its own.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv._compiled import kernel, num_threads, run_blocks
from fieldconv.geometry.geodesic.charts import Charts, charts, frame_vertices
from fieldconv.geometry.geodesic.discs import Discs, make_symmetric
from fieldconv.geometry.geodesic.front import front_block
from fieldconv.geometry.geodesic.unfolding import exact_block
from fieldconv.geometry.mesh.mesh import Mesh, MeshError

SOLVER_VERSION = 14  # part of every cache key: raise it when results change


def geodesic_discs(
    mesh: Mesh,
    radius: float,
    sources: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    *,
    solver: Literal["local", "front", "heat"] = "local",
) -> Discs:
    """Return distance, direction and parallel transport from every source to all targets within ``radius``.

    Parameters
    ----------
    radius : float
        Geodesic radius ε, in the units of the mesh.
    sources, targets : (S,), (T,) int array, optional
        Vertex ids; all vertices by default. Paths always run on the whole mesh.
    solver : {"local", "front", "heat"}
        Exact unfolding of triangles; a front that is nearly exact, and ten times as fast in discs of many
        vertices; or the vector heat method (what the paper used).

    Returns
    -------
    Discs
        If ``sources`` and ``targets`` are the same set, the pairs are symmetric, r and the transport
        exactly so: φ(q, p) = −φ(p, q).

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> discs = geodesic_discs(square, radius=1.2, sources=[0])
    >>> discs.targets, discs.distance
    (array([0, 1, 3]), array([0., 1., 1.]))
    """
    if not np.isfinite(radius) or radius <= 0:
        raise ValueError(f"The radius must be a positive number, not {radius}.")
    source_ids = vertex_ids(sources, mesh, "sources")
    target_ids = vertex_ids(targets, mesh, "targets")
    mesh.validate()
    if solver == "heat":
        from fieldconv.geometry.geodesic.heat import heat_discs

        return heat_discs(mesh, radius, source_ids, target_ids)
    if solver not in ("local", "front"):
        raise ValueError(f"Unknown solver {solver!r}: choose 'local', 'front' or 'heat'.")
    discs = _local_discs(mesh, radius, source_ids, target_ids, exact=solver == "local")
    return make_symmetric(discs) if np.array_equal(source_ids, target_ids) else discs


def tangent_frames(mesh: Mesh) -> tuple[Floats, Floats]:
    """Return the unit vectors (V, 3) of each vertex's direction θ = 0, and unit normals (V, 3).

    θ = 0 points along one edge of the vertex, projected to the tangent plane; θ grows counter-clockwise
    seen from the tip of the normal.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> frames, normals = tangent_frames(square)
    >>> frames[0], normals[0]
    (array([1., 0., 0.]), array([0., 0., 1.]))
    """
    frame_vertex = frame_vertices(mesh)
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


def vertex_ids(ids: ArrayLike | None, mesh: Mesh, what: str) -> Ints:
    """Return checked ids of vertices, all by default; ``what`` names them in errors."""
    if ids is None:
        return np.arange(len(mesh.vertices))
    chosen = np.asarray(ids)
    if chosen.size == 0:
        chosen = chosen.astype(np.int64)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError(
            f"{what} must be a list of vertex ids, not an array of {chosen.dtype} {chosen.shape}."
        )
    if chosen.size and (chosen.min() < 0 or chosen.max() >= len(mesh.vertices)):
        raise MeshError(f"{what} name a vertex outside 0…{len(mesh.vertices) - 1}.")
    return chosen.astype(np.int64)


def _local_discs(mesh: Mesh, radius: float, sources: Ints, targets: Ints, *, exact: bool) -> Discs:
    chart = charts(mesh)
    wanted = np.zeros(len(chart.vertices), np.bool_)
    wanted[targets] = True
    # Neighbours in space follow each other, so that the cache holds most of what they need.
    order = np.lexsort(np.floor(mesh.vertices[sources] / (2 * radius)).T)
    unfold = np.ones(len(sources), np.bool_) if exact else _near_twist(mesh, chart, sources, radius)
    rows, parts = [], []
    for block, own in ((exact_block, order[unfold[order]]), (front_block, order[~unfold[order]])):
        # A few blocks for each thread: each one costs scratch arrays of the mesh's size.
        count = min(8 * num_threads(), max(len(own) // 16, 1))
        blocks = np.array_split(own, count) if len(own) else []
        rows += blocks
        parts += run_blocks(block, [(chart, sources[few], float(radius), wanted) for few in blocks])
    counts = np.zeros(len(sources), np.int64)
    for some, part in zip(rows, parts, strict=True):
        counts[some] = part[0]
    offsets = np.r_[0, np.cumsum(counts)]
    kinds = np.int64, np.float64, np.float64, np.float64, np.bool_
    discs = Discs(sources, offsets, *(np.empty(offsets[-1], kind) for kind in kinds))
    flat = discs.targets, discs.distance, discs.angle, discs.transport, discs.ambiguous
    run_blocks(_scatter, [(some, offsets, *part[:2], *flat) for some, part in zip(rows, parts, strict=True)])
    return discs


def _near_twist(mesh: Mesh, chart: Charts, sources: Ints, radius: float) -> Bools:
    """(S,) whether a disc may reach a vertex whose faces turn both ways: the front needs them to agree."""
    twisted = np.unique(chart.faces.ravel()[chart.corners["turn"].ravel() <= 0])
    if not len(twisted):
        return np.zeros(len(sources), np.bool_)
    corners = mesh.vertices[mesh.faces]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max()
    # Paths are no shorter than straight lines.
    away, _ = scipy.spatial.cKDTree(mesh.vertices[twisted]).query(mesh.vertices[sources])
    return np.asarray(away <= radius + longest)


@kernel
def _scatter(  # type: ignore[no-untyped-def]
    rows, offsets, counts, pairs, targets, distance, angle, transport, ambiguous
):
    """Copy a block's discs to where they belong."""
    here = 0
    for number in range(len(rows)):
        begin = offsets[rows[number]]
        for there in range(begin, begin + counts[number]):
            pair = pairs[here]
            targets[there], distance[there] = pair.target, pair.distance
            angle[there], transport[there] = pair.angle, pair.transport
            ambiguous[there] = pair.ambiguous
            here += 1
