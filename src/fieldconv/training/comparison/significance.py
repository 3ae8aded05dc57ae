"""Whether two networks differ by more than chance, judged on the same test shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

EXACT = 14  # shapes that differ, up to which all signs are tried


def paired_test(differences: ArrayLike, *, rounds: int = 20_000) -> float:
    """Return how likely a mean difference at least this large is if the two do equally well.

    If neither is better, the sign of each shape's difference is a toss of a coin. All signs are tried for
    few shapes, random ones for many. It assumes nothing else about the numbers, which may be 0 and 1.

    Parameters
    ----------
    differences : (n,) floats
        Differences of the two networks' numbers on each shape.
    rounds : int
        How many random signs are tried.

    Examples
    --------
    >>> paired_test([1.0, 1.0, 1.0, 1.0, 1.0])  # 2 of 32 signs are as extreme
    0.0625
    >>> paired_test([0.0, 0.0])
    1.0
    """
    found = np.asarray(differences, np.float64)
    found = found[found != 0]
    if not len(found):
        return 1.0
    few = len(found) <= EXACT
    sums = _every_sum(found) if few else _random_sums(found, rounds)
    extreme = int((np.abs(sums) >= abs(found.sum()) - 1e-9 * np.abs(found).sum()).sum())
    return extreme / len(sums) if few else (extreme + 1) / (len(sums) + 1)


def _every_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _random_sums(values: NDArray[np.float64], rounds: int) -> NDArray[np.float64]:
    draw = np.random.default_rng(0)
    parts = [draw.choice((-1.0, 1.0), (1000, len(values))) @ values for _ in range(-(-rounds // 1000))]
    return np.concatenate(parts)[:rounds]


def holm(chances: Sequence[float]) -> list[float]:
    """Return Holm's corrected chances: the more pairs are tested, the surer each must be.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(chances, kind="stable")
    corrected = np.empty(len(chances))
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(chances) - place) * chances[index]))
        corrected[index] = largest
    return [float(f"{value:.12g}") for value in corrected]
