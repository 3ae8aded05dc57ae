"""What a run folder holds, read for the report.

Whatever is missing is left out of the page.

``config.json``
    Settings as nested JSON, shown as they are. ``task`` and ``data`` (or ``dataset``) name what was learnt
    and measured; ``up`` is the axis along which the shapes stand ("x", "y" or "z"); ``benchmark`` holds
    published results: ``{"name", "metric", "source", "results": [[method, value], …]}``.
``log.csv`` (or ``metrics.csv``)
    One row per epoch under a line of names. ``epoch`` is the x axis.
``evaluation/metrics.json``
    ``task``, ``metrics``, ``class_names``, ``tables`` (``confusion`` and ``iou`` are drawn), ``curves``
    (name to rows of x, y), ``guesses`` (metric to a way to guess and what it reaches), ``intervals``
    (metric to its 95 % interval, unless it is a mean over shapes), ``part`` (see `Run.part`), ``shapes``
    (``name`` and own numbers of each test shape; ``note``: a text about it; ``order``: a number that is
    larger for better results) and ``description``, see `Run.description`.
``evaluation/shapes/<number>.ply``
    Best and worst test shapes with values at their vertices (`fieldconv.viz.values`); <number> is the place
    in ``shapes``. The other mesh of a pair is ``<number>-model.ply``.
``evaluation/template.ply`` or ``template.ply``
    Mesh that ``places`` at vertices refer to.
``evaluation/descriptors.npz``
    ``points`` (n, 2) and ``labels`` (n,): `fieldconv.viz.arrange`.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.viz.arrange import DESCRIPTORS
from fieldconv.viz.metric import Metric, metric_of
from fieldconv.viz.panels import Panel, magnitude
from fieldconv.viz.uncertainty import majority, mean_interval
from fieldconv.viz.values import VertexValues, colouring, read_shape

Floats = NDArray[np.float64]

LOG = "metrics.csv"
LOGS = ("log.csv", LOG)
EVALUATION, NUMBERS = "evaluation", "metrics.json"


class RunError(ValueError):
    """A folder that is not a run, or a file in it that cannot be read."""


@dataclass(frozen=True)
class CurveTexts:
    """Title, axes and caption of a run's curves."""

    title: str = "Curves"
    x: str = ""
    y: str = ""
    percent: bool = False
    percent_x: bool = False
    diagonal: str = ""
    caption: str = ""

    @property
    def axes(self) -> dict[str, Any]:
        """Arguments about the axes, for `lines` of plots and of figures."""
        return {name: getattr(self, name) for name in ("x", "y", "percent", "percent_x", "diagonal")}


