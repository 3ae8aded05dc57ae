"""Metrics against naive loops and values worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fieldconv.tasks.base.metrics import (
    RECALL,
    accuracy,
    confusion,
    intersection_over_union,
    precision_recall,
    random_average_precision,
    share_within,
    summarise_errors,
)

labels = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=40)


@given(labels)
def test_confusion_counts_pairs(pairs: list[tuple[int, int]]) -> None:
    truth, predicted = np.array(pairs).T
    matrix = confusion(truth, predicted, 4)
    for t in range(4):
        for p in range(4):
            assert matrix[t, p] == sum(pair == (t, p) for pair in pairs)
    known = [pair for pair in pairs if pair[0] >= 0]
    if known:
        assert accuracy(matrix) == pytest.approx(np.mean([t == p for t, p in known]))
    else:
        assert np.isnan(accuracy(matrix))


@given(labels)
def test_iou_is_intersection_over_union_of_sets(pairs: list[tuple[int, int]]) -> None:
    known = [pair for pair in pairs if pair[0] >= 0]
    found = intersection_over_union(confusion(*np.array(pairs).T, 4))
    for label in range(4):
        truth = {i for i, (t, _) in enumerate(known) if t == label}
        predicted = {i for i, (_, p) in enumerate(known) if p == label}
        if truth | predicted:
            assert found[label] == pytest.approx(len(truth & predicted) / len(truth | predicted))
        else:
            assert np.isnan(found[label])


def test_weights_count_instead_of_entries() -> None:
    matrix = confusion([0, 1, 1], [0, 0, 1], 2, [5.0, 1.0, 4.0])
    assert accuracy(matrix) == pytest.approx(0.9)


@given(arrays(float, st.integers(1, 30), elements=st.floats(0, 1)))
def test_share_within_counts(errors: np.ndarray) -> None:
    thresholds = [0.0, 0.05, 0.3, 1.0]
    assert share_within(errors, thresholds).tolist() == pytest.approx(
        [np.mean(errors <= t) for t in thresholds]
    )


def test_error_summary_of_known_errors() -> None:
    # Half exact, half at 0.125: the curve is 1/2 up to the middle of [0, 0.25], then 1.
    within = summarise_errors([0.0, 0.049, 0.051, 0.099])["within_0.05"]
    assert within == 0.5
    summary = summarise_errors([0.0, 0.0, 0.125, 0.125])
    assert summary["exact"] == 0.5
    assert summary["within_0.05"] == 0.5
    assert summary["mean_error"] == pytest.approx(6.25)
    assert summary["area_under_curve"] == pytest.approx(0.75, abs=0.006)


@given(st.integers(0, 10_000), st.integers(2, 12))
def test_precision_recall_is_the_papers_definition(seed: int, candidates: int) -> None:
    draw = np.random.default_rng(seed)
    distance = draw.random((3, candidates))
    right = draw.random((3, candidates)) < 0.4
    right[:, 0] = True
    found = precision_recall(distance, right)
    for query in range(3):
        order = np.argsort(distance[query])
        matches = set(np.flatnonzero(right[query]).tolist())
        precision, recall = [], []
        for r in range(1, candidates + 1):
            hits = len(matches & set(order[:r].tolist()))
            precision.append(hits / r)
            recall.append(hits / len(matches))
        for level, value in zip(RECALL, found.precision[query], strict=True):
            first = next(r for r in range(candidates) if recall[r] >= level - 1e-9)
            assert value == pytest.approx(precision[first])
        at_hits = [precision[r] for r in range(candidates) if order[r] in matches]
        assert found.average_precision[query] == pytest.approx(np.mean(at_hits))
        assert order[found.first[query] - 1] in matches
        assert not set(order[: found.first[query] - 1].tolist()) & matches


def test_constant_descriptors_gain_nothing_from_ties() -> None:
    right = np.array([[True, False, False, False]])
    assert precision_recall(np.zeros((1, 4)), right).average_precision[0] == pytest.approx(0.25)


@pytest.mark.parametrize("right", [1, 2, 4])
def test_random_order_reaches_the_mean_over_all_orders(right: int) -> None:
    orders = np.array(list(itertools.permutations(range(5))))
    wanted = np.broadcast_to(np.arange(5) < right, orders.shape)
    over_all = precision_recall(orders, wanted).average_precision.mean()
    assert random_average_precision([right], 5) == pytest.approx([over_all])
