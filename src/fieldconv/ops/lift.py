"""The features as each angular frequency sees them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.backend import Backend, check_backend, use_compiled
from fieldconv.ops.compiled import lift_kernels as compiled
from fieldconv.ops.portable import lift_torch as portable


@torch.library.custom_op(
    "fieldconv::lift", mutates_args=(), schema="(Tensor x, int band_limit, str backend) -> Tensor"
)
def _lift(x: Tensor, band_limit: int, backend: str) -> Tensor:
    if use_compiled(backend, x):
        return compiled.lift(x, band_limit)
    return portable.lift(x, band_limit)


@torch.library.custom_op(
    "fieldconv::lift_backward",
    mutates_args=(),
    schema="(Tensor x, Tensor gradient, str backend) -> Tensor",
)
def _lift_backward(x: Tensor, gradient: Tensor, backend: str) -> Tensor:
    if use_compiled(backend, x):
        return compiled.lift_backward(x, gradient)
    return portable.lift_backward(x, gradient)


@_lift.register_fake
def _(x: Tensor, band_limit: int, backend: str) -> Tensor:
    return x.new_empty(2 * band_limit + 1, *x.shape)


@_lift_backward.register_fake
def _(x: Tensor, gradient: Tensor, backend: str) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.band_limit, ctx.backend = inputs
    ctx.save_for_backward(x)


def _gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
    (x,) = ctx.saved_tensors
    if torch.is_grad_enabled():  # a second derivative is wanted: let torch find it
        y = plain.lift(x, ctx.band_limit)
        return torch.autograd.grad(y, x, gradient, create_graph=True)[0], None, None
    return _lift_backward(x, gradient, ctx.backend), None, None


_lift.register_autograd(_gradient, setup_context=_save)


def lift(x: Tensor, band_limit: int, *, backend: Backend = "auto") -> Tensor:
    """Return Y_m = x ū^m for m = −B … B: the features as each angular frequency sees them.

    A zero vector has no direction: there Y_0 = x and the others vanish, with vanishing derivatives.

    Parameters
    ----------
    x : complex Tensor, shape (n, C)
    band_limit : int
        B.
    backend : "auto", "torch" or "compiled"
        See `field_aggregate`.

    Returns
    -------
    complex Tensor, shape (2B+1, n, C)

    Examples
    --------
    >>> lift(torch.tensor([[2j]]), band_limit=1).flatten().tolist()
    [(-2+0j), 2j, (2+0j)]
    """
    check_backend(backend, x)
    y: Tensor = _lift(x, band_limit, backend)
    return y
