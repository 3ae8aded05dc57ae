"""How well a correspondence network does on bodies whose meshes are changed: noise, decimation, cuts, fusion.

    fieldconv train correspondence --data FAUST --hold-out 70:80 --out RUN
    python benchmarks/robustness_faust.py RUN --data FAUST      # measures, draws
    python benchmarks/robustness_faust.py                       # draws again what was measured

FAUST is the folder of the remeshed set. Shapes 070 to 079, a person the network has not seen, are changed by
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
from fieldconv.datasets.benchmarks.faust import read_faust
from fieldconv.geometry.damage import Damaged, cut, decimated, fused, holes, noise
from fieldconv.surface.cache import default_folder
from fieldconv.tasks.base.distances import template_distances
from fieldconv.tasks.base.metrics import none_score, summarise_errors
from fieldconv.training.checkpoint import read_config
from fieldconv.training.prediction import match
from mesh_variants import Variant, flipped, remeshed, subdivided
from pages import DOCS, fill_table

RESULT = Path(__file__).parent / "results" / "robustness" / "faust.json"
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
    "decimated, 2,500": lambda mesh, rng: plain(decimated(mesh, 2500)),
    "decimated, 1,250": lambda mesh, rng: plain(decimated(mesh, 1250)),
    "noise, 0.1 % of the diagonal": lambda mesh, rng: plain(noise(mesh, rng, 0.001)),
    "noise, 0.2 %": lambda mesh, rng: plain(noise(mesh, rng, 0.002)),
    "noise, 0.5 %": lambda mesh, rng: plain(noise(mesh, rng, 0.005)),
    "noise, 1 %": lambda mesh, rng: plain(noise(mesh, rng, 0.01)),
    "four holes, each 1 to 3 %": lambda mesh, rng: plain(holes(mesh, rng)),
    "a tenth cut away": lambda mesh, rng: plain(cut(mesh, rng, 0.1)),
    "touching parts fused, 5,000": lambda mesh, rng: plain(fused(mesh, rng)),
}


def measure(network: FCNet, folder: Path) -> list[dict[str, Any]]:
    assert network.template is not None
    distances = template_distances(network.template, default_folder())
    samples = [item.read() for item in read_faust(folder, indices=SHAPES).items]
    rows = []
    for name, vary in VARIANTS.items():
        errors, vertices = [], []
        for number, (mesh, truth) in zip(SHAPES, samples, strict=True):
            variant, origin = vary(mesh, np.random.default_rng(number))
            errors.append(distances[truth[origin], network.predict(variant)])
            vertices.append(len(variant.vertices))
        found = summarise_errors(np.concatenate(errors))
        rows.append(
            {
                "variant": name,
                "vertices": round(float(np.mean(vertices))),
                "within_0.05": round(found.within, 4),
                "exact": round(found.exact, 4),
                "mean_error_x100": round(found.mean, 3),
                "within_0.05_by_shape": [round(float((one <= 0.05).mean()), 4) for one in errors],
            }
        )
        print(f"{name:>30}  within 0.05 {found.within:.1%}  mean × 100 {found.mean:.2f}", flush=True)
    return rows


def measure_partial(network: FCNet, folder: Path) -> dict[str, Any]:
    """How well vertices without counterpart are told: each body against the next, a tenth of which is gone.

    A vertex has none if the nearest place that is left is farther than 0.05 away on the template.
    """
    assert network.template is not None
    distances = template_distances(network.template, default_folder())
    samples = [item.read() for item in read_faust(folder, indices=SHAPES).items]
    truths, found = [], []
    for number, (whole, other) in enumerate(zip(samples, samples[1:] + samples[:1], strict=True)):
        done = cut(other.mesh, np.random.default_rng(number), 0.1)
        away = distances[:, np.unique(other.target[done.nearest])].min(axis=1)
        truths.append(np.where(away[whole.target] > 0.05, -1, 0))
        found.append(match(network, whole.mesh, done.mesh, partial=True).target)
    truth, target = np.concatenate(truths), np.concatenate(found)
    score = none_score(truth, target)
    result = {
        "pairs": len(samples),
        "share_without_counterpart": round(float((truth < 0).mean()), 4),
        "precision_of_none": round(score.precision, 4),
        "recall_of_none": round(score.recall, 4),
    }
    print(result, flush=True)
    return result


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
    figure.get_layout_engine().set(wspace=0.06)
    place = np.arange(len(rows))
    within = np.array([100 * row["within_0.05"] for row in rows])
    shapes = 100 * np.array([row["within_0.05_by_shape"] for row in rows])
    left.barh(place, within, color="C0", alpha=0.75)
    left.plot(shapes, np.repeat(place[:, None], shapes.shape[1], axis=1), "k.", markersize=3)
    left.set(xlabel="% within geodesic error 0.05 (dots: each body)", xlim=(0, 100))
    left.set_yticks(place, [row["variant"] for row in rows])
    left.invert_yaxis()
    bars = right.barh(place, [row["mean_error_x100"] for row in rows], color="C1", alpha=0.75)
    right.bar_label(bars, fmt="%.1f", padding=3)
    right.margins(x=0.18)
    right.set(xlabel="mean geodesic error × 100")
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.3)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "![Share within 0.05 and mean error on changed meshes](figures/robustness_faust.png)",
        "",
        "| | within 0.05 (%) | exact (%) | mean error × 100 |",
        "|---|---:|---:|---:|",
    ]
    for row in rows:
        shares = f"{100 * row['within_0.05']:.1f} | {100 * row['exact']:.1f}"
        lines.append(f"| {row['variant']} | {shares} | {row['mean_error_x100']:.2f} |")
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
        with atomic_path(RESULT) as temporary:
            temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    kept = json.loads(RESULT.read_text(encoding="utf-8"))
    draw(kept["rows"], FIGURE)
    text = table(kept["rows"])
    if "partial" in kept:
        text += "\n\n" + partial_text(kept["partial"])
    fill_table(DOCS / "robustness.md", "benchmarks/robustness_faust.py", text)


if __name__ == "__main__":
    main()
