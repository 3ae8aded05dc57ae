"""A run folder, read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv.runs.run import CONFIG, EVALUATION, LOGS, NUMBERS, Run, RunError
from fieldconv.tasks.base.evaluation import Evaluation

Floats = NDArray[np.float64]


def read_run(folder: str | Path) -> Run:
    """Return what a run folder holds; files that are missing are left out.

    Raises
    ------
    RunError
        If there is no such folder, nothing of a run in it, or a file cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such run folder")
    config = _read_json(folder / CONFIG)
    measured = _read_json(folder / EVALUATION / NUMBERS)
    history = next((_read_log(folder / name) for name in LOGS if (folder / name).exists()), {})
    if not config and not measured and not history:
        raise RunError(f"{folder}: not a run folder; it has neither config.json nor a log nor an evaluation")
    source = folder / EVALUATION / NUMBERS
    try:
        run = Run(folder, config, history, Evaluation.from_dict(measured))
    except (AttributeError, TypeError, ValueError) as problem:
        raise RunError(f"{source}: its numbers cannot be read ({problem}); evaluate the run again") from None
    try:
        _ = run.known_metrics, run.curve_texts
    except (AttributeError, TypeError, ValueError) as problem:
        raise RunError(
            f"{source}: its description cannot be read ({problem}); evaluate the run again"
        ) from None
    try:
        _ = run.benchmark
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise RunError(f"{folder / CONFIG}: its benchmark cannot be read ({problem!r})") from None
    return run


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
