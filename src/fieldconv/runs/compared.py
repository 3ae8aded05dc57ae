"""Networks in a comparison: what they reached and cost, and how two of them differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldconv.runs.groups import RunGroup
from fieldconv.runs.run import epochs_of
from fieldconv.tasks.base.metric import Metric


@dataclass(frozen=True)
class Compared(RunGroup):
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

    parameters: int
    preparation: float
    step: float
    memory: int | None

    @property
    def metric(self) -> Metric:
        """The main number."""
        return self.first.metric(next(iter(self.first.metrics)))

    @property
    def facts(self) -> dict[str, str]:
        """What training took, and what a step costs."""
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
