from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from fieldconv.tasks.base.label_task import CHUNK, cross_entropy

# A row at a time, a few of them, torch's own.
every_chunk = pytest.mark.parametrize("chunk", [1, 20, CHUNK])


def case() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(7, 6, dtype=torch.float64, requires_grad=True), torch.tensor([0, 5, -1, 2, 2, -1, 1])


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@every_chunk
def test_is_the_equation(smoothing: float, chunk: int) -> None:
    scores, target = case()
    found = cross_entropy(scores, target, smoothing=smoothing, chunk=chunk)
    for row, right, loss in zip(scores.tolist(), target.tolist(), found.tolist(), strict=True):
        logarithm = math.log(sum(math.exp(score) for score in row))
        wanted = [smoothing / 6 + (1 - smoothing) * (k == right) for k in range(6)]
        expected = sum(share * (logarithm - score) for share, score in zip(wanted, row, strict=True))
        assert loss == pytest.approx(expected if right >= 0 else 0)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@every_chunk
def test_gradients(smoothing: float, chunk: int) -> None:
    scores, target = case()
    assert torch.autograd.gradcheck(
        lambda x: cross_entropy(x, target, smoothing=smoothing, chunk=chunk), scores
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@every_chunk
def test_lower_precision(dtype: torch.dtype, chunk: int) -> None:
    scores, target = case()
    scores = (100 * scores).to(dtype).detach().requires_grad_()
    found, expected = (
        cross_entropy(scores, target, chunk=chunk),
        functional.cross_entropy(scores, target, ignore_index=-1, reduction="none"),
    )
    torch.testing.assert_close(found, expected)
    weights = torch.rand(7, dtype=found.dtype)
    gradients = (torch.autograd.grad(losses, scores, weights)[0] for losses in (found, expected))
    torch.testing.assert_close(*gradients)
