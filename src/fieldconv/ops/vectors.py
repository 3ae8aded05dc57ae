"""Tangent vectors as complex numbers: their magnitudes and directions, and products with matrices."""

from __future__ import annotations

import math

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
    return _polar(x, torch.finfo(x.dtype).tiny)[1]


def min_length(x: Tensor) -> float:
    """Return the length below which the square of a gradient 1/ρ, as optimisers take it, may overflow."""
    return math.sqrt(torch.finfo(x.dtype).tiny)


def polar(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return magnitude ρ and direction e^{iφ} of vectors ρe^{iφ}.

    A vector too short to have a direction counts as zero: no magnitude, no direction, no gradient.
    """
    return _polar(x, min_length(x))


def _polar(x: Tensor, short: float) -> tuple[Tensor, Tensor]:
    """Return magnitude and direction, both 0 where real and imaginary part are below ``short``."""
    real, imag = torch.view_as_real(x.resolve_conj()).unbind(-1)
    size = torch.maximum(real.detach().abs(), imag.detach().abs())
    scale = size.clamp(min=short)
    real, imag = real / scale, imag / scale
    # At least 1 where there is a direction; elsewhere it must not vanish.
    length = (real * real + imag * imag).clamp(min=1).sqrt()
    directed = (size >= short).to(size.dtype)
    factor = directed / length
    return scale * length * directed, torch.complex(real * factor, imag * factor)


def complex_matmul(x: Tensor, real: Tensor, imaginary: Tensor) -> Tensor:
    """Return ``x @ (real + i·imaginary)``, (n, K) by (K, O), as one real matrix product: fast everywhere."""
    # Memory holds Re, Im, Re, Im, …, so the product with 2 × 2 blocks [[Re, Im], [−Im, Re]] needs no copy.
    rows = torch.stack([torch.stack([real, imaginary], -1), torch.stack([-imaginary, real], -1)], 1)
    product = torch.view_as_real(x).flatten(1) @ rows.flatten(2).flatten(0, 1)
    return torch.view_as_complex(product.view(len(x), real.shape[1], 2))
