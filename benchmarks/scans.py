"""Compare inputs and training recipes on the damage of real scans: one row for each configuration.

    python benchmarks/scans.py FOLDER --rows hks hks-damaged --seeds 0    # trains missing runs, measures
    python benchmarks/scans.py                                            # rewrites the tables

Networks learn the parts of clean creatures as in `benchmarks/robustness.py`, with some of them as damaged
copies. Each is tested at every level on 18 unseen creatures (test) and on 18 others (validation), which serve
to choose the configuration and, without damage, to calibrate probabilities. A row takes some minutes for each
seed on one core.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import results
from fieldconv import FCNet
from fieldconv._io import atomic_path
from fieldconv.datasets import Creatures
from fieldconv.surface import ToSurface
from fieldconv.training import calibrate, evaluate
from pages import DOCS, fill_table
from robustness import MESHES, SPECIES, TRAINING
from training_runs import finished, train_once

RESULT = Path(__file__).parent / "results" / "robustness" / "scans"
ROWS = {
    "hks": "--features hks",
    "hks-damaged": "--features hks --damaged 2",
    "hks-normals-damaged": "--features hks+normals --damaged 2",
    "hks-positions-damaged": "--features hks+xyz --damaged 2",
    "heat-rim-closed-damaged": "--features heat+rim --closed --damaged 2",
    "balls": "--features balls",
    "balls-damaged": "--features balls --damaged 2",
    "balls-closed-damaged": "--features balls --closed --damaged 2",
    "balls-hks-damaged": "--features balls+hks --damaged 2",
    "balls-hks-smoothed-damaged": "--features balls+hks --smoothing 0.02 --damaged 2",
    "balls-smoothed-damaged": "--features balls --smoothing 0.02 --damaged 2",
    "balls-rim-damaged": "--features balls+rim --damaged 2",
    "balls-damaged-4": "--features balls --damaged 4",
    "hks-long": "--features hks --epochs 60",
    "hks-long-damaged": "--features hks --damaged 12 --epochs 60",
    "balls-hks-smoothed-long-damaged": "--features balls+hks --smoothing 0.02 --damaged 12 --epochs 60",
    "balls-smoothed-long-damaged": "--features balls --smoothing 0.02 --damaged 12 --epochs 60",
    "balls-long-damaged": "--features balls --damaged 12 --epochs 60",
    "balls-hks-smoothed-long-reshaped-damaged": "--features balls+hks --smoothing 0.02 --reshaped 3 "
    "--damaged 12 --epochs 60",
    "larger": "--blocks 4 --width 48 --rings 6 --echo-channels 32 --echo-samples 3 "
    "--features balls+hks --smoothing 0.02 --damaged 12 --epochs 60",
}
BARS = {
    "clean": 96.7,
    "holes": 93,
    "cut": 88,
    "fused": 94,
    "missing": 95,
    "hard": 88,
    "250 vertices": 93,
}
VALIDATION, TEST = 1, 0  # seeds of the creatures


def levels() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, options of `Creatures`) of all measurements."""
    for name in BARS:
        yield name, {"vertices": 250} if name == "250 vertices" else {"difficulty": name}


def creatures(network: FCNet, seed: int, **options: Any) -> Creatures:
    """Return creatures that are not in the training set, prepared as for `predict`."""
    assert network.task is not None
    to_surface = ToSurface(**network.surface_settings().to_dict())
    return Creatures(
        network.task,
        split="test",
        seed=seed,
        meshes=MESHES,
        species=SPECIES,
        pre_transform=to_surface,
        **options,
    )


def measure(network: FCNet, seed: int) -> dict[str, dict[str, float]]:
    """Return the accuracy and the calibration error at every level."""
    result = {}
    for name, options in levels():
        metrics = evaluate(network, creatures(network, seed, **options)).metrics
        result[name] = {key: round(metrics[key], 4) for key in ("accuracy", "calibration_error")}
        print(f"{name:>14}  {result[name]}", flush=True)
    return result


def one(folder: Path, row: str, seed: int) -> None:
    """Train and measure one configuration, unless its result exists."""
    run, path = folder / f"{row}-{seed}", RESULT / f"{row}-{seed}.json"
    if path.is_file():
        return
    words = [*TRAINING.split(), *ROWS[row].split(), "--seed", str(seed)]
    if "--reshaped" not in words:  # creatures have all proportions already
        words += ["--reshaped", "0"]
    train_once(run, words)
    assert finished(run)
    network = FCNet.from_pretrained(run)
    about = results.collect(run, row, "creatures", f"fieldconv train {' '.join(words)} --out RUN")
    names = ("name", "command", "seed", "log", "seconds_per_epoch", "seconds", "machine", "commit")
    result = {name: about[name] for name in names}
    result["validation"] = measure(network, VALIDATION)
    result["temperature"] = round(calibrate(network, creatures(network, VALIDATION)), 4)
    result["test"] = measure(network, TEST)
    RESULT.mkdir(exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def table(part: str) -> str:
    """Return a line for each configuration: mean over its seeds, in percent."""
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULT.glob("*.json"))]
    lines = [f"| {part} | seeds | {' | '.join(BARS)} |", f"|---|---|{'---:|' * len(BARS)}"]
    if part == "test":
        lines.append(f"| bar | | {' | '.join(f'{bar:g}' for bar in BARS.values())} |")
    for row in ROWS:
        own = [run for run in runs if run["name"] == row]
        if own:
            means = [100 * np.mean([run[part][level]["accuracy"] for run in own]) for level in BARS]
            seeds = ", ".join(str(run["seed"]) for run in own)
            lines.append(f"| `{ROWS[row]}` | {seeds} | {' | '.join(f'{mean:.1f}' for mean in means)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of the training runs, outside the checkout")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options = parser.parse_args()
    if options.folder is not None:
        for row in options.rows:
            for seed in options.seeds:
                one(options.folder, row, seed)
    text = f"{table('validation')}\n\n{table('test')}"
    print(text)
    fill_table(DOCS / "ablations.md", "benchmarks/scans.py", text)


if __name__ == "__main__":
    main()
