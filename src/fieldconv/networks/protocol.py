"""What every network has: settings, the tensors it reads of a surface, its outputs, saving and loading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from torch import Tensor, nn

from fieldconv._checked import check_count, checked
from fieldconv.surface.settings import FEATURES, MIN_DENSITY, SurfaceSettings

if TYPE_CHECKING:
    from fieldconv.geometry.mesh.mesh import Mesh
    from fieldconv.surface.surface import Surface

Head = Literal["labels", "classification", "descriptors", "vectors"]
PER_SHAPE: Head = "classification"
"""The head whose outputs are for whole shapes; the name is that of its first task."""
OwnConfig = TypeVar("OwnConfig", bound="NetworkConfig")
Own = TypeVar("Own", bound="Network")

MAX_DENSITY = 1.5  # times the samples of training shapes: a network takes no more without being asked to
ANSWER_FACTOR, MAX_ANSWER_SAMPLES = 3, 3072  # samples for answers of networks that learnt at many densities
DEPTH_FIELDS, MAX_DEPTH = ("blocks", "layers", "depth"), 1000  # fields that count layers


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Settings that every network has; a network adds its own fields.

    Examples
    --------
    >>> NetworkConfig(outputs=3, samples=500).surface_settings.samples
    500
    """

    network: ClassVar[str] = ""
    """Name of the network."""
    operators: ClassVar[tuple[str, ...]] = ()
    """What a surface must carry for the layers, such as "discs"; see `SurfaceSettings`."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Settings of this network in a preset of any task: ``{"tiny": {"width": 8}}``."""
    like: ClassVar[str] = ""
    """Name of another network whose settings in the presets of tasks hold for this one, too."""
    counts: ClassVar[tuple[str, ...]] = ()
    """Fields that are whole numbers from 1 up, where they are not None."""

    head: Head = "labels"
    """What comes out: real numbers for each sample (scores or values), real numbers for each shape, a
    descriptor for each sample, or tangent vectors for each sample."""
    outputs: int = 8
    """How many of them: classes, values, template vertices, descriptor length."""
    samples: int | None = None
    """Farthest-point samples the network works on; None keeps every vertex."""
    features: str = "xyz"
    """Input features, see `SurfaceSettings`."""
    closed: bool = False
    """Close holes and open ends, see `SurfaceSettings`."""
    smoothing: float = 0.0
    """Smooth away bumps narrower than this, see `SurfaceSettings`."""
    in_channels: int | None = None
    """Number of input features; None for as many as ``features`` has."""

    def __post_init__(self) -> None:
        checked(type(self), {field.name: getattr(self, field.name) for field in fields(self)})
        check_count("outputs", self.outputs, most=10**8)
        if self.in_channels is not None:
            check_count("in_channels", self.in_channels)
        for name in DEPTH_FIELDS:
            if isinstance(getattr(self, name, None), int):
                check_count(name, getattr(self, name), 0, MAX_DEPTH)
        for name in self.counts:
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        dropout = getattr(self, "dropout", None)
        if dropout is not None and not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout!r}; give a number from 0 to below 1")
        _ = self.surface_settings  # checks them

    @property
    def surface_settings(self) -> SurfaceSettings:
        """How meshes are prepared for this network: the fields that it shares with `SurfaceSettings`."""
        known = {field.name for field in fields(SurfaceSettings)}
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name in known}
        return SurfaceSettings(**own, operators=self.operators)

    @property
    def per_shape(self) -> bool:
        """Whether outputs are for whole shapes, instead of for each sample."""
        return self.head == PER_SHAPE

    @property
    def num_features(self) -> int:
        """Number of scalar input features."""
        return self.in_channels or sum(FEATURES[name] for name in self.features.split("+"))

    @classmethod
    def for_task(
        cls: type[OwnConfig],
        task: str,
        *,
        classes: int | None = None,
        preset: str = "default",
        **changes: Any,
    ) -> OwnConfig:
        """Return the settings of this network for a task; see `Network.for_task`."""
        from fieldconv.tasks import task_named

        return task_named(task).network_config(cls, classes=classes, preset=preset, **changes)

    @classmethod
    def from_dict(cls: type[OwnConfig], values: Mapping[str, Any]) -> OwnConfig:
        """Build from `to_dict`'s output, or from a JSON or YAML file's content."""
        return cls(**checked(cls, values))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def changed(self: OwnConfig, **changes: Any) -> OwnConfig:
        """Return a copy with some fields changed, checked again."""
        return replace(self, **changes)


