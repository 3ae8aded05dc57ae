"""Everything a run was started with, as plain data, from the command line or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from fieldconv._io import atomic_path
from fieldconv.models.config import FCNetConfig, Preset, Task
from fieldconv.settings import checked
from fieldconv.tasks.presets import Machine, TrainingConfig

FILE = "run.yaml"


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Where the meshes come from: a folder, or embedded creatures if there is none."""

    data: str | None = None
    """Folder of a benchmark or of your own meshes; embedded creatures if not given."""
    hold_out: str | None = None
    """Train without these and test on them: numbers such as 70:80, a pattern of names such as *scape*, or a
    share such as 10% drawn at random. Of pairs, those of two such shapes are tested."""
    split_seed: int = 0
    """Draws the test part where a set does not say what it is."""
    meshes: int | None = None
    """Number of embedded creatures to train on, and a fifth as many to test on."""
    vertices: int = 1000
    """Of each embedded creature."""
    species: tuple[str, ...] | None = None
    """Of embedded creatures; all if not given, for correspondence quadruped."""
    difficulty: str = "clean"
    """Of embedded creatures: clean, posed, noise, holes, hard …"""

    def __post_init__(self) -> None:
        if self.meshes is not None and self.meshes < 1:
            raise ValueError(f"meshes is {self.meshes}; give a whole number from 1 up")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DataSource:
        """From what a file holds, in which a tuple is a list."""
        plain = checked(cls, values)
        if plain.get("species") is not None:
            plain["species"] = tuple(plain["species"])
        return cls(**plain)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """All of a run's settings.

    Examples
    --------
    >>> settings = RunSettings.assemble("segmentation", preset="paper", changes={"epochs": 3, "blocks": 2})
    >>> settings.training.epochs, settings.network.blocks, settings.training.label_smoothing
    (3, 2, 0.2)
    """

    task: Task
    preset: Preset
    source: DataSource = field(default_factory=DataSource)
    network: FCNetConfig
    training: TrainingConfig
    machine: Machine = field(default_factory=Machine)

    @classmethod
    def assemble(
        cls,
        task: Task,
        *,
        preset: Preset | None = None,
        file: str | Path | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> RunSettings:
        """The preset, changed by the file, changed by ``changes``, which are fields of any part."""
        content = read_settings(file) if file is not None else {}
        if content.get("task", task) != task:
            raise ValueError(f"{file} is for {content['task']}, not {task}")
        preset = preset or content.get("preset", "default")
        parts: dict[str, dict[str, Any]] = {}
        left = dict(changes or {})
        for part, kind in PARTS.items():
            names = {f.name for f in fields(kind)}
            parts[part] = {**content.get(part, {}), **{k: left.pop(k) for k in list(left) if k in names}}
        if left:
            raise ValueError(f"unknown setting {sorted(left)[0]!r}")
        outputs = parts["network"].pop("outputs", 1)  # the data knows better
        source = DataSource.from_dict(parts["source"])
        if source.data is None and preset != "paper" and "radius" not in parts["network"]:
            parts["network"]["radius"] = creature_radius(task, source.vertices)
        return cls(
            task=task,
            preset=preset,
            source=source,
            network=FCNetConfig.for_task(task, preset=preset, outputs=outputs, **parts["network"])
            if task != "matching"
            else FCNetConfig.for_task(task, preset=preset, **parts["network"]),
            training=TrainingConfig.for_task(task, preset=preset, **parts["training"]),
            machine=Machine(**parts["machine"]),
        )

    def with_outputs(self, outputs: int) -> RunSettings:
        """The same with as many network outputs as the data has targets."""
        return replace(self, network=self.network.changed(outputs=outputs))

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON and YAML can hold."""
        return {
            "task": self.task,
            "preset": self.preset,
            "source": {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self.source).items()},
            "network": self.network.to_dict(),
            "training": self.training.to_dict(),
            "machine": asdict(self.machine),
        }

    def save(self, path: str | Path) -> None:
        """Write YAML that ``--config`` reads."""
        import yaml

        with atomic_path(path) as temporary:
            temporary.write_text(yaml.safe_dump(self.to_dict(), sort_keys=False))


def creature_radius(task: Task, vertices: int) -> float:
    """The radius of the task, larger if creatures are coarser than the meshes it was chosen for.

    Examples
    --------
    >>> creature_radius("correspondence", 5000), round(creature_radius("correspondence", 1000), 2)
    (0.075, 0.17)
    """
    radius, meant = {"correspondence": (0.075, 5000), "matching": (0.1, 2048)}.get(task, (0.2, 1000))
    return float(radius * max(1.0, meant / vertices) ** 0.5)


PARTS: dict[str, type[Any]] = {
    "source": DataSource,
    "network": FCNetConfig,
    "training": TrainingConfig,
    "machine": Machine,
}


def read_settings(path: str | Path) -> dict[str, Any]:
    """The content of a YAML or JSON file of settings, its names checked."""
    import yaml

    text = Path(path).read_text()
    try:
        content = json.loads(text) if str(path).endswith(".json") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds no settings; expected some of task, preset, {', '.join(PARTS)}")
    content = {key: value for key, value in content.items() if value is not None}
    unknown = sorted(set(content) - {"task", "preset", *PARTS})
    if unknown:
        raise ValueError(
            f"{path}: unknown part {unknown[0]!r}; choose among task, preset, {', '.join(PARTS)}"
        )
    machine = content.get("machine")
    if isinstance(machine, dict) and isinstance(machine.get("devices"), int):
        content["machine"] = {**machine, "devices": str(machine["devices"])}  # as one writes it in YAML
    for part, kind in PARTS.items():
        values = content.get(part, {})
        if not isinstance(values, dict):
            raise ValueError(f"{path}: {part} is {values!r}; give its settings, by their names")
        try:
            checked(kind, values)
        except ValueError as error:
            raise ValueError(f"{path}: {part}: {error}") from None
    return content
