"""Products with sparse matrices against dense ones."""

import torch

from fieldconv.networks.rivals.shared.sparse import SparseMatrix


def test_product_and_gradient_are_those_of_the_dense_matrix() -> None:
    draw = torch.Generator().manual_seed(0)
    dense = torch.randn(9, 9, generator=draw, dtype=torch.float64)
    dense = torch.where(torch.rand(9, 9, generator=draw) < 0.3, dense, 0)
    dense[4] = dense[:, 4] = 0  # a point without edges
    receiver, sender = dense.nonzero().T
    order = torch.randperm(len(sender), generator=draw)  # edges in any order
    index = torch.stack([sender, receiver])[:, order]
    matrix = SparseMatrix(index, dense[receiver, sender][order], (9, 9))
    x = torch.randn(9, 3, generator=draw, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(matrix @ x, dense @ x)
    weight = torch.randn(9, 3, generator=draw, dtype=torch.float64)
    (weight * (matrix @ x)).sum().backward()
    torch.testing.assert_close(x.grad, dense.T @ weight)


def test_matrices_need_not_be_square() -> None:
    dense = torch.tensor([[1.0, 0, 2], [0, 0, 3]])
    receiver, sender = dense.nonzero().T
    x = torch.randn(3, 4, requires_grad=True)
    product = SparseMatrix(torch.stack([sender, receiver]), dense[receiver, sender], (2, 3)) @ x
    torch.testing.assert_close(product, dense @ x)
    product.sum().backward()
    torch.testing.assert_close(x.grad, dense.T @ torch.ones(2, 4))