class Network(nn.Module):
    """A network on surfaces. A subclass sets ``name`` and ``Config`` and defines ``forward``.

    Training sets the attributes, and checkpoints keep all but ``source``.

    Parameters
    ----------
    config : NetworkConfig

    Attributes
    ----------
    task, class_names, template
        What it is trained for.
    density : int or None
        Samples on a typical training shape.
    any_density : bool
        Whether it learnt from meshes of many densities (``--damaged``).
    temperature : float
        Scores are divided by it before they become probabilities; see `fieldconv.training.calibrate`.
    source : str
        Name of the folder it was read from.

    Shapes
    ------
    - input: a surface with n samples and features x of (n, in_channels), or a batch of surfaces
    - output: (n, outputs) real for the heads "labels" and "descriptors", complex for "vectors";
      (shapes, outputs) real for "classification"

    Examples
    --------
    A complete network, which sees each sample alone:

    >>> class Perceptron(Network):
    ...     name, Config, reads = "perceptron", NetworkConfig, ("x",)
    ...     def __init__(self, config):
    ...         super().__init__(config)
    ...         self.layer = nn.Linear(config.num_features, config.outputs)
    ...     def forward(self, surface):
    ...         return self.layer(self.inputs(surface))
    >>> Perceptron.for_task("segmentation", classes=5, features="hks").num_parameters
    85
    """

    name: ClassVar[str]
    """Name by which it is found."""
    Config: ClassVar[type[NetworkConfig]] = NetworkConfig
    """The class of its settings."""
    reads: ClassVar[tuple[str, ...] | None] = None
    """The tensors of a surface that ``forward`` reads; None for all but the way back to the mesh."""
    recipe: ClassVar[Mapping[str, Any]] = {}
    """Training settings of its paper that differ from the defaults of `TrainingConfig`."""
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The same by name of a task, for tasks that the paper trained it otherwise for."""
    smallest_batch: ClassVar[int] = 1
    """Default of the fewest shapes in a step: several if it normalises over all of them."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.task: str | None = None
        self.class_names: tuple[str, ...] = ()
        self.template: Mesh | None = None
        self.density: int | None = None
        self.any_density = False
        self.temperature = 1.0
        self.source = ""

    def surface_settings(self, samples: int | None = None) -> SurfaceSettings:
        """Return how a mesh of any density is prepared for this network.

        A network that learnt on every vertex of its meshes sees at most half as many samples again as they
        had: denser meshes are sampled, sparser ones subdivided. Results are interpolated at the vertices.

        Parameters
        ----------
        samples : int, optional
            Another number of samples; meshes that have fewer vertices are subdivided.
        """
        settings = self.config.surface_settings
        if samples is not None:
            return replace(settings, samples=samples, min_vertices=samples)
        if self.density is None:
            return settings
        usual = settings.samples or round(MAX_DENSITY * self.density)
        return replace(settings, samples=usual, min_vertices=max(1, round(MIN_DENSITY * self.density)))

    def answer_settings(self, samples: int | None = None) -> SurfaceSettings:
        """Return how a mesh is prepared for an answer that people read; mostly as `surface_settings`.

        A network that learnt from meshes of many densities takes three times the samples it learnt on, up to
        3,072, so that borders hardly depend on where samples lie. Other networks would answer worse, and
        networks for whole shapes have no borders.
        """
        if samples is None and self.density is not None and self.any_density and not self.config.per_shape:
            finer = min(ANSWER_FACTOR * self.density, MAX_ANSWER_SAMPLES)
            if finer > max(MAX_DENSITY * self.density, self.config.samples or 0):
                samples = finer
        return self.surface_settings(samples)

    def forward(self, surface: Surface) -> Tensor:
        """Return (n, outputs) for each sample, or (shapes, outputs) with the head "classification"."""
        raise TypeError(f"{type(self).__name__} does not define forward(surface)")

    def descriptors(self, surface: Surface) -> Tensor | None:
        """Return features by which points (n, d) or shapes (d,) may be compared, or None."""
        return None

    def with_descriptors(self, surface: Surface) -> tuple[Tensor, Tensor | None]:
        """Return outputs and descriptors; override it where they share most of their work."""
        return self(surface), self.descriptors(surface)

    def deep_features(self, surface: Surface) -> Tensor | None:
        """Return (n, d) features of samples for pictures of what was learnt: by default the descriptors."""
        return self.descriptors(surface)

    def responses(self, surface: Surface) -> dict[str, Tensor]:
        """Return tangent vector fields (n, channels) inside the network, by name of the block."""
        return {}

    def inputs(self, surface: Surface) -> Tensor:
        """Return the input features of a surface; raise ValueError if their number is wrong."""
        scalars: Tensor | None = surface.x
        if scalars is None or scalars.shape[-1] != self.config.num_features:
            found = "none" if scalars is None else str(scalars.shape[-1])
            raise ValueError(
                f"the network takes {self.config.num_features} input features ({self.config.features}), the "
                f"surface has {found}; build it with Surface.from_mesh(…, features={self.config.features!r})"
            )
        return scalars

    @property
    def num_parameters(self) -> int:
        """Number of learnt real numbers."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def summary(self) -> str:
        """Return a line for each part of the network, with its number of parameters."""
        lines = [type(self).__name__]
        for name, part in self.named_children():
            lines.append(f"  {name:<20}{type(part).__name__:<50}{count_parameters(part):>12,}")
        lines.append(f"  {'total':<70}{self.num_parameters:>12,}")
        return "\n".join(lines)

    # For convenience, these call the layers above

    @classmethod
    def for_task(
        cls: type[Own], task: str, *, classes: int | None = None, preset: str = "default", **changes: Any
    ) -> Own:
        """Build the network with the settings of a task's preset.

        Parameters
        ----------
        task : str
            Name of the task, such as "segmentation".
        classes : int, optional
            Shape classes, part labels, values, or vertices of the template; for matching the length of
            descriptors, 16 in the paper.
        preset : "paper", "reproduce", "default", "quick" or "tiny"; some tasks have others
            The paper's text to the letter, what reaches its numbers, settings for meshes clean or damaged,
            for clean ones alone, or a small network for tests.
        **changes
            Any field of the network's settings.
        """
        return cls(cls.Config.for_task(task, classes=classes, preset=preset, **changes))

    @classmethod
    def from_pretrained(cls: type[Own], source: str | Path) -> Own:
        """Read a network from a checkpoint or run folder, or by its name on the Hugging Face hub."""
        from fieldconv.training.checkpoint import CheckpointError, load

        network = load(source)
        if not isinstance(network, cls):
            raise CheckpointError(f"{source} holds a {type(network).__name__}, not a {cls.__name__}")
        return network

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``model.safetensors``, ``config.json`` and a model card to a folder."""
        from fieldconv.training.checkpoint import save_pretrained

        save_pretrained(self, folder)

    def push_to_hub(self, name: str, **options: Any) -> str:
        """Upload the network to the Hugging Face hub as ``user/name``; return its address."""
        from fieldconv.training.checkpoint import push_to_hub

        return push_to_hub(self, name, **options)

    def predict(self, shapes: Mesh | str | Path | Iterable[Mesh | str | Path]) -> Any:
        """Return a class, labels (V,), values or descriptors (V, d) of a mesh or file; a list for several.

        `fieldconv.predict` returns more, such as probabilities.
        """
        from fieldconv.training.apply import answers

        return answers(self, shapes)


