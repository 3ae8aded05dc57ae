"""The field convolution as sums over discs and one matrix product, and its derivative."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from fieldconv.ops.complex_matmul import complex_matmul
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.portable.aggregate import gather, scatter
from fieldconv.ops.portable.lift import lift, lift_backward


def convolve(x: Tensor, real: Tensor, imaginary: Tensor, geometry: Geometry, spacing: Any) -> Tensor:
    """Return the field convolution of x, (n, C), with filters (2B+1, N, C, O): (n, O)."""
    orders, rings = real.shape[:2]
    sums = gather(lift(x, orders // 2), geometry, -(orders // 2), rings, spacing, False)
    return complex_matmul(sums.flatten(1), real.flatten(0, 2), imaginary.flatten(0, 2))


def convolve_backward(
    x: Tensor, real: Tensor, imaginary: Tensor, gradient: Tensor, geometry: Geometry, spacing: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by x and by both parts of the filters, from that by `convolve` of them."""
    orders, rings, channels, _ = real.shape
    options = (geometry, -(orders // 2), rings, spacing, False)
    sums = gather(lift(x, orders // 2), *options)
    by_filters = (sums.flatten(1).mH @ gradient).view(real.shape)
    gradient = gradient.resolve_conj()
    by_sums = complex_matmul(gradient, real.flatten(0, 2).T, -imaginary.flatten(0, 2).T)
    by_lifted = scatter(by_sums.view(len(x), orders, rings, channels), *options)
    by_x = lift_backward(x, by_lifted)
    return by_x, by_filters.real.contiguous(), by_filters.imag.contiguous()