@dataclass(frozen=True)
class Benchmark:
    """Published results to stand beside a run's own; empty where none were published as numbers."""

    name: str
    metric: str
    source: str = ""
    results: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Run:
    """A run as its folder tells it.

    Attributes
    ----------
    config : dict
    history : dict of str to (epochs,) arrays
        Columns of the log; NaN where a value is missing.
    evaluation : dict
        Content of ``evaluation/metrics.json``; empty if the run has not been evaluated.
    description : dict
        How to read the evaluation: ``metrics`` (key to `Metric.to_dict`), ``rank_by`` (key by which shapes
        are sorted), ``curves`` (`CurveTexts`), ``shapes_caption`` (text above the shapes). Any of them may
        be missing.
    """

    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    history: dict[str, Floats] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)
    description: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def task(self) -> str:
        """What was learnt, as the run names it; empty if it does not."""
        return str(self.evaluation.get("task") or self.config.get("task") or "")

    @property
    def data(self) -> str:
        """What the run was measured on, if that is said, else what it learnt from."""
        return str(self.config.get("data") or self.config.get("dataset") or "")

    @property
    def part(self) -> str:
        """Whether none ("test"), all ("train") or most ("all") of the measured shapes were trained on."""
        return str(self.evaluation.get("part") or "test")

    @property
    def up(self) -> str | None:
        """Axis along which the shapes stand, if it is known."""
        up = self.config.get("up")
        return up if up in ("x", "y", "z") else None

    @property
    def class_names(self) -> list[str]:
        found = self.evaluation.get("class_names") or self.config.get("class_names") or []
        return [str(name) for name in found]

    @property
    def metrics(self) -> dict[str, float]:
        """Measured numbers, the most important one first."""
        found = self.evaluation.get("metrics") or {}
        return {key: float(value) for key, value in found.items() if value is not None}

    @cached_property
    def known_metrics(self) -> dict[str, Metric]:
        """Metrics that the description describes."""
        found = self.description.get("metrics") or {}
        return {key: Metric.from_dict(key, values) for key, values in found.items()}

    def metric(self, key: str) -> Metric:
        """Return how a number of the evaluation or the log is called, written and judged."""
        return metric_of(key, self.known_metrics)

    @property
    def curves(self) -> dict[str, Floats]:
        found = self.evaluation.get("curves") or {}
        return {str(name): np.array(rows, dtype=np.float64).reshape(-1, 2) for name, rows in found.items()}

    @cached_property
    def curve_texts(self) -> CurveTexts:
        found = self.description.get("curves") or {}
        return CurveTexts(**{key: found[key] for key in CurveTexts.__dataclass_fields__ if key in found})

    @property
    def shapes(self) -> list[dict[str, Any]]:
        """Records of the test shapes, in the order in which they were tested."""
        return list(self.evaluation.get("shapes") or [])

    @property
    def shapes_caption(self) -> str:
        return str(self.description.get("shapes_caption") or "Worst and best test shapes.")

    @cached_property
    def rank_by(self) -> str | None:
        """Key of the number by which shapes are sorted: the described one, or the first that they have."""
        if (described := self.description.get("rank_by")) is not None:
            return str(described)
        numbers = [key for key, value in (self.shapes or [{}])[0].items() if _is_number(value)]
        return next((key for key in self.metrics if key in numbers), next(iter(numbers), None))

    def goodness(self, shape: Mapping[str, Any]) -> float:
        """Return a number that is larger for shapes that were solved better."""
        if _is_number(order := shape.get("order")):
            return float(order)
        key = self.rank_by or ""
        value = shape.get(key)
        return self.metric(key).goodness(value if _is_number(value) else None)

    def describe(self, shape: Mapping[str, Any]) -> str:
        """Return a shape's result in a few words."""
        if shape.get("note"):
            return str(shape["note"])
        if _is_number(shape.get("truth")) and _is_number(shape.get("predicted")):
            truth, predicted = (self.class_name(int(shape[key])) for key in ("truth", "predicted"))
            confidence = shape.get("confidence")
            sure = f" ({100 * confidence:.0f} %)" if _is_number(confidence) else ""
            return f"{truth}{sure}" if truth == predicted else f"{truth}, predicted {predicted}{sure}"
        key = self.rank_by
        if key is None or not _is_number(shape.get(key)):
            return ""
        return f"{self.metric(key).label} {self.metric(key).text(shape[key])}"

    @cached_property
    def benchmark(self) -> Benchmark | None:
        """Published results for the run's data, if it has any."""
        found = self.config.get("benchmark") or self.description.get("benchmark")
        if not found:
            return None
        results = tuple((str(method), float(value)) for method, value in found.get("results") or ())
        return Benchmark(str(found["name"]), str(found["metric"]), str(found.get("source", "")), results)

    def table(self, name: str) -> Floats | None:
        """Return a table of the evaluation, NaN where it has nothing."""
        found = (self.evaluation.get("tables") or {}).get(name)
        return None if found is None else np.array(found, dtype=np.float64)

    def parts(self) -> tuple[Floats, list[str], list[int]] | None:
        """Return intersection over union, name and number of each tested part."""
        iou = self.table("iou")
        if iou is None:
            return None
        counts = self.table("confusion")
        tested = ~np.isnan(iou) if counts is None else ~np.isnan(iou) & (counts.sum(axis=1) > 0)
        numbers = np.flatnonzero(tested).tolist()
        return iou[tested], [self.class_name(k) for k in numbers], numbers

    def confusion(self) -> tuple[Floats, list[str], list[str]] | None:
        """Return the confusion matrix, the names of its rows (tested classes) and of its columns."""
        counts = self.table("confusion")
        if counts is None or not counts.sum():
            return None
        rows = np.flatnonzero(counts.sum(axis=1) > 0)
        columns = np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1) > 0)
        true, predicted = ([self.class_name(k) for k in found.tolist()] for found in (rows, columns))
        return counts[np.ix_(rows, columns)], true, predicted

    def untested(self) -> list[str]:
        """Return the names of classes that no test shape has."""
        counts = self.table("confusion")
        if counts is None or not counts.sum():
            return []
        return [self.class_name(k) for k in np.flatnonzero(counts.sum(axis=1) == 0).tolist()]

    def vertex_count(self) -> int | None:
        """Return how many vertices were tested, if the run tells."""
        numbers = [shape.get("vertices") for shape in self.shapes]
        if numbers and all(map(_is_number, numbers)):
            return int(sum(numbers))  # type: ignore[arg-type]
        counts = self.table("confusion")
        total = 0 if counts is None else round(counts.sum())
        return total if total > len(self.shapes) else None  # else it counts shapes

    @cached_property
    def settings(self) -> dict[str, str]:
        """Settings by dotted names, without those that do not matter for how the run was made."""
        return {
            key: value
            for key, value in _flat(self.config).items()
            if key.split(".")[0] not in ("class_names", "metrics", "benchmark")
        }

    def averaged(self, key: str) -> tuple[Floats, Floats | None] | None:
        """Return the numbers of shapes whose mean a metric is, and their weights if the mean has any.

        None if the metric is no such mean, for example because it is computed from all vertices together.
        """
        value = self.metrics[key]
        numbers = {k: None for shape in self.shapes for k, number in shape.items() if _is_number(number)}
        for candidate in dict.fromkeys((key, key.removeprefix("mean_"), *numbers)):
            known = [shape for shape in self.shapes if _is_number(shape.get(candidate))]
            if candidate not in numbers or len(known) < max(len(self.shapes), 1):
                continue
            values = np.array([shape[candidate] for shape in known], dtype=np.float64)
            if math.isclose(values.mean(), value, rel_tol=1e-6):
                return values, None
            weights = np.array([shape.get("vertices") or 0 for shape in known], dtype=np.float64)
            if weights.all() and math.isclose(np.average(values, weights=weights), value, rel_tol=1e-6):
                return values, weights
        return None

    def interval(self, key: str) -> tuple[float, float] | None:
        """Return the 95 % interval of a metric over shapes like the tested ones, if it can be told."""
        given = (self.evaluation.get("intervals") or {}).get(key)
        if given is not None:
            return float(given[0]), float(given[1])
        averaged = self.averaged(key)
        return None if averaged is None else mean_interval(*averaged)

    def guess(self, key: str) -> tuple[str, float] | None:
        """Return a way to guess and what it reaches: as the evaluation says, or the commonest class."""
        given = (self.evaluation.get("guesses") or {}).get(key)
        if given is not None:
            return str(given[0]), float(given[1])
        counts = self.table("confusion")
        if counts is None or not counts.sum():
            return None
        if not math.isclose(np.trace(counts) / counts.sum(), self.metrics[key], abs_tol=1e-6):
            return None
        best, share = majority(counts)
        return f"always “{self.class_name(best)}”", share

    def class_name(self, number: int) -> str:
        """Return the name of a class, or its number if it has none."""
        names = self.class_names
        return names[number] if 0 <= number < len(names) else str(number)

    @cached_property
    def descriptors(self) -> tuple[Floats, NDArray[np.int64]] | None:
        """(n, 2) points and (n,) labels of the t-SNE picture."""
        path = self.folder / EVALUATION / DESCRIPTORS
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as stored:
            return stored["points"].astype(np.float64), stored["labels"].astype(np.int64)

    def shape_files(self) -> list[tuple[int, Path]]:
        """Return the shapes that can be shown, by their place in `shapes`, worst first."""
        folder = self.folder / EVALUATION / "shapes"
        files = [(int(path.stem), path) for path in folder.glob("*.ply") if path.stem.isdecimal()]
        known = sorted((place, path) for place, path in files if place < len(self.shapes))
        return sorted(known, key=lambda entry: self.goodness(self.shapes[entry[0]]))


