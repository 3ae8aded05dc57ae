"""Means over the samples of each shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from fieldconv.surface import Surface


def shape_of_samples(surface: Surface) -> tuple[Tensor, int]:
    """Return the shape of each sample, (n,), and the number of shapes, which is one without a batch."""
    batch: Tensor | None = getattr(surface, "batch", None)
    if batch is None:
        return torch.zeros(len(surface.area), dtype=torch.int64, device=surface.area.device), 1
    return batch, surface.num_graphs


def mean_per_shape(values: Tensor, weight: Tensor, surface: Surface) -> Tensor:
    """Return the weighted mean of ``values`` (n, …) over each shape, (shapes, …); 0 where weights are 0."""
    shape, count = shape_of_samples(surface)
    weight = weight.to(values.dtype).reshape(-1, *[1] * (values.ndim - 1))
    total = values.new_zeros(count, *values.shape[1:]).index_add(0, shape, weight * values)
    whole = weight.new_zeros(count, *weight.shape[1:]).index_add(0, shape, weight)
    return total / torch.where(whole > 0, whole, 1.0)
