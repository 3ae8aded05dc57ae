"""Groups of runs that differ only in their seed: their means, and differences between groups."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fieldconv._arrays import Floats
from fieldconv.runs.run import Run, epochs_of
from fieldconv.tasks.base.metric import Metric, count


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ only in their seed; often there is just one."""

    name: str
    runs: Mapping[int, Run]
    """By seed, or by any other number."""
    labels: Mapping[int, str] = field(default_factory=dict, kw_only=True)
    """Names of the runs; by default they are made of group and seed."""

    @property
    def first(self) -> Run:
        return next(iter(self.runs.values()))

    @property
    def named_runs(self) -> dict[str, Run]:
        """The runs by their names."""
        return {self.labels.get(seed, f"{self.name}, seed {seed}"): run for seed, run in self.runs.items()}

    @property
    def facts(self) -> dict[str, str]:
        """Further columns of the table of results."""
        return {}

    @property
    def metric(self) -> Metric | None:
        """The first metric, if there is one."""
        main = next(iter(self.first.metrics), None)
        return None if main is None else self.first.metric(main)

    def values(self, key: str) -> Floats:
        """Return a metric of each run that has it."""
        return np.array([run.metrics[key] for run in self.runs.values() if key in run.metrics])

    def mean(self, key: str) -> float:
        """Return the mean of a metric over seeds, NaN if no run has it."""
        values = self.values(key)
        return float(values.mean()) if len(values) else math.nan

    def text(self, key: str) -> str:
        """Return mean ± standard deviation over seeds."""
        values, metric = self.values(key), self.first.metric(key)
        if len(values) > 1:
            return metric.text_with_spread(float(values.mean()), float(values.std(ddof=1)))
        return metric.text(float(values[0]) if len(values) else None)

    @property
    def goodness(self) -> float:
        """A number that is larger for a better mean of the first metric."""
        metric = self.metric
        return -math.inf if metric is None else metric.goodness(self.mean(metric.key))

    def curve(self) -> Floats | None:
        """Return (k, 3) x, mean and standard deviation over seeds of the first curve of the runs.

        None if there is none, or if the curves differ in their x.
        """
        own = [next(iter(run.curves.values())) for run in self.runs.values() if run.curves]
        if not own or any(len(curve) != len(own[0]) or (curve[:, 0] != own[0][:, 0]).any() for curve in own):
            return None
        return _mean_and_spread(own[0][:, 0], [curve[:, 1] for curve in own])

    def baselines(self) -> dict[str, Floats]:
        """Return the other curves (k, 2), which do not depend on the network, such as those of signatures."""
        return dict(list(self.first.curves.items())[1:])

    def over_epochs(self, key: str) -> Floats:
        """Return (k, 3) epoch, mean and standard deviation over seeds of a column of the runs' logs."""
        logs = [run.history for run in self.runs.values() if key in run.history]
        epochs = min(len(log[key]) for log in logs)
        return _mean_and_spread(epochs_of(logs[0])[:epochs], [log[key][:epochs] for log in logs])

    def parts(self) -> tuple[Floats, list[str], list[int]] | None:
        """Return mean intersection over union, name and number of each tested part; None if parts differ."""
        found = [own for run in self.runs.values() if (own := run.parts()) is not None]
        if not found or any(own[1] != found[0][1] for own in found):
            return None
        _, names, numbers = found[0]
        return np.mean([iou for iou, _, _ in found], axis=0), names, numbers


@dataclass(frozen=True)
class Compared(RunGroup):
    """A network in a comparison: what it reached with each seed, and what it costs."""

    parameters: int
    preparation: float  # seconds to prepare a mesh
    step: float  # seconds of a training step
    memory: int | None  # bytes that a step needs

    @property
    def metric(self) -> Metric:
        """The first metric."""
        return self.first.metric(next(iter(self.first.metrics)))

    @property
    def facts(self) -> dict[str, str]:
        """Cost of the training and of a step."""
        epochs, minutes = self.trained
        return {
            "epochs": epochs,
            "minutes": minutes,
            "parameters": f"{self.parameters:,}",
            "ms a step": f"{1000 * self.step:,.0f}",
            "memory of a step, MB": "–" if self.memory is None else f"{self.memory / 1e6:,.0f}",
            "ms to prepare a mesh": f"{1000 * self.preparation:,.0f}",
        }

    @property
    def trained(self) -> tuple[str, str]:
        """Number of epochs of the runs, and mean minutes of training."""
        logs = [run.history for run in self.runs.values()]
        epochs = sorted({len(epochs_of(log)) for log in logs})
        seconds = [float(np.nansum(log["seconds"])) for log in logs if "seconds" in log]
        spread = f"{epochs[0]} to {epochs[-1]}" if len(epochs) > 1 else str(epochs[0])
        return spread, f"{np.mean(seconds) / 60:,.1f}" if seconds else "–"

    def shape_numbers(self) -> dict[str, dict[int, float]]:
        """Return, for each test shape, the number by which shapes are ranked, with each seed."""
        found: dict[str, dict[int, float]] = {}
        for seed, run in self.runs.items():
            key, seen = run.rank_by or "", dict[str, int]()
            for shape in run.shapes:
                name = str(shape.get("name"))
                seen[name] = seen.get(name, 0) + 1
                value = shape.get(key)
                if value is not None:
                    again = f" ({seen[name]})" if seen[name] > 1 else ""
                    found.setdefault(name + again, {})[seed] = float(value)
        return found


@dataclass(frozen=True)
class Difference:
    """How two networks differ on the same shapes."""

    one: str
    other: str
    mean: float
    """Mean over shapes of the first one's number less the other's."""
    shapes: int
    chance: float
    """Probability of such a difference between networks that do equally well, corrected for all pairs."""


def group_by_seed(runs: Sequence[Run]) -> list[RunGroup]:
    """Return groups of runs that differ only in their seed, by task, best group and best run first."""
    names = _distinct_names(runs)
    found: dict[str, dict[int, Run]] = {}
    for number, run in enumerate(runs):
        same = {key: value for key, value in run.settings.items() if key.split(".")[-1] != "seed"}
        found.setdefault(json.dumps([run.task, same], sort_keys=True), {})[number] = run
    tasks = list(dict.fromkeys(run.task for run in runs))
    groups = []
    for members in found.values():
        alone = {number: RunGroup(names[number], {number: run}) for number, run in members.items()}
        best_first = sorted(alone, key=lambda number: -alone[number].goodness)
        others = len(members) - 1
        name = names[best_first[0]] + (f" and {count(others, 'other seed')}" if others else "")
        labels = {number: names[number] for number in members}
        groups.append(RunGroup(name, {number: members[number] for number in best_first}, labels=labels))
    return sorted(groups, key=lambda group: (tasks.index(group.first.task), -group.goodness))


def _mean_and_spread(at: Floats, heights: Sequence[Floats]) -> Floats:
    stacked = np.stack(heights)
    spread = stacked.std(0, ddof=1) if len(stacked) > 1 else np.zeros(stacked.shape[1])
    return np.stack([at, stacked.mean(0), spread], 1)


def _distinct_names(runs: Sequence[Run]) -> list[str]:
    """Return names of the runs, with the parent folder where names are equal."""
    own = [run.name for run in runs]
    names = list(own)
    for k, run in enumerate(runs):
        if run.folder and own.count(run.name) > 1:
            names[k] = f"{run.folder.resolve().parent.name}/{run.name}"
    return [name if names.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(names)]
