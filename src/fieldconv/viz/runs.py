"""What a run folder holds, read for the report; see `fieldconv.viz.report` for the files."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv.geometry.mesh import Mesh
from fieldconv.tasks.wording import number, words
from fieldconv.viz import panels as pan
from fieldconv.viz.panels import Panel

Floats = NDArray[np.float64]

LOGS = ("log.csv", "metrics.csv")
EVALUATION = "evaluation"

# The number of a shape by which best and worst are told; more is better.
SCORES = {
    "classification": "accuracy",
    "segmentation": "accuracy",
    "correspondence": "within_0.05",
    "matching": "average_precision",
}


class RunError(ValueError):
    """A folder that is not a run, or a file in it that cannot be read."""


@dataclass(frozen=True)
class Run:
    """A run as its folder tells it.

    Attributes
    ----------
    config : dict
    history : dict of str to (epochs,) arrays
        Columns of the log; NaN where a value is missing.
    evaluation : dict
        ``Evaluation.to_dict()``; empty if the run has not been evaluated.
    """

    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    history: dict[str, Floats] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def task(self) -> str | None:
        return self.evaluation.get("task") or self.config.get("task")

    @property
    def data(self) -> str:
        """What the run was measured on, if that is said, else what it learnt from."""
        return str(self.config.get("data") or self.config.get("dataset") or "")

    @property
    def up(self) -> str:
        """Axis along which the shapes stand: z for the embedded creatures, y for most benchmarks."""
        return str(self.config.get("up") or ("z" if self.data.startswith("creatures") else "y"))

    @property
    def class_names(self) -> list[str]:
        return [
            str(name) for name in self.evaluation.get("class_names") or self.config.get("class_names") or []
        ]

    @property
    def metrics(self) -> dict[str, float]:
        found = self.evaluation.get("metrics") or {}
        return {key: float(value) for key, value in found.items() if value is not None}

    @property
    def curves(self) -> dict[str, Floats]:
        found = self.evaluation.get("curves") or {}
        return {str(name): np.array(rows, dtype=np.float64).reshape(-1, 2) for name, rows in found.items()}

    @property
    def shapes(self) -> list[dict[str, Any]]:
        return list(self.evaluation.get("shapes") or [])

    def table(self, name: str) -> Floats | None:
        """A table of the evaluation, NaN where it has nothing."""
        found = (self.evaluation.get("tables") or {}).get(name)
        return None if found is None else np.array(found, dtype=np.float64)

    def parts(self) -> tuple[Floats, list[str]] | None:
        """Intersection over union, and the name, of each part that occurs."""
        iou = self.table("iou")
        if iou is None:
            return None
        occurs = np.flatnonzero(~np.isnan(iou))
        return iou[occurs], self._names(occurs)

    def confusion(self) -> tuple[Floats, list[str]] | None:
        """Confusion matrix, and the names, of the classes that occur."""
        counts = self.table("confusion")
        if counts is None:
            return None
        occurs = np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1) > 0)
        return counts[np.ix_(occurs, occurs)], self._names(occurs)

    def _names(self, classes: NDArray[np.int64]) -> list[str]:
        names = self.class_names
        return [names[k] if k < len(names) else str(k) for k in classes.tolist()]

    @cached_property
    def descriptors(self) -> tuple[Floats, NDArray[np.int64]] | None:
        """(n, 2) points and (n,) labels of the t-SNE picture."""
        path = self.folder / EVALUATION / "descriptors.npz"
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as stored:
            return stored["points"].astype(np.float64), stored["labels"].astype(np.int64)

    def shape_files(self) -> list[tuple[int, Path]]:
        """Shapes that can be shown, by their place in `shapes`, worst first."""
        folder = self.folder / EVALUATION / "shapes"
        files = [(int(path.stem), path) for path in folder.glob("*.ply") if path.stem.isdecimal()]
        known = [(place, path) for place, path in files if place < len(self.shapes)]
        return sorted(known, key=lambda entry: score(self.task, self.shapes[entry[0]]))


def read_run(folder: str | Path) -> Run:
    """Read a run folder; files that are missing are left out.

    Raises
    ------
    RunError
        If there is no such folder, nothing of a run in it, or a file cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such run folder")
    config = _read_json(folder / "config.json")
    evaluation = _read_json(folder / EVALUATION / "metrics.json")
    history = next((_read_log(folder / name) for name in LOGS if (folder / name).exists()), {})
    if not config and not evaluation and not history:
        raise RunError(f"{folder}: not a run folder; it has neither config.json nor a log nor an evaluation")
    return Run(folder, config, history, evaluation)


