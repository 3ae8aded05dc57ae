"""What an `FCNet` is made of, as plain data. No torch here: the command line reads it without loading any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from fieldconv.settings import Features, Solver, SurfaceSettings, checked

Head = Literal["labels", "descriptors", "classification"]
Task = Literal["classification", "segmentation", "correspondence", "matching"]
Preset = Literal["paper", "default", "tiny"]
Lift = Literal["gradient", "linear"]
Filter = Literal["offset", "real", "complex"]
Spacing = Literal["linear", "equal_area"]
Votes = Literal["vector", "magnitude"]
Pooling = Literal["mean", "area"]


@dataclass(frozen=True, kw_only=True)
class FCNetConfig:
    """Settings of an `FCNet`; every field is a number, a word, or a list of numbers.

    Parameters
    ----------
    head : "labels", "descriptors" or "classification"
        What comes out: class scores per sample (ECHO block), magnitudes per sample, or class scores per
        shape (mean-pooled magnitudes).
    outputs : int
        Classes, template vertices, or descriptor length.
    radius, samples, features, solver
        How a mesh is to be made a surface for this network, see `SurfaceSettings`: the support ε, the
        number of samples (None keeps every vertex), the input features, and the geodesic solver.
    in_channels : int or None
        Number of input features; None for as many as ``features`` has.
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

    Examples
    --------
    >>> config = FCNetConfig.for_task("segmentation", classes=8, blocks=2)
    >>> config.blocks, config.rings, config.radius
    (2, 6, 0.2)
    >>> FCNetConfig.from_dict(config.to_dict()) == config
    True
    """

    head: Head = "labels"
    outputs: int = 8
    radius: float = 0.2
    samples: int | None = None
    features: Features = "xyz"
    solver: Solver = "local"
    in_channels: int | None = None
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

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                raise ValueError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(words)}")
        for name in _COUNTS:
            _check_count(name, getattr(self, name), 0 if name == "band_limit" else 1)
        for name in ("in_channels", "samples", "bottleneck"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name), 1)
        if len(self.hidden) != 2:
            raise ValueError(f"hidden is {self.hidden!r}; give the two hidden widths of a three-layer MLP")
        for width in self.hidden:
            _check_count("hidden", width, 1)
        _ = self.surface_settings  # checks them
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout!r}; give a number from 0 to below 1")
        object.__setattr__(self, "hidden", tuple(self.hidden))

    @property
    def surface_settings(self) -> SurfaceSettings:
        """How meshes are prepared for this network."""
        return SurfaceSettings(
            radius=self.radius, samples=self.samples, features=self.features, solver=self.solver
        )

    @property
    def num_features(self) -> int:
        """Number of scalar input features."""
        return self.in_channels or (3 if self.features == "xyz" else 16)

    @classmethod
    def for_task(
        cls, task: Task, *, classes: int | None = None, preset: Preset = "default", **changes: Any
    ) -> FCNetConfig:
        """The network of one of the paper's four experiments.

        Parameters
        ----------
        task : "classification", "segmentation", "correspondence" or "matching"
            The experiment.
        classes : int, optional
            Shape classes, part labels, or vertices of the template. Matching has none: there it is the
            descriptor length, 16 in the paper.
        preset : "paper", "default" or "tiny"
            The paper's numbers, the best measured ones, or a small network for tries and tests.
        **changes
            Any field of `FCNetConfig`.

        Examples
        --------
        >>> FCNetConfig.for_task("matching", preset="paper").outputs
        16
        """
        if task not in _PAPER:
            raise ValueError(f"unknown task {task!r}; choose one of {', '.join(_PAPER)}")
        if preset not in get_args(Preset):
            raise ValueError(f"unknown preset {preset!r}; choose one of {', '.join(get_args(Preset))}")
        if classes is None and task != "matching" and "outputs" not in changes:
            raise ValueError(f"{task} needs the number of classes; give classes=…")
        settings = {**_PAPER[task], **{"paper": {}, "default": _DEFAULT.get(task, {}), "tiny": _TINY}[preset]}
        if classes is not None:
            settings["outputs"] = classes
        return cls.from_dict({**settings, **changes})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FCNetConfig:
        """Build from `to_dict`'s output, or from a JSON or YAML file's content."""
        return cls(**checked(cls, values))

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {**asdict(self), "hidden": list(self.hidden)}

    def changed(self, **changes: Any) -> FCNetConfig:
        """A copy with some fields changed, checked again."""
        return replace(self, **changes)


def _check_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}; give a whole number from {least} up")


_WORDS: dict[str, tuple[str, ...]] = {
    "head": get_args(Head),
    "lift": get_args(Lift),
    "filter": get_args(Filter),
    "spacing": get_args(Spacing),
    "echo_votes": get_args(Votes),
    "pooling": get_args(Pooling),
}
_COUNTS = (
    "outputs",
    "lift_channels",
    "width",
    "blocks",
    "rings",
    "band_limit",
    "echo_channels",
    "echo_samples",
    "dense",
)

# The paper says "either 32 or 48 features" without saying where: 48 goes to segmentation, its largest
# filters and data, 32 to the others.
_PAPER: dict[str, dict[str, Any]] = {
    "classification": {
        "head": "classification",
        "width": 32,
        "blocks": 2,
        "radius": 0.2,
        "rings": 6,
        "band_limit": 2,
    },
    "segmentation": {
        "head": "labels",
        "width": 48,
        "blocks": 4,
        "radius": 0.2,
        "samples": 1024,
        "rings": 6,
        "band_limit": 2,
        "echo_channels": 32,
        "echo_samples": 3,
        "hidden": (256, 124),
    },
    "correspondence": {
        "head": "labels",
        "width": 32,
        "blocks": 8,
        "radius": 0.05,
        "rings": 3,
        "band_limit": 1,
        "echo_channels": 12,
        "echo_samples": 2,
        "hidden": (124, 64),
        "bottleneck": 32,
        "dense": 256,
        "dropout": 0.5,
    },
    "matching": {
        "head": "descriptors",
        "outputs": 16,
        "width": 32,
        "blocks": 8,
        "radius": 0.1,
        "samples": 2048,
        "rings": 6,
        "band_limit": 1,
    },
}
# Where another setting than the paper's was measured to be better, see docs/ablations.md. Samples for
# classification change nothing on the paper's small meshes, and make dense ones affordable.
_DEFAULT: dict[str, dict[str, Any]] = {
    "classification": {"features": "wks", "samples": 1024},
    "segmentation": {"features": "hks"},
    "matching": {"features": "hks"},
    "correspondence": {"features": "hks", "radius": 0.075, "dropout": 0.0},
}
_TINY: dict[str, Any] = {
    "lift_channels": 4,
    "width": 8,
    "blocks": 2,
    "rings": 3,
    "band_limit": 1,
    "echo_channels": 4,
    "echo_samples": 2,
    "hidden": (32, 16),
}
