"""What holds for each of the networks on discs and one-rings."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from fieldconv import Surface
from fieldconv.networks import Network, network_named
from fieldconv.surface.views import select
from fieldconv.tasks import TrainingConfig
from tests.networks.surfaces import bumpy_torus

NAMES = ["gathering", "gemcnn", "hsn", "mdgcnn"]
TASKS = ["classification", "segmentation", "correspondence", "matching"]


def tiny(name: str, task: str = "segmentation", **changes: Any) -> Network:
    torch.manual_seed(0)
    return network_named(name).for_task(task, classes=5, preset="tiny", **changes).eval()


def prepared(net: Network, samples: int | None = None) -> Surface:
    settings = net.config.changed(samples=samples).surface_settings
    return Surface.from_mesh(bumpy_torus(), **settings.to_dict())


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", NAMES)
def test_reads_what_it_says_and_nothing_else(name: str, task: str) -> None:
    net = tiny(name, task)
    surface = prepared(net)
    assert set(net.reads or ()) <= set(surface.keys())
    outputs = net(select(surface, net.reads))
    assert outputs.shape == ((1, 5) if task == "classification" else (180, 5))
    torch.testing.assert_close(outputs, net(surface))


@pytest.mark.parametrize("name", NAMES)
def test_works_on_samples(name: str) -> None:
    net = tiny(name)
    surface = prepared(net, samples=50)
    assert net(surface).shape == (50, 5)
    assert net(surface).isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_is_built_again_from_its_settings_and_weights(name: str) -> None:
    net = tiny(name)
    plain = json.loads(json.dumps(net.config.to_dict()))
    other = type(net)(type(net.config).from_dict(plain)).eval()
    other.load_state_dict(net.state_dict())
    surface = prepared(net)
    assert torch.equal(other(surface), net(surface))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", NAMES)
def test_descriptors_come_with_the_outputs(name: str, task: str) -> None:
    net = tiny(name, task)
    surface = prepared(net)
    outputs, described = net.with_descriptors(surface)
    assert described is not None
    torch.testing.assert_close(outputs, net(surface))
    torch.testing.assert_close(described, net.descriptors(surface))
    assert described.ndim == (1 if task == "classification" else 2)


@pytest.mark.parametrize("name", NAMES)
def test_its_recipe_is_one(name: str) -> None:
    recipe = network_named(name).recipe
    config = TrainingConfig.for_task("segmentation", **recipe)
    assert {key: getattr(config, key) for key in recipe} == dict(recipe)


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_of_every_task_fits(name: str) -> None:
    for task in TASKS:
        for preset in ("paper", "default", "tiny"):
            net = network_named(name).for_task(task, classes=5, preset=preset)
            assert net.config.outputs == 5
            assert net.num_parameters > 0
