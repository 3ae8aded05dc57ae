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
    size : (int, int)
        Number of rows and of columns.

    Examples
    --------
    >>> matrix = SparseMatrix(torch.tensor([[0, 1, 0], [0, 0, 1]]), torch.tensor([1.0, 2.0, 3.0]), (2, 2))
    >>> matrix @ torch.tensor([[10.0], [1.0]])
    tensor([[12.],
            [30.]])
    """

    def __init__(self, index: Tensor, values: Tensor, size: tuple[int, int]) -> None:
        self.matrix = compressed_rows(index, values, size)
        self.transposed = compressed_rows(index.flip(0), values, size[::-1])

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


def compressed_rows(index: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the matrix of `SparseMatrix` in compressed rows."""
    column, row = index
    if len(row) > 1 and not bool((row.diff() >= 0).all()):
        order = torch.argsort(row, stable=True)
        row, column, values = row[order], column[order], values[order]
    ends = torch.bincount(row, minlength=size[0]).cumsum(0)
    starts = torch.cat([ends.new_zeros(1), ends])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(starts, column, values, size, check_invariants=False)
