"""Products that skip zeros, against the dense ones of torch."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.compiled import relu_linear_kernels as kernels
from fieldconv.ops.relu_linear import relu_linear

compiled = partial(relu_linear, backend="compiled")


def case(
    rows: int, width: int, outputs: int, dtype: torch.dtype = torch.float64, share: float = 0.5
) -> list[Tensor]:
    torch.manual_seed(0)
    x, weight, bias = (
        torch.randn(*shape, dtype=dtype) for shape in ((rows, width), (outputs, width), (outputs,))
    )
    keep = torch.empty_like(x).bernoulli_(1 - share).div_(1 - share)
    return [x.requires_grad_(), keep, weight.requires_grad_(), bias.requires_grad_()]


def both(inputs: list[Tensor], gradient: Tensor | None = None) -> list[list[Tensor]]:
    """Outputs and gradients of the kernels and of torch."""
    found = []
    for function in (compiled, plain.relu_linear):
        out = function(*inputs)
        given = torch.ones_like(out) if gradient is None else gradient
        found.append([out, *torch.autograd.grad(out, [inputs[0], *inputs[2:]], given)])
    return found


# Whole panels and what is left of one (64 single or 32 double numbers), several blocks of rows.
@pytest.mark.parametrize(
    ("rows", "width", "outputs"), [(1, 1, 1), (0, 3, 5), (70, 17, 32), (300, 40, 100), (65, 9, 64)]
)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_is_the_dense_product(rows: int, width: int, outputs: int, share: float) -> None:
    torch.manual_seed(1)
    gradient = torch.randn(rows, outputs, dtype=torch.float64)
    torch.testing.assert_close(*both(case(rows, width, outputs, share=share), gradient))


def test_single_precision() -> None:
    torch.manual_seed(1)
    found, expected = both(case(300, 100, 130, torch.float32), torch.randn(300, 130))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


def test_rows_and_columns_without_any_number() -> None:
    x, keep, weight, bias = case(70, 6, 40)
    keep[3] = 0  # a row
    keep[:, 2] = 0  # a column
    keep[64:] = 0  # a block of rows
    found, expected = both([x, keep, weight, bias])
    torch.testing.assert_close(found, expected)
    assert not found[1][:, 2].any()


def test_negative_numbers_have_no_gradient() -> None:
    x, keep, weight, bias = case(20, 8, 70)
    _, by_x, *_ = both([x, torch.ones_like(keep), weight, bias])[0]
    assert torch.equal(by_x == 0, x <= 0)


def test_gradients() -> None:
    x, keep, weight, bias = case(4, 3, 5)
    assert torch.autograd.gradcheck(
        lambda x, weight, bias: compiled(x, keep, weight, bias), (x, weight, bias)
    )
    assert torch.autograd.gradgradcheck(
        lambda x, weight, bias: compiled(x, keep, weight, bias), (x, weight, bias)
    )


def test_views_of_other_tensors() -> None:
    x, keep, weight, bias = case(12, 6, 9)
    views = [x.t().contiguous().t(), keep[:, [5, 4, 3, 2, 1, 0]].flip(1), weight.t().contiguous().t(), bias]
    torch.testing.assert_close(compiled(*views), plain.relu_linear(*views))
    gradient = torch.ones(1, 1, dtype=torch.float64).expand(12, 9)
    torch.testing.assert_close(*both([x, keep, weight, bias], gradient))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_infinite_inputs_are_not_hidden(value: float) -> None:
    x, keep, weight, bias = case(3, 4, 5)
    with torch.no_grad():
        x[1, 2] = value
        keep[1] = 2
    found, expected = compiled(x, keep, weight, bias), plain.relu_linear(x, keep, weight, bias)
    assert not found[1].isfinite().any()
    torch.testing.assert_close(found[[0, 2]], expected[[0, 2]])


def test_zeros_are_not_multiplied() -> None:
    x, keep, _, _ = case(100, 50, 1)
    numbers = kernels._nonzeros(x.detach(), keep)
    expected = torch.relu(x.detach()) * keep
    assert numbers.first[-1] == (expected != 0).sum()
    assert 0.2 < numbers.first[-1] / x.numel() < 0.3


def test_half_precision_and_mixed_types_are_left_to_torch() -> None:
    x, keep, weight, bias = (tensor.detach() for tensor in case(3, 4, 5, torch.float32))
    half = [tensor.bfloat16() for tensor in (x, keep, weight, bias)]
    assert relu_linear(*half).dtype == torch.bfloat16


@pytest.mark.parametrize("threads", [2, 3])
def test_same_bits_for_any_number_of_threads(threads: int) -> None:
    before, found = torch.get_num_threads(), []
    try:
        for count in (1, threads):
            torch.set_num_threads(count)
            found.append(both(case(600, 30, 300))[0])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_torch_accepts_the_operation() -> None:
    x, keep, weight, bias = case(5, 4, 70)
    torch.library.opcheck(torch.ops.fieldconv.relu_linear.default, (x, weight, bias, keep))
