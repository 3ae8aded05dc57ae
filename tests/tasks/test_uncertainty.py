from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.tasks.base.metrics import MIN_SHAPES, majority, mean_interval, sum_interval


@given(st.integers(MIN_SHAPES, 400), st.data())
def test_shares_get_wilsons_interval(count: int, data: st.DataObject) -> None:
    """Its ends are the shares p that are 1.96 of their own standard deviations away from what was seen."""
    right = data.draw(st.integers(0, count))
    interval = mean_interval([1.0] * right + [0.0] * (count - right))
    assert interval is not None
    seen = right / count
    for end in interval:
        assert abs(seen - end) == pytest.approx(
            1.96 * math.sqrt(max(end * (1 - end), 0) / count), rel=1e-3, abs=1e-6
        )
    assert interval[0] <= seen + 1e-12
    assert interval[1] >= seen - 1e-12


def test_all_right_is_not_certain() -> None:
    low, high = mean_interval(np.ones(20)) or (0, 0)
    assert 0.8 < low < 0.9
    assert high == pytest.approx(1)


def test_bootstrap_agrees_with_the_normal_distribution_for_many_shapes() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=2000)
    low, high = mean_interval(values) or (0, 0)
    half = 1.96 * values.std() / math.sqrt(len(values))
    assert (low, high) == (
        pytest.approx(values.mean() - half, abs=0.1 * half),
        pytest.approx(values.mean() + half, abs=0.1 * half),
    )


def test_weights_count() -> None:
    """A shape with nearly all the weight decides; with equal weights the interval is the one without."""
    values = np.linspace(0.1, 0.9, 9)
    assert mean_interval(values, np.full(9, 7.0)) == pytest.approx(mean_interval(values))
    _, high = mean_interval(values, np.where(values > 0.85, 1e9, 1.0)) or (0, 0)
    assert high == pytest.approx(0.9)


def test_few_shapes_have_no_interval() -> None:
    assert mean_interval(np.ones(MIN_SHAPES - 1)) is None
    assert sum_interval(np.ones((MIN_SHAPES - 1, 2, 2)), np.trace) is None


def test_a_share_of_summed_tables_has_the_interval_of_its_weighted_mean() -> None:
    """Right ones and all of them, summed and divided, are the mean of shares weighted by the counts."""
    draw = np.random.default_rng(2)
    total = draw.integers(50, 150, 40).astype(float)
    right = np.rint(total * draw.uniform(0.6, 1, 40))
    found = sum_interval(np.stack([right, total], 1), lambda sums: sums[0] / sums[1], rounds=4000)
    assert found == pytest.approx(mean_interval(right / total, total, rounds=4000), abs=0.003)


def test_majority_is_counted_in_rows() -> None:
    confusion = np.array([[0.0, 9.0, 1.0], [0.0, 0.0, 0.0], [30.0, 0.0, 0.0]])
    assert majority(confusion) == (2, 0.75)
