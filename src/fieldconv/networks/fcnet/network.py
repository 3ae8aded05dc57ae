"""The paper's generic network."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from fieldconv.networks.fcnet.config import FCNetConfig
from fieldconv.networks.fcnet.heads import ClassificationHead, DescriptorHead, LabelHead, VectorHead
from fieldconv.networks.protocol import FeatureNetwork, count_parameters
from fieldconv.nn import FCResNetBlock, FieldConv, LearnedGradient, LinearLift, TangentLinear
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples

if TYPE_CHECKING:
    from fieldconv.surface import Surface


class FCNet(FeatureNetwork):
    """FCResNet blocks between a lift of scalar inputs to vectors and a head that returns to scalars.

    From three blocks on, the input of every two blocks is added to their output once more. The sum is
    halved: field convolution is homogeneous, so this is a choice of units that keeps vectors from doubling.

    Examples
    --------
    >>> net = FCNet.for_task("segmentation", classes=8, preset="tiny")
    >>> net.num_parameters < FCNet.for_task("segmentation", classes=8).num_parameters
    True
    """

    name, Config = "fcnet", FCNetConfig
    reads = ("x", "area", "edge_index", "log", "transport", "weight", "radius")
    convolution: ClassVar[type[FieldConv]] = FieldConv  # of all blocks and the head
    config: FCNetConfig

    def __init__(self, config: FCNetConfig) -> None:
        super().__init__(config)
        lift = LearnedGradient if config.lift == "gradient" else LinearLift
        self.lift = lift(
            config.num_features,
            config.lift_channels,
            rings=config.rings,
            spacing=config.spacing,
            input_length=_input_length(config),
        )
        widths = [config.lift_channels] + [config.width] * config.blocks
        self.blocks = nn.ModuleList(
            FCResNetBlock(before, after, convolution=self.convolution, **config.filters)
            for before, after in pairwise(widths)
        )
        pairs = config.blocks // 2 if config.blocks >= 3 else 0
        self.carries = nn.ModuleList(
            nn.Identity() if widths[2 * i] == config.width else TangentLinear(widths[2 * i], config.width)
            for i in range(pairs)
        )
        heads: dict[str, Callable[[FCNetConfig, type[FieldConv]], nn.Module]] = {
            "labels": LabelHead,
            "descriptors": DescriptorHead,
            "classification": ClassificationHead,
            "vectors": VectorHead,
        }
        self.head = heads[config.head](config, self.convolution)

    def features(self, surface: Surface) -> Tensor:
        """Return (n, width) complex: the vector field that the head receives.

        The input features of each shape are scaled to a mean square length of one, unless the config wants
        them raw. At unit area, positions are larger the thinner a shape is, and vectors grow with their
        square.
        """
        scalars = self.inputs(surface)
        x = self.lift(_normalise(scalars, surface) if self.config.input_scale == "unit" else scalars, surface)
        before = x
        for i, block in enumerate(self.blocks):
            x = block(x, surface)
            pair, odd = divmod(i, 2)
            if odd and pair < len(self.carries):
                x = before = 0.5 * (x + self.carries[pair](before))
        return x  # type: ignore[no-any-return]

    def outputs(self, features: Tensor, surface: Surface) -> Tensor:
        """Return scores, descriptors or vectors."""
        return self.head(features, surface)  # type: ignore[no-any-return]

    def invariants(self, features: Tensor) -> Tensor:
        """Return (n, width): the magnitudes of the vectors."""
        return features.abs()

    def with_descriptors(self, surface: Surface) -> tuple[Tensor, Tensor]:
        """Return outputs and descriptors: the bottleneck features where there are any."""
        if not isinstance(self.head, LabelHead) or self.config.bottleneck is None:
            return super().with_descriptors(surface)
        narrow = self.bottleneck(surface)
        return self.head.dense(narrow), narrow

    def deep_features(self, surface: Surface) -> Tensor:
        """Return (n, D · H) ECHO descriptors where there are any, else `descriptors`."""
        if isinstance(self.head, LabelHead):
            return self.echo_descriptors(surface).flatten(1)
        return self.descriptors(surface)

    def responses(self, surface: Surface) -> dict[str, Tensor]:
        """Return (n, width) complex: the vectors after each block."""
        found: dict[str, Tensor] = {}
        hooks = [
            block.register_forward_hook(lambda _, __, out, n=number: found.update({f"Block {n}": out}))
            for number, block in enumerate(self.blocks, start=1)
        ]
        try:
            self.features(surface)
        finally:
            for hook in hooks:
                hook.remove()
        return found

    def echo_descriptors(self, surface: Surface) -> Tensor:
        """Return (n, D, H): the ECHO descriptors on which labels are decided; head "labels" only."""
        return self._label_head("ECHO descriptors").block.describe(self.features(surface), surface)

    def bottleneck(self, surface: Surface) -> Tensor:
        """Return (n, bottleneck): the narrow features before the two dense layers; head "labels" only."""
        head = self._label_head("a bottleneck")
        if self.config.bottleneck is None:
            raise ValueError("this network has no bottleneck; build it with bottleneck=32, say")
        return head.block(self.features(surface), surface)  # type: ignore[no-any-return]

    def _label_head(self, what: str) -> LabelHead:
        if not isinstance(self.head, LabelHead):
            raise ValueError(f"a network with head {self.config.head!r} has no {what}; use head='labels'")
        return self.head

    def summary(self) -> str:
        """Return a line for each part of the network, with its number of parameters."""
        config = self.config
        rows: list[tuple[str, str, nn.Module]] = [
            ("lift", f"{config.num_features} scalars → {config.lift_channels} vectors", self.lift)
        ]
        for i, block in enumerate(self.blocks):
            rows.append((f"block {i + 1}", f"{block.in_channels} → {block.out_channels} vectors", block))
            if i % 2 and i // 2 < len(self.carries):
                rows.append(("residual", f"over blocks {i} and {i + 1}", self.carries[i // 2]))
        if isinstance(self.head, LabelHead):
            echo = self.head.block
            tail = f" → {config.bottleneck} → {config.dense}" if config.bottleneck else ""
            what = f"ECHO {config.echo_channels} × {echo.echo.size} → {config.hidden[0]} → {config.hidden[1]}"
            rows.append(("head", f"{what}{tail} → {config.outputs} scores per sample", self.head))
        elif config.head == "descriptors":
            rows.append(("head", f"{config.outputs} magnitudes per sample", self.head))
        elif config.head == "vectors":
            rows.append(("head", f"{config.outputs} vectors per sample", self.head))
        else:
            rows.append(("head", f"{config.outputs} pooled magnitudes per shape", self.head))
        lines = [
            f"FCNet: ε = {config.radius}, N = {config.rings}, B = {config.band_limit}, "
            f"{config.filter} filters, {config.spacing} radii"
        ]
        for name, what, module in rows:
            lines.append(f"  {name:<10}{what:<60}{count_parameters(module):>12,}")
        lines.append(f"  {'total':<70}{self.num_parameters:>12,}")
        return "\n".join(lines)


def _input_length(config: FCNetConfig) -> float:
    """How long the lift's inputs are taken to be: about 1 for each feature, and 1 for positions.

    Raw positions are shorter, 0.28 on a sphere of unit area, so that scores begin small. It is better so:
    with first weights made for 0.28, 95.0 instead of 99.4 % of SHREC'11 were right (``reproduce``, split 0).
    """
    if config.input_scale == "unit":
        return 1.0
    positions = "xyz" in config.features.split("+")
    return math.sqrt(max(0, config.num_features - 3 * positions) + positions)


def _normalise(scalars: Tensor, surface: Surface) -> Tensor:
    """The features of each shape, divided by their root mean square length over its area."""
    mean = mean_per_shape(scalars.square().sum(1), surface.area, surface)
    return scalars * torch.where(mean > 0, mean, 1.0).rsqrt()[shape_of_samples(surface)[0], None]
