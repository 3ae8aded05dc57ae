"""Numbers that say how good predictions are: arrays in, arrays and plain numbers out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THRESHOLDS: Floats = np.linspace(0, 0.25, 101)
"""Geodesic errors at which correspondence curves are drawn, in units of √area."""
RECALL: Floats = np.linspace(0, 1, 101)[1:]
"""Recalls at which precision is given."""


def confusion(
    truth: ArrayLike, predicted: ArrayLike, classes: int, weight: ArrayLike | None = None
) -> Floats:
    """Return (classes, classes) how much of each true class (rows) was predicted as each class (columns).

    Entries whose truth is −1 are left out.

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
    """Return the share on the diagonal of a confusion matrix; NaN if it is empty.

    Examples
    --------
    >>> accuracy(np.array([[3.0, 1.0], [0.0, 4.0]]))
    0.875
    """
    total = matrix.sum()
    return float(np.trace(matrix) / total) if total > 0 else float("nan")


def intersection_over_union(matrix: Floats) -> Floats:
    """Return (classes,) |truth ∩ predicted| / |truth ∪ predicted|, NaN for classes that occur in neither.

    Examples
    --------
    >>> intersection_over_union(np.array([[3.0, 1.0, 0], [0, 4.0, 0], [0, 0, 0]])).tolist()
    [0.75, 0.8, nan]
    """
    both = np.diag(matrix)
    either = matrix.sum(0) + matrix.sum(1) - both
    result: Floats = np.full(len(matrix), np.nan)
    np.divide(both, either, out=result, where=either > 0)
    return result


def mean_iou(matrix: Floats) -> float:
    """Return the mean of `intersection_over_union` over the classes that occur; NaN if none does.

    Examples
    --------
    >>> mean_iou(np.array([[3.0, 1.0, 0], [0, 4.0, 0], [0, 0, 0]]))
    0.775
    """
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


class ErrorSummary(NamedTuple):
    """Geodesic errors as papers sum them up.

    Attributes
    ----------
    exact : share of errors that are zero.
    within : share of errors up to 0.05.
    area_under_curve : mean height of the curve of `share_within` over its thresholds.
    mean : mean error, × 100.
    """

    exact: float
    within: float
    area_under_curve: float
    mean: float


def summarise_errors(errors: ArrayLike) -> ErrorSummary:
    """Return exact share, share within 0.05, area under the curve and mean × 100 of errors.

    Errors are in units of √area.

    Examples
    --------
    >>> summarise_errors([0.0, 0.04, 0.25, 0.5]).mean
    19.75
    """
    errors = np.asarray(errors, np.float64).ravel()
    curve = share_within(errors)
    under = float(((curve[1:] + curve[:-1]) / 2).mean())
    exact, within = share_within(errors, [0.0, 0.05]).tolist()
    return ErrorSummary(exact, within, under, 100 * float(errors.mean()) if len(errors) else float("nan"))


class PrecisionRecall(NamedTuple):
    """How well descriptors find matches, one row per query point.

    Attributes
    ----------
    precision : (Q, R) precision when the recalls `RECALL` are first reached.
    average_precision : (Q,) mean precision at the ranks of the right matches.
    first : (Q,) rank, from 1, of the first right match.
    """

    precision: Floats
    average_precision: Floats
    first: Ints


def precision_recall(distance: ArrayLike, right: ArrayLike, recall: ArrayLike = RECALL) -> PrecisionRecall:
    """Return precision and recall of retrieval by descriptor distance (supplement C).

    The candidates of a query are ranked by distance; after r of them, P(r) is the share of right ones among
    these and R(r) the share of all right ones that is among them. Of equal distances the right one counts
    as later, so that descriptors that say nothing gain nothing.

    Parameters
    ----------
    distance : (Q, K) float
        From each query point to each candidate.
    right : (Q, K) bool
        Whether a candidate is a right match. Queries without any are to be left out.

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
    needed = np.ceil(np.asarray(recall) * total - 1e-9).astype(np.int64)
    ranks = np.stack([np.searchsorted(row, need) for row, need in zip(found, needed, strict=True)])
    return PrecisionRecall(np.take_along_axis(precision, ranks, 1), average, hits.argmax(1) + 1)


def random_average_precision(right: ArrayLike, candidates: int) -> Floats:
    """Return (Q,) the average precision that candidates in random order reach in the mean.

    Before the i-th candidate, if it is right, the i − 1 others hold their share of the other right ones, so
    its precision is 1/i + (1 − 1/i) (right − 1) / (candidates − 1); and every i is equally likely.

    Parameters
    ----------
    right : (Q,) ints
        How many candidates are right, at least one.
    candidates : int

    Examples
    --------
    >>> random_average_precision([1, 2], 2).tolist()  # first or second: 1 or 1/2
    [0.75, 1.0]
    """
    inverse = float((1 / np.arange(1, candidates + 1)).mean())
    others = (np.asarray(right, np.float64) - 1) / max(candidates - 1, 1)
    return inverse + (1 - inverse) * others


class NoneScore(NamedTuple):
    """How well vertices without a counterpart are recognised.

    Attributes
    ----------
    precision : share of those said to have none that truly have none; NaN if none was said.
    recall : share of those that truly have none of which it was said; NaN if there are none.
    """

    precision: float
    recall: float


def none_score(truth: ArrayLike, predicted: ArrayLike) -> NoneScore:
    """Return precision and recall of −1, "no counterpart", in a map.

    Parameters
    ----------
    truth, predicted : (n,) int
        Vertices of the other shape, −1 for none.

    Examples
    --------
    >>> none_score([-1, -1, 3, 4], [-1, 5, 3, -1])
    NoneScore(precision=0.5, recall=0.5)
    """
    none, said = np.asarray(truth) < 0, np.asarray(predicted) < 0
    both = int((none & said).sum())
    return NoneScore(
        both / int(said.sum()) if said.any() else float("nan"),
        both / int(none.sum()) if none.any() else float("nan"),
    )
