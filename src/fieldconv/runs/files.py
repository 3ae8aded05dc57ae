"""Reads and writes run folders: log, evaluation, picture of descriptors."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Floats
from fieldconv._io import atomic_path, write_csv, write_json
from fieldconv.runs.run import CONFIG, DESCRIPTORS, EVALUATION, LOG, LOGS, NUMBERS, Run, RunError
from fieldconv.tasks.base.evaluation import Evaluation, Record


def read_run(folder: str | Path) -> Run:
    """Return what a run folder holds; raise RunError if it is none or a file in it cannot be read."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such run folder")
    source = folder / EVALUATION / NUMBERS
    config, measured = _read_json(folder / CONFIG), _read_json(source)
    history = next((_read_log(folder / name) for name in LOGS if (folder / name).exists()), {})
    if not config and not measured and not history:
        raise RunError(f"{folder}: not a run folder; it has neither config.json nor a log nor an evaluation")
    what, advice = f"{source}: its numbers", "; evaluate the run again"
    try:
        run = Run(folder, config, history, Evaluation.from_dict(measured))
        what = f"{source}: its description"
        _ = run.known_metrics, run.curve_texts
        what, advice = f"{folder / CONFIG}: its benchmark", ""
        _ = run.benchmark
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise RunError(f"{what} cannot be read ({problem!r}){advice}") from None
    return run


def _read_json(path: Path) -> Record:
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


def write_log(run: str | Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write the whole log again, since a resumed run repeats epochs."""
    _write_records(Path(run) / LOG, rows)


def write_evaluation(run: str | Path, found: Evaluation) -> None:
    """Write an evaluation into a run folder: as JSON, and its curves, confusion and shapes as tables."""
    folder = Path(run) / EVALUATION
    write_json(folder / NUMBERS, found.to_dict())
    for name, curve in found.curves.items():
        slug = re.sub(r"\W+", "_", name.lower())
        write_csv(folder / f"curve_{slug}.csv", ["x", "y"], curve.tolist())
    if "confusion" in found.tables:
        matrix = found.tables["confusion"].tolist()
        rows = [[name, *row] for name, row in zip(found.class_names, matrix, strict=True)]
        write_csv(folder / "confusion.csv", ["truth", *found.class_names], rows)
    _write_records(folder / "shapes.csv", found.shapes)


def _write_records(path: Path, records: Sequence[Mapping[str, object]]) -> None:
    """Write a table with a column for each key of any record."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    write_csv(path, columns, ([record.get(column, "") for column in columns] for record in records))


def write_descriptors(run: str | Path, points: ArrayLike, labels: ArrayLike) -> Path:
    """Write descriptors in the plane (n, 2), see `fieldconv.viz.figures.arrange`, and their classes (n,).

    Examples
    --------
    >>> import tempfile
    >>> write_descriptors(tempfile.mkdtemp(), [[0.0, 1.0]], [2]).name
    'descriptors.npz'
    """
    path = Path(run) / EVALUATION / DESCRIPTORS
    points, labels = np.asarray(points, dtype=np.float32), np.asarray(labels, dtype=np.int32)
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, points=points, labels=labels)
    return path
