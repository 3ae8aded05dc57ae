"""What a run folder holds. Every file may be missing; a report leaves out what it has.

``config.json``
    Settings as nested JSON. ``task`` and ``data`` (or ``dataset``) name what was learnt and measured; ``up``
    is the vertical axis of the shapes ("x", "y" or "z"); ``benchmark`` holds published results:
    ``{"name", "metric", "source", "results": [[method, value], …]}``.
``log.csv`` (or ``metrics.csv``)
    A line of names, then a row per epoch. ``epoch`` is the x axis.
``evaluation/metrics.json``
    The fields of `Evaluation` but ``folder``. Of ``tables``, ``confusion`` and ``iou`` are drawn; see
    `Run.with_description` for ``description``.
``evaluation/shapes/<number>.ply``
    Best and worst test shapes with values at their vertices (`fieldconv.viz.write_shape`); <number> is the
    index in ``shapes``. The other mesh of a pair is ``<number>-model.ply``.
``evaluation/template.ply`` or ``template.ply``
    The mesh whose vertices ``places`` are.
``evaluation/descriptors.npz``
    ``points`` (n, 2) of the t-SNE picture, and ``labels`` (n,) by which they are coloured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fieldconv._arrays import Array, Floats, Ints
from fieldconv.tasks.base.evaluation import Curves, Evaluation, Record, is_number
from fieldconv.tasks.base.metric import Metric, metric_of
from fieldconv.tasks.base.metrics import accuracy, majority, mean_interval

CONFIG, LOG = "config.json", "metrics.csv"
LOGS = ("log.csv", LOG)
EVALUATION, NUMBERS = "evaluation", "metrics.json"
SHAPES, TEMPLATE, DESCRIPTORS = "shapes", "template.ply", "descriptors.npz"


class RunError(ValueError):
    """A folder is not a run folder, or a file in it cannot be read."""


@dataclass(frozen=True)
class Benchmark:
    """Published results for comparison with those of a run; empty if there are no published numbers."""

    name: str
    metric: str
    source: str = ""
    results: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Run:
    """A run: what its folder holds, or an evaluation alone."""

    folder: Path | None = None
    config: Record = field(default_factory=dict)
    history: dict[str, Floats] = field(default_factory=dict)
    """Columns of the log; NaN where a value is missing."""
    evaluation: Evaluation = field(default_factory=lambda: Evaluation("", {}, []))
    """Without numbers if the run has not been evaluated."""

    def with_description(self, description: Mapping[str, object]) -> Run:
        """Return the run with this description of its numbers, unless it has one.

        It may have ``metrics`` (key to `Metric.to_dict`), ``rank_by`` (key by which shapes are sorted),
        ``curves`` (fields of `Curves`) and ``shapes_caption`` (text above the shapes).
        """
        if self.evaluation.description:
            return self
        return replace(self, evaluation=replace(self.evaluation, description=dict(description)))

    @property
    def name(self) -> str:
        return "evaluation" if self.folder is None else self.folder.resolve().name

    @property
    def task(self) -> str:
        """Name of the task; empty if it is not known."""
        return self.evaluation.task or str(self.config.get("task") or "")

    @property
    def data(self) -> str:
        """Name of the data that the run was measured on or, if that is not known, learnt from."""
        return str(self.config.get("data") or self.config.get("dataset") or "")

    @property
    def up(self) -> str | None:
        """Vertical axis of the shapes, if it is known."""
        up = self.config.get("up")
        return up if up in ("x", "y", "z") else None

    @property
    def class_names(self) -> list[str]:
        return [str(name) for name in self.evaluation.class_names or self.config.get("class_names") or ()]

    @property
    def metrics(self) -> dict[str, float]:
        """Measured numbers, the most important one first."""
        return {key: value for key, value in self.evaluation.metrics.items() if math.isfinite(value)}

    @cached_property
    def known_metrics(self) -> dict[str, Metric]:
        """Metrics of the description."""
        found = self.evaluation.description.get("metrics") or {}
        return {key: Metric.from_dict(key, values) for key, values in found.items()}

    def metric(self, key: str) -> Metric:
        """Return the metric for a number of the evaluation or the log."""
        return metric_of(key, self.known_metrics)

    @property
    def curves(self) -> dict[str, Floats]:
        return self.evaluation.curves

    @cached_property
    def curve_texts(self) -> Curves:
        """What the curves show."""
        return Curves.from_dict(self.evaluation.description.get("curves") or {})

    @property
    def shapes(self) -> list[Record]:
        """Records of the test shapes, in the order of the test."""
        return self.evaluation.shapes

    @property
    def shapes_caption(self) -> str:
        return str(self.evaluation.description.get("shapes_caption") or "Worst and best test shapes.")

    @cached_property
    def rank_by(self) -> str | None:
        """Key of the number by which shapes are sorted: as described, or the first one of the shapes."""
        if (described := self.evaluation.description.get("rank_by")) is not None:
            return str(described)
        numbers = [key for key, value in (self.shapes or [{}])[0].items() if is_number(value)]
        return next((key for key in self.metrics if key in numbers), next(iter(numbers), None))

    def goodness(self, shape: Mapping[str, object]) -> float:
        """Return a number that is larger for better results."""
        if is_number(order := shape.get("order")):
            return float(order)
        key = self.rank_by or ""
        value = shape.get(key)
        return self.metric(key).goodness(value if is_number(value) else None)

    def describe(self, shape: Record) -> str:
        """Return a shape's result in a few words."""
        if shape.get("note"):
            return str(shape["note"])
        key = self.rank_by
        if key is None or not is_number(shape.get(key)):
            return ""
        return f"{self.metric(key).label} {self.metric(key).text(shape[key])}"

    @cached_property
    def benchmark(self) -> Benchmark | None:
        """Published results for the run's data, if it has any."""
        found = self.config.get("benchmark") or self.evaluation.description.get("benchmark")
        if not found:
            return None
        results = tuple((str(method), float(value)) for method, value in found.get("results") or ())
        return Benchmark(str(found["name"]), str(found["metric"]), str(found.get("source", "")), results)

    @cached_property
    def _counts(self) -> Floats | None:
        """The confusion matrix: rows are true classes; None if nothing was counted."""
        counts = self.evaluation.tables.get("confusion")
        return None if counts is None or not counts.sum() else np.asarray(counts, np.float64)

    def parts(self) -> tuple[Floats, list[str], list[int]] | None:
        """Return intersection over union, name and number of each tested part."""
        iou, counts = self.evaluation.tables.get("iou"), self._counts
        if iou is None:
            return None
        tested = ~np.isnan(iou) if counts is None else ~np.isnan(iou) & (counts.sum(axis=1) > 0)
        numbers = np.flatnonzero(tested).tolist()
        return iou[tested], [self.class_name(k) for k in numbers], numbers

    def confusion(self) -> tuple[Floats, list[str], list[str]] | None:
        """Return the confusion matrix, the names of its rows (tested classes) and of its columns."""
        counts = self._counts
        if counts is None:
            return None
        rows = np.flatnonzero(counts.sum(axis=1) > 0)
        columns = np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1) > 0)
        true, predicted = ([self.class_name(k) for k in found.tolist()] for found in (rows, columns))
        return counts[np.ix_(rows, columns)], true, predicted

    def untested(self) -> list[str]:
        """Return the names of classes that no test shape has."""
        unseen = () if self._counts is None else np.flatnonzero(self._counts.sum(axis=1) == 0).tolist()
        return [self.class_name(k) for k in unseen]

    @cached_property
    def settings(self) -> dict[str, str]:
        """Settings that affect the run, by dotted names."""
        unimportant = ("class_names", "metrics", "benchmark")
        return _flat({key: value for key, value in self.config.items() if key not in unimportant})

    def shape_values(self, key: str) -> tuple[Floats, Floats | None] | None:
        """Return the numbers of shapes whose mean is a metric, and their weights if the mean is weighted.

        None if the metric is not such a mean, for example because it is computed from all vertices together.
        """
        value = self.metrics.get(key, math.nan)
        numbers = {k: None for shape in self.shapes for k, number in shape.items() if is_number(number)}
        for candidate in dict.fromkeys((key, key.removeprefix("mean_"), *numbers)):
            known = [shape for shape in self.shapes if is_number(shape.get(candidate))]
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
        """Return the 95 % interval of a metric over shapes like the tested ones, if it is known."""
        if (known := self.evaluation.intervals.get(key)) is not None:
            return known
        values = self.shape_values(key)
        return None if values is None else mean_interval(*values)

    def guess(self, key: str) -> tuple[str, float] | None:
        """Return a way to guess and what it reaches: that of the evaluation, or the most frequent class."""
        if (known := self.evaluation.guesses.get(key)) is not None:
            return known
        counts, value = self._counts, self.metrics.get(key, math.nan)
        if counts is None or not math.isclose(accuracy(counts), value, abs_tol=1e-6):
            return None
        best, share = majority(counts)
        return f"always “{self.class_name(best)}”", share

    def class_name(self, number: int) -> str:
        """Return the name of a class, or its number if it has none."""
        names = self.class_names
        return names[number] if 0 <= number < len(names) else str(number)

    @cached_property
    def descriptors(self) -> tuple[Floats, Ints] | None:
        """(n, 2) points and (n,) labels of the t-SNE picture."""
        path = self._file(EVALUATION, DESCRIPTORS)
        if path is None:
            return None
        with np.load(path, allow_pickle=False) as stored:
            return stored["points"].astype(np.float64), stored["labels"].astype(np.int64)

    def shape_files(self) -> list[tuple[int, Path]]:
        """Return the index in `shapes` and the file of each stored shape, worst first."""
        folder = self._file(EVALUATION, SHAPES)
        paths = () if folder is None else folder.glob("*.ply")
        files = [(int(path.stem), path) for path in paths if path.stem.isdecimal()]
        known = sorted((place, path) for place, path in files if place < len(self.shapes))
        return sorted(known, key=lambda entry: self.goodness(self.shapes[entry[0]]))

    @property
    def template_file(self) -> Path | None:
        """The mesh whose vertices ``places`` at vertices of stored shapes are."""
        return self._file(EVALUATION, TEMPLATE) or self._file(TEMPLATE)

    def _file(self, *names: str) -> Path | None:
        path = None if self.folder is None else self.folder.joinpath(*names)
        return path if path is not None and path.exists() else None


