"""The runs of a comparison, and their settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from fieldconv._checked import field_types
from fieldconv.datasets.source import DataSource
from fieldconv.networks import network_named
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Task
from fieldconv.training.settings import Machine, Recipe, RunSettings


def plan_runs(
    task: str,
    networks: Sequence[str],
    *,
    seeds: int = 3,
    recipe: Recipe = "common",
    preset: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> list[RunSettings]:
    """Return the runs of a comparison, network by network; the parameters are those of `compare`.

    A network goes without a setting in ``changes`` that only another of them has.

    Examples
    --------
    >>> runs = plan_runs("segmentation", ["fcnet", "diffusionnet"], seeds=2, recipe="own", preset="tiny")
    >>> [(run_name(run), run.training.learning_rate) for run in runs[1:3]]
    [('fcnet-seed-1', 0.005), ('diffusionnet-seed-0', 0.001)]
    """
    if recipe not in get_args(Recipe):
        raise ValueError(f"recipe is {recipe!r}; choose common or own")
    if seeds < 1:
        raise ValueError(f"seeds is {seeds}; give a whole number from 1 up")
    if not networks:
        raise ValueError("no networks to compare; name at least one")
    twice = [name for name in dict.fromkeys(networks) if list(networks).count(name) > 1]
    if twice:
        raise ValueError(f"the network {twice[0]} is named twice")
    kind = task_named(task)
    preset = preset or ("quick" if "quick" in kind.presets else "default")
    settings = {name: _settings(kind, name, recipe, preset, changes or {}, networks) for name in networks}
    first = next(iter(settings.values())).source.split_seed
    return [
        own.changed("the comparison", training={"seed": seed}, source={"split_seed": first + seed})
        for own in settings.values()
        for seed in range(own.training.seed, own.training.seed + seeds)
    ]


def run_name(settings: RunSettings) -> str:
    """Return the name of the folder of a run."""
    return f"{settings.network_name}-seed-{settings.training.seed}"


def with_epochs(settings: RunSettings, epochs: int) -> RunSettings:
    """Return the same with another number of epochs; a rate that falls in steps keeps its shape."""
    training = settings.training
    often = max(1, round(training.drop_every * epochs / training.epochs))
    return settings.changed("the comparison", training={"epochs": epochs, "drop_every": often})


def _settings(
    task: Task, name: str, recipe: Recipe, preset: str, changes: Mapping[str, Any], networks: Sequence[str]
) -> RunSettings:
    given = dict(changes)
    epochs = given.pop("epochs", None)
    elsewhere = {field for other in networks for field in field_types(network_named(other).Config)}
    kinds = (network_named(name).Config, task.Config, DataSource, Machine)
    known = {field for kind in kinds for field in field_types(kind)}
    fitting = {key: value for key, value in given.items() if key in known or key not in elsewhere}
    settings = RunSettings.assemble(task.name, preset=preset, network=name, recipe=recipe, changes=fitting)
    network_named(name)(settings.network)  # raises if it has no such head
    return settings if epochs is None else with_epochs(settings, epochs)
