"""How far a measured number can be trusted: intervals over test shapes, and what guessing would reach."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST = 5  # fewer test shapes say too little for an interval
_Z = 1.959963984540054  # 95 % of a normal distribution are within so many standard deviations


def mean_interval(
    values: ArrayLike, weights: ArrayLike | None = None, *, rounds: int = 2000
) -> tuple[float, float] | None:
    """Return where the mean over test shapes would be in 95 % of cases, with other shapes of the same kind.

    Shapes are resampled with replacement (bootstrap). Values that are all 0 or 1, which would give an
    interval of no length if all were right, get Wilson's interval instead.

    Parameters
    ----------
    values : (n,) floats
        One number per shape.
    weights : (n,) floats, optional
        Weight of each shape in the mean, such as its number of vertices.
    rounds : int
        How often shapes are drawn.

    Returns
    -------
    (float, float) or None
        None for fewer than `FEWEST` shapes.

    Examples
    --------
    >>> low, high = mean_interval([1, 1, 1, 1, 1, 1, 1, 1, 1, 0])
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)
    """
    values = np.asarray(values, dtype=np.float64)
    count = len(values)
    if count < FEWEST:
        return None
    if weights is None and np.isin(values, (0, 1)).all():
        return _wilson(float(values.mean()), count)
    weights = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    sums = np.stack([weights * values, weights], axis=1)
    return sum_interval(sums, lambda total: float(total[0] / total[1]), rounds=rounds)


def sum_interval(
    tables: NDArray[np.float64], measure: Callable[[NDArray[np.float64]], float], *, rounds: int = 1000
) -> tuple[float, float] | None:
    """Return the 95 % interval of a number that is computed from the sum of one table per test shape.

    Shapes are resampled with replacement (bootstrap), as in `mean_interval`.

    Parameters
    ----------
    tables : (n, …) floats
        One table per shape, such as a confusion matrix.
    measure : callable
        From the sum of tables to the number.
    rounds : int
        How often shapes are drawn.

    Returns
    -------
    (float, float) or None
        None for fewer than `FEWEST` shapes.

    Examples
    --------
    >>> tables = np.array([[9.0, 10.0], [8.0, 10.0], [30.0, 30.0], [7.0, 10.0], [10.0, 10.0]])  # right, all
    >>> low, high = sum_interval(tables, lambda total: total[0] / total[1])
    >>> 0.7 < low < 64 / 70 < high <= 1
    True
    """
    count = len(tables)
    if count < FEWEST:
        return None
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), rounds)
    sums = (drawn @ tables.reshape(count, -1)).reshape(rounds, *tables.shape[1:])
    low, high = np.nanquantile([measure(total) for total in sums], [0.025, 0.975])
    return float(low), float(high)


def _wilson(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's interval of a share of right answers."""
    spread = _Z * math.sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2))
    middle, scale = share + _Z**2 / (2 * count), 1 + _Z**2 / count
    return (middle - spread) / scale, (middle + spread) / scale


def majority(confusion: NDArray[np.float64]) -> tuple[int, float]:
    """Return the most frequent true class, and the accuracy of always answering it.

    Parameters
    ----------
    confusion : (K, K) counts
        Rows are true classes.

    Examples
    --------
    >>> majority(np.array([[3.0, 1.0], [2.0, 0.0]]))
    (0, 0.6666666666666666)
    """
    rows = confusion.sum(axis=1)
    return int(rows.argmax()), float(rows.max() / rows.sum())