def metric_context(run: Run, key: str) -> str:
    """Return the context of a number: its 95 % interval over shapes, and the number that a guess reaches."""
    metric, interval, guess = run.metric(key), run.interval(key), run.guess(key)
    parts = [] if interval is None else [f"{metric.text(interval[0])} to {metric.text(interval[1])}"]
    parts += [] if guess is None else [f"{guess[0]}: {metric.text(guess[1])}"]
    return ", ".join(parts)


def remarks(run: Run, *, guessing: bool = True) -> Iterator[str]:
    """Yield sentences that a reader of the numbers should know; with ``guessing``, also about guesses."""
    if not run.metrics:
        return
    main, *others = run.metrics
    metric, value = run.metric(main), run.metrics[main]
    guess = run.guess(main)
    if guessing and guess is not None and metric.goodness(guess[1]) >= metric.goodness(value):
        how = guess[0].replace("always", "always answering", 1)
        yield f"Guessing ({how}) does at least as well: {metric.text(guess[1])}."
    curves = {name.casefold() for name in run.curves}
    better = []
    for key in others:
        baseline = key.removesuffix(f"_{main}")
        known = baseline.casefold() in curves or main == "mean_average_precision"
        if baseline != key and known and metric.goodness(run.metrics[key]) > metric.goodness(value):
            better.append(f"{metric_of(baseline).label} {metric.text(run.metrics[key])}")
    if better:
        yield f"Simple descriptors do better: {', '.join(better)}; this network {metric.text(value)}."
    if untested := run.untested():
        yield f"Not tested, because no {run.evaluation.unit} has them: {', '.join(untested)}."
    if (part := run.evaluation.part) != "test":
        share = "All" if part == "train" else "Most"
        yield f"{share} of these shapes were trained on: the numbers say little about new ones."


