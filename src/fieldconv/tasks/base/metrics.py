"""Metrics of predictions and their intervals: arrays in, arrays and plain numbers out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Floats, Ints

THRESHOLDS: Floats = np.linspace(0, 0.25, 101)
"""Geodesic errors at which correspondence curves are drawn, in units of √area."""
RECALL: Floats = np.linspace(0, 1, 101)[1:]
"""Recalls at which precision is given."""
MIN_SHAPES = 5
"""Test shapes that an interval needs."""
_Z = 1.959963984540054  # standard deviations that hold 95 % of a normal distribution


def confusion(
    truth: ArrayLike, predicted: ArrayLike, classes: int, weight: ArrayLike | None = None
) -> Floats:
    """Return (classes, classes) how much of each true class (rows) was predicted as each class (columns).

    Entries with a truth of −1 are ignored.

    Examples
    --------
    >>> confusion([0, 0, 1, -1], [0, 1, 1, 1], 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    known = truth >= 0
    weights = None if weight is None else np.asarray(weight, np.float64)[known]
    counts = np.bincount(truth[known] * classes + predicted[known], weights, classes * classes)
    return counts.reshape(classes, classes).astype(np.float64)


def accuracy(matrix: Floats) -> float:
    """Return the share on the diagonal of a confusion matrix; NaN if it is empty."""
    total = matrix.sum()
    return float(np.trace(matrix) / total) if total > 0 else float("nan")


def intersection_over_union(matrix: Floats) -> Floats:
    """Return (classes,) |truth ∩ predicted| / |truth ∪ predicted|, NaN for classes that occur in neither.

    Examples
    --------
    >>> matrix = np.array([[3.0, 1.0, 0], [0, 4.0, 0], [0, 0, 0]])
    >>> intersection_over_union(matrix).tolist(), mean_iou(matrix), accuracy(matrix)
    ([0.75, 0.8, nan], 0.775, 0.875)
    """
    both = np.diag(matrix)
    either = matrix.sum(0) + matrix.sum(1) - both
    result: Floats = np.full(len(matrix), np.nan)
    np.divide(both, either, out=result, where=either > 0)
    return result


def mean_iou(matrix: Floats) -> float:
    """Return the mean of `intersection_over_union` over the classes that occur; NaN if none does."""
    found = intersection_over_union(matrix)
    return float(np.nanmean(found)) if (~np.isnan(found)).any() else float("nan")


def share_within(errors: ArrayLike, thresholds: ArrayLike = THRESHOLDS) -> Floats:
    """Return the share of errors that do not exceed each threshold.

    Examples
    --------
    >>> share_within([0.0, 0.1, 0.2, 0.9], [0.0, 0.1, 1.0]).tolist()
    [0.25, 0.5, 1.0]
    """
    ordered = np.sort(np.asarray(errors, np.float64).ravel())
    return np.searchsorted(ordered, np.asarray(thresholds), side="right") / max(len(ordered), 1)


def summarise_errors(errors: ArrayLike) -> dict[str, float]:
    """Return the usual summary of geodesic errors in units of √area.

    Returns
    -------
    dict of str to float
        ``within_0.05``: share of errors up to 0.05. ``exact``: share of errors that are zero.
        ``mean_error``: mean × 100. ``area_under_curve``: mean height of the curve of `share_within`.

    Examples
    --------
    >>> summarise_errors([0.0, 0.04, 0.25, 0.5])["mean_error"]
    19.75
    """
    errors = np.asarray(errors, np.float64).ravel()
    curve = share_within(errors)
    exact, within = share_within(errors, [0.0, 0.05]).tolist()
    return {
        "within_0.05": within,
        "exact": exact,
        "mean_error": 100 * float(errors.mean()) if len(errors) else float("nan"),
        "area_under_curve": float(((curve[1:] + curve[:-1]) / 2).mean()),
    }


class PrecisionRecall(NamedTuple):
    """How well descriptors find matches, one row per query point."""

    precision: Floats
    """(Q, R) precision when the recalls `RECALL` are first reached."""
    average_precision: Floats
    """(Q,) mean precision at the ranks of the right matches."""
    first: Ints
    """(Q,) rank, from 1, of the first right match."""


def precision_recall(distance: ArrayLike, right: ArrayLike) -> PrecisionRecall:
    """Return precision and recall of retrieval by descriptor distance (supplement C).

    The candidates of a query are ranked by distance; after r of them, P(r) is the share of right ones among
    these and R(r) the share of all right ones that is among them. Among equal distances right candidates
    come last, so that constant descriptors gain nothing.

    ``distance`` (Q, K) is from each query to each candidate; ``right`` (Q, K) says which candidates are
    right matches, at least one for each query.

    Examples
    --------
    >>> result = precision_recall([[0.1, 0.2, 0.3]], [[True, False, True]])
    >>> result.average_precision.tolist(), result.first.tolist()
    ([0.8333333333333333], [1])
    """
    distance, right = np.asarray(distance), np.asarray(right, bool)
    order = np.lexsort((right, distance), axis=1)
    hits = np.take_along_axis(right, order, 1)
    found = hits.cumsum(1)
    total = found[:, -1:]
    precision = found / np.arange(1, hits.shape[1] + 1)
    average = (precision * hits).sum(1) / total[:, 0]
    # The first rank at which found ≥ recall · total; a small slack for 0.1 · 30 = 3.0000000000000004.
    needed = np.ceil(RECALL * total - 1e-9).astype(np.int64)
    ranks = np.stack([np.searchsorted(row, need) for row, need in zip(found, needed, strict=True)])
    return PrecisionRecall(np.take_along_axis(precision, ranks, 1), average, hits.argmax(1) + 1)


def random_average_precision(right: ArrayLike, candidates: int) -> Floats:
    """Return (Q,) the expected average precision of candidates in random order.

    Before the i-th candidate, if it is right, the i − 1 others hold their share of the other right ones, so
    its precision is 1/i + (1 − 1/i) (right − 1) / (candidates − 1); and every i is equally likely. ``right``
    (Q,) says how many candidates are right, at least one.

    Examples
    --------
    >>> random_average_precision([1, 2], 2).tolist()  # first or second: 1 or 1/2
    [0.75, 1.0]
    """
    inverse = float((1 / np.arange(1, candidates + 1)).mean())
    others = (np.asarray(right, np.float64) - 1) / max(candidates - 1, 1)
    return inverse + (1 - inverse) * others


def mean_interval(
    values: ArrayLike, weights: ArrayLike | None = None, *, rounds: int = 2000
) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean over test shapes; None for fewer than `MIN_SHAPES` shapes.

    ``values`` (n,) are one number per shape, ``weights`` (n,) their weights in the mean. Shapes are resampled
    with replacement ``rounds`` times (bootstrap). Values that are all 0 or 1 get Wilson's interval instead,
    which has a length even if all are right.

    Examples
    --------
    >>> low, high = mean_interval([1, 1, 1, 1, 1, 1, 1, 1, 1, 0])
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)
    """
    values = np.asarray(values, dtype=np.float64)
    count = len(values)
    if count < MIN_SHAPES:
        return None
    if weights is None and np.isin(values, (0, 1)).all():
        return _wilson(float(values.mean()), count)
    weights = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    sums = np.stack([weights * values, weights], axis=1)
    return sum_interval(sums, lambda total: float(total[0] / total[1]), rounds=rounds)


def sum_interval(
    tables: Floats, measure: Callable[[Floats], float], *, rounds: int = 1000
) -> tuple[float, float] | None:
    """Return the 95 % interval, as `mean_interval`, of a number computed from the sum of tables.

    ``tables`` (n, …) has one table per shape, such as a confusion matrix; ``measure`` takes their sum.

    Examples
    --------
    >>> tables = np.array([[9.0, 10.0], [8.0, 10.0], [30.0, 30.0], [7.0, 10.0], [10.0, 10.0]])  # right, all
    >>> low, high = sum_interval(tables, lambda total: total[0] / total[1])
    >>> 0.7 < low < 64 / 70 < high <= 1
    True
    """
    count = len(tables)
    if count < MIN_SHAPES:
        return None
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), rounds)
    sums = (drawn @ tables.reshape(count, -1)).reshape(rounds, *tables.shape[1:])
    low, high = np.nanquantile([measure(total) for total in sums], [0.025, 0.975])
    return float(low), float(high)


def _wilson(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    spread = _Z * math.sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2))
    middle, scale = share + _Z**2 / (2 * count), 1 + _Z**2 / count
    return (middle - spread) / scale, (middle + spread) / scale


def majority(confusion: Floats) -> tuple[int, float]:
    """Return the most frequent true class (row of the matrix), and the accuracy of always answering it.

    Examples
    --------
    >>> majority(np.array([[3.0, 1.0], [2.0, 0.0]]))
    (0, 0.6666666666666666)
    """
    rows = confusion.sum(axis=1)
    return int(rows.argmax()), float(rows.max() / rows.sum())
