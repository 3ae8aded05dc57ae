"""Runs of one network with several seeds, and how two networks differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldconv.runs.run import Run, epochs_of
from fieldconv.tasks.base.metric import Metric

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Compared:
    """A network in a comparison: what it reached with each seed, and what it costs.

    Attributes
    ----------
    name : str
    runs : dict of int to Run
        Runs by seed.
    parameters : int
    preparation, step : float
        Seconds to prepare a mesh, and of a training step.
    memory : int or None
        Bytes that a training step needs.
    """

    name: str
    runs: Mapping[int, Run]
    parameters: int
    preparation: float
    step: float
    memory: int | None

    @property
    def metric(self) -> Metric:
        """The main number."""
        run = next(iter(self.runs.values()))
        return run.metric(next(iter(run.metrics)))

    def values(self, key: str) -> Floats:
        """Return a number of each run."""
        return np.array([run.metrics[key] for run in self.runs.values() if key in run.metrics])

    def mean(self, key: str) -> float:
        """Return the mean of a number over seeds."""
        return float(np.mean(self.values(key)))

    def text(self, key: str) -> str:
        """Return mean ± standard deviation over seeds."""
        values, metric = self.values(key), next(iter(self.runs.values())).metric(key)
        if len(values) > 1:
            return metric.text_with_spread(float(values.mean()), float(values.std(ddof=1)))
        return metric.text(float(values[0]) if len(values) else None)

    @property
    def trained(self) -> tuple[str, str]:
        """How many epochs its runs had, and the mean of their minutes of training."""
        logs = [run.history for run in self.runs.values()]
        epochs = sorted({len(epochs_of(log)) for log in logs})
        seconds = [float(np.nansum(log["seconds"])) for log in logs if "seconds" in log]
        spread = f"{epochs[0]} to {epochs[-1]}" if len(epochs) > 1 else str(epochs[0])
        return spread, f"{np.mean(seconds) / 60:,.1f}" if seconds else "–"

    def shape_numbers(self) -> dict[str, dict[int, float]]:
        """Return, for each test shape, the number by which it is judged with each seed."""
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

    def curve(self) -> Floats | None:
        """Return (k, 3) x, mean and standard deviation over seeds of the network's own curve, or None."""
        own = [next(iter(run.curves.values())) for run in self.runs.values() if run.curves]
        if not own or any(len(curve) != len(own[0]) for curve in own):
            return None
        heights = np.stack([curve[:, 1] for curve in own])
        spread = heights.std(0, ddof=1) if len(own) > 1 else np.zeros(len(own[0]))
        return np.stack([own[0][:, 0], heights.mean(0), spread], 1)

    def over_epochs(self, key: str) -> Floats:
        """Return (k, 3) epoch, mean and standard deviation over seeds of a column of the runs' logs."""
        logs = [run.history for run in self.runs.values()]
        epochs = min(len(log[key]) for log in logs)
        heights = np.stack([log[key][:epochs] for log in logs])
        spread = heights.std(0, ddof=1) if len(logs) > 1 else np.zeros(epochs)
        return np.stack([epochs_of(logs[0])[:epochs], heights.mean(0), spread], 1)

    def baselines(self) -> dict[str, Floats]:
        """Return (k, 2) curves that do not depend on the network, such as those of signatures."""
        run = next(iter(self.runs.values()))
        return dict(list(run.curves.items())[1:])


@dataclass(frozen=True)
class Difference:
    """How two networks differ on the same shapes.

    Attributes
    ----------
    one, other : str
        Names of the networks.
    mean : float
        Mean over shapes of the first one's number less the other's.
    shapes : int
    chance : float
        Probability of such a difference between networks that do equally well, corrected for all pairs.
    """

    one: str
    other: str
    mean: float
    shapes: int
    chance: float
