from __future__ import annotations

import pytest
import torch

from fieldconv.nn import FCResNetBlock
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import flat_surface, random_field


@pytest.mark.parametrize(("before", "after"), [(3, 3), (3, 5)])
def test_is_two_convolutions_and_a_residual(before: int, after: int) -> None:
    surface = flat_surface()
    block, x = FCResNetBlock(before, after).double(), random_field(surface, before)
    for relu in (block.relu1, block.relu2):
        torch.nn.init.normal_(relu.offset)
    inner = block.conv2(block.relu1(block.conv1(x, surface)), surface)
    magnitude = torch.relu(inner.abs() + block.relu2.offset)
    carried = x if before == after else x @ torch.complex(*block.carry.weight)
    torch.testing.assert_close(block(x, surface), carried + magnitude * inner / inner.abs())


def test_does_not_depend_on_frames() -> None:
    assert_equivariant(FCResNetBlock(3, 4).double(), flat_surface(), tolerance=1e-12)


def test_parameters() -> None:
    def count(before: int, after: int) -> int:
        return sum(parameter.numel() for parameter in FCResNetBlock(before, after).parameters())

    assert count(4, 4) == 2 * 33 * 16 + 2 * 4
    assert count(3, 4) == 33 * (12 + 16) + 2 * 4 + 2 * 12  # the skip path has its own matrix


def test_gradients() -> None:
    surface = flat_surface(6, radius=0.6)
    block = FCResNetBlock(2, 2, rings=2, band_limit=1).double()
    x = random_field(surface, 2).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, *_: block(x, surface), (x, block.conv1.weight, block.relu1.offset, block.conv2.offset)
    )


def test_starts_with_a_second_convolution_half_as_strong() -> None:
    """So that the sum of both paths hardly grows with depth."""
    torch.manual_seed(0)
    block = FCResNetBlock(32, 32)
    ratio = block.conv2.weight.square().mean().sqrt() / block.conv1.weight.square().mean().sqrt()
    assert float(ratio) == pytest.approx(0.5, rel=0.02)


def test_zero_stays_zero() -> None:
    surface = flat_surface()
    block, x = (
        FCResNetBlock(3, 4).double(),
        torch.zeros(30, 3, dtype=torch.complex128, requires_grad=True),
    )
    out = block(x, surface)
    out.abs().sum().backward()
    assert (out == 0).all()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_a_batch_is_its_members() -> None:
    surfaces = [flat_surface(n, seed=n) for n in (20, 9)]
    fields = [random_field(surface, 3, seed=i) for i, surface in enumerate(surfaces)]
    block = FCResNetBlock(3, 2).double()
    together = block(torch.cat(fields), surface_batch(surfaces))
    alone = torch.cat([block(x, surface) for x, surface in zip(fields, surfaces, strict=True)])
    torch.testing.assert_close(together, alone)
