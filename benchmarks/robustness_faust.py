"""Measure a correspondence network on bodies with changed meshes: noise, decimation, cuts, fusion.

    fieldconv train correspondence --data FAUST --hold-out 70:80 --out RUN
    python benchmarks/robustness_faust.py RUN --data FAUST --name default-seed-0  # measures, draws
    python benchmarks/robustness_faust.py                           # redraws the results

FAUST is the folder of the remeshed set. Shapes 070 to 079, of an unseen person, are changed by
`mesh_variants.py` and `fieldconv.geometry.damage`, which also carry the ground truth over; about ten minutes
on one core.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv import FCNet, Mesh
from fieldconv._io import atomic_path
from fieldconv.datasets import FAUST
from fieldconv.geometry.damage import Damaged, add_holes, add_noise, cut, decimate, fuse
from fieldconv.tasks.base.metrics import summarise_errors
from fieldconv.tasks.correspondence import template_distances
from fieldconv.training import match
from fieldconv.training.checkpoint import read_config
from mesh_variants import Variant, flipped, remeshed, subdivided
from pages import DOCS, fill_table

RESULT = Path(__file__).parent / "results" / "robustness" / "faust"
PRESETS = ("quick", "default")  # the name of each result file begins with its preset
FIGURE = DOCS / "figures" / "robustness_faust.png"
SHAPES = range(70, 80)


def plain(damaged: Damaged) -> Variant:
    return damaged.mesh, damaged.nearest


VARIANTS: dict[str, Callable[[Mesh, np.random.Generator], Variant]] = {
    "as given, 5,000 vertices": lambda mesh, rng: (mesh, np.arange(len(mesh.vertices))),
    "a fifth of the edges flipped": lambda mesh, rng: flipped(mesh, 3, rng),
    "remeshed, 5,000": lambda mesh, rng: remeshed(mesh, rng),
    "subdivided unevenly, 7,500": lambda mesh, rng: subdivided(mesh, 7500, rng),
    "subdivided unevenly, 10,000": lambda mesh, rng: subdivided(mesh, 10_000, rng),
    "decimated, 2,500": lambda mesh, rng: plain(decimate(mesh, 2500)),
    "decimated, 1,250": lambda mesh, rng: plain(decimate(mesh, 1250)),
    "noise, 0.1 % of the diagonal": lambda mesh, rng: plain(add_noise(mesh, rng, 0.001)),
    "noise, 0.2 %": lambda mesh, rng: plain(add_noise(mesh, rng, 0.002)),
    "noise, 0.5 %": lambda mesh, rng: plain(add_noise(mesh, rng, 0.005)),
    "noise, 1 %": lambda mesh, rng: plain(add_noise(mesh, rng, 0.01)),
    "four holes, each 1 to 3 %": lambda mesh, rng: plain(add_holes(mesh, rng)),
    "a tenth cut away": lambda mesh, rng: plain(cut(mesh, rng, 0.1)),
    "touching parts fused, 5,000": lambda mesh, rng: plain(fuse(mesh, rng)),
}


def measure(network: FCNet, folder: Path) -> list[dict[str, Any]]:
    assert network.template is not None
    distances = template_distances(network.template)
    samples = [item.read() for item in FAUST.read(folder, indices=SHAPES).items]
    rows = []
    for name, vary in VARIANTS.items():
        errors, vertices = [], []
        for number, (mesh, truth) in zip(SHAPES, samples, strict=True):
            variant, origin = vary(mesh, np.random.default_rng(number))
            errors.append(distances[truth[origin], network.predict(variant)])
            vertices.append(len(variant.vertices))
        summary = summarise_errors(np.concatenate(errors))
        rows.append(
            {
                "variant": name,
                "vertices": round(float(np.mean(vertices))),
                "within_0.05": round(summary["within_0.05"], 4),
                "exact": round(summary["exact"], 4),
                "mean_error_x100": round(summary["mean_error"], 3),
                "within_0.05_by_shape": [round(float((one <= 0.05).mean()), 4) for one in errors],
            }
        )
        within, mean = summary["within_0.05"], summary["mean_error"]
        print(f"{name:>30}  within 0.05 {within:.1%}  mean × 100 {mean:.2f}", flush=True)
    return rows


def measure_partial(network: FCNet, folder: Path) -> dict[str, Any]:
    """Measure how well vertices without counterpart are recognised, of each body against the next, cut one.

    A vertex has none if the nearest place that is left is farther than 0.05 away on the template.
    """
    assert network.template is not None
    distances = template_distances(network.template)
    samples = [item.read() for item in FAUST.read(folder, indices=SHAPES).items]
    truths, targets = [], []
    for number, (whole, other) in enumerate(zip(samples, samples[1:] + samples[:1], strict=True)):
        done = cut(other.mesh, np.random.default_rng(number), 0.1)
        away = distances[:, np.unique(other.target[done.nearest])].min(axis=1)
        truths.append(np.where(away[whole.target] > 0.05, -1, 0))
        targets.append(match(network, whole.mesh, done.mesh, partial=True).target)
    truth, target = np.concatenate(truths), np.concatenate(targets)
    none, answered = truth < 0, target < 0
    both = int((none & answered).sum())
    result = {
        "pairs": len(samples),
        "share_without_counterpart": round(float(none.mean()), 4),
        "precision_of_none": round(both / int(answered.sum()), 4),
        "recall_of_none": round(both / int(none.sum()), 4),
    }
    print(result, flush=True)
    return result


def read_runs() -> dict[str, list[dict[str, Any]]]:
    """Return the results by preset, one for each seed."""
    return {
        preset: [
            json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULT.glob(f"{preset}*.json"))
        ]
        for preset in PRESETS
    }


def over_seeds(runs: list[dict[str, Any]], variant: str, key: str) -> list[float]:
    """Return a number of each seed; nothing for a variant without results."""
    return [row[key] for run in runs for row in run["rows"] if row["variant"] == variant]


def draw(runs: dict[str, list[dict[str, Any]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 5.4), sharey=True, layout="constrained")
    figure.get_layout_engine().set(wspace=0.06)
    place = np.arange(len(VARIANTS))
    for number, (preset, own) in enumerate(runs.items()):
        for axes, key, factor in ((left, "within_0.05", 100), (right, "mean_error_x100", 1)):
            found = [over_seeds(own, variant, key) for variant in VARIANTS]
            mean = [factor * np.mean(numbers) if numbers else np.nan for numbers in found]
            bars = axes.barh(place + 0.4 * number - 0.2, mean, 0.38, color=f"C{number}", label=preset)
            shown = ["not measured" if np.isnan(value) else f"{value:.1f}" for value in mean]
            axes.bar_label(bars, shown, padding=3, fontsize=7)
    left.set(xlabel="% within geodesic error 0.05", xlim=(0, 112))
    left.set_yticks(place, list(VARIANTS))
    left.invert_yaxis()
    right.margins(x=0.18)
    right.set(xlabel="mean geodesic error × 100")
    right.legend(title="preset", loc="lower right")
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.3)
        axes.set_axisbelow(True)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)


def table(runs: dict[str, list[dict[str, Any]]]) -> str:
    names = [f"`{preset}`, {len(own)} seed{'s' * (len(own) > 1)}" for preset, own in runs.items()]
    numbers = {
        "within 0.05 (%)": ("within_0.05", 100, ".1f"),
        "mean error × 100": ("mean_error_x100", 1, ".2f"),
    }
    head = " | ".join(f"{number}: {name}" for number in numbers for name in names)
    lines = [
        "![Share within 0.05 and mean error on changed meshes](figures/robustness_faust.png)",
        "",
        f"| | {head} |",
        f"|---|{'---:|' * len(numbers) * len(names)}",
    ]
    for variant in VARIANTS:
        cells = []
        for key, factor, form in numbers.values():
            for own in runs.values():
                found = over_seeds(own, variant, key)
                cells.append(format(factor * np.mean(found), form) if found else "not measured")
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def partial_text(found: dict[str, Any]) -> str:
    share, precision, recall = (
        f"{100 * found[key]:.0f} %"
        for key in ("share_without_counterpart", "precision_of_none", "recall_of_none")
    )
    return (
        f"Partial matching (`--partial`) of each body with the next, of which a tenth is cut away: {share} "
        f"of the vertices have\nno counterpart; {precision} of those said to have none truly have none, and "
        f"{recall} of those that have none are found."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="?", help="folder of a trained correspondence network")
    parser.add_argument("--data", type=Path, help="folder of remeshed FAUST")
    parser.add_argument("--name", default="default-seed-0", help="of the file of results: PRESET-seed-K")
    options = parser.parse_args()
    if options.run is not None:
        if options.data is None:
            parser.error("give --data, the folder of remeshed FAUST")
        network = FCNet.from_pretrained(options.run)
        rows, partial = measure(network, options.data), measure_partial(network, options.data)
        config = read_config(options.run)
        settings = {key: config[key] for key in ("network", "training", "preset") if key in config}
        settings["hold_out"] = config.get("source", {}).get("hold_out")
        result = {
            "command": "python benchmarks/robustness_faust.py RUN --data FAUST",
            "run": {"name": options.run.name, **settings},
            "rows": rows,
            "partial": partial,
        }
        with atomic_path(RESULT / f"{options.name}.json") as temporary:
            temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    runs = read_runs()
    draw(runs, FIGURE)
    text = table(runs)
    partial = [run["partial"] for run in runs["default"] if "partial" in run]
    if partial:
        text += "\n\n" + partial_text({key: np.mean([one[key] for one in partial]) for key in partial[0]})
    fill_table(DOCS / "robustness.md", "benchmarks/robustness_faust.py", text)


if __name__ == "__main__":
    main()
