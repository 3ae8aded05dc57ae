"""Directions of tangent vectors, safe at zero: nothing here divides by a magnitude that may vanish."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def unit(x: Tensor) -> Tensor:
    """u = x/|x|, and 0 where x is zero (or too small for a direction).

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
    parts = torch.view_as_real(x.resolve_conj())
    scale = parts.detach().abs().amax(-1, keepdim=True)
    directed = scale >= torch.finfo(parts.dtype).tiny
    parts = torch.where(directed, parts / torch.where(directed, scale, 1.0), 0.0)
    length = torch.where(directed, parts.square().sum(-1, keepdim=True), 1.0).sqrt()
    return torch.view_as_complex(parts / length)


def shortest(x: Tensor) -> float:
    """Up to here, the square of a gradient 1/ρ, which optimisers take, would overflow."""
    return math.sqrt(torch.finfo(x.dtype).tiny)


def polar(x: Tensor) -> tuple[Tensor, Tensor]:
    """Magnitude ρ and direction e^{iφ} of vectors ρe^{iφ}.

    A vector too short to have a direction counts as zero: no magnitude, no direction, no gradient.

    Parameters
    ----------
    x : (...) complex

    Returns
    -------
    (...) real
        ρ
    (..., 2) real
        (cos φ, sin φ), or (0, 0)
    """
    parts = torch.view_as_real(x.resolve_conj())
    scale = parts.detach().abs().amax(-1, keepdim=True)
    directed = scale > shortest(x)
    scale = torch.where(directed, scale, 1.0)
    parts = torch.where(directed, parts / scale, 0.0)  # scaled, so that no square overflows
    length = torch.where(directed, parts.square().sum(-1, keepdim=True), 1.0).sqrt()
    return torch.where(directed, scale * length, 0.0).squeeze(-1), parts / length
