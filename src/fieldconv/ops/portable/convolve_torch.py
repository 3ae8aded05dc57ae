"""The field convolution order by order, and its derivative: the sums of one order, times its filters.

No tensor holds the sums of all orders, and the backward pass computes them again.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.complex_matmul import complex_matmul
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.portable.aggregate_torch import gather_order, scatter_order
from fieldconv.ops.portable.lift_torch import lift_backward
from fieldconv.ops.rings import Spacing


def convolve(x: Tensor, real: Tensor, imaginary: Tensor, geometry: Geometry, spacing: Spacing) -> Tensor:
    """Return `field_convolve` of x, (n, C), with filters (2B+1, N, C, O): (n, O)."""
    orders, rings, _, outputs = real.shape
    y = plain.lift(x, orders // 2)
    result = x.new_zeros(len(x), outputs)
    for k in range(orders):
        sums = gather_order(y[k], geometry, k - orders // 2, rings, spacing, False)
        result += complex_matmul(sums.flatten(1), real[k].flatten(0, 1), imaginary[k].flatten(0, 1))
    return result


def convolve_backward(
    x: Tensor, real: Tensor, imaginary: Tensor, gradient: Tensor, geometry: Geometry, spacing: Spacing
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by x and by both parts of the filters, from that by `convolve` of them."""
    orders, rings, channels, outputs = real.shape
    gradient = gradient.resolve_conj()
    by_y = plain.lift(x, orders // 2)  # y, of which each order is overwritten by its gradient
    by_real, by_imaginary = torch.empty_like(real), torch.empty_like(imaginary)
    for k in range(orders):
        options = (geometry, k - orders // 2, rings, spacing, False)
        sums = gather_order(by_y[k], *options)
        by_filters = (sums.flatten(1).mH @ gradient).view(rings, channels, outputs)
        by_real[k], by_imaginary[k] = by_filters.real, by_filters.imag
        by_sums = complex_matmul(gradient, real[k].flatten(0, 1).T, -imaginary[k].flatten(0, 1).T)
        del sums
        by_y[k] = scatter_order(by_sums.view(len(x), rings, channels), *options)
    return lift_backward(x, by_y, orders // 2), by_real, by_imaginary
