"""Measure the worth of damaged copies for classification and matching.

    python benchmarks/scans_tasks.py FOLDER        # trains missing runs, measures
    python benchmarks/scans_tasks.py               # rewrites the table

Networks of the preset ``quick``, and of ``default`` or (matching) ``scans``, learn from the same 60 clean
creatures of six species, and are tested on 18 unseen creatures (pairs of them, for matching) at every level
of damage. Parts are measured by `benchmarks/scans.py`, correspondence by `benchmarks/robustness_faust.py`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv import FCNet
from fieldconv._io import atomic_path
from fieldconv.training import evaluate
from pages import DOCS, fill_table
from robustness import SPECIES
from scans import TEST, creatures, levels
from training_runs import train_once

RESULT = Path(__file__).parent / "results" / "robustness" / "scans_tasks"
METRICS = {"classification": "accuracy", "matching": "mean_average_precision"}
PRESETS = {"classification": ("quick", "default"), "matching": ("quick", "scans")}


def one(folder: Path, task: str, preset: str, seed: int) -> None:
    """Train and measure one network, unless its result exists."""
    name = f"{task}-{preset}-{seed}"
    path = RESULT / f"{name}.json"
    if path.is_file():
        return
    words = [task, "--preset", preset, "--species", *SPECIES, "--meshes", "60", "--seed", str(seed)]
    train_once(folder / name, words)
    network = FCNet.from_pretrained(folder / name)
    result: dict[str, Any] = {
        "task": task,
        "preset": preset,
        "seed": seed,
        "command": f"fieldconv train {' '.join(words)} --out RUN",
        "test": {},
    }
    for level, options in levels():
        metrics = evaluate(network, creatures(network, TEST, **options)).metrics
        result["test"][level] = round(metrics[METRICS[task]], 4)
        print(f"{name:>28}  {level:>14}  {result['test'][level]:.1%}", flush=True)
    RESULT.mkdir(exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def table() -> str:
    """Return a line for each task and preset: mean over its seeds, in percent."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULT.glob("*.json"))]
    names = [level for level, _ in levels()]
    lines = [f"| task | preset | seeds | {' | '.join(names)} |", f"|---|---|---|{'---:|' * len(names)}"]
    for task, metric in METRICS.items():
        for preset in PRESETS[task]:
            own = [run for run in runs if (run["task"], run["preset"]) == (task, preset)]
            if own:
                means = [f"{100 * np.mean([run['test'][level] for run in own]):.1f}" for level in names]
                seeds = ", ".join(str(run["seed"]) for run in own)
                about = f"{task}, {metric.replace('_', ' ')}"
                lines.append(f"| {about} | `{preset}` | {seeds} | {' | '.join(means)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of the training runs, outside the checkout")
    parser.add_argument("--tasks", nargs="+", choices=METRICS, default=list(METRICS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options = parser.parse_args()
    if options.folder is not None:
        for seed in options.seeds:
            for task in options.tasks:
                for preset in PRESETS[task]:
                    one(options.folder, task, preset, seed)
    print(table())
    fill_table(DOCS / "robustness.md", "benchmarks/scans_tasks.py", table())


if __name__ == "__main__":
    main()
