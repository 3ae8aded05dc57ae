"""Multi-directional geodesic CNN: directions are permuted by steps of the frame, windows read written out."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from fieldconv.networks import MDGCNN, MDGCNNConfig, network_named
from fieldconv.networks.rivals.mdgcnn import (
    DirectionalBlock,
    DirectionalConv,
    first_harmonic,
    reading,
    unpool,
    windows,
)
from fieldconv.surface import Surface
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant, turn_frames
from tests.networks.surfaces import bumpy_torus, surface_of
from tests.nn.surfaces import flat_surface

OPERATORS = ("discs", "coarse")
HEADS = ["labels", "classification", "descriptors", "vectors"]
GRID = {"rings": 2, "directions": 6}


def stepped(surface: Surface, directions: int) -> tuple[Surface, Tensor]:
    """The surface with every frame turned by a number of steps of its own, and these numbers."""
    steps = torch.randint(directions, (len(surface.area),), generator=torch.Generator().manual_seed(0))
    return turn_frames(surface, 2 * math.pi / directions * steps.double()), steps


def rolled(x: Tensor, steps: Tensor) -> Tensor:
    """Directional functions (n, D, C) in frames turned by so many steps."""
    return torch.stack([one.roll(-int(step), 0) for one, step in zip(x, steps, strict=True)])


def functions(surface: Surface, channels: int, directions: int = 6) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    return torch.randn(len(surface.area), directions, channels, generator=draw, dtype=torch.float64)


def tiny(head: str, **changes: Any) -> MDGCNN:
    torch.manual_seed(0)
    settings: dict[str, Any] = {"outputs": 5, "width": 3, "blocks": 1, "radius": 0.3, **GRID, **changes}
    return MDGCNN(MDGCNNConfig(head=head, **settings)).double().eval()  # type: ignore[arg-type]


# ---- Windows ----


def test_windows_reproduce_linear_functions_where_samples_surround_them() -> None:
    """On a flat square, at points of the inner ring around samples in the middle."""
    surface = flat_surface(400, radius=0.2)
    seen = windows(surface, rings=2, directions=8)
    torch.testing.assert_close(seen.weight.sum(-1), torch.ones(400, 2, 8, dtype=torch.float64))
    assert (seen.weight >= 0).all()
    frame = torch.complex(surface.frame[:, 0], surface.frame[:, 1])
    place = torch.complex(surface.pos[:, 0], surface.pos[:, 1])
    angle = 2 * math.pi / 8 * torch.arange(8, dtype=torch.float64)
    points = place[:, None] + 0.1 * torch.polar(torch.ones_like(angle), angle) * frame[:, None]
    middle = ((surface.pos[:, :2] - 0.5).abs() < 0.25).all(1)
    found = (seen.weight[:, 0] * place[seen.sample[:, 0]]).sum(-1)
    error = (found - points).abs()[middle]
    assert error.quantile(0.9) < 1e-9
    assert error.max() < 0.05  # where the eight nearest samples lie all to one side
    torch.testing.assert_close(
        torch.polar(torch.ones_like(seen.turn), seen.turn),
        frame[seen.sample] * frame.conj()[:, None, None, None],
    )


def test_a_window_of_few_samples_reads_what_is_there() -> None:
    pair = flat_surface(2, radius=2.0)
    seen = windows(pair, rings=1, directions=4)
    assert seen.weight.isfinite().all()
    torch.testing.assert_close(seen.weight.sum(-1), torch.ones(2, 1, 4, dtype=torch.float64))
    lonely = windows(flat_surface(3, radius=1e-6), rings=1, directions=4)
    assert (lonely.sample[..., 0] == torch.arange(3)[:, None, None]).all()
    torch.testing.assert_close(lonely.weight[..., 0], torch.ones(3, 1, 4, dtype=torch.float64))


# ---- Convolutions ----


def directional_sum(conv: DirectionalConv, x: Tensor, surface: Surface) -> Tensor:
    """The response in every direction, point by point of every window."""
    seen, count = windows(surface, rings=conv.rings, directions=conv.directions), conv.directions
    result = (x @ conv.centre + conv.bias).detach().clone()
    for p in range(len(x)):
        for d in range(count):
            for n in range(conv.rings):
                for a in range(count):
                    where = (p, n, (a + d) % count)  # the kernel's angle is counted from the direction
                    for j in range(3):
                        q, turn = int(seen.sample[where][j]), float(seen.turn[where][j])
                        there = (2 * math.pi * d / count - turn) % (2 * math.pi)  # the direction, at q
                        lower = int(there / (2 * math.pi) * count)
                        part = there / (2 * math.pi) * count - lower
                        value = (1 - part) * x[q, lower % count] + part * x[q, (lower + 1) % count]
                        result[p, d] += seen.weight[where][j] * (value @ conv.window[n, a]).detach()
    return result


def test_is_the_sum_over_windows() -> None:
    surface = flat_surface(9, radius=0.6)
    conv = DirectionalConv(2, 3, **GRID).double()
    torch.nn.init.normal_(conv.bias)
    x = functions(surface, 2)
    torch.testing.assert_close(conv(x, reading(surface, **GRID)), directional_sum(conv, x, surface))


def test_angular_max_pooling_is_geodesic_convolution() -> None:
    """GCNN: the largest response over rotations of the kernel, of a function of place alone."""
    surface = flat_surface(9, radius=0.6)
    conv = DirectionalConv(2, 3, **GRID, angular="max").double()
    scalars = functions(surface, 2)[:, :1]
    found = conv(scalars.expand(-1, 6, -1), reading(surface, **GRID))
    assert (found == found[:, :1]).all()
    seen = windows(surface, **GRID)
    window = (seen.weight[..., None] * scalars[:, 0][seen.sample]).sum(-2)  # (n, N, D, C), no transport
    every = [torch.einsum("pnac,naco->po", window.roll(-d, 2), conv.window) for d in range(6)]
    expected = torch.stack(every).amax(0) + scalars[:, 0] @ conv.centre + conv.bias
    torch.testing.assert_close(found[:, 0], expected)


@pytest.mark.parametrize("angular", ["directions", "max"])
def test_a_step_of_the_frame_permutes_directions(angular: Any) -> None:
    surface = surface_of(bumpy_torus(), OPERATORS)
    other, steps = stepped(surface, 6)
    x = functions(surface, 3)
    here, there = reading(surface, **GRID), reading(other, **GRID)
    for layer in (DirectionalConv(3, 4, **GRID, angular=angular), DirectionalBlock(3, 4, **GRID)):
        layer.double()
        torch.testing.assert_close(layer(rolled(x, steps), there), rolled(layer(x, here), steps))
    coarse = functions(surface, 2)[: len(surface.coarse_sample)]
    torch.testing.assert_close(
        unpool(rolled(coarse, steps[surface.coarse_sample]), other), rolled(unpool(coarse, surface), steps)
    )
    vectors = first_harmonic(x)
    turn = torch.polar(torch.ones(180).double(), -2 * math.pi / 6 * steps.double())
    torch.testing.assert_close(first_harmonic(rolled(x, steps)), turn[:, None] * vectors)


def test_many_windows_are_read_piece_by_piece() -> None:
    surface = flat_surface(30, radius=0.4)
    conv = DirectionalConv(2, 3, **GRID).double()
    x = functions(surface, 2).requires_grad_()
    expected = conv(x, reading(surface, **GRID))
    (gradient,) = torch.autograd.grad(expected.square().sum(), x)
    conv.chunk = 1000
    other = flat_surface(30, radius=0.4)  # whose windows are not kept yet
    found = conv(x, reading(other, **GRID, chunk=1000))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found.square().sum(), x)[0], gradient)


def test_nothing_as_large_as_the_windows_is_kept_for_the_derivative() -> None:
    surface = flat_surface(100, radius=0.3)
    conv = DirectionalConv(20, 4, **GRID).double()
    x = functions(surface, 20).requires_grad_()
    read = reading(surface, **GRID)
    kept: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        conv(x, read)
    assert max(kept) <= read.row.numel() < 100 * 6 * 2 * 6 * 20  # the reading is there anyway


# ---- Networks ----


@pytest.mark.parametrize("angular", ["directions", "max"])
@pytest.mark.parametrize("head", HEADS)
def test_does_not_depend_on_steps_of_frames(head: str, angular: Any) -> None:
    surface = surface_of(bumpy_torus(), OPERATORS)
    other, steps = stepped(surface, 6)
    net = tiny(head, angular=angular)
    expected = net(surface)
    if head == "vectors":
        expected = (
            torch.polar(torch.ones(180).double(), -2 * math.pi / 6 * steps.double())[:, None] * expected
        )
    torch.testing.assert_close(net(other), expected)


@pytest.mark.parametrize("head", HEADS)
def test_does_not_depend_on_place_numbering_and_size(head: str) -> None:
    surface = surface_of(bumpy_torus(), OPERATORS)
    assert_equivariant(
        tiny(head), surface, changes=("motion", "numbering", "scale"), tolerance=1e-9, positions="kept"
    )


@pytest.mark.parametrize("head", HEADS)
def test_a_batch_is_its_members(head: str) -> None:
    surfaces = [surface_of(bumpy_torus(around), OPERATORS, radius=r) for around, r in ((12, 0.3), (15, 0.4))]
    net = tiny(head)
    together = net(surface_batch(surfaces))
    assert together.shape == (2 if head == "classification" else 243, 5)
    torch.testing.assert_close(together, torch.cat([net(surface) for surface in surfaces]))


@pytest.mark.parametrize("head", HEADS)
def test_learns_from_every_parameter(head: str) -> None:
    net = tiny(head).train()
    net(surface_of(bumpy_torus(), OPERATORS)).abs().square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if (head, name) != ("vectors", "head.layers.0.bias"):  # the same in all directions: it has none
            assert parameter.grad.abs().max() > 0, name


def test_the_papers_network() -> None:
    assert network_named("mdgcnn") is MDGCNN
    net = MDGCNN.for_task("segmentation", classes=8, preset="paper")
    assert (net.config.radius, net.config.rings, net.config.directions) == (0.1, 2, 8)
    stacks = (net.fine, net.coarse, net.deep, net.last)
    assert [len(stack) for stack in stacks] == [2, 2, 2, 2]
    assert [stack[-1].conv2.out_channels for stack in stacks] == [16, 32, 32, 16]


def test_functions_keep_their_size_through_the_network() -> None:
    torch.manual_seed(0)
    surface = surface_of(bumpy_torus(40, 16), OPERATORS, radius=0.2)
    net = MDGCNN(MDGCNNConfig()).double()
    with torch.no_grad():
        after = net.features(surface).square().mean().sqrt()
    assert 0.1 < after / surface.x.square().mean().sqrt() < 10
