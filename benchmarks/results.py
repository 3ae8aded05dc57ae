"""Add the result of a run to `benchmarks/results/`, or print the table of all results.

    python benchmarks/results.py add RUN --name "SHREC'11, seed 0" --set shrec11 --command "fieldconv train …"
    python benchmarks/results.py            # the table: `make results`

A result is a JSON file in `benchmarks/results/`: the exact command, the settings, the seed, the numbers, a
summary of the log, the machine's size and how long it took. Meshes and weights stay outside.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import psutil
import yaml
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).resolve().parent / "results"
TABLE_METRICS = (
    "accuracy",
    "vertex_accuracy",
    "area_accuracy",
    "mean_iou",
    "mean_error",
    "within_0.05",
    "exact",
    "area_under_curve",
    "mean_average_precision",
    "hks_mean_average_precision",
    "wks_mean_average_precision",
)


def collect(run: Path, name: str, dataset: str, command: str) -> dict[str, Any]:
    """Return all that is needed to trust and repeat a finished run."""
    with open(run / "metrics.csv", newline="", encoding="utf-8") as file:
        epochs = [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(file)]
    evaluation = json.loads((run / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    settings = yaml.safe_load((run / "run.yaml").read_text(encoding="utf-8"))
    settings["source"]["data"] = Path(settings["source"]["data"]).name if settings["source"]["data"] else None
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    ).stdout.strip()
    seconds = [row["seconds"] for row in epochs if row.get("seconds")]
    return {
        "name": name,
        "set": dataset,
        "command": command,
        "seed": settings["training"]["seed"],
        "metrics": evaluation["metrics"],
        "rotations": evaluation["rotations"],
        "settings": settings,
        "log": [epochs[k] for k in sorted({0, len(epochs) // 4, len(epochs) // 2, len(epochs) - 1})],
        "seconds_per_epoch": round(sorted(seconds)[len(seconds) // 2], 2) if seconds else None,
        "seconds": round(sum(seconds), 1),
        "machine": {
            "cores": psutil.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30),
            "accelerator": settings["machine"]["accelerator"],
        },
        "commit": commit,
    }


def add(run: Path, name: str, dataset: str, command: str) -> Path:
    result = collect(run, name, dataset, command)
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return path


def table() -> None:
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    rows = Table("set", "run", "result", "s per epoch", "minutes", title_justify="left")
    for result in sorted(results, key=lambda one: (one["set"], one["name"])):
        numbers = [
            f"{key.replace('_', ' ')} {value:.4g}"
            for key, value in result["metrics"].items()
            if key in TABLE_METRICS
        ]
        minutes = f"{result['seconds'] / 60:.1f}"
        rows.add_row(
            result["set"], result["name"], ", ".join(numbers), str(result["seconds_per_epoch"]), minutes
        )
    Console().print(rows)
    print("Commands, settings and logs: benchmarks/results/")


def _number(value: str) -> float | str | None:
    try:
        return float(value)
    except ValueError:
        return value or None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="action")
    adding = commands.add_parser("add", help="keep the result of a run")
    adding.add_argument("run", type=Path)
    adding.add_argument("--name", required=True)
    adding.add_argument("--set", dest="dataset", required=True)
    adding.add_argument("--command", required=True)
    options = parser.parse_args()
    if options.action == "add":
        print(add(options.run, options.name, options.dataset, options.command))
    else:
        table()
