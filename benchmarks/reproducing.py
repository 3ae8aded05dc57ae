"""Reproduce the paper: measure the presets `paper` and `reproduce`, and variants between them.

    python benchmarks/reproducing.py FOLDER --data SETS --set shrec11 --rows paper reproduce --parts 0 1 2
    python benchmarks/reproducing.py                           # rewrites the tables and the curves

FOLDER keeps the training runs; what is interrupted goes on when it is started again. SETS holds the sets as
docs/data.md lays them out. A part is a random split and seed (SHREC'11), or what is held out (bodies, FAUST).
Results are in `benchmarks/results/reproducing`, with the loss and score of every epoch.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import results
from fieldconv._io import atomic_path
from pages import DOCS, fill_table
from training_runs import train_once

RESULT = Path(__file__).parent / "results" / "reproducing"
ADAMW = "--optimiser adamw --weight-decay 0.0001 --clip 1 --average 0.99"
SCHEDULE = f"{ADAMW} --schedule one_cycle --learning-rate 0.005"


@dataclass(frozen=True)
class Set:
    """A benchmark set: its folder, its task, the options of each part, and the metric in the table.

    Parts in ``apart`` are of another kind than the others, and are not averaged with them.
    """

    title: str
    folder: str
    task: str
    parts: dict[str, str]
    metric: str
    published: str
    over: str  # what the mean and standard deviation are over
    apart: tuple[str, ...] = ()


SETS = {
    "shrec11": Set(
        "SHREC'11",
        "shrec11",
        "classification",
        {str(k): f"--split-seed {k} --seed {k}" for k in range(3)},
        "accuracy",
        "99.2 (10 test shapes a class, three splits)",
        "splits",
    ),
    "bodies": Set(
        "bodies",
        "human_seg",
        "segmentation",
        {
            **{name: f"--hold-out *{name}*" for name in ("SCAPE", "FAUST", "Adobe", "MIT")},
            "tenth": "--hold-out 10%",
        },
        "accuracy",
        "92.9 (tested on SHREC'07, which is not here)",
        "sources",
        apart=("tenth",),
    ),
    "faust": Set(
        "remeshed FAUST",
        "faust_remeshed",
        "correspondence",
        {str(k): f"--hold-out 70:80 --seed {k}" for k in range(3)},
        "within_0.05",
        "a curve (tested on 080 to 099)",
        "seeds",
    ),
    "humans": Set(
        "SHREC'19 humans",
        "shrec19_humans",
        "matching",
        {str(k): f"--seed {k}" for k in range(3)},
        "mean_average_precision",
        "none (the paper has another SHREC'19)",
        "seeds",
    ),
}
ROWS = {
    "paper": ("`paper`: the text to the letter", "--preset paper"),
    "paper-exact-discs": ("… exact paths instead of vector heat discs", "--preset paper --solver local"),
    "paper-bias": ("… a learnt bias for each class", "--preset paper --class-bias"),
    "paper-smoothed": ("… label smoothing 0.2", "--preset paper --label-smoothing 0.2"),
    "paper-unit": ("… positions scaled for each shape", "--preset paper --input-scale unit"),
    "paper-vector-votes": ("… ECHO votes are transported vectors", "--preset paper --echo-votes vector"),
    "paper-slow": ("… Adam held at 0.001", "--preset paper --learning-rate 0.001"),
    "paper-batch": ("… four shapes a step", "--preset paper --batch 4"),
    "paper-schedule": ("… AdamW, one cycle to 0.005, clipped, averaged", f"--preset paper {SCHEDULE}"),
    "paper-schedule-smoothed": (
        "… the same, and label smoothing 0.2",
        f"--preset paper {SCHEDULE} --label-smoothing 0.2",
    ),
    "reproduce": ("`reproduce`", "--preset reproduce"),
    "reproduce-60": ("… 60 epochs", "--preset reproduce --epochs 60"),
    "reproduce-stretch": ("… axes stretched by up to 15 %", "--preset reproduce --stretch 0.15"),
    "reproduce-lift": ("… lifted to 32 channels", "--preset reproduce --lift-channels 32"),
    "reproduce-scaled": ("… positions scaled for each shape", "--preset reproduce --input-scale unit"),
    "reproduce-plain": ("… no bias for each class", "--preset reproduce --no-class-bias"),
    "reproduce-scaled-plain": (
        "… positions scaled for each shape, no bias for each class",
        "--preset reproduce --input-scale unit --no-class-bias",
    ),
    "reproduce-no-limit": ("… squared distances without limit", "--preset reproduce --farthest None"),
    "quick": ("`quick`: signatures", "--preset quick"),
    "quick-no-limit": ("… squared distances without limit", "--preset quick --farthest None"),
}
EARLIER = {  # measured with an earlier version, see the page
    "first-weights": "`reproduce`, first weights made for positions of length 0.28",
    "first-weights-60": "… 60 epochs",
}
TITLES = {**{row: title for row, (title, _) in ROWS.items()}, **EARLIER}
COLOURS = {  # of each row in the plots
    "paper": "#c1272d",
    "paper-exact-discs": "#e08214",
    "paper-slow": "#7a3b8f",
    "paper-schedule": "#1b9e77",
    "reproduce": "#1f5fa8",
    "reproduce-no-limit": "#5b8c3a",
    "quick": "#444444",
    "quick-no-limit": "#c51b7d",
}
FIGURES = {
    "shrec11": "reproducing.png",
    "bodies": "reproducing_bodies.png",
    "faust": "reproducing_faust.png",
    "humans": "reproducing_humans.png",
}


def one(folder: Path, data: Path, name: str, row: str, part: str) -> None:
    """Train one run and write its result, unless it exists."""
    chosen, path = SETS[name], RESULT / f"{name}-{row}-{part}.json"
    if path.is_file():
        return
    run = folder / f"{name}-{row}-{part}"
    words = [*ROWS[row][1].split(), *chosen.parts[part].split()]
    train_once(run, [chosen.task, "--data", str(data / chosen.folder), *words, "--threads", "1"])
    command = f"fieldconv train {chosen.task} --data {chosen.folder} {' '.join(words)} --out RUN"
    result = results.collect(run, row, chosen.title, command)
    del result["log"]
    with open(run / "metrics.csv", newline="", encoding="utf-8") as file:
        epochs = list(csv.DictReader(file))
    result |= {key: [float(f"{float(row[key] or 'nan'):.4g}") for row in epochs] for key in ("loss", "score")}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def read_runs(name: str) -> dict[str, dict[str, Any]]:
    """Return the results of a set, by row and part."""
    runs: dict[str, dict[str, Any]] = {}
    for row in TITLES:
        for part in SETS[name].parts:
            path = RESULT / f"{name}-{row}-{part}.json"
            if path.is_file():
                runs.setdefault(row, {})[part] = json.loads(path.read_text(encoding="utf-8"))
    return runs


def base_of(row: str) -> str:
    """Return the preset that a row varies."""
    return next((preset for preset in ("paper", "quick") if row.startswith(preset)), "reproduce")


def full_title(row: str) -> str:
    """Return the title of a row, including its preset."""
    return TITLES[row].replace("… ", f"`{base_of(row)}`, ")


def table(name: str) -> str:
    """Return a line for each row: every part, and mean ± standard deviation of several."""
    chosen, results_of = SETS[name], read_runs(name)
    parts = [part for part in chosen.parts if any(part in runs for runs in results_of.values())]
    heads = [f"{chosen.title}, {chosen.metric.replace('_', ' ')} in %", *parts, f"{chosen.over}, mean ± sd"]
    lines = [f"| {' | '.join(heads)} |"]
    lines.append(f"|---|{'---:|' * (len(parts) + 1)}")
    for row, runs in results_of.items():
        values = {part: 100 * run["metrics"][chosen.metric] for part, run in runs.items()}
        cells = [f"{values[part]:.1f}" if part in values else "" for part in parts]
        every = [value for part, value in values.items() if part not in chosen.apart]
        mean = f"{np.mean(every):.1f} ± {np.std(every, ddof=1):.1f}" if len(every) > 1 else ""
        title = TITLES[row] if base_of(row) in results_of else full_title(row)
        lines.append(f"| {title} | {' | '.join(cells)} | {mean} |")
    lines.append(f"| the paper | {' | '.join('' for _ in parts)} | {chosen.published} |")
    return "\n".join(lines)


def draw(name: str, path: Path) -> None:
    """Plot training loss and score over epochs of the rows in `COLOURS`, a line for each part."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for row, runs in read_runs(name).items():
        for number, run in enumerate(runs.values() if row in COLOURS else ()):
            for panel, key, scale in zip(panels, ("loss", "score"), (1, 100), strict=True):
                label = full_title(row).replace("`", "") if not number else None
                epochs = np.arange(1, len(run[key]) + 1)
                panel.plot(epochs, scale * np.array(run[key]), color=COLOURS[row], lw=1.2, label=label)
    for panel, title in zip(panels, ("training loss", "training score, %"), strict=True):
        panel.set(xlabel="epoch", title=title)
        panel.grid(alpha=0.3)
    panels[0].set_yscale("log")
    low, high = panels[0].get_ylim()
    steps = (1, 1.2, 1.5, 2, 3, 5, 7, 8.5) if high < 10 * low else (1, 2, 5) if high < 100 * low else (1,)
    panels[0].yaxis.set_major_locator(LogLocator(subs=steps))
    panels[0].yaxis.set_major_formatter("{x:g}")
    panels[0].yaxis.set_minor_formatter("")
    panels[1].legend(fontsize=7, loc="best")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of the training runs, outside the checkout")
    parser.add_argument("--data", type=Path, help="the folder that holds the benchmark sets")
    parser.add_argument("--set", choices=SETS, default="shrec11")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=["paper", "reproduce"])
    parser.add_argument("--parts", nargs="+", help="all by default")
    options = parser.parse_args()
    if options.folder is not None:
        if options.data is None:
            parser.error("--data is missing: the folder that holds shrec11, human_seg, …")
        for part in options.parts or SETS[options.set].parts:
            for row in options.rows:
                one(options.folder, options.data, options.set, row, part)
    page = DOCS / "reproducing.md"
    for name in SETS:
        if read_runs(name):
            fill_table(page, name, table(name))
    for name, figure in FIGURES.items():
        if read_runs(name):
            draw(name, DOCS / "figures" / figure)


if __name__ == "__main__":
    main()
