"""Compare field convolutions and their rivals on benchmark sets: one command each, tables and curves.

    python benchmarks/comparisons.py FOLDER --data SETS --sets shrec11 faust humans --seeds 3
    python benchmarks/comparisons.py                       # rewrites the tables

FOLDER holds the training runs; an interrupted one continues when it is started again. SETS holds the sets as
docs/data.md describes. On benchmark sets all networks have the same inputs and minutes of training, and
each the recipe of its own paper, shortened as a whole to what fits into these minutes; SHREC'11 on positions
has these recipes whole, and creatures have one recipe for all. The tables that `fieldconv compare` makes are
kept in `benchmarks/results/comparisons`.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pages import DOCS, fill_table
from training_runs import COMMAND_LINE

RESULT = Path(__file__).parent / "results" / "comparisons"
NETWORKS = ("fcnet", "hsn", "acscnn", "diffusionnet")
TABLES = ("runs.csv", "differences.csv")


@dataclass(frozen=True)
class Set:
    """A benchmark set: its folder, the options of the comparison, and the metrics of the table."""

    folder: str | None  # None for embedded creatures
    options: str
    metrics: tuple[str, ...]
    networks: tuple[str, ...] = NETWORKS
    figure: str = "training"


SETS = {
    "shrec11": Set("shrec11", "--preset quick --recipe own --budget 3 --features hks", ("accuracy",)),
    "positions": Set(
        "shrec11",
        "--preset reproduce --recipe own --features xyz",
        ("accuracy",),
        ("fcnet", "hsn", "diffusionnet"),
    ),
    "others": Set(
        "shrec11",
        "--preset reproduce --recipe own --features xyz",
        ("accuracy",),
        ("fcnet", "gathering", "deltaconv", "gemcnn"),
    ),
    "faust": Set(
        "faust_remeshed",
        "--preset quick --recipe own --hold-out 70:80 --budget 6 --features hks",
        ("within_0.05", "exact", "mean_error"),
        figure="curves",
    ),
    "humans": Set(
        "shrec19_humans",
        "--preset quick --recipe own --budget 6 --samples 2048 --features hks",
        ("mean_average_precision", "mean_average_precision_scene_ball"),
        figure="curves",
    ),
    "bodies": Set(
        "human_seg",
        "--preset quick --recipe own --hold-out *SCAPE* --budget 10 --features hks",
        ("accuracy", "mean_iou"),
    ),
    "bodies-positions": Set(
        "human_seg",
        "--preset quick --recipe own --hold-out *SCAPE* --budget 20 --features xyz",
        ("accuracy", "mean_iou"),
        ("pointnet2",),
    ),
    "creatures": Set(
        None,
        "--preset quick --task segmentation --meshes 30 --vertices 500 --species biped quadruped lizard "
        "--epochs 12",
        ("accuracy", "mean_iou"),
        (*NETWORKS, "gathering", "gemcnn", "mdgcnn", "pointnet2", "deltaconv"),
    ),
}


def run(folder: Path, data: Path | None, name: str, seeds: int) -> None:
    """Train and measure the runs that are missing, and copy the tables and curves to the results."""
    chosen, out = SETS[name], folder / name
    words = ["compare", "--networks", ",".join(chosen.networks), *chosen.options.split()]
    if chosen.folder is not None:
        assert data is not None
        words += ["--data", str(data / chosen.folder)]
    words += ["--seeds", str(seeds), "--threads", "1", "--out", str(out)]
    subprocess.run([sys.executable, *COMMAND_LINE, *words], check=True)
    results = RESULT / name
    results.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        shutil.copy(out / table, results / table)
    shutil.copy(out / "figures" / f"{chosen.figure}.png", DOCS / "figures" / f"compare_{name}.png")


def read(name: str, table: str) -> list[dict[str, str]]:
    with open(RESULT / name / table, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(name: str) -> str:
    """Return a line for each network, the best first, and the differences from the first of the set."""
    chosen, rows = SETS[name], read(name, "runs.csv")
    metrics = [key for key in chosen.metrics if key in rows[0]]
    titles = [f"{key.replace('_', ' ')}{' × 100' if 'error' in key else ', %'}" for key in metrics]
    heads = [*titles, "seeds", "epochs", "minutes", "parameters", "s a step", "MB a step", "s to prepare"]
    lines = [f"| network | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for network in dict.fromkeys(row["network"] for row in rows):
        own = [row for row in rows if row["network"] == network]
        cells = [spread([float(row[key]) * (1 if "error" in key else 100) for row in own]) for key in metrics]
        first = own[0]
        minutes = np.mean([float(row["training_seconds"]) for row in own]) / 60
        cells += [str(len(own)), first["epochs"], f"{minutes:.1f}", f"{int(first['parameters']):,}"]
        step = float(first["step_seconds"])
        cells += [f"{step:.{3 if step < 0.1 else 2}f}", f"{float(first['step_bytes']) / 1e6:.0f}"]
        cells.append(f"{float(first['preparation_seconds']):.2f}")
        lines.append(f"| `{network}` | {' | '.join(cells)} |")
    return "\n".join([*lines, "", differences(name)] if read(name, "differences.csv") else lines)


def spread(values: Sequence[float]) -> str:
    """Return mean ± standard deviation over seeds, or the single value."""
    digits = 1 if max(values) > 10 else 2
    mean = f"{np.mean(values):.{digits}f}"
    return f"{mean} ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else mean


def differences(name: str) -> str:
    """Return a sentence on the differences of the first network from the others, with their p-values."""
    rows, first = read(name, "differences.csv"), SETS[name].networks[0]
    texts = []
    for row in rows:
        sign = 1 if row["network"] == first else -1
        other = row["other" if sign > 0 else "network"]
        if first in (row["network"], row["other"]):
            points = 100 * sign * float(row["mean_difference"])
            texts.append(f"{points:+.1f} points to `{other}` (p {chance(row)})")
    corrected = f", chances corrected for all {len(rows)} pairs of networks" if len(rows) > 1 else ""
    return (
        f"`{first}`, mean difference over {rows[0]['shapes']} distinct test shapes or pairs{corrected}: "
        f"{', '.join(texts)}."
    )


def chance(row: dict[str, str]) -> str:
    p = float(row["corrected_p"])
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of the training runs, outside the checkout")
    parser.add_argument("--data", type=Path, help="the folder that holds the benchmark sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    if options.folder is not None:
        if options.data is None and options.sets != ["creatures"]:
            parser.error("--data is missing: the folder that holds shrec11, faust_remeshed, …")
        for name in options.sets:
            run(options.folder, options.data, name, options.seeds)
    for name in SETS:
        if (RESULT / name / "runs.csv").is_file():
            fill_table(DOCS / "networks.md", f"compare {name}", table(name))


if __name__ == "__main__":
    main()
