"""Directions of tangent vectors, safe at zero: nothing here divides by a magnitude that may vanish."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


def unit(x: Tensor) -> Tensor:
    """Return u = x/|x|, and 0 where x is zero (or too small for a direction).

    Scaled before squaring, so 1e30 does not overflow and 1e-30 does not vanish; the derivative at zero is
    zero.

    Parameters
    ----------
    x : complex Tensor

    Returns
    -------
    complex Tensor of the same shape

    Examples
    --------
    >>> unit(torch.tensor([2e30j, 0j])).tolist()
    [1j, 0j]
    """
    return _split(x, torch.finfo(x.dtype).tiny).direction()


def shortest(x: Tensor) -> float:
    """Return the length below which the square of a gradient 1/ρ, which optimisers take, may overflow."""
    return math.sqrt(torch.finfo(x.dtype).tiny)


def polar(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return magnitude ρ and direction e^{iφ} of vectors ρe^{iφ}.

    A vector too short to have a direction counts as zero: no magnitude, no direction, no gradient.

    Parameters
    ----------
    x : (...) complex

    Returns
    -------
    (...) real
        ρ
    (...) complex
        e^{iφ}, or 0
    """
    parts = _split(x, shortest(x))
    return parts.scale * parts.length * parts.directed, parts.direction()


class _Parts(NamedTuple):
    """x = scale · (real + i imag), with real and imag at most 1 in size and one of them ±1."""

    scale: Tensor
    real: Tensor
    imag: Tensor
    length: Tensor  # |real + i imag|
    directed: Tensor  # 1, or 0 where x is too short for a direction

    def direction(self) -> Tensor:
        factor = self.directed / self.length
        return torch.complex(self.real * factor, self.imag * factor)


def _split(x: Tensor, short: float) -> _Parts:
    real, imag = torch.view_as_real(x.resolve_conj()).unbind(-1)
    size = torch.maximum(real.detach().abs(), imag.detach().abs())
    scale = size.clamp(min=short)
    real, imag = real / scale, imag / scale
    # At least 1 where there is a direction; elsewhere it must not vanish.
    length = (real * real + imag * imag).clamp(min=1).sqrt()
    return _Parts(scale, real, imag, length, (size >= short).to(size.dtype))
