"""Gauge equivariant mesh CNN: the kernel constraint, and what follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fieldconv import Mesh, Surface
from fieldconv.networks import GEMCNN, GEMCNNConfig, network_named
from fieldconv.networks.rivals.gemcnn import GaugeBlock, GaugeConv, RegularReLU
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant, turn_frames
from tests.networks.surfaces import bumpy_torus, surface_of
from tests.shapes import grid, icosphere

HEADS = ["labels", "classification", "descriptors", "vectors"]


def rho(angle: float, order: int) -> Tensor:
    """The matrix by which features of orders 0 … B turn with a tangent vector."""
    blocks = [torch.ones(1, 1, dtype=torch.float64)]
    for n in range(1, order + 1):
        c, s = np.cos(n * angle), np.sin(n * angle)
        blocks.append(torch.tensor([[c, -s], [s, c]], dtype=torch.float64))
    return torch.block_diag(*blocks)


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """Features (n, 2B + 1, C) in frames turned by ``angles``."""
    order = x.shape[1] // 2
    return torch.stack([rho(-float(angle), order) @ one for one, angle in zip(x, angles, strict=True)])


def star(angle: float) -> Surface:
    """One neighbour (point 1) of point 0, seen at an angle."""
    return Surface(
        ring_index=torch.tensor([[1], [0]]),
        ring_direction=torch.polar(torch.ones(1).double(), torch.tensor([angle], dtype=torch.float64)),
        ring_transport=torch.ones(1, dtype=torch.complex128),
    )


def kernel(conv: GaugeConv, angle: float) -> Tensor:
    """K(θ) of a convolution with single channels: what it makes of each feature of the neighbour."""
    columns = 2 * conv.in_order + 1
    result = []
    for i in range(columns):
        x = torch.zeros(2, columns, 1, dtype=torch.float64)
        x[1, i] = 1
        result.append(conv(x, star(angle))[0, :, 0].detach())
    return torch.stack(result, 1)


@pytest.mark.parametrize(("in_order", "out_order"), [(0, 0), (0, 2), (2, 0), (1, 2), (2, 2), (3, 1)])
def test_kernels_satisfy_the_constraint(in_order: int, out_order: int) -> None:
    conv = GaugeConv(1, 1, in_order=in_order, out_order=out_order).double()
    for theta, turn in ((0.3, 1.1), (2.0, -0.4), (-1.0, 2.5)):
        expected = rho(-turn, out_order) @ kernel(conv, theta) @ rho(turn, in_order)
        torch.testing.assert_close(kernel(conv, theta - turn), expected)


@pytest.mark.parametrize(("in_order", "out_order"), [(0, 0), (0, 2), (2, 0), (1, 2), (2, 2)])
def test_no_solution_of_the_constraint_is_missing(in_order: int, out_order: int) -> None:
    """K(θ) = ρ(θ) K(0) ρ(−θ) for any matrix K(0); the kernel at the centre must commute with every turn."""
    rows, columns = 2 * out_order + 1, 2 * in_order + 1
    conv = GaugeConv(1, 1, in_order=in_order, out_order=out_order).double()
    assert conv.ring.numel() == rows * columns
    reached = []
    for i in range(rows * columns):
        with torch.no_grad():
            conv.ring.copy_(torch.eye(rows * columns)[i].view_as(conv.ring))
        reached.append(kernel(conv, 0.7).flatten())
    assert int(torch.linalg.matrix_rank(torch.stack(reached))) == rows * columns
    # Kernels at the centre: the null space of K ↦ ρ(α)K − Kρ(α), one generic α stands for all.
    after, before = rho(0.7, out_order).numpy(), rho(0.7, in_order).numpy()
    commuting = np.kron(after, np.eye(columns)) - np.kron(np.eye(rows), before.T)
    free = rows * columns - int(np.linalg.matrix_rank(commuting))
    assert conv.centre.numel() == free


def test_has_thirty_numbers_for_a_pair_of_channels() -> None:
    conv = GaugeConv(3, 5, in_order=2, out_order=2)
    assert conv.ring.numel() + conv.centre.numel() == 30 * 3 * 5


@torch.no_grad()
def test_neighbours_are_carried_and_added_up() -> None:
    surface = surface_of(bumpy_torus(6, 5), ("ring",))
    conv = GaugeConv(1, 1, in_order=1, out_order=2).double()
    conv.bias.fill_(0.3)
    x = torch.randn(30, 3, 1, dtype=torch.float64)
    centre = torch.zeros(5, 3, dtype=torch.float64)
    factor, real, imaginary = conv.centre.flatten()
    centre[0, 0] = factor
    centre[1:3, 1:3] = torch.stack([torch.stack([real, -imaginary]), torch.stack([imaginary, real])])
    expected = centre @ x
    expected[:, 0] += 0.3
    own = GaugeConv(1, 1, in_order=1, out_order=2).double()
    own.load_state_dict(conv.state_dict())
    own.bias.zero_()
    for (q, p), direction, transport in zip(
        surface.ring_index.T.tolist(), surface.ring_direction, surface.ring_transport, strict=True
    ):
        expected[p] += kernel(own, float(direction.angle())) @ rho(float(transport.angle()), 1) @ x[q]
    torch.testing.assert_close(conv(x, surface), expected)


def test_regular_relu_commutes_with_steps_of_the_circle() -> None:
    relu = RegularReLU(2, samples=7).double()
    x = torch.randn(7, 5, 3, dtype=torch.float64)
    steps = 2 * torch.pi / 7 * torch.arange(7, dtype=torch.float64)
    torch.testing.assert_close(relu(turned(x, steps)), turned(relu(x), steps), atol=1e-6, rtol=1e-6)


def test_regular_relu_commutes_the_better_the_more_directions() -> None:
    x, angles = torch.randn(50, 5, 3).double(), 6.3 * torch.rand(50).double()
    errors = []
    for samples in (7, 25, 101):
        relu = RegularReLU(2, samples=samples).double()
        errors.append(float((relu(turned(x, angles)) - turned(relu(x), angles)).abs().max()))
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    assert errors[2] < 2e-3


def test_regular_relu_is_that_of_the_function_on_the_circle() -> None:
    """Where the function is positive nothing changes, where it is negative nothing is left."""
    relu = RegularReLU(1, samples=9)
    x = torch.tensor([[[2.0], [1.0], [0.5]], [[-2.0], [1.0], [0.5]]])
    torch.testing.assert_close(relu(x)[0], x[0])
    assert relu(x)[1].abs().max() < 1e-6


def test_layers_do_not_depend_on_frames() -> None:
    surface = surface_of(bumpy_torus(), ("ring",))
    angles = 6.3 * torch.rand(180, dtype=torch.float64)
    other = turn_frames(surface, angles)
    x = torch.randn(180, 5, 2, dtype=torch.float64)
    conv = GaugeConv(2, 3, in_order=2, out_order=1).double()
    torch.testing.assert_close(conv(turned(x, angles), other), turned(conv(x, surface), angles))
    block = GaugeBlock(2, 3, in_order=2, out_order=2, samples=201).double()
    found, expected = block(turned(x, angles), other), turned(block(x, surface), angles)
    assert (found - expected).abs().max() < 1e-3 * expected.abs().max()


@pytest.mark.parametrize("head", HEADS)
def test_networks_do_not_depend_on_frames(head: str) -> None:
    """But for the non-linearity's sampling, which becomes exact with many directions."""
    net = tiny(head, circle=301)
    assert_equivariant(net, surface_of(bumpy_torus(), ("ring",)), tolerance=2e-3, positions="kept")
    assert_equivariant(
        net,
        surface_of(bumpy_torus(), ("ring",)),
        changes=("motion", "numbering", "scale"),
        tolerance=1e-10,
        positions="kept",
    )


