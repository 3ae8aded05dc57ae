"""Products with constant sparse matrices, such as Laplacians and gradients, from lists of edges."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class SparseMatrix:
    r"""A constant sparse matrix M that multiplies features: ``matrix @ x``.

    .. math:: (M x)_p = \sum_{e = (q \to p)} m_e \, x_q

    Parameters
    ----------
    index : (2, E) int64
        Senders q and receivers p, each pair once.
    values : (E,) real
        m.
    size : int or (int, int)
        Number of rows and of columns.
    symmetric : bool
        Whether M is its own transpose, which then serves for the gradient.

    Examples
    --------
    >>> matrix = SparseMatrix(torch.tensor([[0, 1, 0], [0, 0, 1]]), torch.tensor([1.0, 2.0, 3.0]), 2)
    >>> matrix @ torch.tensor([[10.0], [1.0]])
    tensor([[12.],
            [30.]])
    """

    def __init__(
        self, index: Tensor, values: Tensor, size: int | tuple[int, int], *, symmetric: bool = False
    ) -> None:
        sender, receiver = index
        rows, columns = (size, size) if isinstance(size, int) else size
        self.matrix = _rows(receiver, sender, values, (rows, columns))
        self.transposed = self.matrix if symmetric else _rows(sender, receiver, values, (columns, rows))

    def __matmul__(self, x: Tensor) -> Tensor:
        product: Tensor = _Product.apply(x, self)  # type: ignore[no-untyped-call]
        return product


class _Product(torch.autograd.Function):
    """torch's own backward pass multiplies with a matrix sorted by columns, which is ten times slower."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return matrix.matrix @ x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.transposed @ gradient.contiguous(), None


def _rows(row: Tensor, column: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the matrix in compressed rows."""
    if len(row) > 1 and not bool((row.diff() >= 0).all()):
        order = torch.argsort(row, stable=True)
        row, column, values = row[order], column[order], values[order]
    ends = torch.bincount(row, minlength=size[0]).cumsum(0)
    starts = torch.cat([ends.new_zeros(1), ends])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(starts, column, values, size, check_invariants=False)
