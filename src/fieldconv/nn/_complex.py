"""Complex arithmetic in the form that is fast on every device, and safe where a vector is zero."""

from __future__ import annotations

import torch
from torch import Tensor


def complex_matmul(x: Tensor, real: Tensor, imaginary: Tensor) -> Tensor:
    """Complex product ``x @ (real + i·imaginary)`` as one real matrix product.

    Parameters
    ----------
    x : (n, K) complex
    real, imaginary : (K, O) real

    Returns
    -------
    (n, O) complex
    """
    # Memory holds Re, Im, Re, Im, …, so the product with 2 × 2 blocks [[Re, Im], [−Im, Re]] needs no copy.
    rows = torch.stack([torch.stack([real, imaginary], -1), torch.stack([-imaginary, real], -1)], 1)
    product = torch.view_as_real(x).flatten(1) @ rows.flatten(2).flatten(0, 1)
    return torch.view_as_complex(product.unflatten(1, (-1, 2)))


def polar(x: Tensor) -> tuple[Tensor, Tensor]:
    """Magnitude ρ and direction e^{iφ} (as a real pair) of vectors ρe^{iφ}.

    A vector too short to have a direction gets the direction 0, and passes no gradient through it.

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
    magnitude = x.abs()  # hypot: neither 1e30 nor 1e-30 overflows on the way
    # Below this, the square of a gradient 1/ρ, which optimisers take, would overflow.
    directed = magnitude > torch.finfo(magnitude.dtype).tiny ** 0.5
    length = torch.where(directed, magnitude, torch.ones_like(magnitude)).unsqueeze(-1)
    direction = torch.view_as_real(x) / length
    return magnitude, torch.where(directed.unsqueeze(-1), direction, torch.zeros_like(direction))
