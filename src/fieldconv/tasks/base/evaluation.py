"""How well a network does on a test set, and what its numbers mean."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fieldconv.viz.notebook import Display
    from fieldconv.viz.run_folder import Run


@dataclass(frozen=True, kw_only=True)
class Curves:
    """What the curves of an evaluation show, for reports and figures.

    Parameters
    ----------
    title, caption : str
    x, y : str
        What the axes are.
    percent, percent_x : bool
        Whether y, and x, is a share, shown in percent.
    diagonal : str
        What the diagonal y = x means, if it is to be drawn.
    """

    title: str
    x: str
    y: str
    percent: bool = False
    percent_x: bool = False
    diagonal: str = ""
    caption: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return asdict(self)


@dataclass
class Evaluation:
    """How well a network does on a test set.

    Attributes
    ----------
    task : str
    metrics : dict of str to float
        Single numbers, the most important one first.
    shapes : list of dict
        For each shape or pair its name and its own numbers; maybe a ``note`` in words, and an ``order`` by
        which best and worst are told.
    tables : dict of str to arrays
        Confusion matrices and what else is not a single number.
    curves : dict of str to (k, 2) arrays
        Curves by name: x, y.
    guesses : dict of str to (str, float)
        For metrics: a way to guess, such as "a random vertex", and what it reaches. Of tasks with a table
        ``confusion``, the commonest class is known without.
    intervals : dict of str to (float, float)
        95 % intervals of metrics that are no means over ``shapes``; those of such means are known without.
    class_names : tuple of str
    part : str
        "test": no shape was trained on; "train": all were; "all": most were.
    rotations : int
        Orientations of each shape over which the network was averaged.
    description : dict
        What metrics, curves and shapes mean: `Task.description`.
    folder : Path or None
        Where it was written to, if it was.
    """

    task: str
    metrics: dict[str, float]
    shapes: list[dict[str, Any]]
    tables: dict[str, NDArray[Any]] = field(default_factory=dict)
    curves: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    guesses: dict[str, tuple[str, float]] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()
    part: str = "test"
    rotations: int = 1
    description: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    def report(self, *, height: int = 900) -> Display:
        """Show the report in a notebook: all numbers, curves and tables, and shapes if it has a folder.

        About 5 MB, as it brings its plotting along; ``.save("report.html")`` writes it to a file.
        """
        from fieldconv.viz.notebook import show_report

        return show_report(self.folder, self.to_dict(), height=height)

    def _repr_html_(self) -> str:
        from fieldconv.viz.notebook import table
        from fieldconv.viz.trust import beside, remarks

        run = self.as_run()
        rows = {}
        for key, value in self.metrics.items():
            told = beside(run, key)
            rows[run.metric(key).label] = run.metric(key).text(value) + (f" ({told})" if told else "")
        known = " ".join((self.measured_on(), *remarks(run)))
        return table(rows, caption=f"{self.task.capitalize()}: {known[0].lower()}{known[1:]}")

    def as_run(self) -> Run:
        """Return the evaluation as reports read it from a run's folder."""
        from fieldconv.viz.run_folder import Run

        return Run(self.folder or Path(), evaluation=self.to_dict(), description=self.description)

    def measured_on(self) -> str:
        """Return on how much the numbers were measured, and whether that is too little to trust them."""
        from fieldconv.viz.trust import measured_on

        return measured_on(self.as_run())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; NaN as None."""
        return {
            "task": self.task,
            "metrics": {key: _plain(value) for key, value in self.metrics.items()},
            "part": self.part,
            "rotations": self.rotations,
            "guesses": {key: [how, _plain(value)] for key, (how, value) in self.guesses.items()},
            "intervals": {key: list(interval) for key, interval in self.intervals.items()},
            "class_names": list(self.class_names),
            "description": self.description,
            "tables": {key: _plain(value) for key, value in self.tables.items()},
            "curves": {key: _plain(value) for key, value in self.curves.items()},
            "shapes": [{key: _plain(value) for key, value in shape.items()} for shape in self.shapes],
        }


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value.tolist()] if value.ndim else _plain(value.item())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
