from __future__ import annotations

import cmath
import math
from typing import Any

import pytest
import torch

from fieldconv.nn import ECHO, ECHOBlock
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import edges, flat_surface, random_field


def by_the_paper(x: torch.Tensor, surface: Any, radial_samples: int, votes: str) -> torch.Tensor:
    """One vote at a time into a dictionary of grid cells, split by hat functions around each cell."""
    reach = range(-radial_samples - 1, radial_samples + 1)
    cells = [complex(a + 0.5, b + 0.5) for b in reach for a in reach]
    inside = [cell for cell in cells if abs(cell) <= radial_samples]
    out = torch.zeros(*x.shape, len(inside) + 1, dtype=x.dtype)
    for e, q, p in edges(surface):
        log, transport = complex(surface.log[e]), complex(surface.transport[e])
        for d in range(x.shape[1]):
            rho, phi = cmath.polar(complex(x[q, d]))
            value = float(surface.weight[e]) * rho
            if votes == "vector":
                value *= cmath.exp(1j * phi) * transport
            place = radial_samples * log / float(surface.radius) * cmath.exp(-1j * phi)
            centre = hat(2 * place.real) * hat(2 * place.imag)
            out[p, d, -1] += value * centre
            for h, cell in enumerate(inside):
                share = hat(place.real - cell.real) * hat(place.imag - cell.imag)
                out[p, d, h] += value * (1 - centre) * share
    return out.abs()


def hat(t: float) -> float:
    return max(1 - abs(t), 0)


@pytest.mark.parametrize("votes", ["vector", "magnitude"])
@pytest.mark.parametrize("radial_samples", [2, 3])
def test_is_the_papers_voting(votes: str, radial_samples: int) -> None:
    surface = flat_surface(12, radius=0.5)
    x = random_field(surface, 2)
    found = ECHO(radial_samples=radial_samples, votes=votes)(x, surface)
    torch.testing.assert_close(found, by_the_paper(x, surface, radial_samples, votes))


def test_sizes_of_the_paper() -> None:
    """H = 33 for three samples per radius, H = 13 in the correspondence network, which has two."""
    assert ECHO(radial_samples=3).size == 33
    assert ECHO(radial_samples=2).size == 13
    surface = flat_surface()
    assert ECHO(radial_samples=3)(random_field(surface, 4), surface).shape == (30, 4, 33)


@pytest.mark.parametrize("votes", ["vector", "magnitude"])
def test_does_not_depend_on_frames(votes: str) -> None:
    surface = flat_surface()
    echo = ECHO(votes=votes)
    assert_equivariant(echo, surface, features=random_field(surface, 3), tolerance=1e-12)
    block = ECHOBlock(3, 5, descriptors=4, votes=votes).double()
    assert_equivariant(block, surface, tolerance=1e-12)


def test_no_more_votes_than_magnitude() -> None:
    """Weights of a ball sum to one, so the votes at p sum to at most the largest magnitude."""
    surface = flat_surface()
    x = random_field(surface, 3)
    total = ECHO(votes="magnitude")(x, surface).sum(2)
    assert (total <= x.abs().max() * (1 + 1e-12)).all()


@pytest.mark.parametrize("votes", ["vector", "magnitude"])
def test_gradients(votes: str) -> None:
    surface = flat_surface(7, radius=0.6)
    x = random_field(surface, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ECHO(radial_samples=2, votes=votes)(x, surface), x)


@pytest.mark.parametrize("votes", ["vector", "magnitude"])
def test_zero_vectors_do_not_vote(votes: str) -> None:
    surface = flat_surface()
    x = random_field(surface, 3)
    x[::2] = 0
    x.requires_grad_()
    out = ECHO(votes=votes)(x, surface)
    out.sum().backward()
    assert out.isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert (ECHO(votes=votes)(torch.zeros_like(x), surface) == 0).all()


