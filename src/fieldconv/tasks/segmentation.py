"""Which part is this point on?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from fieldconv.models.pooling import mean_per_shape
from fieldconv.surface import Surface
from fieldconv.tasks.base import (
    Chunk,
    Evaluation,
    Follow,
    Network,
    Task,
    at_vertices,
    joined,
    varied,
)
from fieldconv.tasks.cross_entropy import cross_entropy
from fieldconv.tasks.metrics import accuracy, confusion, intersection_over_union
from fieldconv.tasks.presets import TrainingConfig


class LabelTask(Task):
    """One label per point: cross entropy, averaged over the points of a shape, then over shapes."""

    def collate(
        self, examples: Sequence[Surface], draws: Sequence[np.random.Generator], config: TrainingConfig
    ) -> Chunk:
        surfaces = [varied(e, draw, config) for e, draw in zip(examples, draws, strict=True)]
        return Chunk(joined(surfaces), [example.name for example in examples])

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor]:
        target = chunk.surface.y
        losses = cross_entropy(outputs, target, smoothing=config.label_smoothing)
        right = (outputs.detach().argmax(1) == target).float()
        known = target >= 0
        return mean_per_shape(losses, known, chunk.surface), mean_per_shape(right, known, chunk.surface)


class Segmentation(LabelTask):
    """A part per point; judged on the samples and on every vertex of the original mesh."""

    name, metric = "segmentation", "accuracy"

    def evaluate(self, network: Network, data: Any, *, follow: Follow) -> Evaluation:
        classes = data.num_classes
        on_samples, on_vertices, by_area = (np.zeros((classes, classes)) for _ in range(3))
        shapes = []
        for surface in follow(data):
            scores = network(surface).softmax(1)  # as predictions average them at vertices
            predicted = at_vertices(surface, scores).argmax(1).numpy()
            truth = surface.vertex_y.numpy()
            own = confusion(truth, predicted, classes)
            on_samples += confusion(surface.y.numpy(), scores.argmax(1).numpy(), classes)
            on_vertices += own
            by_area += confusion(truth, predicted, classes, surface.vertex_area.numpy())
            iou = intersection_over_union(own)
            shapes.append(
                {"name": surface.name, "accuracy": accuracy(own), "mean_iou": float(np.nanmean(iou))}
            )
        iou = intersection_over_union(on_vertices)
        return Evaluation(
            self.name,
            {
                "accuracy": accuracy(on_vertices),
                "sample_accuracy": accuracy(on_samples),
                "area_accuracy": accuracy(by_area),
                "mean_iou": float(np.nanmean(iou)),
            },
            shapes,
            {"confusion": on_vertices, "iou": iou},
            class_names=tuple(data.class_names),
        )
