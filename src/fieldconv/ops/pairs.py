"""Squared distances between pairs of descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

CHUNK = 2**20  # numbers whose differences are at hand at a time


def _chunks(features: Tensor, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    pairs = max(CHUNK // max(features.shape[1], 1), 1)
    return zip(*(torch.split(tensor.flatten(), pairs) for tensor in tensors), strict=True)


@torch.library.custom_op(
    "fieldconv::squared_distances",
    mutates_args=(),
    schema="(Tensor features, Tensor first, Tensor second) -> Tensor",
)
def _squared_distances(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    parts = [
        (features.index_select(0, a) - features.index_select(0, b)).square().sum(1)
        for a, b in _chunks(features, first, second)
    ]
    return torch.cat(parts).view(first.shape)


@torch.library.custom_op(
    "fieldconv::squared_distances_backward",
    mutates_args=(),
    schema="(Tensor features, Tensor first, Tensor second, Tensor gradient) -> Tensor",
)
def _squared_distances_backward(features: Tensor, first: Tensor, second: Tensor, gradient: Tensor) -> Tensor:
    result = torch.zeros_like(features)
    for a, b, factor in _chunks(features, first, second, gradient):
        change = (features.index_select(0, a) - features.index_select(0, b)).mul_(2 * factor[:, None])
        result.index_add_(0, a, change).index_add_(0, b, change, alpha=-1)
    return result


@_squared_distances.register_fake
def _(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    return features.new_empty(first.shape)


@_squared_distances_backward.register_fake
def _(features: Tensor, first: Tensor, second: Tensor, gradient: Tensor) -> Tensor:
    return torch.empty_like(features)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    features, first, second = ctx.saved_tensors
    if torch.is_grad_enabled():  # a second derivative is wanted: let torch find it
        squared = (features[first] - features[second]).square().sum(-1)
        return torch.autograd.grad(squared, features, gradient, create_graph=True)[0], None, None
    return _squared_distances_backward(features, first, second, gradient), None, None


_squared_distances.register_autograd(_gradient, setup_context=_save)


def squared_distances(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Return |F(i) − F(j)|² for pairs (i, j) of points.

    Nothing with a row per pair is kept for the backward pass.

    Parameters
    ----------
    features : real Tensor, shape (n, d)
        F, one row for each point.
    first, second : int64 Tensor, shape (...)
        i and j of every pair.

    Returns
    -------
    real Tensor, shape (...)

    Examples
    --------
    >>> points = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    >>> squared_distances(points, torch.tensor([0, 1]), torch.tensor([1, 1])).tolist()
    [25.0, 0.0]
    """
    squared: Tensor = _squared_distances(features, first, second)
    return squared
