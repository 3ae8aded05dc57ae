"""Cross entropy that needs little memory for thousands of classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

CHUNK = 2**19
"""Numbers whose softmax fits the processor's cache."""


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

    As torch's, but for a large table of scores on the CPU only the gradient has the size of the table.

    Parameters
    ----------
    scores : Tensor, shape (n, classes)
    target : int64 Tensor, shape (n,)
        The right class of each row, or −1 where it is not known.
    smoothing : float
        Share of the target that is spread over all classes.
    chunk : int
        Size of a table that counts as large, and of the chunks in which it is processed.

    Returns
    -------
    Tensor, shape (n,)

    Examples
    --------
    >>> cross_entropy(torch.zeros(2, 4), torch.tensor([3, -1])).exp()
    tensor([4., 1.])
    """
    if scores.device.type == "cpu" and scores.numel() > chunk:
        losses: Tensor = _ByChunks.apply(scores, target, smoothing, chunk)  # type: ignore[no-untyped-call]
        return losses
    return _plain(scores, target, smoothing)
