"""The four heads of an `FCNet`: a last field convolution, and outputs from its vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fieldconv.networks.fcnet.config import FCNetConfig
from fieldconv.nn import ECHOBlock, FieldConv, Perceptron
from fieldconv.nn.initialise import init_perceptron
from fieldconv.nn.pooling import mean_per_shape
from fieldconv.ops.direction import polar

if TYPE_CHECKING:
    from fieldconv.surface import Surface


class LabelHead(nn.Module):
    """Scores for each sample: an ECHO block, then two dense layers if the config has a bottleneck.

    The paper says no more of the dense layers than their widths and the dropout between them; a ReLU
    precedes each, without which they would be one.
    """

    def __init__(self, config: FCNetConfig, convolution: type[FieldConv] = FieldConv) -> None:
        super().__init__()
        self.block = ECHOBlock(
            config.width,
            config.bottleneck or config.outputs,
            descriptors=config.echo_channels,
            hidden=config.hidden,
            radial_samples=config.echo_samples,
            votes=config.echo_votes,
            convolution=convolution,
            **config.filters,
        )
        self.dense: nn.Module = nn.Identity()
        if config.bottleneck:
            self.dense = Perceptron(
                nn.ReLU(),
                nn.Linear(config.bottleneck, config.dense),
                nn.ReLU(),
                nn.Dropout(config.dropout),
                nn.Linear(config.dense, config.outputs),
            )
            init_perceptron(self.dense)

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Return (n, outputs) scores of the vector field ``x``."""
        return self.dense(self.block(x, surface))  # type: ignore[no-any-return]


class VectorHead(nn.Module):
    """Tangent vectors at each sample: a last field convolution."""

    def __init__(self, config: FCNetConfig, convolution: type[FieldConv] = FieldConv) -> None:
        super().__init__()
        self.conv = convolution(config.width, config.outputs, **config.filters)

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Return (n, outputs) complex vectors of the vector field ``x``."""
        return self.conv(x, surface)  # type: ignore[no-any-return]


class DescriptorHead(VectorHead):
    """Descriptor of each sample: the magnitudes of a last field convolution."""

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Return (n, outputs) descriptors of the vector field ``x``."""
        return polar(self.conv(x, surface))[0]


class ClassificationHead(VectorHead):
    """Scores for each shape: the magnitudes of a last field convolution, one channel per class, averaged.

    The paper uses "a global mean pool over the feature magnitudes to give a prediction" and names no layer
    after it, so the channels are the classes; only differences between scores count, so that none can be
    negative takes nothing away. With ``class_bias`` a learnt number is added to each.
    """

    def __init__(self, config: FCNetConfig, convolution: type[FieldConv] = FieldConv) -> None:
        super().__init__(config, convolution)
        self.pooling = config.pooling
        self.bias = nn.Parameter(torch.zeros(config.outputs)) if config.class_bias else None

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Return (shapes, outputs) scores of the vector field ``x``."""
        magnitude, _ = polar(self.conv(x, surface))
        weight = surface.area if self.pooling == "area" else torch.ones_like(surface.area)
        scores = mean_per_shape(magnitude, weight, surface)
        return scores if self.bias is None else scores + self.bias
