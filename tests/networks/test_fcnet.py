from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from fieldconv.datasets.creatures import make_creature
from fieldconv.networks import FCNet, FCNetConfig
from fieldconv.surface import Surface
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import flat_surface

TASKS = ["classification", "segmentation", "correspondence", "matching"]


def tiny(task: Any, **changes: Any) -> FCNet:
    return FCNet.for_task(task, classes=5, preset="tiny", **changes).double().eval()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("lift", ["gradient", "linear"])
def test_does_not_depend_on_frames(task: str, lift: str) -> None:
    assert_equivariant(tiny(task, lift=lift, blocks=3), flat_surface(), tolerance=1e-10)


@pytest.mark.parametrize("task", TASKS)
def test_a_batch_is_its_members(task: str) -> None:
    surfaces = [flat_surface(n, radius=radius, seed=n) for n, radius in ((20, 0.4), (9, 0.5))]
    net = tiny(task)
    together, alone = net(surface_batch(surfaces)), torch.cat([net(s) for s in surfaces])
    assert together.shape == (2 if task == "classification" else 29, 5)
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("task", TASKS)
def test_learns_from_every_parameter(task: str) -> None:
    surface = flat_surface()
    net = tiny(task, blocks=4).train()
    net(surface).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def of_mean_square_one(surface: Any) -> torch.Tensor:
    mean = (surface.area * (surface.x**2).sum(1)).sum() / surface.area.sum()
    return surface.x / mean.sqrt()


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 5, 8])
def test_extra_residuals_after_every_two_blocks_from_three_on(blocks: int) -> None:
    """The stream written out block by block."""
    surface = flat_surface()
    net = tiny("matching", blocks=blocks)
    assert len(net.carries) == (blocks // 2 if blocks >= 3 else 0)
    x = net.lift(of_mean_square_one(surface), surface)
    if blocks < 3:
        for block in net.blocks:
            x = block(x, surface)
    else:
        for i in range(0, blocks - 1, 2):
            x = (net.blocks[i + 1](net.blocks[i](x, surface), surface) + net.carries[i // 2](x)) / 2
        if blocks % 2:
            x = net.blocks[-1](x, surface)
    torch.testing.assert_close(net.features(surface), x)


@pytest.mark.parametrize("filter", ["offset", "real", "complex"])
@pytest.mark.parametrize("lift", ["gradient", "linear"])
def test_vectors_neither_explode_nor_vanish_through_eight_blocks(filter: str, lift: str) -> None:
    torch.manual_seed(0)
    surface = flat_surface(150, radius=0.25, dtype=torch.float32)
    surface.x = surface.pos - surface.pos.mean(0)
    net = FCNet.for_task("matching", preset="paper", filter=filter, lift=lift, input_scale="unit")
    with torch.no_grad():
        size = [
            float(x.abs().square().mean().sqrt())
            for x in (net.lift(of_mean_square_one(surface), surface), net.features(surface))
        ]
    assert 0.1 < size[0] < 10
    assert 0.2 < size[1] / size[0] < 5


@pytest.mark.parametrize("lift", ["gradient", "linear"])
@pytest.mark.parametrize("features", ["xyz", "hks", "wks", "xyz+hks"])
def test_scores_begin_small_whatever_the_raw_input(features: str, lift: str) -> None:
    torch.manual_seed(0)
    net = FCNet.for_task("classification", classes=30, preset="reproduce", features=features, lift=lift)
    mesh = make_creature("octopus", 0, vertices=400).mesh
    surface = Surface.from_mesh(mesh, **net.config.surface_settings.to_dict())
    least = 0.01 if features == "xyz" else 0.1  # raw positions are short, and taken as they are
    with torch.no_grad():
        assert least < float(net(surface).square().mean().sqrt()) < 10


def test_the_size_of_a_shapes_features_does_not_matter() -> None:
    net = tiny("classification")
    shapes = [flat_surface(20), flat_surface(30), flat_surface(25)]
    expected = torch.cat([net(shape) for shape in shapes])
    shapes[1].x = 7 * shapes[1].x
    torch.testing.assert_close(net(surface_batch(shapes)), expected)
    shapes[0].x = torch.zeros_like(shapes[0].x)
    assert net(shapes[0]).isfinite().all()


def test_accessors() -> None:
    surface = flat_surface()
    net = tiny("correspondence")
    features = net.features(surface)
    assert features.shape == (30, 8)
    assert features.is_complex()
    assert net.echo_descriptors(surface).shape == (30, 4, 13)
    bottleneck = net.bottleneck(surface)
    assert bottleneck.shape == (30, 32)
    torch.testing.assert_close(net.head.dense(bottleneck), net(surface))
    with pytest.raises(ValueError, match="no bottleneck"):
        tiny("segmentation").bottleneck(surface)
    with pytest.raises(ValueError, match="head 'classification' has no ECHO descriptors"):
        tiny("classification").echo_descriptors(surface)


def test_descriptors_are_magnitudes() -> None:
    surface = flat_surface()
    net = tiny("matching")
    expected = net.head.conv(net.features(surface), surface).abs()
    torch.testing.assert_close(net(surface), expected)


@pytest.mark.parametrize("pooling", ["mean", "area"])
def test_classification_pools_magnitudes(pooling: str) -> None:
    surface = flat_surface()
    net = tiny("classification", pooling=pooling)
    magnitude = net.head.conv(net.features(surface), surface).abs()
    weight = surface.area if pooling == "area" else torch.full((30,), 1 / 30, dtype=torch.float64)
    torch.testing.assert_close(net(surface), (weight @ magnitude)[None] / weight.sum())


def test_dropout_only_while_training() -> None:
    surface = flat_surface()
    net = tiny("correspondence")
    torch.testing.assert_close(net(surface), net(surface))
    net.train()
    assert not torch.equal(net(surface), net(surface))


def test_parameter_counts_of_the_paper() -> None:
    """33 per channel pair of a convolution with N = 6 and B = 2, 11 with N = 3 and B = 1."""
    net = FCNet.for_task("segmentation", classes=8, preset="paper")
    pairs = 16 * 48 + 7 * 48 * 48 + 48 * 32
    linear = 2 * 2 * 16 * 48  # skip paths of the first block and the first pair of blocks
    perceptron = 1056 * 256 + 256 + 256 * 124 + 124 + 124 * 8 + 8
    assert net.num_parameters == 13 * 3 * 16 + 33 * pairs + 8 * 48 + linear + perceptron
    net = FCNet.for_task("correspondence", classes=100, preset="paper")
    pairs = 16 * 32 + 15 * 32 * 32 + 32 * 12
    linear = 2 * 2 * 16 * 32
    perceptron = 156 * 124 + 124 + 124 * 64 + 64 + 64 * 32 + 32 + 32 * 256 + 256 + 256 * 100 + 100
    assert net.num_parameters == 7 * 3 * 16 + 11 * pairs + 16 * 32 + linear + perceptron


@pytest.mark.parametrize("task", TASKS)
def test_summary_adds_up(task: str) -> None:
    net = tiny(task, blocks=4)
    lines = net.summary().splitlines()
    counts = [int(line.split()[-1].replace(",", "")) for line in lines[1:]]
    assert sum(counts[:-1]) == counts[-1] == net.num_parameters
    assert "ε = " in lines[0]


def test_says_what_input_it_needs() -> None:
    with pytest.raises(ValueError, match=r"takes 3 input features \(xyz\), the surface has 5"):
        tiny("matching")(flat_surface(channels=5))
    surface = flat_surface()
    surface.x = None
    with pytest.raises(ValueError, match="the surface has none"):
        tiny("matching")(surface)


@pytest.mark.parametrize("task", TASKS)
def test_copies_and_saved_states_agree(task: str) -> None:
    surface = flat_surface()
    net = tiny(task)
    other = FCNet(FCNetConfig.from_dict(net.config.to_dict())).double().eval()
    other.load_state_dict(net.state_dict())
    for same in (copy.deepcopy(net), other):
        assert torch.equal(same(surface), net(surface))


def test_raw_inputs_are_taken_as_they_are() -> None:
    """Twice the positions make vectors of four times the length (supplement B squares magnitudes)."""
    surface, larger = flat_surface(), flat_surface()
    larger.x = 2 * surface.x
    raw, unit = tiny("matching", input_scale="raw"), tiny("matching")
    torch.testing.assert_close(unit(larger), unit(surface))
    torch.testing.assert_close(raw.lift(larger.x, surface), 4 * raw.lift(surface.x, surface))
    first = raw.lift(surface.x, surface)
    for block in raw.blocks:
        first = block(first, surface)
    torch.testing.assert_close(raw.features(surface), first)
    assert not torch.allclose(raw(larger), raw(surface))


def test_bias_is_added_to_the_score_of_each_class() -> None:
    surface = flat_surface()
    net, plain = tiny("classification", class_bias=True), tiny("classification")
    missing = plain.load_state_dict(net.state_dict(), strict=False)
    assert missing.unexpected_keys == ["head.bias"]
    torch.testing.assert_close(net(surface), plain(surface))
    with torch.no_grad():
        net.head.bias.copy_(torch.arange(5.0))
    torch.testing.assert_close(net(surface), plain(surface) + torch.arange(5.0, dtype=torch.float64))
