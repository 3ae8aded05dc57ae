"""The features as each angular frequency sees them."""

from __future__ import annotations

from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.backend import Backend, check_backend
from fieldconv.ops.compiled import lift_kernels as compiled
from fieldconv.ops.portable import lift_torch as portable
from fieldconv.ops.register import differentiate, either, register


def _fake(x: Tensor, band_limit: int, backend: str) -> Tensor:
    return x.new_empty(2 * band_limit + 1, *x.shape)


def _fake_backward(x: Tensor, gradient: Tensor, backend: str) -> Tensor:
    return x.new_empty(x.shape)


def _equations(x: Tensor, band_limit: int, backend: str) -> Tensor:
    return plain.lift(x, band_limit)


def _backward(gradient: Tensor, x: Tensor, band_limit: int, backend: str) -> tuple[Tensor]:
    return (_lift_backward(x, gradient, backend),)


_lift = register(
    "lift(Tensor x, int band_limit, str backend) -> Tensor", either(compiled.lift, portable.lift), _fake
)
_lift_backward = register(
    "lift_backward(Tensor x, Tensor gradient, str backend) -> Tensor",
    either(compiled.lift_backward, portable.lift_backward),
    _fake_backward,
)
differentiate(_lift, _backward, equations=_equations)


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
    >>> import torch
    >>> lift(torch.tensor([[2j]]), band_limit=1).flatten().tolist()
    [(-2+0j), 2j, (2+0j)]
    """
    check_backend(backend, x)
    y: Tensor = _lift(x, band_limit, backend)
    return y
