"""Training settings, presets, and how settings are put together: a preset, then a file, then options.

Settings are merged from layers; later layers win. A layer has a name, which says where its values come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from fieldconv._checked import check_choices, checked, field_types
from fieldconv._presets import Values, task_presets
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.networks.protocol import Network, NetworkConfig

if TYPE_CHECKING:
    from fieldconv.tasks.base.task import Task

Layer = tuple[str, Values]
Optimiser = Literal["adam", "adamw"]
Schedule = Literal["constant", "one_cycle", "steps"]
Own = TypeVar("Own", bound="TrainingConfig")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Everything that decides what a training run learns, apart from the network and the data.

    A task may have further fields, in a subclass of its own.

    Examples
    --------
    >>> TrainingConfig.for_task("segmentation", preset="paper").label_smoothing
    0.2
    >>> TrainingConfig.for_task("segmentation", preset="paper", epochs=2).epochs
    2
    """

    epochs: int = 30
    """Passes over the training set."""
    batch: int = 1
    """Meshes (or pairs of meshes) per step, over all processes together."""
    optimiser: Optimiser = "adam"
    """Adam, or Adam with decoupled weight decay."""
    learning_rate: float = 0.01
    """The largest step size."""
    weight_decay: float = 0.0
    """Pull of the weights towards zero; with adamw."""
    schedule: Schedule = "constant"
    """Keep the learning rate, raise it from a 25th and lower it to zero, or lower it in steps."""
    warm_up: float = 0.1
    """Share of the steps in which one_cycle raises the learning rate."""
    drop_every: int = 50
    """Epochs between two steps of the schedule steps."""
    drop: float = 0.5
    """Factor of the learning rate at each step of the schedule steps."""
    clip: float | None = None
    """Largest norm of the gradient, to which larger ones are scaled; None for no limit."""
    average: float | None = None
    """Decay of the moving average of the weights that is kept as the result; None keeps the last weights."""
    label_smoothing: float = 0.0
    """Share of each target spread over all classes."""
    rotate: bool = True
    """Turn every shape at random whenever training uses it; intrinsic features do not change."""
    stretch: float = 0.0
    """Scale the three axes of turned positions by random factors of up to 1 ± this."""
    reshaped: int = 0
    """Copies of each mesh with other proportions; an epoch shows every mesh once, as it is or as a copy."""
    reshaping: float = 1.0
    """Strength of reshaping: 1 changes thickness by about a third and lengths by a fifth."""
    damaged: int = 0
    """Copies of each mesh with holes, cuts, noise and other triangles, like scans; shown in turns."""
    damaging: float = 1.0
    """Strength of damage: 1 is that of poor scans, see docs/damage.md."""
    validation: float = 0.0
    """Share of the training set that is held out to choose the best epoch."""
    patience: int | None = None
    """Stop after this many epochs without a better validation; None never stops early."""
    seed: int = 0
    """Seed of everything random: two runs with one seed on one machine are identical."""

    def __post_init__(self) -> None:
        check_choices(self, optimiser=get_args(Optimiser), schedule=get_args(Schedule))
        check_range(self, "a whole number from 1 up", lambda n: n >= 1, "epochs", "batch", "drop_every")
        check_range(self, "a positive number", lambda x: 0 < x < float("inf"), "learning_rate")
        shares = ("warm_up", "label_smoothing", "validation", "stretch")
        check_range(self, "a number from 0 to below 1", lambda x: 0 <= x < 1, *shares)
        check_range(self, "a number above 0 and up to 1", lambda x: 0 < x <= 1, "drop")
        check_range(self, "a number above 0 and up to 2", lambda x: 0 < x <= 2, "reshaping", "damaging")
        check_range(self, "a whole number from 0 up", lambda n: n >= 0, "reshaped", "damaged", "seed")
        check_range(self, "a number from 0 up", lambda x: x >= 0, "weight_decay")
        check_range(self, "a positive number, or None for no limit", lambda x: x > 0, "clip")
        check_range(self, "a number between 0 and 1, or None", lambda x: 0 < x < 1, "average")
        check_range(self, "a whole number from 1 up, or None", lambda n: n >= 1, "patience")

    @property
    def copies_shown(self) -> tuple[int, int]:
        """Number of reshaped and damaged copies of each mesh, no more than the epochs can show.

        >>> TrainingConfig(reshaped=3, damaged=12, epochs=5).copies_shown
        (3, 1)
        """
        reshaped = min(self.reshaped, self.epochs - 1)
        return reshaped, min(self.damaged, self.epochs - 1 - reshaped)

    @classmethod
    def for_task(cls, task: str, *, preset: str = "default", **changes: Any) -> TrainingConfig:
        """Return the settings of a task's preset, with some fields changed."""
        from fieldconv.tasks import task_named

        return task_named(task).training_config(preset=preset, **changes)

    @classmethod
    def from_dict(cls: type[Own], values: Mapping[str, Any]) -> Own:
        """Build from `to_dict`'s output, or from a JSON or YAML file's content."""
        return cls(**checked(cls, dict(values)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return asdict(self)

    def changed(self: Own, **changes: Any) -> Own:
        """Return a copy with some fields changed, checked again."""
        checked(type(self), changes)
        return replace(self, **changes)


def check_range(settings: object, wanted: str, is_right: Callable[[float], bool], *names: str) -> None:
    """Raise ValueError if one of these fields is neither None nor in the range that ``wanted`` describes."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not is_right(value):
            raise ValueError(f"{name} is {value}; give {wanted}")


@dataclass(frozen=True, kw_only=True)
class Preset:
    """The values of a task that differ from the defaults."""

    training: Values = field(default_factory=dict)
    """Fields of `TrainingConfig`."""
    surface: Values = field(default_factory=dict)
    """Fields of `SurfaceSettings`, for any network that has them."""
    networks: Mapping[str, Values] = field(default_factory=dict)
    """Fields of a network's settings, by its name."""
    vertices: int | None = 1000
    """Vertices of the meshes for which the radius was chosen; None if it is the same on all meshes."""
    like: str = ""
    """Another preset of the task, whose values for training, surface and networks this one begins with."""

    def radius_for(self, vertices: int) -> float:
        """Return the radius for meshes of this many vertices; coarser ones need a larger one.

        >>> round(Preset(surface={"radius": 0.1}, vertices=4000).radius_for(1000), 3)
        0.2
        """
        radius = float(self.surface.get("radius", RADIUS))
        return radius if self.vertices is None else radius * max(1.0, self.vertices / vertices) ** 0.5


def shipped_presets(task: str) -> dict[str, Preset]:
    """Return the presets that `presets.yaml` has for a task.

    Examples
    --------
    >>> shipped_presets("segmentation")["quick"].training
    {'epochs': 14, 'damaged': 0}
    """
    return {name: Preset(**values) for name, values in task_presets(task).items()}


def merge(*layers: Layer) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the value of each field, and the name of the layer that it comes from; later layers win.

    Examples
    --------
    >>> merge(("preset quick", {"epochs": 14, "damaged": 0}), ("option", {"epochs": 3}))
    ({'epochs': 3, 'damaged': 0}, {'epochs': 'option', 'damaged': 'preset quick'})
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for name, layer in layers:
        values |= layer
        sources |= dict.fromkeys(layer, name)
    return values, sources


def training_layers(task: Task, preset: str, *, smallest_batch: int = 1) -> list[Layer]:
    """Return the training settings of a preset; a step has at least ``smallest_batch`` shapes."""
    layers = [(name, one.training) for name, one in _inherit(task, preset)]
    if merge(*layers)[0].get("batch", task.Config.batch) < smallest_batch:
        layers.append(("smallest batch of the network", {"batch": smallest_batch}))
    return layers


def recipe_layers(task: Task, network: type[Network]) -> list[Layer]:
    """Return the training settings of the paper that introduced a network.

    A network without its own, such as FCNet, has those of the preset that reaches its paper's numbers.
    """
    own = network.recipes.get(task.name, {})
    if network.recipe or own:
        name = f"recipe of {network.name}"
        return [(name, network.recipe), (f"{name} for {task.name}", own)]
    return training_layers(task, "reproduce" if "reproduce" in task.presets else "default")


def network_layers(
    task: Task, preset: str, config: type[NetworkConfig], *, network: str = "", creatures: int | None = None
) -> list[Layer]:
    """Return the settings of a network for a task and a preset.

    ``config`` is the class of the network's settings, ``network`` its name if they belong to another one, and
    ``creatures`` the number of vertices of the embedded creatures that are learnt from, if they are.
    """
    known, inherited = field_types(config), _inherit(task, preset)
    decided = {"head": task.head} | ({"outputs": task.default_outputs} if task.default_outputs else {})
    layers: list[Layer] = [(f"task {task.name}", decided)]
    layers += [(name, {k: v for k, v in one.surface.items() if k in known}) for name, one in inherited]
    like, own = config.like or config.network, network or config.network
    layers += [(f"preset {one} of {own}", config.presets.get(one, {})) for one in _ancestry(task, preset)]
    for kind in dict.fromkeys((like, config.network, network)):
        layers += [(name, one.networks.get(kind, {})) for name, one in inherited]
    if creatures is not None and "radius" in known and task.preset(preset).vertices is not None:
        usual = "default" if "default" in task.presets else preset
        radius = replace(task.preset(usual), surface=surface_values(task, usual)).radius_for(creatures)
        layers.append((f"creatures of {creatures} vertices", {"radius": radius}))
    return layers


def surface_values(task: Task, preset: str) -> dict[str, Any]:
    """Return the settings of a preset for preparing meshes."""
    return merge(*((name, one.surface) for name, one in _inherit(task, preset)))[0]


def _inherit(task: Task, preset: str) -> list[tuple[str, Preset]]:
    """Return a preset after those that it extends, each with its name in tables."""
    return [
        (f"preset {one}" if one == preset else f"preset {one}, which {preset} is like", task.preset(one))
        for one in _ancestry(task, preset)
    ]


def _ancestry(task: Task, preset: str) -> list[str]:
    """Return the name of a preset after the names of those that it extends."""
    chain: list[str] = []
    while not chain or (preset and preset not in chain):
        chain.insert(0, preset)
        preset = task.preset(preset).like
    return chain
