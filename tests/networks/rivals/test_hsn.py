"""Harmonic surface networks: what their streams promise, and their equation written out edge by edge."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from fieldconv.networks import HSN, HSNConfig, network_named
from fieldconv.networks.rivals.hsn import HarmonicBlock, HarmonicConv, pool, unpool
from fieldconv.networks.rivals.shared.levels import coarse_level
from fieldconv.nn import FieldConv
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant, turn_frames
from tests.networks.surfaces import bumpy_torus, surface_of
from tests.nn.surfaces import edges, flat_surface, random_field, ring_weights

OPERATORS = ("discs", "coarse")
HEADS = ["labels", "classification", "descriptors", "vectors"]


def streams(surface: Any, channels: int, count: int = 2) -> Tensor:
    return torch.stack([random_field(surface, channels, seed=order) for order in range(count)])


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """Components of streams of order 0, 1, … in frames turned by ``angles``."""
    return torch.stack(
        [torch.polar(torch.ones_like(angles), -order * angles)[:, None] * one for order, one in enumerate(x)]
    )


def tiny(head: str, **changes: Any) -> HSN:
    torch.manual_seed(0)
    config = HSNConfig(head=head, outputs=5, width=3, rings=3, radius=0.3, **changes)  # type: ignore[arg-type]
    return HSN(config).double().eval()


@pytest.mark.parametrize("in_streams", [1, 2])
def test_is_the_papers_equation(in_streams: int) -> None:
    """Every neighbour is seen from p: its direction is read from the edge that leads back to it."""
    surface = flat_surface(12, radius=0.6)
    conv = HarmonicConv(2, 3, rings=3, in_streams=in_streams).double()
    x = streams(surface, 2, in_streams)
    seen = {(q, p): surface.log[e] for e, q, p in edges(surface)}
    expected = torch.zeros(2, 12, 3, dtype=torch.complex128)
    with torch.no_grad():
        for e, q, p in edges(surface):
            log = seen[p, q]  # log_p q
            psi = torch.tensor(ring_weights(float(log.abs() / surface.radius), 3), dtype=torch.float64)
            for after in range(2):
                for before in range(in_streams):
                    m = after - before
                    if q == p and m:
                        continue  # the centre has no direction
                    harmonic = (log / log.abs()) ** m if m else torch.ones_like(log)
                    radial = torch.einsum("n,nco->co", psi, conv.profile[after, before])
                    phase = torch.exp(1j * conv.offset[after, before])
                    carried = surface.transport[e] ** before * x[before, q]
                    expected[after, p] += surface.weight[e] * harmonic * (carried @ (radial * phase))
    torch.testing.assert_close(conv(x, surface).detach(), expected)


def test_rotation_orders_turn_as_they_must() -> None:
    surface = surface_of(bumpy_torus(), OPERATORS)
    angles = 6.3 * torch.rand(len(surface.pos), dtype=torch.float64)
    other = turn_frames(surface, angles)
    x = streams(surface, 4)
    for layer in (HarmonicConv(4, 3, rings=3).double(), HarmonicBlock(4, 3, rings=3).double()):
        torch.testing.assert_close(layer(turned(x, angles), other), turned(layer(x, surface), angles))
    coarse_angles = angles[surface.coarse_sample]
    pooled = pool(x, surface)
    torch.testing.assert_close(pool(turned(x, angles), other), turned(pooled, coarse_angles))
    torch.testing.assert_close(
        unpool(turned(pooled, coarse_angles), other), turned(unpool(pooled, surface), angles)
    )


def test_the_vector_stream_alone_is_a_field_convolution_of_frequency_zero() -> None:
    surface = flat_surface()
    conv, field = HarmonicConv(2, 3, rings=4).double(), FieldConv(2, 3, rings=4, band_limit=0).double()
    with torch.no_grad():
        field.weight.copy_(conv.profile[1, 1][None])
        field.offset.copy_(conv.offset[1, 1][None])  # type: ignore[union-attr]
    x = streams(surface, 2)
    alone = conv(torch.stack([torch.zeros_like(x[1]), x[1]]), surface)
    torch.testing.assert_close(alone[1], field(x[1], surface))


def test_has_as_many_parameters_as_published() -> None:
    """(N + 1) S² for each pair of channels: 28 with six radii and two streams."""
    assert sum(p.numel() for p in HarmonicConv(3, 5, rings=6).parameters()) == 28 * 3 * 5
    assert sum(p.numel() for p in HarmonicConv(3, 5, rings=2).parameters()) == 12 * 3 * 5


def test_pooling_is_the_mean_of_carried_neighbours() -> None:
    surface = surface_of(bumpy_torus(), OPERATORS)
    x = streams(surface, 2)
    found = pool(x, surface)
    for coarse in range(len(surface.coarse_sample)):
        members = torch.nonzero(surface.coarse_parent == coarse)[:, 0]
        back = surface.coarse_carry[members].conj()[:, None]
        torch.testing.assert_close(found[0, coarse], x[0, members].mean(0))
        torch.testing.assert_close(found[1, coarse], (back * x[1, members]).mean(0))
    same = pool(unpool(found, surface), surface)
    torch.testing.assert_close(same, found)


@pytest.mark.parametrize("head", HEADS)
def test_does_not_depend_on_frames(head: str) -> None:
    assert_equivariant(tiny(head), surface_of(bumpy_torus(), OPERATORS), tolerance=1e-10, positions="kept")


@pytest.mark.parametrize("head", HEADS)
def test_a_batch_is_its_members(head: str) -> None:
    surfaces = [surface_of(bumpy_torus(around), OPERATORS, radius=r) for around, r in ((12, 0.3), (15, 0.4))]
    net = tiny(head)
    together = net(surface_batch(surfaces))
    assert together.shape == (2 if head == "classification" else 243, 5)
    torch.testing.assert_close(together, torch.cat([net(surface) for surface in surfaces]))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("dense", [None, 7])
def test_learns_from_every_parameter(head: str, dense: int | None) -> None:
    net = tiny(head, dense=dense, dropout=0.0).train()
    net(surface_of(bumpy_torus(), OPERATORS)).abs().square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def test_the_papers_networks() -> None:
    assert network_named("hsn") is HSN
    classification = HSN.for_task("classification", classes=30, preset="paper")
    segmentation = HSN.for_task("segmentation", classes=8, preset="paper")
    correspondence = HSN.for_task("correspondence", classes=50, preset="paper")
    assert [len(stack) for stack in (classification.fine, classification.coarse)] == [1, 1]
    assert not hasattr(classification, "last")
    stacks = (segmentation.fine, segmentation.coarse, segmentation.deep, segmentation.last)
    assert [len(stack) for stack in stacks] == [2, 2, 2, 2]
    widths = [stack[-1].conv2.out_channels for stack in stacks]
    assert widths == [16, 32, 32, 16]
    assert (segmentation.conv.rings, segmentation.conv.offset) == (6, None)
    assert correspondence.dense.layers[0].out_features == 256  # type: ignore[union-attr]
    assert correspondence.fine[0].conv1.rings == 2


def test_features_keep_their_size_through_the_network() -> None:
    torch.manual_seed(0)
    surface = surface_of(bumpy_torus(40, 16), OPERATORS, radius=0.2)
    net = HSN(HSNConfig()).double()
    with torch.no_grad():
        before = torch.relu(net.lift(surface.x)).square().mean().sqrt()
        after = net.features(surface).abs().square().mean().sqrt()
    assert 0.1 < after / before < 10


def test_descriptors_are_what_the_head_sees() -> None:
    surface = surface_of(bumpy_torus(), OPERATORS)
    net = tiny("labels")
    outputs, found = net.with_descriptors(surface)
    torch.testing.assert_close(outputs, net(surface))
    assert found.shape == (180, 3)
    torch.testing.assert_close(found, net.features(surface).abs().sum(0))
    assert tiny("classification").descriptors(surface).shape == (6,)
    assert len(coarse_level(surface).area) == 45
