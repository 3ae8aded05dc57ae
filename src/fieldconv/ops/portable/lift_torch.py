"""The derivative of `lift`, which keeps only the features."""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.ops.direction import unit


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
