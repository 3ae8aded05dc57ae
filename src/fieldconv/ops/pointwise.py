"""Operations on each tangent vector by itself: lift, and ReLU on its magnitude.

Derivatives keep the inputs only.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.compiled import pointwise_kernels as compiled
from fieldconv.ops.register import Backend, check_backend, register_differentiable
from fieldconv.ops.vectors import min_length, polar, unit


def lift_backward(x: Tensor, gradient: Tensor, band_limit: int) -> Tensor:
    """Return the gradient by x from that by `lift` of x.

    Y_m = |x| u^k with k = 1 − m, so dY_m = u^k (α + ikβ) where α + iβ = ū dx: nothing to divide by.
    """
    u = unit(x)
    along, across = torch.zeros_like(u.real), torch.zeros_like(u.real)
    for side in (1, -1):  # m = 1, 2, … from u⁰ on, then m = −1, −2, … from u² on
        turn = u.conj_physical() if side > 0 else u
        power = u * turn
        for step in range(1, band_limit + 1):
            m = side * step
            turned = gradient[band_limit + m] * power.conj_physical()
            along += turned.real
            across += (1 - m) * turned.imag
            power = power * turn
    return gradient[band_limit] + u * torch.complex(along, across)


_lift = register_differentiable(
    "lift",
    ["x"],
    "int band_limit, str backend",
    (compiled.lift, plain.lift),
    (compiled.lift_backward, lift_backward),
    fake=lambda x, band_limit, _: x.new_empty(2 * band_limit + 1, *x.shape),
    equations=lambda x, band_limit, _: plain.lift(x, band_limit),
)


def lift(x: Tensor, band_limit: int, *, backend: Backend = "auto") -> Tensor:
    """Return Y_m = x ū^m for m = −B … B: the features as each angular frequency sees them.

    From (n, C) complex to (2B+1, n, C). A zero vector has no direction: there Y_0 = x and the others vanish,
    with vanishing derivatives.

    Examples
    --------
    >>> lift(torch.tensor([[2j]]), band_limit=1).flatten().tolist()
    [(-2+0j), 2j, (2+0j)]
    """
    check_backend(backend, x)
    y: Tensor = _lift(x, band_limit, backend)
    return y


def _magnitude_relu_backward(x: Tensor, offset: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients with respect to x and the offset.

    The output is r u with r = ReLU(|x| + b): where r > 0, it changes along u as |x| + b, across as r u.
    """
    magnitude, u = polar(x)
    size = torch.relu(magnitude + offset)
    turned = gradient * u.conj_physical()
    along = turned.real * (size > 0)
    across = turned.imag * (size / magnitude.clamp(min=min_length(x)))
    return u * torch.complex(along, across), along.sum(0)


_magnitude_relu = register_differentiable(
    "magnitude_relu",
    ["x", "offset"],
    "str backend",
    (compiled.magnitude_relu, plain.magnitude_relu),
    (compiled.magnitude_relu_backward, _magnitude_relu_backward),
    fake=lambda x, *_: x.new_empty(x.shape),
    equations=lambda x, offset, _: plain.magnitude_relu(x, offset),
)


def magnitude_relu(x: Tensor, offset: Tensor, *, backend: Backend = "auto") -> Tensor:
    """Return ReLU(ρ + b) e^{iφ} of vectors ρe^{iφ} (Eq. 8), and 0 where a vector is zero, whatever b.

    x is (n, C) complex, the offset b (C,) real.

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
