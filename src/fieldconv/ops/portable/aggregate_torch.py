"""Field aggregation and convolution as weighted sums of rows: a sparse matrix times a dense one.

`torch.nn.functional.embedding_bag` is that product: row r of the result is the sum of some rows of a table,
each times a number. A complex product is made of real ones by a table that holds both y and iy.

A convolution is the sums of one order, times its filters, order by order: no tensor holds the sums of all,
and the backward pass computes them again.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from fieldconv.ops import plain
from fieldconv.ops.disc import Spacing, ring_weights
from fieldconv.ops.geometry import Geometry, cached
from fieldconv.ops.pointwise import lift_backward
from fieldconv.ops.vectors import complex_matmul


class Entries(NamedTuple):
    """The non-zero entries of a sparse matrix, row by row: one for each edge and ring it lies next to."""

    column: Tensor  # (M,) int32
    first: Tensor  # (rows + 1,) int32: where each row begins
    edge: Tensor  # (M,) int32: which edge the entry belongs to
    share: Tensor  # (M,) its share of the edge's value: w ψ

    def times(self, values: Tensor, y: Tensor) -> Tensor:
        """Return the product of the matrix for values of the edges, (E,) complex, with y, (columns, C)."""
        columns, channels = y.shape
        entries = values.index_select(0, self.edge).mul_(self.share)
        table = y.new_empty(2, columns, channels)
        table[0] = y
        torch.mul(y, 1j, out=table[1])
        rows = functional.embedding_bag(
            torch.stack([self.column, self.column + columns], 1).flatten(),
            torch.view_as_real(table).view(2 * columns, 2 * channels),
            2 * self.first,
            mode="sum",
            per_sample_weights=torch.view_as_real(entries).flatten(),
            include_last_offset=True,
        )
        return torch.view_as_complex(rows.view(len(rows), channels, 2))


class Matrices(NamedTuple):
    """The matrix of the sums for one order, and its adjoint."""

    forward: Entries  # rows (receiver, ring), columns senders
    adjoint: Entries
    transport: Tensor  # (E,) complex
    direction: Tensor  # (E,) complex e^{iθ}

    def values(self, order: int, scalars: bool) -> Tensor:
        """Return t e^{imθ} of every edge for order m, without t for scalars: (E,) complex."""
        value = torch.ones_like(self.transport) if scalars else self.transport.clone()
        step = self.direction if order >= 0 else self.direction.conj_physical()
        for _ in range(abs(order)):
            value *= step
        return value

    def gather(self, y: Tensor, order: int, scalars: bool = False) -> Tensor:
        """Return A[p,n] = Σ_e w_e t_e e^{imθ_e} ψ_n(r_e) y[q], m = order: (n, C) to (n · N, C)."""
        return self.forward.times(self.values(order, scalars), y)

    def scatter(self, gradient: Tensor, order: int, scalars: bool = False) -> Tensor:
        """Return the adjoint of `gather`."""
        return self.adjoint.times(self.values(order, scalars).conj_physical_(), gradient)


def matrices(geometry: Geometry, points: int, rings: int, spacing: Spacing, dtype: torch.dtype) -> Matrices:
    """Return the matrices for a surface, sorted anew only when the geometry has changed."""
    key = ("matrices", points, rings, spacing, dtype)
    return cached(geometry, key, lambda: _sort(geometry, points, rings, spacing, dtype))


def _sort(geometry: Geometry, points: int, rings: int, spacing: Spacing, dtype: torch.dtype) -> Matrices:
    geometry.check_points(points)
    lower, fraction = ring_weights(geometry.distance().to(dtype), rings, spacing)
    share = torch.cat([1 - fraction, fraction])  # of the ring inside, of the ring outside
    entry = share.nonzero().flatten()
    edge, outer = entry % len(fraction), entry // max(len(fraction), 1)
    sender, receiver = geometry.edge_index.index_select(1, edge)
    row = receiver * rings + lower[edge] + outer
    share = geometry.weight[edge].to(dtype) * share[entry]

    def sorted_by(row: Tensor, rows: int, column: Tensor) -> Entries:
        row, order = row.sort(stable=True)
        first = torch.searchsorted(row, torch.arange(rows + 1, device=row.device))
        return Entries(column[order].int(), first.int(), edge[order].int(), share[order])

    return Matrices(
        sorted_by(row, points * rings, sender),
        sorted_by(sender, points, row),
        geometry.transport.to(dtype.to_complex()),
        geometry.direction().to(dtype.to_complex()),
    )


def gather(
    y: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return the sums of `disc_sums`: (K, n, C) to (n, K, N, C)."""
    orders, points, channels = y.shape
    both = matrices(geometry, points, rings, spacing, y.real.dtype)
    result = y.new_empty(points, orders, rings, channels)
    for k in range(orders):
        result[:, k] = both.gather(y[k], first_order + k, scalars).view(points, rings, channels)
    return result


def scatter(
    gradient: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return the adjoint of `gather`: (n, K, N, C) to (K, n, C)."""
    points, orders, _, channels = gradient.shape
    both = matrices(geometry, points, rings, spacing, gradient.real.dtype)
    result = gradient.new_empty(orders, points, channels)
    for k in range(orders):
        result[k] = both.scatter(gradient[:, k].flatten(0, 1), first_order + k, scalars)
    return result


def convolve(x: Tensor, real: Tensor, imaginary: Tensor, geometry: Geometry, spacing: Spacing) -> Tensor:
    """Return `field_convolve` of x, (n, C), with filters (2B+1, N, C, O): (n, O)."""
    orders, rings, channels, outputs = real.shape
    both = matrices(geometry, len(x), rings, spacing, x.real.dtype)
    y = plain.lift(x, orders // 2)
    result = x.new_zeros(len(x), outputs)
    for k in range(orders):
        sums = both.gather(y[k], k - orders // 2).view(len(x), rings * channels)
        result += complex_matmul(sums, real[k].flatten(0, 1), imaginary[k].flatten(0, 1))
    return result


def convolve_backward(
    x: Tensor, real: Tensor, imaginary: Tensor, gradient: Tensor, geometry: Geometry, spacing: Spacing
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by x and by both parts of the filters, from that by `convolve` of them."""
    orders, rings, channels, outputs = real.shape
    both = matrices(geometry, len(x), rings, spacing, x.real.dtype)
    gradient = gradient.resolve_conj()
    by_y = plain.lift(x, orders // 2)  # y, of which each order is overwritten by its gradient
    by_real, by_imaginary = torch.empty_like(real), torch.empty_like(imaginary)
    for k in range(orders):
        sums = both.gather(by_y[k], k - orders // 2).view(len(x), rings * channels)
        by_filters = (sums.mH @ gradient).view(rings, channels, outputs)
        by_real[k], by_imaginary[k] = by_filters.real, by_filters.imag
        by_sums = complex_matmul(gradient, real[k].flatten(0, 1).T, -imaginary[k].flatten(0, 1).T)
        del sums
        by_y[k] = both.scatter(by_sums.view(len(x) * rings, channels), k - orders // 2)
    return lift_backward(x, by_y, orders // 2), by_real, by_imaginary
