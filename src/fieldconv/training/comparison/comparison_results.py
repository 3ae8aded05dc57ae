"""Results of a comparison: tested for significance, written as tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Floats
from fieldconv._io import write_csv
from fieldconv.runs.groups import Compared, Difference

MAX_EXACT_SHAPES = 14  # up to which all signs are tried


def differences_of(networks: Sequence[Compared]) -> list[Difference]:
    """Return how every two networks differ on the shapes that both were tested on."""
    pairs = list(combinations(networks, 2))
    differences = [_differences(one, other) for one, other in pairs]
    chances = holm([paired_test(own) for own in differences])
    return [
        Difference(one.name, other.name, float(np.mean(own)) if len(own) else float("nan"), len(own), chance)
        for (one, other), own, chance in zip(pairs, differences, chances, strict=True)
    ]


def _differences(one: Compared, other: Compared) -> list[float]:
    """Return the difference on each shape, averaged over the seeds with which both were tested on it."""
    first, second = one.shape_numbers(), other.shape_numbers()
    differences = []
    for shape in sorted(first.keys() & second.keys()):  # the test draws signs in this order
        if seeds := sorted(first[shape].keys() & second[shape].keys()):
            differences.append(float(np.mean([first[shape][k] - second[shape][k] for k in seeds])))
    return differences


def write_tables(networks: Sequence[Compared], differences: Sequence[Difference], out: Path) -> None:
    """Write everything that was measured as CSV: runs, shapes, curves, differences."""
    runs = [(network, seed, run) for network in networks for seed, run in network.runs.items()]
    metrics = list(dict.fromkeys(key for _, _, run in runs for key in run.metrics))
    costs = ["parameters", "preparation_seconds", "step_seconds", "step_bytes"]
    write_csv(
        out / "runs.csv",
        ["network", "seed", *metrics, *costs, "epochs", "training_seconds"],
        (
            [
                network.name,
                seed,
                *(run.metrics.get(key) for key in metrics),
                network.parameters,
                network.preparation,
                network.step,
                network.memory,
                len(run.history.get("epoch", ())),
                float(np.nansum(run.history.get("seconds", np.zeros(1)))),
            ]
            for network, seed, run in runs
        ),
    )
    columns = list(dict.fromkeys(key for _, _, run in runs for shape in run.shapes for key in shape))
    write_csv(
        out / "shapes.csv",
        ["network", "seed", *columns],
        (
            [network.name, seed, *(shape.get(column) for column in columns)]
            for network, seed, run in runs
            for shape in run.shapes
        ),
    )
    points = [
        [network.name, seed, curve, *point]
        for network, seed, run in runs
        for curve, points in run.curves.items()
        for point in points.tolist()
    ]
    if points:
        write_csv(out / "curves.csv", ["network", "seed", "curve", "x", "y"], points)
    write_csv(
        out / "differences.csv",
        ["network", "other", "mean_difference", "shapes", "corrected_p"],
        ([d.one, d.other, d.mean, d.shapes, d.chance] for d in differences),
    )


def paired_test(differences: ArrayLike, *, rounds: int = 20_000) -> float:
    """Return how likely a mean difference at least this large is if two networks do equally well.

    If neither is better, the sign of each shape's difference is a coin toss. All signs are tried for few
    shapes, random ones (``rounds`` of them) for many. Nothing else is assumed about the numbers, which may be
    0 and 1.

    Examples
    --------
    >>> paired_test([1.0, 1.0, 1.0, 1.0, 1.0])  # 2 of 32 signs are as extreme
    0.0625
    >>> paired_test([0.0, 0.0])
    1.0
    """
    values = np.asarray(differences, np.float64)
    values = values[values != 0]
    if not len(values):
        return 1.0
    few = len(values) <= MAX_EXACT_SHAPES
    sums = _every_sum(values) if few else _random_sums(values, rounds)
    extreme = int((np.abs(sums) >= abs(values.sum()) - 1e-9 * np.abs(values).sum()).sum())
    return extreme / len(sums) if few else (extreme + 1) / (len(sums) + 1)


def _every_sum(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _random_sums(values: Floats, rounds: int) -> Floats:
    draw = np.random.default_rng(0)
    parts = [draw.choice((-1.0, 1.0), (1000, len(values))) @ values for _ in range(-(-rounds // 1000))]
    return np.concatenate(parts)[:rounds]


def holm(chances: Sequence[float]) -> list[float]:
    """Return chances with Holm's correction for several tests.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(chances, kind="stable")
    corrected = np.empty(len(chances))
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(chances) - place) * chances[index]))
        corrected[index] = largest
    return [float(f"{value:.12g}") for value in corrected]