def shape_file(folder: Path, place: int) -> Path:
    """Return the file of the test shape with this index."""
    return folder / EVALUATION / SHAPES / f"{place}.ply"


def partner_file(path: Path) -> Path:
    """Return the file of the other mesh of a pair."""
    return path.with_name(f"{path.stem}-model.ply")


def epochs_of(history: Mapping[str, Array]) -> Array:
    """Return the epoch of each row of a log, counted from 1 where it is not logged."""
    return history.get("epoch", np.arange(1, 1 + max(map(len, history.values()), default=0)))


def worst_and_best(goodness: Sequence[float], most: int) -> list[int]:
    """Return the indices of at most ``most`` numbers, half of them the lowest and half the highest, in order.

    Examples
    --------
    >>> worst_and_best([0.5, 0.9, 0.1, 0.7, 0.8], 2)
    [2, 1]
    """
    order = sorted(range(len(goodness)), key=lambda place: goodness[place])
    if len(order) <= most:
        return order
    return order[: most // 2] + order[len(order) - (most - most // 2) :]


def _flat(config: Mapping[str, object], before: str = "") -> dict[str, str]:
    """Return nested settings as dotted names."""
    flat: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[f"{before}{key}"] = value if isinstance(value, str) else json.dumps(value)
    return flat
