"""Both backends against plain torch; what the equation says is tested with the layer."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.pointwise import magnitude_relu

BACKENDS = [partial(magnitude_relu, backend=name) for name in ("torch", "compiled")]
backends = pytest.mark.parametrize("relu", BACKENDS)


def case(rows: int, channels: int, dtype: torch.dtype = torch.complex128) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x = torch.randn(rows, channels, dtype=dtype)
    return x.requires_grad_(), (torch.randn(channels, dtype=x.real.dtype) / 2).requires_grad_()


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (700, 33)])  # the last: several blocks, odd channels
@backends
def test_is_the_equation(relu, shape: tuple[int, int]) -> None:
    inputs = case(*shape)
    found, expected = relu(*inputs), plain.magnitude_relu(*inputs)
    torch.testing.assert_close(found, expected)
    gradient = torch.randn_like(expected)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, gradient), torch.autograd.grad(expected, inputs, gradient)
    )


@backends
def test_gradients(relu) -> None:
    inputs = case(4, 3)
    assert torch.autograd.gradcheck(relu, inputs)
    assert torch.autograd.gradgradcheck(relu, inputs)


@pytest.mark.parametrize("frozen", [0, 1])
@backends
def test_second_derivative_of_one_input_alone(relu, frozen: int) -> None:
    inputs = case(4, 3)
    inputs[frozen].requires_grad_(False)
    assert torch.autograd.gradgradcheck(relu, inputs)


@backends
def test_conjugate_views_and_columns_of_others(relu) -> None:
    x, offset = case(5, 6)
    for view in (x.conj(), x.t().contiguous().t(), x[::2]):
        torch.testing.assert_close(relu(view, offset), plain.magnitude_relu(view, offset))


@pytest.mark.parametrize("value", [0, 1e-45, 1e-30, 1e-10, 1e30])
@pytest.mark.parametrize("b", [-0.5, 0.0, 0.5])
def test_tiny_and_huge_vectors(value: float, b: float) -> None:
    found = []
    for relu in (plain.magnitude_relu, *BACKENDS):
        x = torch.tensor([[value + 0j, value * 1j, value * (1 - 1j)]], requires_grad=True)
        offset = torch.full((3,), b, requires_grad=True)
        out = relu(x, offset)
        gradients = torch.autograd.grad(out.real.sum() - 2 * out.imag.sum(), (x, offset))
        assert all(tensor.isfinite().all() for tensor in (out, *gradients))
        found.append((out, *gradients))
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, rtol=1e-5, atol=1e-6)
