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
    return torch.view_as_complex(product.view(len(x), real.shape[1], 2))


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
    parts = torch.view_as_real(x)
    scale = parts.detach().abs().amax(-1, keepdim=True)
    # Below this, the square of a gradient 1/ρ, which optimisers take, would overflow.
    directed = scale > torch.finfo(parts.dtype).tiny ** 0.5
    scale = torch.where(directed, scale, 1.0)
    parts = torch.where(directed, parts / scale, 0.0)  # scaled, so that no square overflows
    length = torch.where(directed, parts.square().sum(-1, keepdim=True), 1.0).sqrt()
    return torch.where(directed, scale * length, 0.0).squeeze(-1), parts / length
