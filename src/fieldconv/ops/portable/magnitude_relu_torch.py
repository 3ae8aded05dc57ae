"""The derivative of `magnitude_relu`, which keeps only the inputs."""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.ops.direction import min_length, polar


def relu_backward(x: Tensor, offset: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients with respect to x and the offset.

    The output is r u with r = ReLU(|x| + b): where r > 0, it changes along u as |x| + b, across as r u.
    """
    magnitude, u = polar(x)
    size = torch.relu(magnitude + offset)
    turned = gradient * u.conj_physical()
    along = turned.real * (size > 0)
    across = turned.imag * (size / magnitude.clamp(min=min_length(x)))
    return u * torch.complex(along, across), along.sum(0)
