"""What the runs of a comparison found: read from their folders, tested, written as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from fieldconv._io import write_csv
from fieldconv.runs.files import read_run
from fieldconv.runs.groups import Compared, Difference
from fieldconv.training.comparison.cost import Cost
from fieldconv.training.comparison.plan import PlannedRun
from fieldconv.training.comparison.significance import holm, paired_test


def read_results(
    done: Sequence[PlannedRun], costs: Mapping[str, Cost], out: Path
) -> tuple[list[Compared], list[Difference]]:
    """Return what each network reached, the best first, and how every two of them differ."""
    networks = []
    for name in dict.fromkeys(run.network for run in done):
        own = [run for run in done if run.network == name]
        cost = costs[name]
        networks.append(
            Compared(
                name=name,
                runs={run.seed: read_run(out / run.folder) for run in own},
                parameters=cost.parameters,
                preparation=cost.preparation,
                step=cost.step,
                memory=cost.memory,
            )
        )
    networks.sort(key=lambda network: -network.goodness)
    return networks, differences_of(networks)


def differences_of(networks: Sequence[Compared]) -> list[Difference]:
    """Return how every two networks differ on the shapes that both were tested on."""
    pairs = list(combinations(networks, 2))
    found = [_differences(one, other) for one, other in pairs]
    chances = holm([paired_test(own) for own in found])
    return [
        Difference(one.name, other.name, float(np.mean(own)) if len(own) else float("nan"), len(own), chance)
        for (one, other), own, chance in zip(pairs, found, chances, strict=True)
    ]


def _differences(one: Compared, other: Compared) -> list[float]:
    """The difference on each shape, averaged over the seeds with which both networks were tested on it."""
    here, there = one.shape_numbers(), other.shape_numbers()
    found = []
    for shape in sorted(here.keys() & there.keys()):  # the test draws signs in this order
        seeds = here[shape].keys() & there[shape].keys()
        if seeds:
            found.append(float(np.mean([here[shape][seed] - there[shape][seed] for seed in sorted(seeds)])))
    return found


def write_tables(networks: Sequence[Compared], differences: Sequence[Difference], out: Path) -> None:
    """Write everything that was measured as CSV: runs, shapes, curves, differences."""
    metrics = list(dict.fromkeys(key for n in networks for run in n.runs.values() for key in run.metrics))
    costs = ["parameters", "preparation_seconds", "step_seconds", "step_bytes"]
    rows = [
        [
            network.name,
            seed,
            *(run.metrics.get(key, "") for key in metrics),
            network.parameters,
            network.preparation,
            network.step,
            "" if network.memory is None else network.memory,
            len(run.history.get("epoch", ())),
            float(np.nansum(run.history.get("seconds", np.zeros(1)))),
        ]
        for network in networks
        for seed, run in network.runs.items()
    ]
    write_csv(out / "runs.csv", ["network", "seed", *metrics, *costs, "epochs", "training_seconds"], rows)
    shapes = [
        (network.name, seed, shape)
        for network in networks
        for seed, run in network.runs.items()
        for shape in run.shapes
    ]
    columns = list(dict.fromkeys(key for _, _, shape in shapes for key in shape))
    write_csv(
        out / "shapes.csv",
        ["network", "seed", *columns],
        [[name, seed, *(shape.get(column, "") for column in columns)] for name, seed, shape in shapes],
    )
    curves = [
        [network.name, seed, curve, *point]
        for network in networks
        for seed, run in network.runs.items()
        for curve, points in run.curves.items()
        for point in points.tolist()
    ]
    if curves:
        write_csv(out / "curves.csv", ["network", "seed", "curve", "x", "y"], curves)
    write_csv(
        out / "differences.csv",
        ["network", "other", "mean_difference", "shapes", "corrected_p"],
        [[d.one, d.other, d.mean, d.shapes, d.chance] for d in differences],
    )
