"""ReLU on the magnitudes of tangent vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.backend import Backend, check_backend
from fieldconv.ops.compiled import magnitude_relu_kernels as compiled
from fieldconv.ops.portable import magnitude_relu_torch as portable
from fieldconv.ops.register import differentiate, either, register


def _fake(x: Tensor, offset: Tensor, backend: str) -> Tensor:
    return x.new_empty(x.shape)


def _fake_backward(x: Tensor, offset: Tensor, gradient: Tensor, backend: str) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), torch.empty_like(offset)


def _equations(x: Tensor, offset: Tensor, backend: str) -> Tensor:
    return plain.magnitude_relu(x, offset)


def _backward(gradient: Tensor, x: Tensor, offset: Tensor, backend: str) -> tuple[Tensor, Tensor]:
    by_inputs: tuple[Tensor, Tensor] = _magnitude_relu_backward(x, offset, gradient, backend)
    return by_inputs


_magnitude_relu = register(
    "magnitude_relu(Tensor x, Tensor offset, str backend) -> Tensor",
    either(compiled.relu, portable.relu),
    _fake,
)
_magnitude_relu_backward = register(
    "magnitude_relu_backward(Tensor x, Tensor offset, Tensor gradient, str backend) -> (Tensor, Tensor)",
    either(compiled.relu_backward, portable.relu_backward),
    _fake_backward,
)
differentiate(_magnitude_relu, _backward, equations=_equations)


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
