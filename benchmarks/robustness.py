"""Measure the accuracy of networks, scattering and gathering, on worse meshes than those of training.

    python benchmarks/robustness.py FOLDER      # trains runs that are missing, measures, draws
    python benchmarks/robustness.py             # redraws the results

Networks learn the parts of clean embedded creatures, with field convolutions and with their gathering variant
(`--network gathering`), by the same command with the same seeds. Each is then tested on the same unseen
creatures at every level of difficulty, noise, number of vertices, and random rotation of the tangent frames.
This takes about an hour on one core, mostly for training.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import results
from fieldconv import FCNet, Surface
from fieldconv._io import atomic_path
from fieldconv.datasets import Creatures
from fieldconv.datasets.creatures import DIFFICULTIES, Difficulty
from fieldconv.surface import ToSurface
from fieldconv.training import evaluate
from pages import DOCS, fill_table
from training_runs import train_once

RESULT = Path(__file__).parent / "results" / "robustness" / "creatures.json"
FIGURE = DOCS / "figures" / "robustness.png"
SPECIES = ("biped", "quadruped", "lizard", "bird", "octopus", "hand")
TRAINING = (
    f"segmentation --preset quick --species {' '.join(SPECIES)} --meshes 60 --blocks 2 --width 32 --rings 4 "
    "--echo-channels 12 --echo-samples 2 --samples None --epochs 15"
)
KINDS = {"scattering": "fcnet", "gathering": "gathering"}
MESHES = 18

NOISE = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
VERTICES = (250, 350, 500, 700, 1000, 2000)
FRAMES = (0.0, 0.1, 0.2, 0.4, 0.8)


def levels() -> Iterator[tuple[str, str | float, dict[str, Any]]]:
    """Yield (group, level, options of `Creatures`) of all measurements."""
    for name in DIFFICULTIES:
        yield "difficulty", name, {"difficulty": name}
    for noise in NOISE:
        yield "noise", noise, {"difficulty": Difficulty(noise=noise)}
    for vertices in VERTICES:
        yield "vertices", vertices, {"vertices": vertices}
    for deviation in FRAMES:
        yield "frames", deviation, {"transform": noisy_frames(deviation)}


def noisy_frames(deviation: float) -> Callable[[Surface], Surface]:
    """Return a transform that turns the logarithms, but not the transport, by random angles."""

    def transform(surface: Surface) -> Surface:
        generator = torch.Generator().manual_seed(0)
        angle = deviation * torch.randn(len(surface.pos), generator=generator, dtype=surface.area.dtype)
        noisy = surface.clone()
        noisy.log = surface.log * torch.polar(torch.ones_like(angle), angle)[surface.edge_index[0]]
        return noisy

    return transform


def arguments(kind: str, seed: int) -> str:
    return f"{TRAINING} --network {KINDS[kind]} --seed {seed}"


def networks(folder: Path, seeds: Sequence[int]) -> dict[str, list[FCNet]]:
    """Return trained networks of both kinds, one for each seed."""
    trained: dict[str, list[FCNet]] = {}
    for seed in seeds:
        for kind in KINDS:
            run = folder / f"{kind}-{seed}"
            train_once(run, arguments(kind, seed).split())
            trained.setdefault(kind, []).append(FCNet.from_pretrained(run))
    return trained


def measure(models: dict[str, list[FCNet]]) -> list[dict[str, Any]]:
    settings = models["scattering"][0].config.surface_settings
    rows = []
    for group, level, options in levels():
        data = Creatures(
            split="test",
            meshes=MESHES,
            species=SPECIES,
            pre_transform=ToSurface(**settings.to_dict()),
            **options,
        )
        accuracy = {
            kind: [round(evaluate(model, data).metrics["accuracy"], 4) for model in ones]
            for kind, ones in models.items()
        }
        print(f"{group:>12} {level!s:>8}  {accuracy}", flush=True)
        rows.append({"group": group, "level": level, "accuracy": accuracy})
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(9, 6.4), layout="constrained")
    grid = figure.add_gridspec(2, 3)
    labels = {
        "difficulty": "level of difficulty",
        "noise": "noise (mean edge lengths)",
        "vertices": "vertices (trained with 1,000)",
        "frames": "turn of the frames σ (radians)",
    }
    places = {
        "difficulty": grid[0, :],
        **{group: grid[1, i] for i, group in enumerate(("noise", "vertices", "frames"))},
    }
    looks = {"scattering": ("C0", "field convolution", -1), "gathering": ("C1", "gathering variant", 1)}
    for group, place in places.items():
        axes = figure.add_subplot(place)
        own = [row for row in rows if row["group"] == group]
        x = np.array([row["level"] for row in own])
        for kind, (colour, name, side) in looks.items():
            values = 100 * np.array([row["accuracy"][kind] for row in own])
            mean = values.mean(1)
            if group == "difficulty":
                spread = [mean - values.min(1), values.max(1) - mean]
                axes.errorbar(
                    np.arange(len(x)) + 0.12 * side,
                    mean,
                    spread,
                    fmt="o",
                    color=colour,
                    capsize=3,
                    label=name,
                )
            else:
                axes.plot(x, mean, "o-", color=colour, markersize=4, label=name)
                axes.fill_between(x, values.min(1), values.max(1), color=colour, alpha=0.2, linewidth=0)
        if group == "difficulty":
            axes.set_xticks(np.arange(len(x)), x)
            axes.legend(frameon=False)
        if group == "vertices":
            axes.set_xscale("log")
            axes.set_xticks([250, 500, 1000, 2000], ["250", "500", "1,000", "2,000"])
            axes.minorticks_off()
        axes.set_xlabel(labels[group])
        axes.grid(axis="y", alpha=0.3)
        if group in ("difficulty", "noise"):
            axes.set_ylabel("vertices labelled right (%)")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)


def table(rows: list[dict[str, Any]]) -> str:
    seeds = len(rows[0]["accuracy"]["scattering"])
    lines = [
        "![Accuracy at every level, and against noise, vertices and turned frames](figures/robustness.png)",
        "",
        f"| {'mean of ' if seeds > 1 else ''}{seeds} seed{'s' if seeds > 1 else ''} "
        "| field convolution | gathering | difference |",
        "|---|---:|---:|---:|",
    ]
    words = {"difficulty": "", "noise": "noise ", "vertices": "vertices ", "frames": "frames turned, σ = "}
    for row in rows:
        ours, theirs = (100 * np.mean(row["accuracy"][kind]) for kind in KINDS)
        name = f"{words[row['group']]}{row['level']}"
        lines.append(f"| {name} | {ours:.1f} | {theirs:.1f} | {ours - theirs:+.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of the training runs, outside the checkout")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options = parser.parse_args()
    if options.folder is not None:
        rows = measure(networks(options.folder, options.seeds))
        runs = []
        for kind in KINDS:
            for seed in options.seeds:
                command = f"fieldconv train {arguments(kind, seed)} --out RUN"
                runs.append(results.collect(options.folder / f"{kind}-{seed}", kind, "creatures", command))
        result = {"test_meshes": MESHES, "rows": rows, "runs": runs}
        with atomic_path(RESULT) as temporary:
            temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"]
    draw(rows, FIGURE)
    fill_table(DOCS / "robustness.md", "benchmarks/robustness.py", table(rows))


if __name__ == "__main__":
    main()
