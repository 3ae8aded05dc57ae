"""Geodesic discs as flat arrays, and what their solvers share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv._compiled import copy_into, kernel

RADIUS = 0.2
"""Usual radius of a disc, at unit area: the paper's for classification and segmentation."""
PAIR_BYTES = 110  # memory for a pair of neighbours while discs are computed
LENGTH_TOLERANCE = 1e-6  # relative difference of equally long paths: files have single precision
MAX_SPREAD = 0.5  # radians: directions or transports of equally long paths that differ by more have no mean


@dataclass(frozen=True)
class Discs:
    """Geodesic discs as flat arrays, disc after disc (CSR order by source).

    Disc ``i`` occupies ``offsets[i]:offsets[i + 1]`` of the flat arrays, its targets in ascending order.
    It contains its own centre at distance 0. A pair is *ambiguous* if its shortest paths are equally long and
    far apart, as between opposite corners of a box: angle and transport are those of one of them, or of none.
    Equal paths less far apart are averaged.

    Examples
    --------
    >>> from fieldconv.geometry import Mesh, geodesic_discs
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> discs = geodesic_discs(square, 1.1)
    >>> discs.targets[discs.offsets[0] : discs.offsets[1]]  # the disc of vertex 0
    array([0, 1, 3])
    """

    sources: Ints
    """(S,) vertex at the centre of each disc."""
    offsets: Ints
    """(S + 1,) start of each disc in the flat arrays."""
    targets: Ints
    """(E,) vertex of each pair."""
    distance: Floats
    """(E,) geodesic distance r from source to target."""
    angle: Floats
    """(E,) direction θ of log_source(target), in radians from the source's frame."""
    transport: Floats
    """(E,) angle φ: a tangent vector z at the source becomes e^{iφ} z at the target."""
    ambiguous: Bools
    """(E,) whether the shortest path of a pair is ambiguous."""

    @property
    def centres(self) -> Ints:
        """(E,) source vertex of every pair."""
        return np.repeat(self.sources, np.diff(self.offsets))

    def __len__(self) -> int:
        return len(self.targets)


@kernel
def wrap_angle(angle):  # type: ignore[no-untyped-def]
    """Return the same angle, or array of angles, in [−π, π]."""
    return angle - 2 * np.pi * np.rint(angle / (2 * np.pi))


PAIR = np.dtype(
    [
        ("target", np.int32),
        ("ambiguous", np.bool_),
        ("distance", np.float64),
        ("angle", np.float64),
        ("transport", np.float64),
    ],
    align=True,
)
# Of a heap in compiled loops, whose first ``size`` records are in use; the smallest key comes first.
ENTRY = np.dtype([("key", np.float64), ("item", np.int64)], align=True)


@kernel
def grow(records, used, more):  # type: ignore[no-untyped-def]
    """Return the records, in a larger array if ``more`` do not fit behind the ``used``."""
    if used + more <= len(records):
        return records
    larger = np.empty(2 * len(records) + more, records.dtype)
    copy_into(records[:used], larger)
    return larger


@kernel
def push(heap, size, key, item):  # type: ignore[no-untyped-def]
    """Add an item to the ``size`` already there; there must be room for it."""
    place = size
    while place > 0:
        above = (place - 1) // 2
        if heap[above].key <= key:
            break
        heap[place].key, heap[place].item = heap[above].key, heap[above].item
        place = above
    heap[place].key, heap[place].item = key, item


@kernel
def remove_first(heap, size):  # type: ignore[no-untyped-def]
    """Remove the first of ``size`` items; read ``heap[0]`` before."""
    last_key, last_item = heap[size - 1].key, heap[size - 1].item
    place, child = 0, 1
    while child < size - 1:
        if child + 1 < size - 1 and heap[child + 1].key < heap[child].key:
            child += 1
        if heap[child].key >= last_key:
            break
        heap[place].key, heap[place].item = heap[child].key, heap[child].item
        place, child = child, 2 * child + 1
    heap[place].key, heap[place].item = last_key, last_item


def make_symmetric(discs: Discs) -> Discs:
    """Return mutual pairs only, with the shorter path for both directions; the mean of equally long ones.

    Transport along a path keeps the angle to its tangent, so the way back is known:
    θ(q, p) = θ(p, q) + π + φ(p, q).
    """
    count = max(discs.sources.max(initial=-1), discs.targets.max(initial=-1)) + 1
    row_of = np.full(count, -1)
    row_of[discs.sources] = np.arange(len(discs.sources))
    flat = discs.targets, discs.distance, discs.angle, discs.transport, discs.ambiguous
    offsets, kept = _keep_mutual(row_of, discs.sources, discs.offsets, *flat, *map(np.empty_like, flat))
    return Discs(discs.sources, offsets, *(values[: offsets[-1]] for values in kept))


@kernel
def _keep_mutual(  # type: ignore[no-untyped-def]
    row_of, sources, offsets, targets, distance, angle, transport, ambiguous,
    kept_targets, kept_distance, kept_angle, kept_transport, kept_ambiguous,
):  # fmt: skip
    """Return the offsets of symmetric discs, and their other arrays, filled as far as these reach."""
    kept_offsets, kept = np.zeros_like(offsets), 0
    for row in range(len(sources)):
        source = sources[row]
        for pair in range(offsets[row], offsets[row + 1]):
            target = targets[pair]
            if row_of[target] < 0:
                continue
            low, high = offsets[row_of[target]], offsets[row_of[target] + 1]
            mirror = low + np.searchsorted(targets[low:high], source)
            if mirror == high or targets[mirror] != source:
                continue
            kept_targets[kept] = target
            shorter = distance[pair] - distance[mirror]
            equal = abs(shorter) <= LENGTH_TOLERANCE * distance[pair]
            forward = source <= target if equal else shorter < 0
            kept_ambiguous[kept] = ambiguous[pair] or ambiguous[mirror]
            shorter_pair, longer_pair = (pair, mirror) if forward else (mirror, pair)
            direction, carry = angle[shorter_pair], transport[shorter_pair]
            if equal and distance[shorter_pair] > 0:  # the mean of both, so that the order does not matter
                direction_gap = wrap_angle(angle[longer_pair] + np.pi + transport[longer_pair] - direction)
                transport_gap = wrap_angle(-transport[longer_pair] - carry)
                if max(abs(direction_gap), abs(transport_gap)) < MAX_SPREAD:
                    direction, carry = direction + direction_gap / 2, carry + transport_gap / 2
                else:  # they are two paths
                    kept_ambiguous[kept] = True
            if not forward:
                direction, carry = direction + np.pi + carry, -carry
            kept_distance[kept] = min(distance[pair], distance[mirror])
            kept_angle[kept] = wrap_angle(direction)
            kept_transport[kept] = carry
            kept += 1
        kept_offsets[row + 1] = kept
    return kept_offsets, (kept_targets, kept_distance, kept_angle, kept_transport, kept_ambiguous)
