"""The base class of tasks with classes: cross entropy, probabilities, calibration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from fieldconv._arrays import Floats
from fieldconv.nn.pooling import mean_per_shape
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import at_vertices
from fieldconv.tasks.base.evaluation import Curves
from fieldconv.tasks.base.examples import Examples
from fieldconv.tasks.base.metric import Metric
from fieldconv.tasks.base.metrics import sum_interval
from fieldconv.tasks.base.prediction import Decoded
from fieldconv.tasks.base.task import Chunk, Task
from fieldconv.tasks.base.training_config import TrainingConfig

CALIBRATION = Metric("calibration_error", "calibration error", "less")
"""How far confidence and share of right answers are apart, on average."""
RELIABILITY = Curves(
    title="Confidence",
    x="confidence",
    y="right answers",
    percent=True,
    percent_x=True,
    diagonal="as sure as right",
    caption="How often answers of each confidence are right; confidence to be trusted follows the diagonal.",
)
BINS = 15
"""Bins of confidence in which answers are counted."""
LIMITS = (0.05, 20.0)
"""Bounds of temperatures: if every answer is right, no temperature is low enough."""
CHUNK = 2**19
"""Numbers whose softmax fits the processor's cache."""


class LabelTask(Task):
    """One label per point: cross entropy, averaged over the points of a shape, then over shapes."""

    default_outputs = None
    calibrated = True
    score: ClassVar[Metric | None] = Metric("score", "training accuracy")

    def outputs(self, data: Examples) -> int | None:
        return int(data.num_classes)

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor | None]:
        target = chunk.surface.y
        losses = cross_entropy(outputs, target, smoothing=config.label_smoothing)
        right = (outputs.detach().argmax(1) == target).float()
        known = target >= 0
        return mean_per_shape(losses, known, chunk.surface), mean_per_shape(right, known, chunk.surface)

    def combine(self, outputs: Sequence[Tensor]) -> Tensor:
        """Return scores whose softmax is the mean of the probabilities."""
        if len(outputs) == 1:
            return outputs[0]
        return torch.stack(list(outputs)).log_softmax(-1).logsumexp(0)

    def decode(self, outputs: Tensor, surface: Surface) -> Decoded:
        scores = at_vertices(surface, outputs.softmax(1)).numpy()
        return Decoded(labels=scores.argmax(1).astype(np.int64), scores=scores)


class _ByChunks(torch.autograd.Function):
    """Cross entropy of a few rows at a time; backward computes softmax again, so only scores are stored."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, target: Tensor, smoothing: float, chunk: int) -> Tensor:
        ctx.save_for_backward(scores, target)
        ctx.smoothing, ctx.chunk = smoothing, chunk
        return torch.cat([_plain(some, right, smoothing) for some, right in _parts(chunk, scores, target)])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        """Return the gradient of each row: its softmax minus its target."""
        scores, target = ctx.saved_tensors
        target, gradient = target[:, None], torch.where(target >= 0, gradient, 0)[:, None]
        result = torch.empty_like(scores)
        for some, factor, out in _parts(ctx.chunk, scores, gradient, result):
            torch.softmax(some, 1, out=out).sub_(ctx.smoothing / scores.shape[1]).mul_(factor)
        result.scatter_add_(1, target.clamp(min=0), ((ctx.smoothing - 1) * gradient).to(result.dtype))
        return result, None, None, None


def _parts(chunk: int, scores: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Split tensors into chunks of a few rows."""
    rows = max(chunk // scores.shape[1], 1)
    return zip(*(torch.split(tensor, rows) for tensor in (scores, *others)), strict=True)


def _plain(scores: Tensor, target: Tensor, smoothing: float) -> Tensor:
    return functional.cross_entropy(
        scores, target, ignore_index=-1, label_smoothing=smoothing, reduction="none"
    )


def cross_entropy(scores: Tensor, target: Tensor, *, smoothing: float = 0.0, chunk: int = CHUNK) -> Tensor:
    """Return the cross entropy of each row, 0 where the target is −1.

    As torch's, but for a table of scores (n, classes) of more than ``chunk`` numbers on the CPU, which is
    processed in chunks, only the gradient has the size of the table. ``target`` (n,) are the right classes;
    ``smoothing`` is the share of them that is spread over all classes.

    Examples
    --------
    >>> cross_entropy(torch.zeros(2, 4), torch.tensor([3, -1])).exp()
    tensor([4., 1.])
    """
    if scores.device.type == "cpu" and scores.numel() > chunk:
        losses: Tensor = _ByChunks.apply(scores, target, smoothing, chunk)  # type: ignore[no-untyped-call]
        return losses
    return _plain(scores, target, smoothing)


def fit_temperature(scores: Tensor, target: Tensor) -> float:
    """Return the temperature T for which softmax(scores / T) is likeliest to give the targets.

    ``scores`` are (n, classes), ``target`` (n,) the right classes, −1 where unknown. T is in `LIMITS`, and
    1 if no target is known. The cross entropy is convex in 1/T: bisection of its slope finds the one minimum.

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
        """Return the derivative of the mean cross entropy by 1/T."""
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
        # For each shape (3, BINS): answers, sums of confidence, right answers.
        self._tables: list[Floats] = []

    def add(self, confidence: ArrayLike, right: ArrayLike) -> None:
        """Count the answers (n,) of a shape with their confidence, and whether each is right."""
        confidence, right = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
        place = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
        weights = (np.ones_like(confidence), confidence, right)
        self._tables.append(np.stack([np.bincount(place, weight, BINS) for weight in weights]))

    @property
    def error(self) -> float:
        """Expected calibration error: the mean difference of confidence and share of right answers."""
        return self._error_of(self._sums)

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % interval of the error over such shapes, by its key; empty for few shapes."""
        interval = sum_interval(np.array(self._tables), self._error_of)
        return {} if interval is None else {CALIBRATION.key: interval}

    @property
    def _sums(self) -> Floats:
        return np.asarray(np.sum(self._tables or np.zeros((1, 3, BINS)), axis=0))

    @staticmethod
    def _error_of(sums: Floats) -> float:
        count, confidence, right = sums
        return float(np.abs(confidence - right).sum() / count.sum()) if count.any() else float("nan")

    @property
    def curve(self) -> Floats:
        """(k, 2) mean confidence and share of right answers of each bin that is not empty."""
        sums = self._sums
        count, confidence, right = sums[:, sums[0] > 0]
        return np.stack([confidence / count, right / count], axis=1)
