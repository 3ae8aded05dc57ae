"""Edges of a surface in the order in which the kernels read them, sorted once for all layers."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import kernel
from fieldconv.ops.disc import Spacing, ring_weights
from fieldconv.ops.geometry import Geometry, cached

PADDING = 16  # numbers after the last edge, so that kernels may read whole vectors


class Edges(NamedTuple):
    """Edges sorted by one of their ends, and for each point there by the pair of rings they lie between.

    Points come in an order in which those that follow each other share most neighbours, which are then still
    in the cache, however the vertices are numbered.
    """

    bands: int  # pairs of neighbouring rings, at least 1
    point: NDArray[np.int32]  # (n,) the order of the points
    offsets: NDArray[np.int64]  # (n · bands + 1,) first edge of every point in that order, and band
    neighbour: NDArray[np.int32]  # (E,) where in that order the other end of each edge is
    transport: Floats  # (2, E + PADDING) w e^{iφ}, real and imaginary parts
    direction: Floats  # (2, E + PADDING) e^{iθ}
    fraction: Floats  # (E + PADDING,) τ, the share of the outer ring
    weight: Floats  # (E + PADDING,)
    distance: Floats  # (E + PADDING,) r/ε
    longest: int  # edges of the busiest point

    def blocks(self, count: int) -> list[tuple[int, int]]:
        """Return at most ``count`` ranges of points, with about equally many edges in each."""
        starts = self.offsets[:: self.bands]
        cuts = np.searchsorted(starts, np.linspace(0, starts[-1], count + 1)[1:-1])
        bounds = np.unique([0, *cuts.tolist(), len(self.point)]).tolist()
        return list(itertools.pairwise(bounds))


@kernel
def _counting_sort(row: Ints, rows: int) -> tuple[Ints, Ints]:
    """Return where each row begins, and the items in order of their rows."""
    offsets = np.zeros(rows + 1, np.int64)
    for item in range(len(row)):
        offsets[row[item] + 1] += 1
    for k in range(rows):
        offsets[k + 1] += offsets[k]
    order, free = np.empty(len(row), np.int64), offsets[:-1].copy()
    for item in range(len(row)):
        order[free[row[item]]] = item
        free[row[item]] += 1
    return offsets, order


def _sort(geometry: Geometry, points: int, rings: int, spacing: Spacing, dtype: torch.dtype) -> Edges:
    geometry.check_points(points)
    sender, receiver = geometry.edge_index.numpy()
    graph = csr_matrix((np.ones(len(sender), np.int8), (receiver, sender)), shape=(points, points))
    point = np.ascontiguousarray(reverse_cuthill_mckee(graph, symmetric_mode=True))
    rank = np.empty(points, np.int64)
    rank[point] = np.arange(points)

    distance = geometry.distance().to(dtype)
    lower, fraction = ring_weights(distance, rings, spacing)
    bands = max(rings - 1, 1)
    offsets, order = _counting_sort(rank[receiver] * bands + lower.numpy(), points * bands)

    def real(values: Tensor) -> Floats:
        array: Floats = values.resolve_neg().to(dtype).numpy()
        return np.concatenate([array[order], np.zeros(PADDING, array.dtype)])

    def split(values: Tensor) -> Floats:
        return np.stack([real(values.real), real(values.imag)])

    return Edges(
        bands,
        point,
        offsets,
        rank.astype(np.int32)[sender[order]],
        split(geometry.weight * geometry.transport),
        split(geometry.direction()),
        real(fraction),
        real(geometry.weight),
        real(distance),
        longest=int(np.diff(offsets[::bands]).max(initial=0)),
    )


def sorted_edges(
    geometry: Geometry, points: int, rings: int, spacing: Spacing, dtype: torch.dtype, scalars: bool = False
) -> Edges:
    """Return the edges by receiver, sorted anew only when the geometry has changed.

    Scalars have no transport: w takes the place of w e^{iφ}.
    """
    key = (points, rings, spacing, dtype)
    edges = cached(geometry, ("incoming", *key), lambda: _sort(geometry, *key))
    if scalars:
        return edges._replace(transport=np.stack([edges.weight, np.zeros_like(edges.weight)]))
    return edges


def _sort_by_sender(edges: Edges) -> Edges:
    points = len(edges.point)
    band = np.arange(points * edges.bands).repeat(np.diff(edges.offsets))
    offsets, order = _counting_sort(
        edges.neighbour * np.int64(edges.bands) + band % edges.bands, points * edges.bands
    )
    with_padding = np.concatenate([order, np.arange(len(order), len(order) + PADDING)])
    return Edges(
        edges.bands,
        edges.point,
        offsets,
        (band // edges.bands)[order].astype(np.int32),
        edges.transport.take(with_padding, axis=1),
        edges.direction.take(with_padding, axis=1),
        edges.fraction.take(with_padding),
        edges.weight.take(with_padding),
        edges.distance.take(with_padding),
        longest=int(np.diff(offsets[:: edges.bands]).max(initial=0)),
    )


def outgoing_edges(
    geometry: Geometry, points: int, rings: int, spacing: Spacing, dtype: torch.dtype
) -> Edges:
    """Return the edges by sender, sorted anew only when the geometry has changed."""
    key = (points, rings, spacing, dtype)
    return cached(geometry, ("outgoing", *key), lambda: _sort_by_sender(sorted_edges(geometry, *key)))