def read_run(folder: str | Path, *, description: Mapping[str, Any] | None = None) -> Run:
    """Return what a run folder holds; files that are missing are left out.

    Parameters
    ----------
    folder : path
    description : dict, optional
        How to read the evaluation if the folder does not say (runs of version 0.1.0), see `Run`.

    Raises
    ------
    RunError
        If there is no such folder, nothing of a run in it, or a file cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such run folder")
    config = _read_json(folder / "config.json")
    evaluation = _read_json(folder / EVALUATION / NUMBERS)
    history = next((_read_log(folder / name) for name in LOGS if (folder / name).exists()), {})
    if not config and not evaluation and not history:
        raise RunError(f"{folder}: not a run folder; it has neither config.json nor a log nor an evaluation")
    run = Run(folder, config, history, evaluation, dict(evaluation.get("description") or description or {}))
    try:
        _ = run.known_metrics, run.curve_texts
    except (AttributeError, TypeError, ValueError) as problem:
        source = folder / EVALUATION / NUMBERS
        raise RunError(
            f"{source}: its description cannot be read ({problem}); evaluate the run again"
        ) from None
    try:
        _ = run.benchmark
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise RunError(f"{folder / 'config.json'}: its benchmark cannot be read ({problem!r})") from None
    return run


def worst_and_best(goodness: Sequence[float], most: int) -> list[int]:
    """Return the places of at most so many numbers, half of them the lowest and half the highest, in order.

    Examples
    --------
    >>> worst_and_best([0.5, 0.9, 0.1, 0.7, 0.8], 2)
    [2, 1]
    """
    order = sorted(range(len(goodness)), key=lambda place: goodness[place])
    if len(order) <= most:
        return order
    return order[: most // 2] + order[len(order) - (most - most // 2) :]


def shape_panels(run: Run) -> list[Panel]:
    """Return panels of the worst and the best shapes that the run folder has, worst first; at most four."""
    files = run.shape_files()
    template = _template(run)
    pairs = any(_partner_file(path).exists() for _, path in files)
    most = 2 if pairs else 3 if template is not None else 4  # beside partners or the template
    files = [files[k] for k in worst_and_best(range(len(files)), most)]
    shown = [(run.shapes[place], *_with_mistakes(run, *read_shape(path)), path) for place, path in files]
    if not any(values.kind == "places" for _, _, own, _ in shown for values in own):
        template = None
    largest: dict[str, float] = {}
    for _, _, own, _ in shown:
        for values in own:
            if values.kind in ("error", "field"):
                size = magnitude(values.values) if values.kind == "field" else values.values
                top = float(np.nanmax(size, initial=0))
                largest[values.key] = max(largest.get(values.key, 0.0), top)
    panels = []
    if template is not None:
        every = np.arange(len(template.vertices))
        name = next(values.name for _, _, own, _ in shown for values in own if values.kind == "places")
        own_places = colouring(
            VertexValues(name=name, kind="places", values=every), template, template=template
        )
        panels.append(Panel(mesh=template, title="Template", colourings=[own_places]))
    for place, (shape, mesh, own, path) in enumerate(shown):
        standing = "worst" if place < len(shown) // 2 else "best"
        title, _, other = str(shape.get("name", mesh.name)).partition(" → ")
        text = run.describe(shape)
        panels.append(
            Panel(
                mesh=mesh,
                title=title,
                note=": ".join(filter(None, (standing, text))) if len(shown) > 1 else text,
                colourings=[
                    colouring(values, mesh, template=template, largest=largest.get(values.key))
                    for values in own
                    if values.kind != "places" or template is not None
                ],
            )
        )
        if _partner_file(path).exists():
            partner, _ = read_shape(_partner_file(path))
            panels.append(
                Panel(mesh=partner, title=other or partner.name, note="matched with the one before")
            )
    return panels


def _with_mistakes(run: Run, mesh: Mesh, values: list[VertexValues]) -> tuple[Mesh, list[VertexValues]]:
    """Name the classes of labels, and add where the prediction differs from the truth."""
    named = [
        replace(own, class_names=tuple(run.class_names))
        if own.kind == "labels" and not own.class_names
        else own
        for own in values
    ]
    by_key = {own.key: own for own in named}
    prediction, truth = by_key.get("prediction"), by_key.get("truth")
    if prediction is None or truth is None or "wrong" in by_key:
        return mesh, named
    if prediction.kind != "labels" or truth.kind != "labels":
        return mesh, named
    wrong = np.where(truth.values < 0, np.nan, prediction.values != truth.values)
    mistakes = VertexValues(name="Wrong", kind="error", values=wrong, key="wrong", limits=(0, 1))
    place = max(named.index(prediction), named.index(truth)) + 1
    return mesh, [*named[:place], mistakes, *named[place:]]


def _template(run: Run) -> Mesh | None:
    places = (run.folder / EVALUATION / "template.ply", run.folder / "template.ply")
    return next((Mesh.load(path) for path in places if path.exists()), None)


def _partner_file(path: Path) -> Path:
    """Return the file of the other mesh of a pair."""
    return path.with_name(f"{path.stem}-model.ply")


def _flat(config: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return nested settings as dotted names."""
    flat: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[f"{before}{key}"] = value if isinstance(value, str) else json.dumps(value)
    return flat


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


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
