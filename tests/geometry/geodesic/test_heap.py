"""The heap against sorting."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldconv.geometry.geodesic.discs import ENTRY, grow, push, remove_first


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60))
def test_the_smallest_key_is_always_first(steps):
    heap, size, expected = np.empty(1, ENTRY), 0, []
    for number, (add, key) in enumerate(steps):
        if add:
            heap = grow(heap, size, 1)
            push(heap, size, float(key), number)
            size += 1
            expected.append((key, number))
        elif size:
            key, item = heap[0]
            assert key == min(expected)[0]
            expected.remove((key, item))  # raises if the item was not there with this key
            remove_first(heap, size)
            size -= 1
    assert size == len(expected)


def test_growing_keeps_the_records():
    records = np.array([(1.5, 7), (2.5, 8)], ENTRY)
    larger = grow(records, 2, 5)
    assert len(larger) >= 7
    np.testing.assert_array_equal(larger[:2], records)
    assert len(grow(larger, 2, 5)) == len(larger)
