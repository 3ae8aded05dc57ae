"""A task in one file: how high above the ground is each point?"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from fieldconv.nn.pooling import mean_per_shape
from fieldconv.tasks.base import Chunk, Decoded, EmbeddedShape, Metric, Task, TrainingConfig


class Height(Task):
    """A number per vertex: the height above the lowest point, as a share of the shape's height."""

    name, about = "height", "the height of each vertex"
    metrics = (
        Metric("mean_error", "mean error", "less", "plain"),
        Metric("within_tenth", "within a tenth"),
    )

    def embedded_target(self, shape: EmbeddedShape) -> Any:
        height = shape.mesh.vertices[:, 2]
        return (height - height.min()) / (height.max() - height.min())

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, None]:
        squared = (outputs[:, 0] - chunk.surface.y).square()
        return mean_per_shape(squared, chunk.surface.area, chunk.surface), None

    def measure(self, found: Decoded, surface: Any) -> dict[str, Any]:
        assert found.values is not None
        error = np.abs(found.values - surface.vertex_y.numpy())
        return {"mean_error": float(error.mean()), "within_tenth": float((error < 0.1).mean())}
