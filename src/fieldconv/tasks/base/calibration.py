"""Whether probabilities mean what they say, and the temperature that makes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

BINS = 15
LIMITS = (0.05, 20.0)  # of temperatures: where everything is right, none would be low enough


def fit_temperature(scores: Tensor, target: Tensor) -> float:
    """Return the temperature T for which softmax(scores / T) is likeliest to give the targets.

    The cross entropy is convex in 1/T, so bisection of its slope finds the one minimum.

    Parameters
    ----------
    scores : (n, classes) Tensor
        Before softmax.
    target : (n,) int64 Tensor
        The right classes, −1 where unknown.

    Returns
    -------
    float
        Within `LIMITS`; 1 if no target is known.

    Examples
    --------
    >>> import torch
    >>> scores = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> temperature = fit_temperature(scores, torch.tensor([0, 0, 0, 1]))
    >>> round(torch.softmax(scores[0] / temperature, 0)[0].item(), 4)  # right in three of four cases
    0.75
    """
    known = target >= 0
    scores, target = scores[known].double(), target[known]
    if not len(target):
        return 1.0
    right = scores.gather(1, target[:, None]).mean()

    def slope(inverse: float) -> float:
        """Of the mean cross entropy, along 1/T."""
        return float(((inverse * scores).softmax(1) * scores).sum(1).mean() - right)

    low, high = np.log(1 / LIMITS[1]), np.log(1 / LIMITS[0])
    for _ in range(40):
        middle = (low + high) / 2
        if slope(float(np.exp(middle))) > 0:
            high = middle
        else:
            low = middle
    return float(np.exp(-(low + high) / 2))


class Reliability:
    """Counts how often answers of each confidence are right.

    Examples
    --------
    >>> found = Reliability()
    >>> found.add([0.9, 0.9, 0.6, 0.6], [True, True, True, False])
    >>> round(found.error, 3)
    0.1
    """

    def __init__(self) -> None:
        self._sums = np.zeros((3, BINS))  # answers, confidence, right ones

    def add(self, confidence: ArrayLike, right: ArrayLike) -> None:
        """Count answers (n,) with their confidence, and whether each is right."""
        sure, good = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
        place = np.clip(np.ceil(sure * BINS).astype(np.int64) - 1, 0, BINS - 1)
        for row, weight in zip(self._sums, (np.ones_like(sure), sure, good), strict=True):
            row += np.bincount(place, weight, BINS)

    @property
    def error(self) -> float:
        """Expected calibration error: how far confidence and share of right answers are apart, on average."""
        count, sure, good = self._sums
        return float(np.abs(sure - good).sum() / count.sum()) if count.any() else float("nan")

    @property
    def curve(self) -> NDArray[np.float64]:
        """(k, 2) mean confidence and share of right answers of each bin that has any."""
        count, sure, good = self._sums[:, self._sums[0] > 0]
        return np.stack([sure / count, good / count], axis=1)
