"""The base of networks with real features."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from fieldconv.networks.protocol import FeatureNetwork, NetworkConfig
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.surface.settings import feature_columns

if TYPE_CHECKING:
    from fieldconv.surface import Surface


class ScalarNetwork(FeatureNetwork):
    """A network of real features, from which a module ``head`` makes the outputs.

    A subclass sets ``head`` and defines `features`: of samples, or of whole shapes for "classification".
    """

    heads: ClassVar[tuple[str, ...]] = ("labels", "classification", "descriptors")
    """The heads it can have."""
    unit_radius: ClassVar[bool] = False
    """Whether positions, if they are an input, are scaled to put the farthest of each shape at distance 1."""
    head: nn.Module

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        if config.head not in self.heads:
            raise ValueError(
                f"{self.name} has no head {config.head!r}, only {', '.join(self.heads)}; "
                "choose another network for this task"
            )

    def inputs(self, surface: Surface) -> Tensor:
        """Return the input features of a surface, with positions at unit radius if the network says so."""
        x, config = super().inputs(surface), self.config
        if not self.unit_radius or config.in_channels is not None or "xyz" not in config.features.split("+"):
            return x
        columns = feature_columns(config.features)["xyz"]
        x = x.clone()
        x[:, columns] = at_unit_radius(x[:, columns], surface)
        return x

    def pooled(self, x: Tensor, surface: Surface) -> Tensor:
        """Return the features of samples, or for "classification" their mean over the area of each shape."""
        return mean_per_shape(x, surface.area, surface) if self.config.per_shape else x

    def outputs(self, features: Tensor, surface: Surface) -> Tensor:
        return self.head(features)  # type: ignore[no-any-return]

    def invariants(self, features: Tensor) -> Tensor:
        """Return the features: they are real."""
        return features


def at_unit_radius(positions: Tensor, surface: Surface) -> Tensor:
    """Return positions (n, 3), scaled so that the farthest of each shape has distance 1 from the origin.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one_shape = SimpleNamespace(area=torch.ones(2))
    >>> at_unit_radius(torch.tensor([[0.0, 0.0, 0.2], [0.3, 0.4, 0.0]]), one_shape).norm(dim=1)
    tensor([0.4000, 1.0000])
    """
    shape, shapes = shape_of_samples(surface)
    distance = torch.linalg.vector_norm(positions, dim=1)
    radius = distance.new_zeros(shapes).scatter_reduce(0, shape, distance, "amax")
    return positions / torch.where(radius > 0, radius, 1.0)[shape, None]


class RowNorm(nn.BatchNorm1d):
    """Batch normalisation that works after few steps, and for a single row.

    A single row has no variance and is normalised as in evaluation. Mean and variance for evaluation are
    plain averages over the first steps: torch's begin at 0 and 1, and where the variance is a thousandth of
    that, evaluation would be wrong for a hundred steps.

    Examples
    --------
    >>> RowNorm(3)(torch.ones(1, 3))
    tensor([[1.0000, 1.0000, 1.0000]], grad_fn=<NativeBatchNormBackward0>)
    """

    num_batches_tracked: Tensor

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        learns = self.training and len(input) > 1
        share = 0.0
        if learns:
            self.num_batches_tracked.add_(1)
            share = max(self.momentum or 0.0, 1 / float(self.num_batches_tracked))
        return torch.nn.functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, learns, share, self.eps
        )