class FeatureNetwork(Network):
    """A network in two halves: features, and outputs that are computed from them.

    A subclass defines `features`, `outputs` and `invariants` instead of ``forward``.
    """

    def features(self, surface: Surface) -> Tensor:
        """Return the features that outputs are computed from, with a row for each sample or shape."""
        raise TypeError(f"{type(self).__name__} does not define features(surface)")

    def outputs(self, features: Tensor, surface: Surface) -> Tensor:
        """Return what `forward` returns, from the features."""
        raise TypeError(f"{type(self).__name__} does not define outputs(features, surface)")

    def invariants(self, features: Tensor) -> Tensor:
        """Return (n, d) real numbers that describe the features and do not depend on tangent frames."""
        raise TypeError(f"{type(self).__name__} does not define invariants(features)")

    def forward(self, surface: Surface) -> Tensor:
        return self.outputs(self.features(surface), surface)

    def descriptors(self, surface: Surface) -> Tensor:
        """Return (n, d): outputs that are descriptors, or invariants; for shapes their mean (d,)."""
        return self.with_descriptors(surface)[1]

    def with_descriptors(self, surface: Surface) -> tuple[Tensor, Tensor]:
        """Return outputs and descriptors at the price of the outputs."""
        features = self.features(surface)
        outputs = self.outputs(features, surface)
        if self.config.head == "descriptors":
            return outputs, outputs
        seen = self.invariants(features)
        return outputs, seen.mean(0) if self.config.per_shape else seen


def count_parameters(module: nn.Module) -> int:
    """Return the number of real numbers a module holds."""
    return sum(parameter.numel() for parameter in module.parameters())
