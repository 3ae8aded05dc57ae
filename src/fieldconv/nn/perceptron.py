"""A sequence of layers at each sample."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fieldconv.ops.relu_linear import relu_linear

MIN_OUTPUTS = 64  # from which on it pays to skip zeros


class Perceptron(nn.Sequential):
    """A sequence of layers, as `torch.nn.Sequential`, that skips zeros in training.

    A ReLU and dropout leave about a quarter of the numbers, so where a wide linear layer follows the two,
    only these are multiplied, forwards and backwards. Weights, random numbers and results are those of
    `torch.nn.Sequential`, but for rounding; hooks of the three layers are then not called.

    Shapes
    ------
    - input (n, in), output (n, out), as the layers have them

    Examples
    --------
    >>> layers = nn.Linear(16, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 5000)
    >>> Perceptron(*layers)(torch.ones(3, 16)).shape
    torch.Size([3, 5000])
    """

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layers."""
        layers: list[nn.Module] = list(self)
        while layers:
            match layers:
                case [nn.ReLU(), nn.Dropout() as dropout, nn.Linear() as linear, *rest] if _skips_zeros(
                    dropout, linear
                ):
                    keep = torch.empty_like(x).bernoulli_(1 - dropout.p).div_(1 - dropout.p)
                    x = relu_linear(x, keep, linear.weight, linear.bias)
                case [layer, *rest]:
                    x = layer(x)
            layers = rest
        return x


def _skips_zeros(dropout: nn.Dropout, linear: nn.Linear) -> bool:
    """Return whether to skip the zeros before a linear layer."""
    return (
        dropout.training
        and 0 < dropout.p < 1
        and linear.bias is not None
        and linear.out_features >= MIN_OUTPUTS
        and not torch.is_autocast_enabled(linear.weight.device.type)
    )
