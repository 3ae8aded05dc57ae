"""What every network gets from its base class, shown on one that is as small as can be."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from fieldconv import networks
from fieldconv.geometry import Mesh
from fieldconv.networks import Network, NetworkConfig
from fieldconv.nn import TangentLinear
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.surface import Surface, SurfaceSettings
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant
from tests import shapes

HEADS = ("labels", "classification", "descriptors", "vectors")


@dataclass(frozen=True, kw_only=True)
class SpectralConfig(NetworkConfig):
    network: ClassVar[str] = "spectral"
    operators: ClassVar[tuple[str, ...]] = ("eigenbasis", "eigengradients")
    presets: ClassVar[dict[str, dict[str, object]]] = {"tiny": {"eigenfunctions": 6}}

    eigenfunctions: int = 12
    slope: float = 1.0


class Spectral(Network):
    """Looks at each sample alone; its vectors are mixtures of gradients of eigenfunctions. No discs."""

    name, Config, reads = "spectral", SpectralConfig, ("x", "area", "eigenvalues", "eigengradients")
    config: SpectralConfig

    def __init__(self, config: SpectralConfig) -> None:
        super().__init__(config)
        self.scalars = nn.Linear(config.num_features, config.outputs)
        self.vectors = TangentLinear(config.eigenfunctions, config.outputs)

    def forward(self, surface: Surface) -> Tensor:
        if self.config.head == "vectors":
            highest = surface.eigenvalues[shape_of_samples(surface)[0], -1:]  # as large as gradients are
            return self.vectors(surface.eigengradients / highest)
        values = self.scalars(self.inputs(surface))
        if self.config.head == "classification":
            return mean_per_shape(values, surface.area, surface)
        return values.relu() if self.config.head == "descriptors" else values


def spectral(head: Any = "labels", **changes: Any) -> tuple[Spectral, Surface]:
    config = SpectralConfig(head=head, outputs=3, features="hks", eigenfunctions=8, **changes)
    mesh = Mesh(*shapes.torus(around=16, across=8))
    return Spectral(config), Surface.from_mesh(mesh, **config.surface_settings.to_dict())


@pytest.mark.parametrize("head", HEADS)
def test_each_head(head: str) -> None:
    net, surface = spectral(head)
    out = net(surface)
    assert out.shape == (1 if head == "classification" else 128, 3)
    assert out.is_complex() == (head == "vectors")
    assert "edge_index" not in surface  # what it did not ask for is not there
    assert_equivariant(net, surface, tolerance=1e-4)
    two = net(surface_batch([surface, surface]))
    torch.testing.assert_close(two, torch.cat([out, out]))


def test_takes_the_features_it_was_made_for() -> None:
    net, surface = spectral()
    assert torch.equal(net.inputs(surface), surface.x)
    for x, found in ((torch.zeros(128, 3), "has 3"), (torch.zeros(128, 17), "has 17"), (None, "has none")):
        surface.x = x
        with pytest.raises(ValueError, match=rf"takes 16 input features \(hks\), the surface {found};"):
            net(surface)


@pytest.mark.parametrize(
    ("features", "number"), [("xyz", 3), ("hks+normals", 19), ("wks+hks+xyz+normals", 38)]
)
def test_number_of_features(features: str, number: int) -> None:
    assert NetworkConfig(features=features).num_features == number
    assert NetworkConfig(features=features, in_channels=5).num_features == 5


def test_surfaces_are_prepared_as_the_settings_say() -> None:
    config = SpectralConfig(features="wks", samples=50, eigenfunctions=7, slope=3.0)
    assert config.surface_settings == SurfaceSettings(
        features="wks", samples=50, eigenfunctions=7, operators=("eigenbasis", "eigengradients")
    )
    from fieldconv.networks import FCNetConfig

    assert FCNetConfig(radius=0.13, solver="heat").surface_settings == SurfaceSettings(
        radius=0.13, solver="heat", operators=("discs",)
    )


def test_settings_travel_as_json() -> None:
    config = SpectralConfig(head="vectors", outputs=2, slope=0.5)
    assert SpectralConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert config.changed(slope=2.0).slope == 2.0
    with pytest.raises(ValueError, match="slope is 'steep'; give a number"):
        config.changed(slope="steep")
    with pytest.raises(ValueError, match="outputs is 0"):
        config.changed(outputs=0)


@pytest.mark.parametrize(
    ("task", "head", "outputs"),
    [
        ("classification", "classification", 5),
        ("segmentation", "labels", 5),
        ("correspondence", "labels", 5),
        ("matching", "descriptors", 16),
    ],
)
def test_tasks_say_what_comes_out(task: str, head: str, outputs: int) -> None:
    """A network that no task has heard of gets head, outputs and surface of the task, and its own preset."""
    net = Spectral.for_task(task, classes=None if task == "matching" else 5, preset="tiny")
    assert (net.config.head, net.config.outputs, net.config.eigenfunctions) == (head, outputs, 6)
    assert Spectral.for_task(task, classes=5).config.eigenfunctions == 12
    assert Spectral.for_task(task, classes=5, slope=2.0).config.slope == 2.0
    assert Spectral.for_task("segmentation", classes=5).config.samples == 1024


def test_what_a_network_need_not_say() -> None:
    net, surface = spectral()
    assert net.descriptors(surface) is None
    out, descriptors = net.with_descriptors(surface)
    assert torch.equal(out, net(surface))
    assert descriptors is None
    assert net.deep_features(surface) is None
    assert net.responses(surface) == {}
    assert (net.task, net.class_names, net.template) == (None, (), None)
    with pytest.raises(TypeError, match=r"Network does not define forward\(surface\)"):
        Network(NetworkConfig())(surface)


def test_summary_adds_up() -> None:
    net, _ = spectral()
    assert net.num_parameters == 16 * 3 + 3 + 2 * 8 * 3
    lines = net.summary().splitlines()
    counts = [int(line.split()[-1].replace(",", "")) for line in lines[1:]]
    assert sum(counts[:-1]) == counts[-1] == net.num_parameters
    net.scalars.weight.requires_grad_(False)
    assert net.num_parameters == 3 + 2 * 8 * 3


def test_found_by_name_once_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks.NETWORKS, "_added", {})
    with pytest.raises(ValueError, match="unknown network 'spectral'"):
        networks.network_named("spectral")
    assert networks.register(Spectral) is Spectral
    assert networks.network_named("spectral") is Spectral
    assert {"fcnet", "spectral"} <= set(networks.network_names())