def test_a_batch_is_its_members() -> None:
    surfaces = [flat_surface(n, radius=radius, seed=n) for n, radius in ((20, 0.4), (9, 0.5))]
    fields = [random_field(surface, 3, seed=i) for i, surface in enumerate(surfaces)]
    block = ECHOBlock(3, 2, descriptors=4).double()
    together = block(torch.cat(fields), surface_batch(surfaces))
    alone = torch.cat([block(x, surface) for x, surface in zip(fields, surfaces, strict=True)])
    torch.testing.assert_close(together, alone)


def test_opposite_votes_for_one_place_cancel() -> None:
    """p stands between two neighbours that both look at it: votes are vectors unless told otherwise."""
    points = torch.tensor([[0.0, 0.0], [-0.2, 0.0], [0.2, 0.0]])
    surface = flat_surface(points=points, radius=0.3, angles=torch.tensor([0.4, 1.0, -2.0]))
    surface.weight = torch.full_like(surface.weight, 1 / 3)
    x = torch.tensor([[0], [cmath.exp(-1j)], [-cmath.exp(2j)]], dtype=torch.complex128)  # towards p
    magnitude = ECHO(votes="magnitude")(x, surface)[0, 0]
    assert float(magnitude.sum()) == pytest.approx(2 / 3)
    for layer in (ECHO(), ECHO(votes="vector"), ECHOBlock(1, 1, descriptors=1).echo):
        assert float(layer(x, surface)[0, 0].abs().max()) < 1e-12
    # Side by side they look the same way, and add up.
    x[2] *= -1
    surface.log[surface.edge_index[0] == 2] *= -1
    torch.testing.assert_close(ECHO()(x, surface)[0, 0], magnitude)


@pytest.mark.parametrize("votes", ["vector", "magnitude"])
def test_block_describes_by_the_votes_it_was_told(votes: str) -> None:
    surface = flat_surface(12, radius=0.5)
    block, x = (
        ECHOBlock(2, 3, descriptors=2, radial_samples=2, votes=votes).double(),
        random_field(surface, 2),
    )
    with torch.no_grad():
        expected = by_the_paper(block.conv(x, surface), surface, 2, votes)
        torch.testing.assert_close(block.describe(x, surface), expected)


def test_block_is_convolution_descriptors_and_perceptron() -> None:
    surface = flat_surface()
    block, x = ECHOBlock(3, 5, descriptors=4, hidden=(7, 6)).double(), random_field(surface, 3)
    values = block.echo(block.conv(x, surface), surface).reshape(30, 4 * 33)
    torch.testing.assert_close(block.describe(x, surface), values.reshape(30, 4, 33))
    for i in (0, 2, 4):
        layer = block.mlp[i]
        scale = 33 if i == 0 else 1
        values = scale * values @ layer.weight.T + layer.bias
        values = values.relu() if i < 4 else values
    torch.testing.assert_close(block(x, surface), values)


def test_parameters_of_the_block() -> None:
    block = ECHOBlock(48, 8, descriptors=32)
    perceptron = 1056 * 256 + 256 + 256 * 124 + 124 + 124 * 8 + 8
    assert sum(parameter.numel() for parameter in block.parameters()) == 33 * 48 * 32 + perceptron


def test_a_single_neighbour_votes_where_it_sees_the_point() -> None:
    """q looks along its vector; p lies ahead of it at half the radius, so one known pixel pair gets all."""
    points = torch.tensor([[0.0, 0.0], [0.25, 0.0]])
    surface = flat_surface(points=points, radius=0.5, angles=torch.tensor([1.0, -2.0]))
    ahead = torch.tensor([[cmath.exp(-1j)], [0]], dtype=torch.complex128)  # at q = 0, along +x
    out = ECHO(radial_samples=2, votes="magnitude")(ahead, surface)[1, 0]
    weight = float(surface.weight[(surface.edge_index == torch.tensor([[0], [1]])).all(0)])
    # Place 2 · 0.25/0.5 = 1 on the x axis: between pixels (0.5, ±0.5) and (1.5, ±0.5), a quarter each.
    assert math.isclose(float(out.sum()), weight, rel_tol=1e-9)
    assert sorted(out[out > 1e-12].tolist()) == pytest.approx([weight / 4] * 4)
