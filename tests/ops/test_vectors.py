from __future__ import annotations

import cmath
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.ops import plain, unit
from fieldconv.ops.pointwise import lift

lift_torch, lift_compiled = (partial(lift, backend=name) for name in ("torch", "compiled"))
lifts = pytest.mark.parametrize("lifting", [plain.lift, lift_torch, lift_compiled])

sizes = st.sampled_from([1e-300, 1e-150, 1e-3, 1.0, 1e30, 1e300])


@given(sizes, st.floats(-3.1, 3.1))
def test_unit_has_length_one_and_the_same_angle(size: float, angle: float) -> None:
    found = complex(unit(torch.tensor(cmath.rect(size, angle), dtype=torch.complex128)))
    assert found == pytest.approx(cmath.rect(1, angle), abs=1e-14)


def test_zero_has_no_direction_and_no_gradient() -> None:
    x = torch.tensor([0j, 1e-45 + 0j, 1e-40j], requires_grad=True)
    u = unit(x)
    assert u.abs().tolist() == [0, 0, 0]
    u.real.sum().backward()
    assert x.grad is not None
    assert x.grad.abs().tolist() == [0, 0, 0]


@pytest.mark.parametrize("band_limit", [0, 1, 3])
@lifts
def test_lift_turns_by_multiples_of_the_angle(lifting, band_limit: int) -> None:
    x = torch.randn(2500, 1, dtype=torch.complex128)  # more than the kernel takes at once
    x[7] = 0
    y = lifting(x, band_limit)
    assert y.shape == (2 * band_limit + 1, 2500, 1)
    for m in range(-band_limit, band_limit + 1):
        expected = torch.polar(x.abs(), x.angle() * (1 - m))
        torch.testing.assert_close(y[band_limit + m], expected)


@pytest.mark.parametrize("band_limit", [0, 1, 2, 3])
@lifts
def test_lift_gradients(lifting, band_limit: int) -> None:
    x = torch.randn(3, 1, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: lifting(x, band_limit), x)
    assert torch.autograd.gradgradcheck(lambda x: lifting(x, band_limit), x, fast_mode=True)


@pytest.mark.parametrize("value", [0, 1e-45, 1e-40, 1e-30, 1e30])
def test_gradients_of_tiny_and_huge_vectors_are_alike_and_finite(value: float) -> None:
    gradients = []
    for lifting in (plain.lift, lift_torch, lift_compiled):
        x = torch.tensor([[value + 0j, value * 1j, value * (1 + 1j)]], requires_grad=True)
        y = lifting(x, 2)
        assert y.isfinite().all()
        y.real.sum().backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()
        gradients.append(x.grad)
    torch.testing.assert_close(gradients[1], gradients[0])
    torch.testing.assert_close(gradients[2], gradients[0])
    if value < 1e-37:  # only m = 0, which needs no direction, lets a gradient through
        torch.testing.assert_close(gradients[0], torch.ones(1, 3, dtype=torch.complex64))
