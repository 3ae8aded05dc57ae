"""ReLU on the magnitudes of tangent vectors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.backend import Backend, check_backend, use_compiled
from fieldconv.ops.compiled import magnitude_relu_kernels as compiled
from fieldconv.ops.portable import magnitude_relu_torch as portable


@torch.library.custom_op(
    "fieldconv::magnitude_relu", mutates_args=(), schema="(Tensor x, Tensor offset, str backend) -> Tensor"
)
def _magnitude_relu(x: Tensor, offset: Tensor, backend: str) -> Tensor:
    if use_compiled(backend, x):
        return compiled.relu(x, offset)
    return portable.relu(x, offset)


@torch.library.custom_op(
    "fieldconv::magnitude_relu_backward",
    mutates_args=(),
    schema="(Tensor x, Tensor offset, Tensor gradient, str backend) -> (Tensor, Tensor)",
)
def _magnitude_relu_backward(
    x: Tensor, offset: Tensor, gradient: Tensor, backend: str
) -> tuple[Tensor, Tensor]:
    if use_compiled(backend, x):
        return compiled.relu_backward(x, offset, gradient)
    return portable.relu_backward(x, offset, gradient)


@_magnitude_relu.register_fake
def _(x: Tensor, offset: Tensor, backend: str) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


@_magnitude_relu_backward.register_fake
def _(x: Tensor, offset: Tensor, gradient: Tensor, backend: str) -> tuple[Tensor, Tensor]:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device), torch.empty_like(offset)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    x, offset, ctx.backend = inputs
    ctx.save_for_backward(x, offset)


def _gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    inputs = ctx.saved_tensors
    if torch.is_grad_enabled():  # a second derivative is wanted: let torch find it
        return *plain.gradients(plain.magnitude_relu(*inputs), inputs, gradient), None
    return *_magnitude_relu_backward(*inputs, gradient, ctx.backend), None


_magnitude_relu.register_autograd(_gradient, setup_context=_save)


def magnitude_relu(x: Tensor, offset: Tensor, *, backend: Backend = "auto") -> Tensor:
    """Return ReLU(ρ + b) e^{iφ} of vectors ρe^{iφ} (Eq. 8), and 0 where a vector is zero, whatever b.

    Parameters
    ----------
    x : complex Tensor, shape (n, C)
    offset : real Tensor, shape (C,)
        b.
    backend : "auto", "torch" or "compiled"
        See `field_aggregate`.

    Returns
    -------
    complex Tensor, shape (n, C)

    Examples
    --------
    >>> magnitude_relu(torch.tensor([[3j, 0.5j]]), torch.tensor([-1.0, -1.0])).tolist()
    [[2j, 0j]]
    """
    check_backend(backend, x)
    if x.ndim != 2 or x.real.dtype != offset.dtype:  # shapes and types that torch broadcasts
        return plain.magnitude_relu(x, offset)
    result: Tensor = _magnitude_relu(x, offset, backend)
    return result
