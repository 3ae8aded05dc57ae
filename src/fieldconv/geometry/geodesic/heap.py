"""A heap for compiled loops: numbered items, the one with the smallest key first.

A heap is an array of `ENTRY` records of which the first ``size`` are in use. The caller keeps the size.
"""

from __future__ import annotations

import numpy as np

from fieldconv._compiled import kernel

ENTRY = np.dtype([("key", np.float64), ("item", np.int64)], align=True)


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
