"""A network in one file: each sample by itself, without looking at any neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from fieldconv.networks.base import Network, NetworkConfig
from fieldconv.nn.pooling import mean_per_shape


@dataclass(frozen=True, kw_only=True)
class PerceptronConfig(NetworkConfig):
    """Settings of a `Perceptron`.

    Parameters
    ----------
    width : int
        Of its two hidden layers.
    """

    presets: ClassVar[dict[str, dict[str, Any]]] = {"tiny": {"width": 8}}
    width: int = 64


class Perceptron(Network):
    """A multilayer perceptron on the features of each sample."""

    name, Config, reads = "perceptron", PerceptronConfig, ("x", "area")
    config: PerceptronConfig

    def __init__(self, config: PerceptronConfig) -> None:
        super().__init__(config)
        self.hidden = nn.Sequential(
            nn.Linear(config.num_features, config.width), nn.ReLU(), nn.Linear(config.width, config.width)
        )
        self.last = nn.Linear(config.width, config.outputs)

    def forward(self, surface: Any) -> Tensor:
        found = self.last(self.descriptors(surface))
        return mean_per_shape(found, surface.area, surface) if self.config.per_shape else found

    def descriptors(self, surface: Any) -> Tensor:
        return self.hidden(self.inputs(surface)).relu()
