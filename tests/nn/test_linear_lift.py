from __future__ import annotations

import cmath

import pytest
import torch

from fieldconv.nn import LinearLift
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import edges, flat_surface, ring_weights


def test_is_its_equation() -> None:
    surface = flat_surface(9, radius=0.5)
    lift = LinearLift(3, 2, rings=3).double()
    weight = torch.complex(*lift.linear.weight.detach()).reshape(3, 3, 2)  # ring, scalar, vector
    number = {(q, p): e for e, q, p in edges(surface)}
    expected = torch.zeros(9, 2, dtype=torch.complex128)
    for e, q, p in edges(surface):
        r, theta = cmath.polar(complex(surface.log[number[p, q]]))
        for n, psi in enumerate(ring_weights(r / 0.5, 3)):
            for k in range(3):
                difference = float(surface.x[q, k] - surface.x[p, k])
                expected[p] += (
                    float(surface.weight[e]) * difference * psi * cmath.exp(1j * theta) * weight[n, k]
                )
    torch.testing.assert_close(lift(surface.x, surface), expected)


def test_does_not_depend_on_frames() -> None:
    surface = flat_surface()
    assert_equivariant(LinearLift(3, 4).double(), surface, features=surface.x, tolerance=1e-10)


def test_is_linear_and_ignores_constants() -> None:
    surface = flat_surface()
    lift = LinearLift(3, 4).double()
    torch.testing.assert_close(lift(2 * surface.x + 5, surface), 2 * lift(surface.x, surface))


def test_gradients() -> None:
    surface = flat_surface(7, radius=0.6)
    lift = LinearLift(3, 2, rings=2).double()
    x = surface.x.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, _: lift(x, surface), (x, lift.linear.weight))


@pytest.mark.parametrize("length", [0.28, 1.0])
def test_starts_at_magnitudes_near_one(length: float) -> None:
    """For coordinates on a surface of unit area, as large as they were said to be."""
    torch.manual_seed(0)
    surface = flat_surface(300, radius=0.2, dtype=torch.float32)
    x = surface.pos - surface.pos.mean(0)
    x = x * length / x.square().sum(1).mean().sqrt()
    with torch.no_grad():
        size = LinearLift(3, 200, input_length=length)(x, surface).abs().mean()
    assert 0.3 < float(size) < 3


def test_a_batch_is_its_members() -> None:
    surfaces = [flat_surface(n, radius=radius, seed=n) for n, radius in ((20, 0.4), (9, 0.5))]
    lift = LinearLift(3, 2).double()
    batch = surface_batch(surfaces)
    alone = torch.cat([lift(surface.x, surface) for surface in surfaces])
    torch.testing.assert_close(lift(batch.x, batch), alone)
