"""`fieldconv compare`: several networks on the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import fieldconv as fc
from fieldconv.commands.output import print_table, printed_warnings
from fieldconv.datasets.source import DataSource

SETTINGS = ("data", "Where the meshes come from.", DataSource, vars(DataSource()))


def compare_command(
    *,
    networks: str,
    out: Path,
    task: str | None = None,
    seeds: int = 3,
    recipe: Literal["common", "own"] = "common",
    preset: str | None = None,
    epochs: int | None = None,
    budget: float | None = None,
    features: str | None = None,
    samples: int | None = None,
    threads: int | None = None,
    **source: Any,
) -> int:
    """Train and measure networks on the same data, splits and inputs; one report of all.

    The report has accuracies (mean ± standard deviation over seeds), parameters, time and memory of a
    step, time of preparation, curves of all networks in one plot, and whether differences are more than
    chance. Started again, it goes on where it stopped; networks and seeds may be added.

    $ fieldconv compare --networks fcnet,hsn,diffusionnet --out FOLDER
    $ fieldconv compare --data SHREC11 --networks fcnet,hsn --recipe own --seeds 3 --out FOLDER
    $ fieldconv compare --data FAUST --networks fcnet,acscnn --budget 30 --features xyz --out FOLDER

    Args:
        networks: Names of networks, with commas between; `fieldconv train` lists them.
        out: Folder for the runs, the report, tables as CSV and figures for print.
        task: What the data is for, if the folder does not show it; segmentation of embedded creatures.
        seeds: Runs of each network; run k has seed k, and split k where the data has none of its own.
        recipe: One recipe for all, that of the preset, or the one of each network's own paper.
        preset: Sizes and inputs of the networks, and the common recipe; quick if not given.
        epochs: Epochs for every network, instead of the recipe's.
        budget: Minutes of training for each run, instead of a number of epochs.
        features: Input of every network, instead of the preset's.
        samples: Samples on each mesh, instead of the preset's number for each network.
        threads: CPU threads.
    """
    fc.keep_freed_memory()
    inputs = {"features": features, "samples": samples, "threads": threads}
    changes = source | {key: value for key, value in inputs.items() if value is not None}
    with printed_warnings():
        found = fc.compare(
            [name.strip() for name in networks.split(",") if name.strip()],
            out=out,
            task=task,
            seeds=seeds,
            recipe=recipe,
            preset=preset,
            epochs=epochs,
            budget=budget,
            **changes,
        )
    metric = found.networks[0].metric
    print_table(
        ["network", "runs", metric.label, "parameters", "ms a step"],
        [
            (n.name, str(len(n.runs)), n.text(metric.key), f"{n.parameters:,}", f"{1000 * n.step:,.0f}")
            for n in found.networks
        ],
    )
    print(f"Wrote {found.page}")
    return 1 if found.failed else 0
