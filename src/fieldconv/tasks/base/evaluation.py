"""How well a network does on a test set: numbers, and what they mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from fieldconv._arrays import Floats
from fieldconv.tasks.base.metric import count
from fieldconv.tasks.base.metrics import MIN_SHAPES

if TYPE_CHECKING:
    from fieldconv.viz.notebook import Display

Record: TypeAlias = dict[str, Any]
"""Plain values by name, as JSON holds them."""


@dataclass(frozen=True, kw_only=True)
class Curves:
    """What the curves of an evaluation show, for reports and figures."""

    title: str = "Curves"
    x: str = ""
    y: str = ""
    percent: bool = False  # whether y is a share, shown in percent
    percent_x: bool = False
    diagonal: str = ""  # what y = x means, if it is to be drawn
    caption: str = ""

    @classmethod
    def from_dict(cls, values: Record) -> Curves:
        """Return the curves for plain values; missing ones have their defaults."""
        return cls(**{own.name: values[own.name] for own in fields(cls) if own.name in values})

    @property
    def axes(self) -> Record:
        """Arguments about the axes, for `lines` of figures."""
        return {name: getattr(self, name) for name in ("x", "y", "percent", "percent_x", "diagonal")}


@dataclass
class Evaluation:
    """How well a network does on a test set."""

    task: str
    metrics: dict[str, float]
    """Single numbers, the most important one first."""
    shapes: list[Record]
    """``name`` and numbers of each shape or pair; maybe a ``note``, and an ``order``, larger if better."""
    tables: dict[str, Floats] = field(default_factory=dict)
    """Confusion matrices and what else is not a single number."""
    curves: dict[str, Floats] = field(default_factory=dict)
    """(k, 2) x and y of each curve."""
    guesses: dict[str, tuple[str, float]] = field(default_factory=dict)
    """A way to guess a metric, and what it reaches; the commonest class is known from ``confusion``."""
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    """95 % intervals of metrics that are no means over ``shapes``; those of such means are known without."""
    class_names: tuple[str, ...] = ()
    part: str = "test"
    """"test": no shape was trained on; "train": all were; "all": most were."""
    rotations: int = 1
    """Orientations of each shape over which the network was averaged."""
    description: Record = field(default_factory=dict)
    """What metrics, curves and shapes mean: `Task.description`."""
    folder: Path | None = None
    """Where it was written to, if it was."""

    def report(self, *, height: int = 900) -> Display:
        """Show the report in a notebook: all numbers, curves and tables, and shapes if it has a folder.

        ``.save("report.html")`` writes it to a file.
        """
        from fieldconv.viz.notebook import show_report

        return show_report(self, height=height)

    def _repr_html_(self) -> str:
        from fieldconv.viz.notebook import evaluation_table

        return evaluation_table(self)

    @property
    def unit(self) -> str:
        """What was measured: shapes, or pairs, which have an arrow in their names."""
        what = "pair" if all(" → " in str(shape.get("name")) for shape in self.shapes) else "shape"
        return {"test": "test ", "train": "training "}.get(self.part, "") + what

    def vertex_count(self) -> int | None:
        """Return how many vertices were tested, if it is known."""
        numbers = [shape.get("vertices") for shape in self.shapes]
        known = [int(number) for number in numbers if is_number(number)]
        if numbers and len(known) == len(numbers):
            return sum(known)
        counts = self.tables.get("confusion")
        total = 0 if counts is None else round(float(counts.sum()))
        return total if total > len(self.shapes) else None  # else it counts shapes

    def amount(self) -> str:
        """Return how many shapes and vertices were tested; empty if that is not known."""
        if not self.shapes:
            return ""
        vertices = self.vertex_count()
        return count(len(self.shapes), self.unit) + (f", {count(vertices, 'vertex')}" if vertices else "")

    def measured_on(self) -> str:
        """Return a sentence on how many shapes were measured, and whether they are too few to trust."""
        if not self.shapes:
            return ""
        few = len(self.shapes) < MIN_SHAPES
        return f"Measured on {self.amount()}" + (": too few to say how far to trust it." if few else ".")

    def to_dict(self) -> Record:
        """Return plain values that JSON can hold; NaN as None."""
        names = ("task", "metrics", "part", "rotations", "guesses", "intervals", "class_names", "description")
        return {name: _plain(getattr(self, name)) for name in (*names, "tables", "curves", "shapes")}

    @classmethod
    def from_dict(cls, content: Record) -> Evaluation:
        """Return the evaluation for values of `to_dict`; missing ones are empty.

        Examples
        --------
        >>> found = Evaluation("segmentation", {"accuracy": 0.5}, [], {"iou": np.array([0.5, np.nan])})
        >>> Evaluation.from_dict(found.to_dict()).tables["iou"].tolist()
        [0.5, nan]
        """
        of = {key: content.get(key) or {} for key in ("metrics", "tables", "curves", "guesses", "intervals")}
        return cls(
            str(content.get("task") or ""),
            {key: float(value) for key, value in of["metrics"].items() if value is not None},
            [dict(shape) for shape in content.get("shapes") or ()],
            {key: np.array(rows, dtype=np.float64) for key, rows in of["tables"].items() if rows is not None},
            {key: np.array(rows, dtype=np.float64).reshape(-1, 2) for key, rows in of["curves"].items()},
            {key: (str(how), float(v)) for key, (how, v) in of["guesses"].items() if v is not None},
            {key: (float(a), float(b)) for key, (a, b) in of["intervals"].items() if None not in (a, b)},
            tuple(str(name) for name in content.get("class_names") or ()),
            str(content.get("part") or "test"),
            int(content.get("rotations") or 1),
            dict(content.get("description") or {}),
        )


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number.

    >>> [is_number(value) for value in (1, np.float32(0.5), float("nan"), True, "1", None)]
    [True, True, False, False, False, False]
    """
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value.tolist()] if value.ndim else _plain(value.item())
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
