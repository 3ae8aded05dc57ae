"""Settings of an `FCNet`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fieldconv._checked import check_count
from fieldconv._presets import network_presets
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.networks.protocol import NetworkConfig
from fieldconv.surface.settings import Solver

Lift = Literal["gradient", "linear"]
Filter = Literal["offset", "real", "complex"]
Spacing = Literal["linear", "equal_area"]
Votes = Literal["vector", "magnitude"]
Pooling = Literal["mean", "area"]
InputScale = Literal["unit", "raw"]


@dataclass(frozen=True, kw_only=True)
class FCNetConfig(NetworkConfig):
    """Settings of an `FCNet`, besides those that every network has (`NetworkConfig`).

    Parameters
    ----------
    radius : float
        Geodesic radius ε of the filters' support, at unit area.
    solver : "local" or "heat"
        Geodesic solver, see `SurfaceSettings`.
    input_scale : "unit" or "raw"
        Input features of each shape scaled to a mean square length of one, or as they are at unit area, as
        in the paper.
    lift : "gradient" or "linear"
        Learned gradient (supplement B), or the plain linear lift.
    lift_channels : int
        Vector channels after the lift.
    width : int
        Vector channels of the FCResNet blocks.
    blocks : int
        Number of FCResNet blocks.
    rings : int
        N radii of every filter.
    band_limit : int
        Largest angular frequency B of every filter.
    filter : "offset", "real" or "complex"
        Kind of filter, see `fieldconv.nn.FieldConv`.
    spacing : "linear" or "equal_area"
        Spacing of the N radii.
    echo_channels : int
        D vector channels the ECHO block describes.
    echo_samples : int
        Samples per radius of an ECHO descriptor.
    echo_votes : "vector" or "magnitude"
        Kind of votes, see `fieldconv.nn.ECHO`.
    hidden : tuple of two int
        Hidden widths of the ECHO block's three-layer MLP.
    bottleneck : int or None
        If given, the MLP ends in this many features, which two dense layers take to the outputs.
    dense : int
        Width between those two dense layers.
    dropout : float
        Share dropped between those two dense layers.
    pooling : "mean" or "area"
        Mean over samples, as in the paper, or weighted by area; for classification.
    class_bias : bool
        Whether a learnt number is added to the score of each class, which the paper does not mention; for
        classification.

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
    solver: Solver = "local"
    input_scale: InputScale = "unit"
    lift: Lift = "gradient"
    lift_channels: int = 16
    width: int = 48
    blocks: int = 4
    rings: int = 6
    band_limit: int = 2
    filter: Filter = "offset"
    spacing: Spacing = "linear"
    echo_channels: int = 32
    echo_samples: int = 3
    echo_votes: Votes = "vector"
    hidden: tuple[int, int] = (256, 124)
    bottleneck: int | None = None
    dense: int = 256
    dropout: float = 0.5
    pooling: Pooling = "mean"
    class_bias: bool = False

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
