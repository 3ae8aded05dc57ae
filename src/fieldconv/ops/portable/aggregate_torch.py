"""Field aggregation as weighted sums of rows, the product of a sparse matrix with a dense one.

`torch.nn.functional.embedding_bag` is that product: row r of the result is the sum of some rows of a table,
each times a number. A complex product is made of real ones by a table that holds both y and iy.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from fieldconv.ops.geometry import Geometry, cached
from fieldconv.ops.rings import Spacing, ring_weights


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
    """The matrix of `gather` for one order, and its adjoint."""

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


def gather_order(
    y: Tensor, geometry: Geometry, order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return A[p,n] = Σ_e w_e t_e e^{imθ_e} ψ_n(r_e) y[q] for one order m, no t_e for scalars.

    From (n, C) to (n, N, C).
    """
    points, channels = y.shape
    both = matrices(geometry, points, rings, spacing, y.real.dtype)
    return both.forward.times(both.values(order, scalars), y).view(points, rings, channels)


def scatter_order(
    gradient: Tensor, geometry: Geometry, order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return the adjoint of `gather_order`: (n, N, C) to (n, C)."""
    both = matrices(geometry, len(gradient), rings, spacing, gradient.real.dtype)
    return both.adjoint.times(both.values(order, scalars).conj_physical_(), gradient.flatten(0, 1))


def gather(
    y: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return the sums of `gather_order` for the orders from ``first_order`` on: (K, n, C) to (n, K, N, C)."""
    orders, points, channels = y.shape
    result = y.new_empty(points, orders, rings, channels)
    for k in range(orders):
        result[:, k] = gather_order(y[k], geometry, first_order + k, rings, spacing, scalars)
    return result


def scatter(
    gradient: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return the adjoint of `gather`: (n, K, N, C) to (K, n, C)."""
    points, orders, _, channels = gradient.shape
    result = gradient.new_empty(orders, points, channels)
    for k in range(orders):
        result[k] = scatter_order(gradient[:, k], geometry, first_order + k, rings, spacing, scalars)
    return result
