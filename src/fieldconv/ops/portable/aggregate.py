"""Field aggregation as weighted sums of rows, the product of a sparse matrix with a dense one.

`torch.nn.functional.embedding_bag` is that product: row r of the result is the sum of some rows of a table,
each times a number. A complex product is made of real ones by a table that holds both y and iy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from fieldconv.ops.geometry import Geometry, kept
from fieldconv.ops.rings import ring_weights


class Entries(NamedTuple):
    """The non-zero entries of a sparse matrix, row by row: one for each edge and ring it lies next to."""

    column: Tensor  # (2M,) int32: for each entry the rows of y and of iy in the table
    first: Tensor  # (rows + 1,) int32: where in ``column`` each row begins
    weight: Tensor  # (M,) w ψ
    transport: Tensor  # (M,) complex
    direction: Tensor  # (M,) complex e^{iθ}

    def values(self, order: int, scalars: bool) -> Tensor:
        """Return the entries w ψ t e^{imθ} for order m, without t for scalars: (M,) complex."""
        value = self.weight * (torch.ones_like(self.transport) if scalars else self.transport)
        step = self.direction if order >= 0 else self.direction.conj_physical()
        for _ in range(abs(order)):
            value *= step
        return value

    def times(self, values: Tensor, y: Tensor) -> Tensor:
        """Return the product of the matrix that has these values with y, (columns, C) complex."""
        columns, channels = y.shape
        table = y.new_empty(2, columns, channels)
        table[0] = y
        torch.mul(y, 1j, out=table[1])
        rows = functional.embedding_bag(
            self.column,
            torch.view_as_real(table).view(2 * columns, 2 * channels),
            self.first,
            mode="sum",
            per_sample_weights=torch.view_as_real(values).flatten(),
            include_last_offset=True,
        )
        return torch.view_as_complex(rows.view(len(rows), channels, 2))


class Matrices(NamedTuple):
    """The matrix of `gather` for one order, and its adjoint."""

    forward: Entries  # rows (receiver, ring), columns senders
    adjoint: Entries


def matrices(geometry: Geometry, points: int, rings: int, spacing: Any, dtype: torch.dtype) -> Matrices:
    """Return the matrices for a surface, sorted anew only when the geometry has changed."""
    key = ("matrices", points, rings, spacing, dtype)
    return kept(geometry, key, lambda: _sort(geometry, points, rings, spacing, dtype))


def _sort(geometry: Geometry, points: int, rings: int, spacing: Any, dtype: torch.dtype) -> Matrices:
    geometry.check_points(points)
    lower, fraction = ring_weights(geometry.distance().to(dtype), rings, spacing)
    share = torch.cat([1 - fraction, fraction])  # of the ring inside, of the ring outside
    entry = share.nonzero().flatten()
    edge, outer = entry % len(fraction), entry // max(len(fraction), 1)
    sender, receiver = geometry.edge_index.index_select(1, edge)
    row = receiver * rings + lower[edge] + outer
    weight = geometry.weight[edge].to(dtype) * share[entry]
    transport, direction = geometry.transport, geometry.direction()

    def sorted_by(row: Tensor, rows: int, column: Tensor, columns: int) -> Entries:
        order = row.argsort(stable=True)
        column, own = column[order], edge[order]
        first = torch.searchsorted(row[order], torch.arange(rows + 1, device=row.device))
        return Entries(
            torch.stack([column, column + columns], 1).flatten().int(),
            (2 * first).int(),
            weight[order],
            transport[own].to(dtype.to_complex()),
            direction[own].to(dtype.to_complex()),
        )

    return Matrices(
        sorted_by(row, points * rings, sender, points), sorted_by(sender, points, row, points * rings)
    )


def gather(
    y: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Any, scalars: bool
) -> Tensor:
    """Return A[p,k,n] = Σ_e w_e t_e e^{imθ_e} ψ_n(r_e) y[k,q] with m = first_order + k, no t_e for scalars.

    From (K, n, C) to (n, K, N, C).
    """
    orders, points, channels = y.shape
    matrix = matrices(geometry, points, rings, spacing, y.real.dtype).forward
    result = y.new_empty(points, orders, rings, channels)
    for k in range(orders):
        sums = matrix.times(matrix.values(first_order + k, scalars), y[k])
        result[:, k] = sums.view(points, rings, channels)
    return result


def scatter(
    gradient: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Any, scalars: bool
) -> Tensor:
    """Return the adjoint of `gather`: (n, K, N, C) to (K, n, C)."""
    points, orders, _, channels = gradient.shape
    matrix = matrices(geometry, points, rings, spacing, gradient.real.dtype).adjoint
    result = gradient.new_empty(orders, points, channels)
    for k in range(orders):
        values = matrix.values(first_order + k, scalars).conj_physical_()
        result[k] = matrix.times(values, gradient[:, k].flatten(0, 1))
    return result
