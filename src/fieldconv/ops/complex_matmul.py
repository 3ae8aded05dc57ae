"""Complex arithmetic in the form that is fast on every device."""

from __future__ import annotations

import torch
from torch import Tensor


def complex_matmul(x: Tensor, real: Tensor, imaginary: Tensor) -> Tensor:
    """Return the complex product ``x @ (real + i·imaginary)`` as one real matrix product.

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
