"""The command line with one choice changed that the paper leaves open, for `benchmarks/ablations.py`.

    python benchmarks/changed_choices.py CHANGE train segmentation --preset reproduce --out RUN

The package has one way for each of these choices. CHANGE is one of the functions below, which replaces it in
this process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from fieldconv.cli import main
from fieldconv.networks.base import Network
from fieldconv.networks.fcnet.heads import ClassificationHead
from fieldconv.nn import ECHOBlock, FCResNetBlock, FieldConv, LearnedGradient
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.ops import gradient_aggregate
from fieldconv.ops.direction import polar


def relu_after_the_sum() -> None:
    """As in the first residual networks: convolution, ReLU, convolution, sum, ReLU."""

    def forward(self: FCResNetBlock, x: Tensor, surface: Any) -> Tensor:
        y = self.conv2(self.relu1(self.conv1(x, surface)), surface)
        return self.relu2(self.carry(x) + y)  # type: ignore[no-any-return]

    FCResNetBlock.forward = forward  # type: ignore[method-assign]


def relu_before_convolutions() -> None:
    """ReLU, convolution, ReLU, convolution, sum; the lift has as many channels as the blocks."""

    def forward(self: FCResNetBlock, x: Tensor, surface: Any) -> Tensor:
        y = self.conv1(self.relu2(x), surface)
        return self.carry(x) + self.conv2(self.relu1(y), surface)  # type: ignore[no-any-return]

    FCResNetBlock.forward = forward  # type: ignore[method-assign]


def inputs_lifted_apart() -> None:
    """X = Σ_k P_k² Φ_k / |Φ_k|, instead of sums over k before magnitude and direction are joined."""

    def forward(self: LearnedGradient, x: Tensor, surface: Any) -> Tensor:
        gradients, means = gradient_aggregate(x, surface, rings=self.rings, spacing=self.spacing)
        turned = self.direction * torch.polar(torch.ones_like(self.offset), self.offset)
        phi = torch.einsum("prk,rko->pko", gradients, turned)
        magnitude = torch.einsum("prk,rko->pko", means, self.magnitude).square()
        return (magnitude * polar(phi.flatten(1))[1].view_as(phi)).sum(1)

    LearnedGradient.forward = forward  # type: ignore[method-assign]


def two_rings_of_the_lift() -> None:
    """Two radii of the learned gradient, however many the convolutions have."""
    usual = LearnedGradient.__init__

    def init(self: LearnedGradient, *args: Any, **options: Any) -> None:
        usual(self, *args, **{**options, "rings": 2})

    LearnedGradient.__init__ = init  # type: ignore[method-assign]


def offsets_begin_at_nothing() -> None:
    """β = 0 at first, instead of even over the circle."""
    for layer in (FieldConv, LearnedGradient):
        usual = layer.reset_parameters

        def reset(self: Any, usual: Callable[[Any], None] = usual) -> None:
            usual(self)
            nn.init.zeros_(self.offset)

        layer.reset_parameters = reset  # type: ignore[method-assign]


def exponential_units() -> None:
    """ELU between the layers of the ECHO block's perceptron, instead of ReLU."""
    usual = ECHOBlock.__init__

    def init(self: ECHOBlock, *args: Any, **options: Any) -> None:
        usual(self, *args, **options)
        self.mlp[1] = self.mlp[3] = nn.ELU()

    ECHOBlock.__init__ = init  # type: ignore[method-assign]


def echo_as_it_is() -> None:
    """ECHO values not multiplied by H."""

    def forward(self: ECHOBlock, x: Tensor, surface: Any) -> Tensor:
        return self.mlp(self.describe(x, surface).flatten(1))  # type: ignore[no-any-return]

    ECHOBlock.forward = forward  # type: ignore[method-assign]


def origin_between_the_ends() -> None:
    """The origin of positions half way between the two samples farthest apart, instead of the centroid."""
    usual = Network.inputs

    def inputs(self: Network, surface: Any) -> Tensor:
        positions = usual(self, surface)
        shape, count = shape_of_samples(surface)
        centres = []
        for number in range(count):
            own = positions[shape == number]
            first, second = divmod(int(torch.cdist(own, own).argmax()), len(own))
            centres.append((own[first] + own[second]) / 2)
        return positions - torch.stack(centres)[shape]

    Network.inputs = inputs  # type: ignore[method-assign]


def linear_after_the_mean() -> None:
    """Magnitudes averaged over the shape first, then a linear layer to the classes."""
    usual = ClassificationHead.__init__

    def init(self: ClassificationHead, config: Any) -> None:
        usual(self, config)
        self.bias = None
        self.linear = nn.Linear(config.width, config.outputs)
        del self.conv

    def forward(self: ClassificationHead, x: Tensor, surface: Any) -> Tensor:
        mean = mean_per_shape(polar(x)[0], torch.ones_like(surface.area), surface)
        return self.linear(mean)  # type: ignore[no-any-return]

    ClassificationHead.__init__ = init  # type: ignore[method-assign]
    ClassificationHead.forward = forward  # type: ignore[method-assign]


CHANGES = {
    change.__name__: change
    for change in (
        relu_after_the_sum,
        relu_before_convolutions,
        inputs_lifted_apart,
        two_rings_of_the_lift,
        offsets_begin_at_nothing,
        exponential_units,
        echo_as_it_is,
        origin_between_the_ends,
        linear_after_the_mean,
    )
}


if __name__ == "__main__":
    change, *words = sys.argv[1:]
    CHANGES[change]()
    raise SystemExit(main(words))
