"""ReLU on the magnitudes of tangent vectors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fieldconv.ops import _tangent_relu_cpu
from fieldconv.ops.direction import polar


def tangent_relu_torch(x: Tensor, offset: Tensor) -> Tensor:
    """`tangent_relu` in plain torch."""
    magnitude, direction = polar(x)
    return torch.view_as_complex(torch.relu(magnitude + offset).unsqueeze(-1) * direction)


@torch.library.custom_op(
    "fieldconv::tangent_relu", mutates_args=(), schema="(Tensor x, Tensor offset) -> Tensor"
)
def tangent_relu_fast(x: Tensor, offset: Tensor) -> Tensor:
    return _tangent_relu_cpu.relu(x, offset)


@torch.library.custom_op(
    "fieldconv::tangent_relu_backward",
    mutates_args=(),
    schema="(Tensor x, Tensor offset, Tensor gradient) -> (Tensor, Tensor)",
)
def tangent_relu_backward(x: Tensor, offset: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    return _tangent_relu_cpu.relu_backward(x, offset, gradient)


@tangent_relu_fast.register_fake
def _(x: Tensor, offset: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


@tangent_relu_backward.register_fake
def _(x: Tensor, offset: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device), torch.empty_like(offset)


def _gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    inputs = ctx.saved_tensors
    if torch.is_grad_enabled():  # a second derivative is wanted: let torch find it
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        found = iter(torch.autograd.grad(tangent_relu_torch(*inputs), wanted, gradient, create_graph=True))
        return tuple(next(found) if tensor.requires_grad else None for tensor in inputs)
    gradients: tuple[Tensor, Tensor] = tangent_relu_backward(*inputs, gradient)
    return gradients


tangent_relu_fast.register_autograd(
    _gradient, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
)


def tangent_relu(x: Tensor, offset: Tensor) -> Tensor:
    """ReLU(ρ + b) e^{iφ} of vectors ρe^{iφ} (Eq. 8), and 0 where a vector is zero, whatever b.

    Parameters
    ----------
    x : complex Tensor, shape (n, C)
    offset : real Tensor, shape (C,)
        b.

    Returns
    -------
    complex Tensor, shape (n, C)

    Examples
    --------
    >>> tangent_relu(torch.tensor([[3j, 0.5j]]), torch.tensor([-1.0, -1.0])).tolist()
    [[2j, 0j]]
    """
    if x.device.type == "cpu" and x.ndim == 2 and x.real.dtype == offset.dtype:
        result: Tensor = tangent_relu_fast(x, offset)
        return result
    return tangent_relu_torch(x, offset)
