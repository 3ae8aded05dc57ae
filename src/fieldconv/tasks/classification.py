"""What is this shape?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fieldconv.surface import Surface
from fieldconv.tasks.base import Chunk, Evaluation, Follow, Network, Task, joined, varied
from fieldconv.tasks.cross_entropy import cross_entropy
from fieldconv.tasks.metrics import accuracy, confusion
from fieldconv.tasks.presets import TrainingConfig


class Classification(Task):
    """One class per shape: cross entropy; accuracy and confusion matrix."""

    name, metric = "classification", "accuracy"

    def collate(
        self, examples: Sequence[Surface], draws: Sequence[np.random.Generator], config: TrainingConfig
    ) -> Chunk:
        surfaces = [varied(e, draw, config) for e, draw in zip(examples, draws, strict=True)]
        return Chunk(joined(surfaces), [example.name for example in examples])

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor]:
        target = chunk.surface.y
        losses = cross_entropy(outputs, target, smoothing=config.label_smoothing)
        return losses, (outputs.argmax(1) == target).float()

    def evaluate(self, network: Network, data: Any, *, follow: Follow) -> Evaluation:
        truth, predicted, shapes = [], [], []
        for surface in follow(data):
            scores = network(surface)[0]
            truth.append(int(surface.y))
            predicted.append(int(scores.argmax()))
            shapes.append(
                {
                    "name": surface.name,
                    "truth": truth[-1],
                    "predicted": predicted[-1],
                    "accuracy": float(truth[-1] == predicted[-1]),
                    "confidence": float(torch.softmax(scores, 0).max()),
                }
            )
        matrix = confusion(truth, predicted, len(scores))
        return Evaluation(
            self.name,
            {"accuracy": accuracy(matrix)},
            shapes,
            {"confusion": matrix},
            class_names=tuple(data.class_names),
        )
