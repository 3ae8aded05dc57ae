"""Everything a run was started with, as plain data, from the command line or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fieldconv._checked import checked, field_types, shown
from fieldconv._io import read_text, write_text
from fieldconv.datasets.source import DataSource
from fieldconv.networks import network_named
from fieldconv.networks.protocol import NetworkConfig
from fieldconv.tasks import task_named
from fieldconv.tasks.base import TrainingConfig
from fieldconv.training.checkpoint import load
from fieldconv.training.finetune import settings_from

FILE = "run.yaml"
NETWORK = "fcnet"
"""The network that is trained if none is named."""
PAPERS = ("paper", "reproduce")
"""Presets whose radius is the paper's on any mesh."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where and how a run is computed; the options are those of Lightning Fabric."""

    accelerator: str = "auto"
    """cpu, cuda, or auto for cuda if there is one."""
    devices: str = "1"
    """Number of processes or GPUs; with torchrun, as many as it starts on each machine."""
    strategy: str = "auto"
    """auto, or ddp for several processes."""
    num_nodes: int = 1
    """Number of machines."""
    precision: str = "32-true"
    """32-true, or bf16-mixed for GPUs."""
    threads: int | None = None
    """CPU threads of each process; None leaves it to torch."""

    def __post_init__(self) -> None:
        if "64" in self.precision:
            raise ValueError("precision is 64-true; surfaces are of single precision, choose 32-true or less")
        for name in ("num_nodes", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; give a whole number from 1 up")


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """All of a run's settings.

    Examples
    --------
    >>> settings = RunSettings.assemble("segmentation", preset="paper", changes={"epochs": 3, "blocks": 2})
    >>> settings.training.epochs, settings.network.blocks, settings.training.label_smoothing
    (3, 2, 0.2)
    """

    task: str
    preset: str
    network_name: str = NETWORK
    finetune: str | None = None
    source: DataSource = field(default_factory=DataSource)
    network: NetworkConfig
    training: TrainingConfig
    machine: Machine = field(default_factory=Machine)

    @classmethod
    def assemble(
        cls,
        task: str,
        *,
        preset: str | None = None,
        network: str | None = None,
        finetune: str | None = None,
        file: str | Path | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> RunSettings:
        """Return the preset, changed by the file, changed by ``changes``, which are fields of any part.

        With ``finetune``, a run or the name of a network to begin with, the network's settings are its own.
        """
        content = read_settings(file) if file is not None else {}
        finetune = finetune or content.get("finetune")
        begin: dict[str, Any] = {}
        if finetune is not None:
            base = load(finetune)
            network, begin = base.name, settings_from(base)
        if content.get("task", task) != task:
            raise ValueError(f"{file} is for {content['task']}, not {task}")
        preset = preset or content.get("preset", "default")
        name = network or content.get("network_name", NETWORK)
        kind, config = task_named(task), network_named(name).Config
        parts: dict[str, dict[str, Any]] = {}
        left = dict(changes or {})
        kinds: dict[str, type[Any]] = {
            "source": DataSource,
            "network": config,
            "training": kind.Config,
            "machine": Machine,
        }
        for part, known in kinds.items():
            given = content.get(part, {}) if part != "network" or name == _network_of(content) else {}
            own = {key: left.pop(key) for key in list(left) if key in field_types(known)}
            parts[part] = {**(begin if part == "network" else {}), **given, **own}
        if left:
            raise ValueError(f"unknown setting {sorted(left)[0]!r}")
        classes = parts["network"].pop("outputs", None) or kind.default_outputs or 1  # the data knows better
        source = DataSource.from_dict(parts["source"])
        free = "radius" in field_types(config) and "radius" not in parts["network"]
        if source.data is None and preset not in PAPERS and free:  # creatures may be coarse
            parts["network"]["radius"] = kind.preset("default").radius_for(source.vertices)
        return cls(
            task=task,
            preset=preset,
            network_name=name,
            finetune=finetune,
            source=source,
            network=kind.network_config(
                config, network=name, classes=classes, preset=preset, **parts["network"]
            ),
            training=kind.training_config(
                preset=preset, smallest_batch=network_named(name).smallest_batch, **parts["training"]
            ),
            machine=Machine(**checked(Machine, parts["machine"])),
        )

    def with_outputs(self, outputs: int | None) -> RunSettings:
        """Return the same with as many network outputs as the data has targets; None leaves them."""
        if outputs is None:
            return self
        return replace(self, network=self.network.changed(outputs=outputs))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON and YAML can hold."""
        return {
            "task": self.task,
            "preset": self.preset,
            "network_name": self.network_name,
            "finetune": self.finetune,
            "source": self.source.to_dict(),
            "network": self.network.to_dict(),
            "training": self.training.to_dict(),
            "machine": asdict(self.machine),
        }

    def save(self, path: str | Path) -> None:
        """Write YAML that ``--config`` reads."""
        import yaml

        write_text(path, yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True))


WHOLE = ("task", "preset", "network_name", "finetune")
PARTS = ("source", "network", "training", "machine")


def _network_of(content: Mapping[str, Any]) -> str:
    return str(content.get("network_name", NETWORK))


def read_settings(path: str | Path) -> dict[str, Any]:
    """Return the content of a YAML or JSON file of settings, its names checked."""
    import yaml

    try:
        text = read_text(path)
        content = json.loads(text) if str(path).endswith(".json") else yaml.load(text, _plain_yaml())
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read: {' '.join(str(error).split())[:300]}") from None
    except RecursionError:
        raise ValueError(f"{path} cannot be read: it is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds no settings; expected some of {', '.join((*WHOLE, *PARTS))}")
    content = {key: value for key, value in content.items() if value is not None}
    unknown = sorted(set(map(str, content)) - {*WHOLE, *PARTS})
    if unknown:
        raise ValueError(
            f"{path}: unknown part {shown(unknown[0])}; choose among {', '.join((*WHOLE, *PARTS))}"
        )
    for key in WHOLE:
        if not isinstance(content.get(key, ""), str):
            raise ValueError(f"{path}: {key} is {shown(content[key])}; give a name")
    machine = content.get("machine")
    if isinstance(machine, dict) and isinstance(machine.get("devices"), int):
        content["machine"] = {**machine, "devices": str(machine["devices"])}  # as one writes it in YAML
    for part in PARTS:
        values = content.get(part, {})
        if not isinstance(values, dict):
            raise ValueError(f"{path}: {part} is {shown(values)}; give its settings, by their names")
        try:
            _check_part(part, values, content)
        except ValueError as error:
            raise ValueError(f"{path}: {part}: {error}") from None
    return content


def _plain_yaml() -> Any:
    """The safe loader of YAML without references, of which a few lines can mean gigabytes."""
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it has references (*), which settings do without")
            return super().compose_node(parent, index)

    return Plain


def _check_part(part: str, values: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    """Raise ValueError if a part of a settings file has unknown names or wrong types."""
    if part == "source":
        checked(DataSource, values)
    elif part == "machine":
        checked(Machine, values)
    elif part == "network":
        checked(network_named(_network_of(content)).Config, values)
    else:
        kind = task_named(str(content["task"])).Config if "task" in content else TrainingConfig
        kind.from_dict({**asdict(kind()), **values})
