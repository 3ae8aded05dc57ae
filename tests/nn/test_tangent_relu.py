from __future__ import annotations

import cmath

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.nn import TangentReLU
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import flat_surface, random_field


def layer(*offsets: float) -> TangentReLU:
    relu = TangentReLU(len(offsets)).double()
    relu.offset.data = torch.tensor(offsets, dtype=torch.float64)
    return relu


@given(st.floats(1e-3, 1e3), st.floats(-3, 3), st.floats(-10, 10))
def test_is_equation_8(rho: float, phi: float, b: float) -> None:
    found = layer(b)(torch.tensor([[cmath.rect(rho, phi)]], dtype=torch.complex128)).item()
    assert found == pytest.approx(cmath.rect(max(rho + b, 0), phi), rel=1e-12, abs=1e-12)


def test_does_not_depend_on_frames() -> None:
    surface = flat_surface()
    features = random_field(surface, 3)
    assert_equivariant(layer(-0.5, 0, 0.5), surface, features=features, tolerance=1e-12)


def test_gradients() -> None:
    x = random_field(flat_surface(6), 3).requires_grad_()
    relu = layer(-0.1, 0.2, 0.5)
    assert torch.autograd.gradcheck(lambda x, _: relu(x), (x, relu.offset))
    assert torch.autograd.gradgradcheck(lambda x, _: relu(x), (x, relu.offset))


@pytest.mark.parametrize("offset", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("size", [0.0, 1e-42, 1e-30, 1e30])
def test_extreme_vectors(size: float, offset: float) -> None:
    """No overflow on the way, and a vector too short for a direction becomes zero."""
    relu = layer(offset).float()
    x = torch.tensor([[complex(0.6 * size, -0.8 * size)]], dtype=torch.complex64, requires_grad=True)
    out = relu(x)
    out.abs().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert relu.offset.grad is not None
    assert relu.offset.grad.isfinite().all()
    if size < 1:
        assert out.item() == 0
        assert x.grad.item() == 0
    else:
        assert out.item() == pytest.approx(x.item(), rel=1e-5)


def test_starts_as_the_identity() -> None:
    x = random_field(flat_surface(), 4)
    torch.testing.assert_close(TangentReLU(4).double()(x), x)
