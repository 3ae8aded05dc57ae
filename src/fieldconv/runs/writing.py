"""What a run folder holds, written: its log, its evaluation, the picture of its descriptors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._io import atomic_path, write_csv, write_json
from fieldconv.runs.run import DESCRIPTORS, EVALUATION, LOG, NUMBERS
from fieldconv.tasks.base.evaluation import Evaluation


def write_log(run: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the whole table anew: a resumed run leaves no row of the epochs it repeats."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    write_csv(Path(run) / LOG, columns, ([row.get(column, "") for column in columns] for row in rows))


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
    columns = list(dict.fromkeys(key for shape in found.shapes for key in shape))
    rows = [[shape.get(column, "") for column in columns] for shape in found.shapes]
    write_csv(folder / "shapes.csv", columns, rows)


def write_descriptors(run: str | Path, points: ArrayLike, labels: ArrayLike) -> Path:
    """Write descriptors that `fieldconv.viz.arrange.arrange` has arranged in the plane.

    Parameters
    ----------
    run : path
    points : (n, 2) floats
    labels : (n,) ints
        Class of each, by which the picture is coloured.

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
