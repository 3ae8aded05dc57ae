from __future__ import annotations

import cmath
from typing import Any

import pytest
import torch

from fieldconv.nn import LearnedGradient
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import edges, flat_surface, ring_weights


def by_the_paper(lift: LearnedGradient, xi: torch.Tensor, surface: Any) -> torch.Tensor:
    """Supplement B, one neighbour at a time; log_p q comes from the opposite edge."""
    number = {(q, p): e for e, q, p in edges(surface)}
    out = torch.zeros(len(xi), lift.out_channels, dtype=surface.log.dtype)
    f1, f2, beta = lift.direction.detach(), lift.magnitude.detach(), lift.offset.detach()
    for p in range(len(xi)):
        for o in range(lift.out_channels):
            phi, magnitude = 0j, 0.0
            for e, q, receiver in edges(surface):
                if receiver != p:
                    continue
                r, theta = cmath.polar(complex(surface.log[number[p, q]]))
                psi = ring_weights(r / float(surface.radius), lift.rings, lift.spacing)
                w = float(surface.weight[e])
                for k in range(lift.in_channels):
                    first = sum(psi[n] * float(f1[n, k, o]) for n in range(lift.rings))
                    second = sum(psi[n] * float(f2[n, k, o]) for n in range(lift.rings))
                    difference = float(xi[q, k] - xi[p, k])
                    phi += w * difference * first * cmath.exp(1j * (theta + float(beta[k, o])))
                    magnitude += w * float(xi[q, k]) * second
            out[p, o] = magnitude**2 * phi / abs(phi) if phi else 0
    return out


@pytest.mark.parametrize("spacing", ["linear", "equal_area"])
def test_is_supplement_b(spacing: str) -> None:
    surface = flat_surface(9, radius=0.5)
    lift = LearnedGradient(3, 2, rings=3, spacing=spacing).double()
    torch.testing.assert_close(lift(surface.x, surface), by_the_paper(lift, surface.x, surface))


def test_points_uphill() -> None:
    """On a plane, the unturned gradient of a linear function has its direction."""
    grid = torch.cartesian_prod(torch.linspace(0, 1, 9), torch.linspace(0, 1, 9))
    surface = flat_surface(points=grid, radius=0.3, angles=torch.zeros(81))
    surface.area.fill_(1)
    surface.weight = (1 / surface.edge_index[1].bincount()[surface.edge_index[1]]).double()
    slope = torch.tensor([0.6, 0.8], dtype=torch.float64)
    lift = LearnedGradient(1, 1).double()
    lift.direction.data.fill_(1)
    lift.offset.data.fill_(0)
    out = lift((grid.double() @ slope)[:, None] + 1, surface)
    inner = ((grid - 0.5).abs() < 0.15).all(1)
    uphill = torch.complex(*slope).expand(int(inner.sum()))
    torch.testing.assert_close(out[inner, 0] / out[inner, 0].abs(), uphill, atol=1e-6, rtol=0)


def test_does_not_depend_on_frames() -> None:
    surface = flat_surface()
    lift = LearnedGradient(3, 4).double()
    assert_equivariant(lift, surface, features=surface.x, tolerance=1e-10)


def test_parameters() -> None:
    lift = LearnedGradient(3, 16, rings=6)
    assert sum(parameter.numel() for parameter in lift.parameters()) == 3 * 16 * (6 + 6 + 1)


def test_gradients() -> None:
    surface = flat_surface(7, radius=0.6)
    lift = LearnedGradient(3, 2, rings=2).double()
    x = surface.x.clone().requires_grad_()
    parameters = {name: value.detach().requires_grad_() for name, value in lift.named_parameters()}

    def run(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(lift, dict(zip(parameters, values, strict=True)), (x, surface))

    assert torch.autograd.gradcheck(run, (x, *parameters.values()))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_has_no_gradient(value: float) -> None:
    """Where nothing changes there is no direction: zero out, finite gradients."""
    surface = flat_surface(12)
    lift = LearnedGradient(1, 2, rings=1).double()
    x = torch.full((12, 1), value, dtype=torch.float64, requires_grad=True)
    out = lift(x, surface)
    out.abs().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert (out == 0).all()


def test_rounding_has_no_direction() -> None:
    """In the middle of a symmetric function the gradient vanishes, but for rounding."""
    angles = torch.arange(12) * torch.pi / 6
    ring = torch.stack([angles.cos(), angles.sin()], 1)
    points = torch.cat([torch.zeros(1, 2), 0.3 * ring, 0.7 * ring, ring]) + 2
    surface = flat_surface(points=points, radius=0.8, dtype=torch.float32)
    surface.weight = 1 / surface.edge_index[1].bincount()[surface.edge_index[1]].float()
    away = (points - 2).norm(dim=1, keepdim=True)
    torch.manual_seed(0)
    lift = LearnedGradient(2, 16)
    with torch.no_grad():
        size = lift(torch.cat([1.3 + away**2, 2.1 - away], 1), surface).abs().mean(1)
    assert float(size[0]) < 0.01 * float(size[1:13].min())


@pytest.mark.parametrize("length", [0.28, 1.0, 5.0])
@pytest.mark.parametrize("spacing", ["linear", "equal_area"])
def test_starts_at_magnitudes_near_one(length: float, spacing: str) -> None:
    """P² has mean one for features of the stated length that hardly change across a disc."""
    torch.manual_seed(0)
    surface = flat_surface(400, radius=0.3, dtype=torch.float32)
    inner = ((surface.pos[:, :2] - 0.5).abs() < 0.2).all(1)  # whole discs
    direction = torch.nn.functional.normalize(torch.tensor([[1.0, -2.0, 3.0]]), dim=1)
    x = length * direction * (1 + 0.01 * surface.pos[:, :1])
    lift = LearnedGradient(3, 2000, spacing=spacing, input_length=length)
    with torch.no_grad():
        magnitude = lift(x, surface)[inner].abs().mean()
    assert float(magnitude) == pytest.approx(1, abs=0.15)


def test_a_batch_is_its_members() -> None:
    surfaces = [flat_surface(n, radius=radius, seed=n) for n, radius in ((20, 0.4), (9, 0.5))]
    lift = LearnedGradient(3, 2).double()
    batch = surface_batch(surfaces)
    alone = torch.cat([lift(surface.x, surface) for surface in surfaces])
    torch.testing.assert_close(lift(batch.x, batch), alone)
