"""A linear layer after a ReLU and dropout."""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.compiled import relu_linear_kernels as compiled
from fieldconv.ops.register import Backend, check_backend, register_differentiable, use_compiled

_KERNELS = (torch.float32, torch.float64)


_relu_linear = register_differentiable(
    "relu_linear",
    ["x", "weight", "bias"],
    "Tensor keep",
    compiled.relu_linear,
    compiled.relu_linear_backward,
    fake=lambda x, weight, *_: x.new_empty(len(x), len(weight)),
    equations=lambda x, weight, bias, keep: plain.relu_linear(x, keep, weight, bias),
)


def relu_linear(
    x: Tensor, keep: Tensor, weight: Tensor, bias: Tensor, *, backend: Backend = "auto"
) -> Tensor:
    """Return (ReLU(x) ⊙ keep) Wᵀ + b, a linear layer after a ReLU and dropout.

    The ReLU makes half of the numbers zero, and dropout half of the others. The compiled kernels skip zeros,
    forwards and backwards; portable torch multiplies them. So zero times a weight that is not finite is zero
    in the kernels and NaN in portable torch.

    x and keep are (n, K), the weight (O, K), the bias (O,), the result (n, O). ``keep`` is 0 where dropout
    drops a number, else the factor of dropout; it has no gradient.

    Examples
    --------
    >>> x, keep = torch.tensor([[1.0, -1.0, 5.0]]), torch.tensor([[2.0, 2.0, 0.0]])
    >>> relu_linear(x, keep, torch.tensor([[10.0, 20.0, 30.0]]), torch.tensor([0.5])).tolist()
    [[20.5]]
    """
    check_backend(backend, x)
    keep = keep.detach()
    alike = x.dtype == keep.dtype == weight.dtype == bias.dtype and x.dtype in _KERNELS
    if not alike or x.ndim != 2 or x.numel() == 0 or not use_compiled(backend, x):
        return plain.relu_linear(x, keep, weight, bias)
    out: Tensor = _relu_linear(x, weight, bias, keep)
    return out
