"""How well a network does on a test set, and what its numbers mean."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Curves:
    """What the curves of an evaluation show, for reports and figures.

    Parameters
    ----------
    title, caption : str
    x, y : str
        What the axes are.
    percent : bool
        Whether y is a share, shown in percent.
    """

    title: str
    x: str
    y: str
    percent: bool = False
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
    class_names : tuple of str
    rotations : int
        Orientations of each shape over which the network was averaged.
    description : dict
        What metrics, curves and shapes mean: `Task.description`.
    """

    task: str
    metrics: dict[str, float]
    shapes: list[dict[str, Any]]
    tables: dict[str, NDArray[Any]] = field(default_factory=dict)
    curves: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()
    rotations: int = 1
    description: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; NaN as None."""
        return {
            "task": self.task,
            "metrics": {key: _plain(value) for key, value in self.metrics.items()},
            "rotations": self.rotations,
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