def score(task: str | None, shape: dict[str, Any]) -> tuple[float, float]:
    """How well a shape was solved; between wrong classes, the less confident answer is the better."""
    value = shape.get(SCORES.get(task or "", "accuracy"))
    value = -1.0 if value is None else float(value)
    confidence = float(shape.get("confidence") or 0)
    return value, confidence if value > 0 else -confidence


def shape_panels(run: Run) -> list[Panel]:
    """The worst and the best shapes that the run folder has, worst first; at most four panels."""
    files = run.shape_files()
    most = {"matching": 2, "correspondence": 3}.get(run.task or "", 4)  # beside partners or the template
    if len(files) > most:
        files = files[: most // 2] + files[len(files) - (most - most // 2) :]
    shown = [(run.shapes[place], Mesh.load(path), _partner(path)) for place, path in files]
    template = _template(run)
    largest: dict[str, float] = {}
    for _, mesh, _ in shown:
        for name, values in mesh.vertex_data.items():
            largest[name] = max(largest.get(name, 0.0), float(np.nanmax(np.abs(values), initial=0)))
    panels = []
    if template is not None and any("match" in mesh.vertex_data for _, mesh, _ in shown):
        every = np.arange(len(template.vertices))
        panels.append(
            Panel(
                mesh=template, title="Template", colourings=[pan.carried("Correspondence", template, every)]
            )
        )
    for place, (shape, mesh, partner) in enumerate(shown):
        standing = "worst" if place < len(shown) // 2 else "best"
        title, _, other = str(shape.get("name", mesh.name)).partition(" → ")
        panels.append(
            Panel(
                mesh=mesh,
                title=title,
                note=f"{standing}: {describe(run, shape)}" if len(shown) > 1 else describe(run, shape),
                colourings=_colourings(run, mesh, template, largest),
            )
        )
        if partner is not None:
            panels.append(
                Panel(mesh=partner, title=other or partner.name, note="matched with the one before")
            )
    return panels


def describe(run: Run, shape: dict[str, Any]) -> str:
    """A shape's result in a few words."""
    if "predicted" in shape and "truth" in shape:
        names = run.class_names
        truth, predicted = (
            names[k] if 0 <= k < len(names) else str(k) for k in (shape["truth"], shape["predicted"])
        )
        sure = f" ({100 * shape['confidence']:.0f} %)" if shape.get("confidence") is not None else ""
        return f"{truth}{sure}" if truth == predicted else f"{truth}, predicted {predicted}{sure}"
    key = SCORES.get(run.task or "", "accuracy")
    value = shape.get(key)
    return "" if value is None else f"{words(key)} {number(key, value)}"


def _colourings(
    run: Run, mesh: Mesh, template: Mesh | None, largest: dict[str, float]
) -> list[pan.Colouring]:
    data = mesh.vertex_data
    found: list[pan.Colouring] = []
    names = run.class_names
    if "prediction" in data:
        found.append(pan.labels("Prediction", data["prediction"], names))
    if "truth" in data:
        found.append(pan.labels("Truth", data["truth"], names))
    if "prediction" in data and "truth" in data:
        wrong = np.where(data["truth"] < 0, np.nan, data["prediction"] != data["truth"])
        found.append(pan.error("Wrong", wrong, largest=1.0))
    if "match" in data and template is not None:
        found.append(pan.carried("Correspondence", template, data["match"]))
    if "error" in data:
        found.append(pan.error("Geodesic error", data["error"], largest=largest["error"]))
    if "rank" in data:
        found.append(pan.error("Rank of the first right match", data["rank"], largest=largest["rank"]))
    for name in sorted((n for n in data if n.startswith("feature_")), key=lambda n: int(n.split("_")[1])):
        found.append(pan.field(f"Feature {name.split('_')[1]}", data[name], largest_of_all=largest[name]))
    return found


def _template(run: Run) -> Mesh | None:
    places = (run.folder / EVALUATION / "template.ply", run.folder / "template.ply")
    return next((Mesh.load(path) for path in places if path.exists()), None)


def _partner(path: Path) -> Mesh | None:
    """The other mesh of a pair."""
    other = path.with_name(f"{path.stem}-model.ply")
    return Mesh.load(other) if other.exists() else None


def _read_json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise RunError(f"{path} holds no settings or results: expected a JSON object")
    return content


def _read_log(path: Path) -> dict[str, Floats]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    columns = dict.fromkeys(key for row in rows for key in row if key)
    return {key: np.array([_float(row.get(key)) for row in rows]) for key in columns}


def _float(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
