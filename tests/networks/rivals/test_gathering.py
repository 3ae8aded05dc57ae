"""The gathering variant that is trained for comparison, against the sum written out edge by edge."""

from __future__ import annotations

import pytest
import torch

from fieldconv import FCNet, Mesh, Surface
from fieldconv.networks import GatheringConfig, GatheringNet, network_named
from fieldconv.networks.rivals.gathering import GatheringConv
from fieldconv.nn import FieldConv
from fieldconv.testing import assert_equivariant
from tests.nn.gathered import gathering, with_noisy_frames
from tests.nn.surfaces import random_field
from tests.shapes import torus


def torus_surface() -> Surface:
    return Surface.from_mesh(Mesh(*torus(around=20, across=8)), radius=0.3)


@pytest.mark.parametrize("filter", ["offset", "complex"])
def test_is_the_naive_sum(filter: str) -> None:
    surface = torus_surface()
    noisy = with_noisy_frames(surface, 0.5, torch.Generator().manual_seed(0))
    x = random_field(surface, 3)
    x[4, 1] = 0
    conv = GatheringConv(3, 4, filter=filter)
    for one in (surface, noisy):
        expected = gathering(conv, x, one)
        assert (conv(x, one) - expected).abs().max() < 1e-5 * expected.abs().max()


def test_is_an_fcnet_that_gathers() -> None:
    assert network_named("gathering") is GatheringNet
    torch.manual_seed(0)
    network = GatheringNet.for_task("segmentation", classes=3, preset="tiny")
    torch.manual_seed(0)
    usual = FCNet.for_task("segmentation", classes=3, preset="tiny")
    assert FieldConv not in {type(module) for module in network.modules()}
    assert network.state_dict().keys() == usual.state_dict().keys()
    for name, tensor in usual.state_dict().items():
        torch.testing.assert_close(network.state_dict()[name], tensor)
    surface = torus_surface()
    assert (network(surface) - usual(surface)).abs().max() > 1e-3 * usual(surface).abs().max()
    assert_equivariant(network, surface, positions="kept")


@pytest.mark.parametrize("task", ["classification", "segmentation", "correspondence", "matching"])
def test_takes_the_presets_of_an_fcnet(task: str) -> None:
    for preset in ("paper", "default", "tiny"):
        own = GatheringConfig.for_task(task, classes=7, preset=preset)
        assert own.to_dict() == FCNet.Config.for_task(task, classes=7, preset=preset).to_dict()
