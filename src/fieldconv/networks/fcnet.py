"""The paper's generic network: its settings, its four heads, and the network itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from fieldconv._checked import check_count
from fieldconv._presets import network_presets
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.networks.protocol import FeatureNetwork, NetworkConfig, count_parameters
from fieldconv.nn import (
    ECHOBlock,
    FCResNetBlock,
    FieldConv,
    LearnedGradient,
    LinearLift,
    Perceptron,
    TangentLinear,
)
from fieldconv.nn.field_conv import Filter
from fieldconv.nn.initialise import init_perceptron
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.ops.disc import Spacing
from fieldconv.ops.echo_votes import Votes
from fieldconv.ops.vectors import polar
from fieldconv.surface.settings import Solver

if TYPE_CHECKING:
    from fieldconv.surface import Surface


@dataclass(frozen=True, kw_only=True)
class FCNetConfig(NetworkConfig):
    """Settings of an `FCNet`, besides those that every network has (`NetworkConfig`).

    Examples
    --------
    >>> config = FCNetConfig.for_task("segmentation", classes=8, blocks=2)
    >>> config.blocks, config.rings, config.radius
    (2, 6, 0.2)
    >>> FCNetConfig.from_dict(config.to_dict()) == config
    True
    """

    network: ClassVar[str] = "fcnet"
    like: ClassVar[str] = "fcnet"
    operators: ClassVar[tuple[str, ...]] = ("discs",)
    presets = network_presets("fcnet")
    counts = (
        "lift_channels", "width", "blocks", "rings", "echo_channels", "bottleneck", "dense",
    )  # fmt: skip

    radius: float = RADIUS
    """Geodesic radius ε of the filters' support, at unit area."""
    solver: Solver = "local"
    """Geodesic solver, see `SurfaceSettings`."""
    input_scale: Literal["unit", "raw"] = "unit"
    """Input features of each shape scaled to a mean square length of one, or as they are at unit area, as in
    the paper."""
    lift: Literal["gradient", "linear"] = "gradient"
    """Learned gradient (supplement B), or the plain linear lift."""
    lift_channels: int = 16
    """Vector channels after the lift."""
    width: int = 48
    """Vector channels of the FCResNet blocks."""
    blocks: int = 4
    """Number of FCResNet blocks."""
    rings: int = 6
    """N radii of every filter."""
    band_limit: int = 2
    """Largest angular frequency B of every filter."""
    filter: Filter = "offset"
    """Kind of filter, see `fieldconv.nn.FieldConv`."""
    spacing: Spacing = "linear"
    """Spacing of the N radii."""
    echo_channels: int = 32
    """D vector channels the ECHO block describes."""
    echo_samples: int = 3
    """Samples per radius of an ECHO descriptor."""
    echo_votes: Votes = "vector"
    """Kind of votes, see `fieldconv.nn.ECHO`."""
    hidden: tuple[int, int] = (256, 124)
    """Hidden widths of the ECHO block's three-layer MLP."""
    bottleneck: int | None = None
    """If given, the MLP ends in this many features, which two dense layers take to the outputs."""
    dense: int = 256
    """Width between those two dense layers."""
    dropout: float = 0.5
    """Share dropped between those two dense layers."""
    pooling: Literal["mean", "area"] = "mean"
    """Mean over samples, as in the paper, or weighted by area; for classification."""
    class_bias: bool = False
    """Whether a learnt number is added to the score of each class, which the paper does not mention; for
    classification."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("band_limit", self.band_limit, 0)
        check_count("echo_samples", self.echo_samples, most=100)  # the image has more than its square pixels
        if len(self.hidden) != 2:
            raise ValueError(f"hidden is {self.hidden!r}; give the two hidden widths of a three-layer MLP")
        for width in self.hidden:
            check_count("hidden", width)
        object.__setattr__(self, "hidden", tuple(self.hidden))

    @property
    def filters(self) -> dict[str, Any]:
        """What all field convolutions share, as keywords of `fieldconv.nn.FieldConv`."""
        return {name: getattr(self, name) for name in ("rings", "band_limit", "filter", "spacing")}


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
        outputs = {
            "descriptors": "magnitudes per sample",
            "vectors": "vectors per sample",
            "classification": "pooled magnitudes per shape",
        }
        what = f"{config.outputs} {outputs.get(config.head, 'scores per sample')}"
        if isinstance(self.head, LabelHead):
            tail = f" → {config.bottleneck} → {config.dense}" if config.bottleneck else ""
            echo = f"ECHO {config.echo_channels} × {self.head.block.echo.size}"
            what = f"{echo} → {config.hidden[0]} → {config.hidden[1]}{tail} → {what}"
        rows.append(("head", what, self.head))
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
