"""The features as each angular frequency sees them."""

from __future__ import annotations

from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.backend import Backend, check_backend
from fieldconv.ops.compiled import lift_kernels as compiled
from fieldconv.ops.portable import lift_torch as portable
from fieldconv.ops.register import register_differentiable

_lift = register_differentiable(
    "lift",
    ["x"],
    "int band_limit, str backend",
    (compiled.lift, plain.lift),
    (compiled.lift_backward, portable.lift_backward),
    fake=lambda x, band_limit, _: x.new_empty(2 * band_limit + 1, *x.shape),
    equations=lambda x, band_limit, _: plain.lift(x, band_limit),
)


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
