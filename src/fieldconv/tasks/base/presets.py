"""What presets say, and how settings are put together: a preset, then a file, then options.

Settings are merged from layers; later layers win. A layer has a name, which says where its values come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fieldconv._checked import field_types
from fieldconv._presets import Values, task_presets
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.networks.protocol import Network, NetworkConfig

if TYPE_CHECKING:
    from fieldconv.tasks.base.task import Task

Layer = tuple[str, Values]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """The values of a task that differ from the defaults.

    Parameters
    ----------
    training, surface : dict
        Fields of `TrainingConfig`, and of `SurfaceSettings` for any network that has them.
    networks : dict of str to dict
        Fields of a network's settings, by its name.
    vertices : int or None
        Vertices of the meshes for which the radius was chosen; on coarser ones it has to be larger. None if
        it is the same on all meshes.
    like : str
        Another preset of the task, whose values for training, surface and networks this one begins with.
    """

    training: Values = field(default_factory=dict)
    surface: Values = field(default_factory=dict)
    networks: Mapping[str, Values] = field(default_factory=dict)
    vertices: int | None = 1000
    like: str = ""

    def radius_for(self, vertices: int) -> float:
        """Return the radius for meshes of this many vertices; coarser ones need a larger one.

        Examples
        --------
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
    layers = [(name, one.training) for name, one in _inherited(task, preset)]
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
    known, inherited = field_types(config), _inherited(task, preset)
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
    return merge(*((name, one.surface) for name, one in _inherited(task, preset)))[0]


def _inherited(task: Task, preset: str) -> list[tuple[str, Preset]]:
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
