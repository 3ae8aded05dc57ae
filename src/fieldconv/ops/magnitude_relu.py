"""ReLU on the magnitudes of tangent vectors."""

from __future__ import annotations

from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.backend import Backend, check_backend
from fieldconv.ops.compiled import magnitude_relu_kernels as compiled
from fieldconv.ops.portable import magnitude_relu_torch as portable
from fieldconv.ops.register import register_differentiable

_magnitude_relu = register_differentiable(
    "magnitude_relu",
    ["x", "offset"],
    "str backend",
    (compiled.relu, plain.magnitude_relu),
    (compiled.relu_backward, portable.relu_backward),
    fake=lambda x, *_: x.new_empty(x.shape),
    equations=lambda x, offset, _: plain.magnitude_relu(x, offset),
)


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
    >>> import torch
    >>> magnitude_relu(torch.tensor([[3j, 0.5j]]), torch.tensor([-1.0, -1.0])).tolist()
    [[2j, 0j]]
    """
    check_backend(backend, x)
    if x.ndim != 2 or x.real.dtype != offset.dtype:  # shapes and types that torch broadcasts
        return plain.magnitude_relu(x, offset)
    result: Tensor = _magnitude_relu(x, offset, backend)
    return result
