"""Squared distances between pairs of descriptors."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fieldconv.ops.register import register_differentiable

CHUNK = 2**20  # differences of numbers at a time


def _chunks(chunk: int, features: Tensor, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    pairs = max(chunk // max(features.shape[1], 1), 1)
    return zip(*(torch.split(tensor.flatten(), pairs) for tensor in tensors), strict=True)


def _distances(features: Tensor, first: Tensor, second: Tensor, chunk: int) -> Tensor:
    parts = [
        (features.index_select(0, a) - features.index_select(0, b)).square().sum(1)
        for a, b in _chunks(chunk, features, first, second)
    ]
    return torch.cat(parts).view(first.shape)


def _distances_backward(
    features: Tensor, gradient: Tensor, first: Tensor, second: Tensor, chunk: int
) -> Tensor:
    result = features.new_zeros(features.shape)
    for a, b, factor in _chunks(chunk, features, first, second, gradient):
        change = (features.index_select(0, a) - features.index_select(0, b)).mul_(2 * factor[:, None])
        result.index_add_(0, a, change).index_add_(0, b, change, alpha=-1)
    return result


_squared_distances = register_differentiable(
    "squared_distances",
    ["features"],
    "Tensor first, Tensor second, int chunk",
    _distances,
    _distances_backward,
    fake=lambda features, first, *_: features.new_empty(first.shape),
    equations=lambda features, first, second, _: (features[first] - features[second]).square().sum(-1),
)


def squared_distances(features: Tensor, first: Tensor, second: Tensor, *, chunk: int = CHUNK) -> Tensor:
    """Return |F(i) − F(j)|² for pairs (i, j) of points.

    Nothing with a row for each pair is kept for the backward pass.

    Parameters
    ----------
    features : real Tensor, shape (n, d)
        F, one row for each point.
    first, second : int64 Tensor, shape (...)
        i and j of every pair.
    chunk : int
        How many differences of numbers are in memory at a time.

    Returns
    -------
    real Tensor, shape (...)

    Examples
    --------
    >>> points = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    >>> squared_distances(points, torch.tensor([0, 1]), torch.tensor([1, 1])).tolist()
    [25.0, 0.0]
    """
    squared: Tensor = _squared_distances(features, first, second, chunk)
    return squared
