"""Directions of interleaved complex numbers."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fieldconv._compiled import Floats, kernel


@kernel
def directions(x: Floats, tiny: float, real: Floats, imag: Floats) -> None:
    """Write x/|x| of interleaved complex numbers, 0 where both parts are below ``tiny``."""
    one, zero = x.dtype.type(1), x.dtype.type(0)
    for i in range(len(x) // 2):
        scale = max(abs(x[2 * i]), abs(x[2 * i + 1]))
        directed = scale >= tiny
        scale = scale if directed else one
        a, b = x[2 * i] / scale, x[2 * i + 1] / scale
        length = np.sqrt(a * a + b * b)
        length = length if directed else one
        real[i] = a / length if directed else zero
        imag[i] = b / length if directed else zero


def floats(values: Tensor) -> Floats:
    """Return complex numbers (…) as interleaved floats (…, 2) in contiguous memory."""
    array: Floats = torch.view_as_real(values.resolve_conj().contiguous()).numpy()
    return array


def min_part(x: Tensor) -> float:
    """Return the bound below which both parts of a number are too small to give it a direction."""
    limits = torch.finfo(x.dtype)
    return np.dtype(limits.dtype).type(limits.tiny)  # type: ignore[no-any-return]