def tiny(head: str, **changes: Any) -> GEMCNN:
    torch.manual_seed(0)
    settings: dict[str, Any] = {"outputs": 5, "width": 3, "dense": 8, "dropout": 0.0, **changes}
    return GEMCNN(GEMCNNConfig(head=head, **settings)).double().eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("head", HEADS)
def test_a_batch_is_its_members(head: str) -> None:
    surfaces = [surface_of(bumpy_torus(around), ("ring",)) for around in (8, 11)]
    net = tiny(head)
    together = net(surface_batch(surfaces))
    assert together.shape == (2 if head == "classification" else 171, 5)
    torch.testing.assert_close(together, torch.cat([net(surface) for surface in surfaces]))


@pytest.mark.parametrize("head", HEADS)
def test_learns_from_every_parameter(head: str) -> None:
    net = tiny(head).train()
    net(surface_of(bumpy_torus(), ("ring",))).abs().square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if (head, name) != ("vectors", "head.bias"):  # of the scalars beside the vectors
            assert parameter.grad.abs().max() > 0, name


# ---- The edges ----


def test_a_one_ring_is_the_edges_of_the_mesh() -> None:
    mesh = bumpy_torus()
    surface = Surface.from_mesh(mesh, operators=("ring",))
    sides = {(a, b) for face in mesh.faces.tolist() for a in face for b in face if a != b}
    q, p = surface.ring_index.tolist()
    assert list(zip(p, q, strict=True)) == sorted(sides)


def test_flat_edges_are_seen_where_they_are() -> None:
    surface = Surface.from_mesh(Mesh(*grid(6, 5)), operators=("ring",))
    q, p = surface.ring_index
    frame = torch.complex(surface.frame[:, 0], surface.frame[:, 1])
    step = surface.pos[q] - surface.pos[p]
    flat = torch.complex(step[:, 0], step[:, 1])
    torch.testing.assert_close(surface.ring_direction * frame[p], flat / flat.abs())
    torch.testing.assert_close(surface.ring_transport, frame[q] * frame[p].conj())


def test_samples_on_a_sphere_have_about_six_neighbours_that_are_near() -> None:
    surface = Surface.from_mesh(Mesh(*icosphere(3)), samples=100, operators=("ring",))
    q, p = surface.ring_index
    assert 5.5 <= len(q) / 100 <= 6.5
    assert set(zip(q.tolist(), p.tolist(), strict=True)) == set(zip(p.tolist(), q.tolist(), strict=True))
    away = (surface.pos[q] - surface.pos[p]).norm(dim=1)
    every = (surface.pos[:, None] - surface.pos).norm(dim=2)
    assert away.max() < every.sort(1).values[:, 12].max()
    mirror = torch.argsort(q * 100 + p)
    torch.testing.assert_close(surface.ring_transport[mirror], surface.ring_transport.conj())
    # The path to q leaves p in the direction opposite to that in which it leaves q, carried to p.
    torch.testing.assert_close(
        surface.ring_direction, -surface.ring_transport * surface.ring_direction[mirror], atol=1e-3, rtol=0
    )


def test_is_found_by_its_name() -> None:
    assert network_named("gemcnn") is GEMCNN
    with pytest.raises(ValueError, match="circle is 4; give a whole number from 5 up"):
        GEMCNNConfig(circle=4)
