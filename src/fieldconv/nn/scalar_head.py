"""Outputs of real features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fieldconv.nn.initialise import init_perceptron
from fieldconv.nn.perceptron import Perceptron
from fieldconv.nn.pooling import mean_per_shape

if TYPE_CHECKING:
    from fieldconv.surface import Surface


class ScalarHead(nn.Module):
    """Outputs of real features: a linear layer, or two around a ReLU, at each sample or on a shape's mean.

    Parameters
    ----------
    in_channels, out_channels : int
        Features and outputs.
    per_shape : bool
        Average features over the samples of each shape first.
    hidden : int or None
        Width between two layers; None for a single layer.
    dropout : float
        Share dropped between the two.

    Shapes
    ------
    - input (n, in_channels) real, and the surface (or batch of surfaces) with n samples
    - output (n, out_channels), or (shapes, out_channels)

    Examples
    --------
    >>> ScalarHead(16, 5000, hidden=256)
    ScalarHead(
      (layers): Perceptron(
        (0): Linear(in_features=16, out_features=256, bias=True)
        (1): ReLU()
        (2): Dropout(p=0.5, inplace=False)
        (3): Linear(in_features=256, out_features=5000, bias=True)
      )
    )
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        per_shape: bool = False,
        hidden: int | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.per_shape = per_shape
        layers: list[nn.Module] = [nn.Linear(in_channels, out_channels)]
        if hidden is not None:
            layers = [
                nn.Linear(in_channels, hidden),
                nn.ReLU(),
                nn.Dropout(dropout),
                nn.Linear(hidden, out_channels),
            ]
        self.layers = Perceptron(*layers)
        init_perceptron(self.layers)

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Return the outputs of features ``x`` on ``surface``."""
        if self.per_shape:
            x = mean_per_shape(x, torch.ones_like(x[:, 0]), surface)
        return self.layers(x)  # type: ignore[no-any-return]
