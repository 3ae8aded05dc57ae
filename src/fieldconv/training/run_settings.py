"""Settings of a run: put together from a preset, a file and options; read and written."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from fieldconv._checked import Plain, check_count, checked, field_types, shown
from fieldconv._io import read_text, write_text
from fieldconv.datasets.source import DataSource
from fieldconv.networks import network_named
from fieldconv.networks.protocol import NetworkConfig
from fieldconv.tasks import task_named
from fieldconv.tasks.base import TrainingConfig
from fieldconv.tasks.base.training_config import Layer, merge, network_layers, recipe_layers, training_layers
from fieldconv.training.checkpoint import load

FILE = "run.yaml"
NETWORK = "fcnet"
"""The default network."""
Recipe = Literal["common", "own"]
"""Training settings of the preset, or of the paper that introduced a network."""


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
        check_count("num_nodes", self.num_nodes)
        if self.threads is not None:
            check_count("threads", self.threads)


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
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Where each value comes from, by names such as "training.epochs"; see `explain`."""

    @classmethod
    def assemble(
        cls,
        task: str,
        *,
        preset: str | None = None,
        network: str | None = None,
        finetune: str | None = None,
        file: str | Path | None = None,
        recipe: Recipe = "common",
        changes: Mapping[str, Any] | None = None,
    ) -> RunSettings:
        """Return the preset, changed by the file, changed by ``changes``, which are fields of any part.

        With ``finetune``, a run or the name of a network to begin with, the network's settings are its own.
        """
        content = read_settings(file) if file is not None else {}
        if content.get("task", task) != task:
            raise ValueError(f"{file} is for {content['task']}, not {task}")
        named = {"task": task, "preset": preset, "network_name": network, "finetune": finetune}
        in_file = f"file {file}"
        whole, sources = merge(
            ("default", {"preset": "default", "network_name": NETWORK, "finetune": None}),
            (in_file, {key: content[key] for key in WHOLE if key in content}),
            ("option", {key: value for key, value in named.items() if value}),
        )
        base = load(whole["finetune"]) if whole["finetune"] else None
        own = base.config.to_dict() if base else {}
        own = {key: value for key, value in own.items() if key not in ("head", "outputs")}  # set by the data
        begin: Layer = (f"finetune {whole['finetune']}", own)
        if base:
            whole["network_name"], sources["network_name"] = base.name, begin[0]
        kind, model = task_named(task), network_named(whole["network_name"])
        kinds = _kinds(task, whole["network_name"])
        options = _by_part(kinds, changes or {})
        if whole["network_name"] != content.get("network_name", NETWORK):
            content.pop("network", None)  # it is of another network

        def settled(part: str, *layers: Layer) -> Plain:
            values, where = merge(*layers, (in_file, content.get(part, {})), ("option", options[part]))
            for key in field_types(kinds[part]):
                sources[f"{part}.{key}"] = where.get(key, "default")
            return values

        source = DataSource.from_dict(settled("source"))
        preset, name = whole["preset"], whole["network_name"]
        if recipe == "own":
            training = recipe_layers(kind, model)
        else:
            training = training_layers(kind, preset, smallest_batch=model.smallest_batch)
        creatures = source.vertices if source.data is None else None
        shape = network_layers(kind, preset, model.Config, network=name, creatures=creatures)
        any_number: Layer = ("default, until the data is read", {"outputs": 1})
        return cls(
            **whole,
            source=source,
            network=model.Config.from_dict(settled("network", any_number, *shape, begin)),
            training=kind.Config.from_dict(settled("training", *training)),
            machine=Machine(**checked(Machine, settled("machine"))),
            sources=sources,
        )

    def changed(self, why: str, **parts: Mapping[str, Any]) -> RunSettings:
        """Return the same with some values changed, which come from ``why``.

        Examples
        --------
        >>> settings = RunSettings.assemble("segmentation").changed("the data", network={"outputs": 5})
        >>> settings.network.outputs, settings.sources["network.outputs"]
        (5, 'the data')
        """
        sources = dict(self.sources)
        for part, values in parts.items():
            sources |= {f"{part}.{key}": why for key in values}
        changed = {part: replace(getattr(self, part), **values) for part, values in parts.items()}
        return replace(self, **changed, sources=sources)

    def with_outputs(self, outputs: int | None) -> RunSettings:
        """Return the same with as many network outputs as the data has targets; None leaves them."""
        return self if outputs is None else self.changed("the data", network={"outputs": outputs})

    def to_dict(self) -> Plain:
        """Return plain values that JSON and YAML can hold."""
        whole = {key: getattr(self, key) for key in WHOLE}
        parts = {part: getattr(self, part).to_dict() for part in ("source", "network", "training")}
        return {**whole, **parts, "machine": asdict(self.machine)}

    def save(self, path: str | Path) -> None:
        """Write YAML that ``--config`` reads."""
        write_text(path, yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True))


