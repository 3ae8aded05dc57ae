"""A surface's edges in the order in which the kernels read them, sorted once and shared by all layers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from fieldconv._compiled import kernel
from fieldconv.ops.geometry import Geometry, kept
from fieldconv.ops.rings import ring_weights

PADDING = 16  # numbers after the last edge, so that kernels may read whole vectors


@dataclass(frozen=True)
class Edges:
    """Edges sorted by receiver, and for each receiver by the pair of rings they lie between.

    Receivers come in an order in which those that follow each other share most neighbours, which are then
    still in the cache, however the vertices are numbered.
    """

    bands: int  # pairs of neighbouring rings, at least 1
    receiver: NDArray[np.int32]  # (n,) the order of the receivers
    offsets: NDArray[np.int64]  # (n · bands + 1,) first edge of every receiver in that order, and band
    sender: NDArray[np.int32]  # (E,) where in that order the sender of each edge is
    transport: NDArray[Any]  # (2, E + PADDING) w e^{iφ}, real and imaginary parts
    direction: NDArray[Any]  # (2, E + PADDING) e^{iθ}
    fraction: NDArray[Any]  # (E + PADDING,) τ, the share of the outer ring
    weight: NDArray[Any]  # (E + PADDING,)
    distance: NDArray[Any]  # (E + PADDING,) r/ε
    longest: int  # edges of the busiest receiver

    def receiver_blocks(self, blocks: int) -> list[tuple[int, int]]:
        """Return at most ``blocks`` ranges of receivers, with about equally many edges in each."""
        starts = self.offsets[:: self.bands]
        receivers = len(starts) - 1
        cuts = np.searchsorted(starts, np.linspace(0, starts[-1], blocks + 1)[1:-1])
        bounds = np.unique([0, *cuts.tolist(), receivers]).tolist()
        return list(itertools.pairwise(bounds))


class Outgoing(NamedTuple):
    """The same edges sorted by sender, and for each sender by the pair of rings they lie between.

    Senders come in the order in which `Edges` has the receivers.
    """

    sender: NDArray[np.int32]  # (n,) the order of the senders
    offsets: NDArray[np.int64]  # (n · bands + 1,) first edge of every sender in that order, and band
    receiver: NDArray[np.int32]  # (E,) where in that order the receiver of each edge is
    transport: NDArray[Any]  # these as in `Edges`
    direction: NDArray[Any]
    fraction: NDArray[Any]
    longest: int  # edges of the busiest sender


@kernel
def _counting_sort(row: Any, rows: int) -> Any:
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


def _sort(geometry: Geometry, receivers: int, rings: int, spacing: Any, dtype: torch.dtype) -> Edges:
    geometry.check_points(receivers)
    ends: NDArray[np.int64] = geometry.edge_index.numpy()
    graph = csr_matrix((np.ones(ends.shape[1], np.int8), (ends[1], ends[0])), shape=(receivers, receivers))
    receiver = np.ascontiguousarray(reverse_cuthill_mckee(graph, symmetric_mode=True))
    rank = np.empty(receivers, np.int64)
    rank[receiver] = np.arange(receivers)

    distance = geometry.distance().to(dtype)
    lower, fraction = ring_weights(distance, rings, spacing)
    bands = max(rings - 1, 1)
    offsets, order = _counting_sort(rank[ends[1]] * bands + lower.numpy(), receivers * bands)

    def real(values: Tensor) -> NDArray[Any]:
        array: NDArray[Any] = values.resolve_neg().to(dtype).numpy()
        return np.concatenate([array[order], np.zeros(PADDING, array.dtype)])

    def split(values: Tensor) -> NDArray[Any]:
        return np.stack([real(values.real), real(values.imag)])

    return Edges(
        bands,
        receiver,
        offsets,
        rank.astype(np.int32)[ends[0][order]],
        split(geometry.weight * geometry.transport),
        split(geometry.direction()),
        real(fraction),
        real(geometry.weight),
        real(distance),
        longest=int(np.diff(offsets[::bands]).max(initial=0)),
    )


def sorted_edges(geometry: Geometry, receivers: int, rings: int, spacing: Any, dtype: torch.dtype) -> Edges:
    """Return the edges for the kernels, sorted anew only when the geometry has changed."""
    key = ("edges", receivers, rings, spacing, dtype)
    return kept(geometry, key, lambda: _sort(geometry, receivers, rings, spacing, dtype))


def _turned(edges: Edges) -> Outgoing:
    points = len(edges.receiver)
    band = np.arange(points * edges.bands).repeat(np.diff(edges.offsets))
    receiver = band // edges.bands
    offsets, order = _counting_sort(
        edges.sender * np.int64(edges.bands) + band % edges.bands, points * edges.bands
    )
    with_padding = np.concatenate([order, np.arange(len(order), len(order) + PADDING)])
    return Outgoing(
        edges.receiver,
        offsets,
        receiver[order].astype(np.int32),
        edges.transport.take(with_padding, axis=1),
        edges.direction.take(with_padding, axis=1),
        edges.fraction.take(with_padding),
        longest=int(np.diff(offsets[:: edges.bands]).max(initial=0)),
    )


def outgoing_edges(
    geometry: Geometry, senders: int, rings: int, spacing: Any, dtype: torch.dtype
) -> Outgoing:
    """Return the edges sorted by sender, sorted anew only when the geometry has changed."""
    key = ("outgoing edges", senders, rings, spacing, dtype)
    return kept(geometry, key, lambda: _turned(sorted_edges(geometry, senders, rings, spacing, dtype)))
