"""What tasks with classes have in common: probabilities and cross entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fieldconv.nn.pooling import mean_per_shape
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import at_vertices
from fieldconv.tasks.base.cross_entropy import cross_entropy
from fieldconv.tasks.base.evaluation import Curves
from fieldconv.tasks.base.examples import Examples
from fieldconv.tasks.base.metric import Metric
from fieldconv.tasks.base.prediction import Decoded
from fieldconv.tasks.base.recipe import TrainingConfig
from fieldconv.tasks.base.task import Chunk, Task

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