def explain(settings: RunSettings) -> str:
    """Return a table of all settings: name, value, and where it comes from.

    Examples
    --------
    >>> table = explain(RunSettings.assemble("segmentation", network="hsn", preset="quick"))
    >>> [" ".join(line.split()) for line in table.splitlines() if "learning_rate" in line]
    ['training.learning_rate 0.01 preset default, which quick is like']
    """
    content = settings.to_dict()
    values = {key: content[key] for key in WHOLE}
    values |= {f"{part}.{key}": value for part in PARTS for key, value in content[part].items()}
    rows = [("setting", "value", "from")]
    for name, value in values.items():
        text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        rows.append((name, text, settings.sources.get(name, "")))
    wide = [max(len(row[column]) for row in rows) for column in range(2)]
    return "\n".join(f"{name:{wide[0]}}  {value:{wide[1]}}  {source}" for name, value, source in rows)


WHOLE = ("task", "preset", "network_name", "finetune")
PARTS = ("source", "network", "training", "machine")


def _kinds(task: str | None, network: str) -> dict[str, type[Any]]:
    """Return the class of each part; without a task, the training settings that all tasks have."""
    training = task_named(task).Config if task is not None else TrainingConfig
    network_config = network_named(network).Config
    return {"source": DataSource, "network": network_config, "training": training, "machine": Machine}


def _by_part(kinds: Mapping[str, type[object]], changes: Mapping[str, Any]) -> dict[str, Plain]:
    """Return the settings of each part; raise ValueError for one that no part has."""
    fields = {part: field_types(kind) for part, kind in kinds.items()}
    known = [name for names in fields.values() for name in names]
    unknown = sorted(set(changes) - set(known))
    if unknown:
        near = difflib.get_close_matches(unknown[0][:100], known, 1, 0.75)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"unknown setting {unknown[0]!r}{hint}")
    return {
        part: {key: value for key, value in changes.items() if key in names} for part, names in fields.items()
    }


def read_settings(path: str | Path) -> Plain:
    """Return the content of a YAML or JSON file of settings, its names and types checked."""
    try:
        text = read_text(path)
        content = json.loads(text) if str(path).endswith(".json") else yaml.load(text, _PlainYaml)
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read: {' '.join(str(error).split())[:300]}") from None
    except RecursionError:
        raise ValueError(f"{path} cannot be read: it is nested too deeply") from None
    names = ", ".join((*WHOLE, *PARTS))
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds no settings; expected some of {names}")
    content = {key: value for key, value in content.items() if value is not None}
    unknown = sorted(set(map(str, content)) - {*WHOLE, *PARTS})
    if unknown:
        raise ValueError(f"{path}: unknown part {shown(unknown[0])}; choose among {names}")
    for key in WHOLE:
        if not isinstance(content.get(key, ""), str):
            raise ValueError(f"{path}: {key} is {shown(content[key])}; give a name")
    machine = content.get("machine")
    if isinstance(machine, dict) and isinstance(machine.get("devices"), int):
        content["machine"] = {**machine, "devices": str(machine["devices"])}  # YAML reads it as a number
    for part in PARTS:
        values = content.get(part, {})
        if not isinstance(values, dict):
            raise ValueError(f"{path}: {part} is {shown(values)}; give its settings, by their names")
        try:
            kind = _kinds(content.get("task"), content.get("network_name", NETWORK))[part]
            checked(kind, values)
            if part == "training":
                kind.from_dict(values)  # checks ranges; other parts need their preset for that
        except ValueError as error:
            raise ValueError(f"{path}: {part}: {error}") from None
    return content


class _PlainYaml(yaml.SafeLoader):
    """YAML without references, which can make gigabytes of a few lines."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has references (*), which settings do without")
        return super().compose_node(parent, index)
