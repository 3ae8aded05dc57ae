"""Geodesic discs by the vector heat method, as in the paper, through potpourri3d.

One global problem is solved per source, so this is far slower than the local solver, and less accurate on
coarse or irregular meshes. It exists for comparisons and to reproduce the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import potpourri3d
from numpy.typing import ArrayLike

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.geodesic.charts import Charts, charts
from fieldconv.geometry.geodesic.discs import Discs, wrap_angle
from fieldconv.geometry.mesh.mesh import Mesh, MeshError

Columns = tuple[Ints, Floats, Floats, Floats]  # targets, distances, angles and transports
Strategy = Literal["AffineLocal", "VectorHeat", "AffineAdaptive"]


def heat_discs(
    mesh: Mesh,
    radius: float,
    sources: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    *,
    strategy: Strategy = "AffineLocal",
) -> Discs:
    """Return distance, direction and parallel transport from every source to all targets within ``radius``.

    Both ends of a pair agree: its distance is the mean of both, φ(q, p) = −φ(p, q), and log_p q is −log_q p,
    transported. Pairs that only one end finds within the radius are dropped.

    Parameters
    ----------
    mesh : Mesh
        Manifold and consistently oriented; open or of several components.
    radius, sources, targets
        As for `geodesic_discs`.
    strategy : {"AffineLocal", "VectorHeat", "AffineAdaptive"}
        How potpourri3d computes log maps: its default, the one the paper used, or its most careful one.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> heat_discs(square, radius=1.2, sources=[0]).targets
    array([0, 1, 3])
    """
    # potpourri3d leaves out unreferenced vertices and renumbers the rest, so we do it first.
    used, faces = np.unique(mesh.faces, return_inverse=True)
    place = np.full(len(mesh.vertices), -1)
    place[used] = np.arange(len(used))
    try:
        solver = potpourri3d.MeshVectorHeatSolver(mesh.vertices[used], faces.reshape(-1, 3))
    except RuntimeError as error:
        reason = str(error).rsplit(" - ", 1)[-1]
        raise MeshError(
            f"{mesh.name or 'mesh'}: the vector heat method needs a manifold, consistently oriented mesh "
            f"({reason}); repair it or use the local solver."
        ) from error
    to_our_frames = _directions(charts(mesh), mesh, solver, used)

    def disc(source: int, wanted: Bools) -> Columns:
        if place[source] < 0:
            found: Ints = np.flatnonzero(wanted[source : source + 1]) + source
            return found, *np.zeros((3, len(found)))
        log = solver.compute_log_map(place[source], strategy=strategy) @ [1, 1j]
        carried = solver.transport_tangent_vector(place[source], [1.0, 0.0]) @ [1, 1j]
        log[place[source]] = 0
        # Beyond the cut locus logarithms cancel out, but no path is shorter than the straight line.
        near = np.linalg.norm(mesh.vertices[used] - mesh.vertices[source], axis=1) <= radius
        with np.errstate(invalid="ignore"):  # other components are NaN
            inside = np.flatnonzero(wanted[used] & near & (np.abs(log) <= radius) & np.isfinite(carried))
        found, log, carried = used[inside], log[inside], carried[inside]
        angle = to_our_frames(np.full(len(found), source), np.angle(log))
        # The way back points into the surface even at a boundary, where the way on would leave it.
        transport = to_our_frames(found, np.angle(-log * carried)) + np.pi - angle
        centre = found == source
        return found, np.abs(log), np.where(centre, 0.0, angle), np.where(centre, 0.0, transport)

    return collect_discs(disc, len(mesh.vertices), sources, targets)


def _directions(
    chart: Charts, mesh: Mesh, solver: potpourri3d.MeshVectorHeatSolver, used: Ints
) -> Callable[[Ints, Floats], Floats]:
    """Return a function (vertices, angles in potpourri3d's frames there) → angles in our frames.

    Both measure scaled angles around a vertex, from different edges. potpourri3d's 3-D basis is the mean of
    all its edges, each turned back by its angle; the same mean with our angles differs by exactly the angle
    between the frames. At a boundary both start from the same edge, but potpourri3d scales to π.
    """
    origin = chart.faces.ravel()
    edge = mesh.vertices[np.roll(chart.faces, -1, axis=1).ravel()] - mesh.vertices[origin]
    basis = np.zeros((len(mesh.vertices), 3), np.complex128)
    along, across, _ = solver.get_tangent_frames()
    basis[used] = along + 1j * across
    scale = chart.vertices["scale"]
    turned_back = (edge * basis[origin]).sum(1) * np.exp(-1j * scale[origin] * chart.corners["edge_angle"])
    mean = np.zeros(len(mesh.vertices), np.complex128)
    np.add.at(mean, origin, turned_back)
    offset = -np.angle(mean)
    # Where faces lie on each other, potpourri3d has no basis: compare logarithms of edges.
    for row in np.flatnonzero(~np.isfinite(mean[used])):
        own = origin == used[row]
        ends = np.searchsorted(used, np.roll(chart.faces, -1, axis=1).ravel()[own])
        log = solver.compute_log_map(row)[ends] @ [1, 1j]
        ours = np.exp(1j * scale[used[row]] * chart.corners["edge_angle"][own])
        offset[used[row]] = np.angle((log.conj() * ours).sum())
    stretch = np.ones(len(mesh.vertices))
    fans = chart.fans[chart.corners["fan"]]
    border = fans["open"]
    offset[origin[border]] = 0.0
    stretch[origin[border]] = (scale[origin] * fans["total"] / np.pi)[border]

    def to_our_frames(vertices: Ints, angles: Floats) -> Floats:
        # The branch cut is in the middle of the outside of a boundary.
        centred = np.angle(np.exp(1j * (angles - np.pi / 2))) + np.pi / 2
        return np.asarray(offset[vertices] + stretch[vertices] * centred)

    return to_our_frames


def collect_discs(
    disc: Callable[[int, Bools], Columns], count: int, sources: ArrayLike | None, targets: ArrayLike | None
) -> Discs:
    """Return discs that agree on both ends of a pair; ``disc`` takes a source and a mask of its targets."""
    ids = np.arange(count) if sources is None else np.asarray(sources, np.int64)
    wanted = np.zeros(count, np.bool_)
    wanted[slice(None) if targets is None else np.asarray(targets, np.int64)] = True
    discs = [disc(source, wanted) for source in ids]
    offsets = np.concatenate([[0], np.cumsum([len(found) for found, *_ in discs])]).astype(np.int64)
    columns = zip(*discs, strict=True) if discs else [(np.zeros(0),)] * 4
    found, distance, angle, transport = (np.concatenate(column) for column in columns)
    ambiguous = np.zeros(len(found), bool)  # heat averages all paths
    values = distance, wrap_angle(angle), wrap_angle(transport), ambiguous
    return _make_symmetric(Discs(ids, offsets, found.astype(np.int64), *values), wanted)


def _make_symmetric(discs: Discs, wanted: Bools) -> Discs:
    """Drop pairs that only one end sees, and make the two agree where both are sources and targets."""
    count = len(wanted)
    centres = discs.centres
    key, mirrored = centres * count + discs.targets, discs.targets * count + centres
    order = np.argsort(key)
    mirror = order[np.searchsorted(key, mirrored, sorter=order).clip(max=max(len(key) - 1, 0))]
    mutual = key[mirror] == mirrored
    is_source = np.zeros(count, np.bool_)
    is_source[discs.sources] = True
    keep = mutual | ~(is_source[discs.targets] & wanted[centres])
    distance = np.where(mutual, (discs.distance + discs.distance[mirror]) / 2, discs.distance)
    # Half the difference, the short way round; one end decides, so that rounding cannot differ.
    transport = wrap_angle(discs.transport - wrap_angle(discs.transport + discs.transport[mirror]) / 2)
    transport = np.where(centres < discs.targets, transport, -transport[mirror])
    transport = np.where(mutual, transport, discs.transport)
    from_there = -np.exp(1j * (discs.angle[mirror] - transport))
    angle = np.where(mutual, np.angle(np.exp(1j * discs.angle) + from_there), discs.angle)
    angle[centres == discs.targets] = transport[centres == discs.targets] = 0.0
    offsets = np.concatenate([[0], np.cumsum(keep)])[discs.offsets]
    columns = discs.targets, distance, angle, transport, discs.ambiguous
    return Discs(discs.sources, offsets, *(column[keep] for column in columns))
