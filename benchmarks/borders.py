"""What is left of the mistakes on bodies of a source never seen, and what moves it: borders between parts.

    python benchmarks/borders.py FOLDER --data HUMAN_SEG     # trains what FOLDER lacks, measures
    python benchmarks/borders.py                             # writes the table again

For each of four sources, networks learn from the other three. Each is tried on the source that it has not
seen: prepared as it learnt, with three times the samples, averaged over three sets of these, and with scores
diffused over the surface for a time that is chosen on bodies the network learnt from. Other networks
have ball integrals as inputs, too, or a loss that knows about neighbours (`neighbour_loss.py`).

And it is counted how much of the mistakes goes one way: where two parts meet, vertices of the first called
the second, less those of the second called the first. A network that draws borders unsteadily errs both
ways; one that learnt to draw them elsewhere errs one way.

A run takes 8 to 10 minutes on one core, measuring it five.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import robust_laplacian
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from fieldconv import FCNet, Mesh
from fieldconv._io import atomic_path
from fieldconv.datasets.benchmarks.human_segmentation import read_human_seg
from fieldconv.labels import Item
from fieldconv.training import predict
from pages import DOCS, fill_table
from training_runs import COMMAND_LINE, train_once

RESULT = Path(__file__).parent / "results" / "robustness" / "borders"
TIMES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3)  # of a body of unit area: a vertex stands for 0.0013
SOURCES = ("SCAPE", "FAUST", "Adobe", "MIT")
NEIGHBOURS = (str(Path(__file__).with_name("neighbour_loss.py")),)
QUICKLY = ("--preset", "quick", "--epochs", "4")
BALLS = ("--features", "balls+hks", "--smoothing", "0.02")
ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # options and program of training
    "signatures": (QUICKLY, COMMAND_LINE),
    "balls": ((*QUICKLY, *BALLS), COMMAND_LINE),
    "neighbours": (QUICKLY, NEIGHBOURS),
    "damaged": (("--preset", "quick", *BALLS, "--damaged", "4", "--epochs", "8"), COMMAND_LINE),
}
TITLES = {
    "signatures": "signatures",
    "balls": "ball integrals and signatures",
    "neighbours": "signatures, loss of neighbours",
    "damaged": "ball integrals and signatures, four damaged copies, 8 epochs",
}
LEARNT_FROM = 30  # bodies on which the time is chosen


def diffused(mesh: Mesh, scores: NDArray[Any], time: float) -> NDArray[Any]:
    """Return (V, k) probabilities after one implicit step of heat flow on the mesh."""
    if time == 0:
        return scores
    laplacian, mass = robust_laplacian.mesh_laplacian(mesh.vertices, mesh.faces)
    return np.asarray(splu((mass + time * mesh.area * laplacian).tocsc()).solve(mass @ scores))


def scores_of(network: FCNet, mesh: Mesh, **options: Any) -> NDArray[Any]:
    """Return (V, k) probabilities; without options, of a mesh that is prepared as those of training."""
    return np.asarray(predict(network, mesh, descriptors=False, **options).scores)


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """Return so many of them, evenly spread."""
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(int))]


def measure(run: Path, source: str, data: Path, count: int) -> dict[str, Any]:
    """Return the share of vertices right in every variant, on bodies of a source never seen."""
    network = FCNet.from_pretrained(run)
    unseen = spread(read_human_seg(data, split="test", hold_out=[source]).items, count)
    seen = spread(read_human_seg(data, split="train", hold_out=[source]).items, LEARNT_FROM)
    right = dict.fromkeys(TIMES, 0)
    for item in seen:
        mesh, truth = item.read()
        scores = scores_of(network, mesh)
        for time in TIMES:
            right[time] += int((diffused(mesh, scores, time).argmax(1) == truth).sum())
    best = max(TIMES, key=right.__getitem__)
    parts = len(network.class_names)
    found = dict.fromkeys(["as learnt", "three times the samples", "three sets", "diffused"], 0)
    confusion, total = np.zeros((parts, parts), np.int64), 0
    assert network.density is not None
    more = 3 * network.density
    for item in unseen:
        mesh, truth = item.read()
        known, total = truth >= 0, total + int((truth >= 0).sum())
        learnt = scores_of(network, mesh)
        scores = {
            "as learnt": learnt,
            "three times the samples": scores_of(network, mesh, samples=more),
            "three sets": scores_of(network, mesh, samples=more, samplings=3),
            "diffused": diffused(mesh, learnt, best),
        }
        for name, own in scores.items():
            found[name] += int((own.argmax(1) == truth)[known].sum())
        np.add.at(confusion, (truth[known], learnt.argmax(1)[known]), 1)
    wrong = total - int(np.trace(confusion))
    one_way = int(np.abs(confusion - confusion.T).sum()) // 2
    return {
        "source": source,
        "bodies": len(unseen),
        "accuracy": {name: round(number / total, 4) for name, number in found.items()},
        "time_chosen_on_bodies_learnt_from": best,
        "wrong": round(wrong / total, 4),
        "of_it_one_way": round(one_way / total, 4),
        "confusion": confusion.tolist(),
    }


def one(folder: Path, row: str, source: str, data: Path, bodies: int) -> None:
    """Train one network, if it is not trained yet, and measure it, if it is not measured yet."""
    kept = RESULT / f"{row}-{source}.json"
    options, program = ROWS[row]
    words = ["segmentation", "--data", str(data), "--hold-out", f"*{source}*", *options]
    train_once(folder / f"{row}-{source}", words, program)
    if kept.is_file():
        return
    found = {
        "row": row,
        "options": list(options),
        **measure(folder / f"{row}-{source}", source, data, bodies),
    }
    print({key: value for key, value in found.items() if key != "confusion"}, flush=True)
    RESULT.mkdir(exist_ok=True)
    with atomic_path(kept) as temporary:
        temporary.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def table() -> str:
    """One line for each network and source, and the mean over sources where all were measured."""
    lines = [
        "| network | source never seen | bodies | as learnt | three times the samples | … three sets "
        "| scores diffused | wrong | of it one way |",
        "|---|---|" + "---:|" * 7,
    ]
    for row, title in TITLES.items():
        paths = [RESULT / f"{row}-{source}.json" for source in SOURCES]
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]
        numbers = [[*run["accuracy"].values(), run["wrong"], run["of_it_one_way"]] for run in runs]
        for run, own in zip(runs, numbers, strict=True):
            shown = " | ".join(f"{100 * number:.1f}" for number in own)
            lines.append(f"| {title} | {run['source']} | {run['bodies']} | {shown} |")
        if len(runs) == len(SOURCES):
            shown = " | ".join(f"**{100 * number:.1f}**" for number in np.mean(numbers, 0))
            lines.append(f"| {title} | mean | | {shown} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="where runs are kept")
    parser.add_argument("--data", type=Path, help="folder of the human segmentation set")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES)
    parser.add_argument("--bodies", type=int, default=40, help="of each source, evenly spread")
    options = parser.parse_args()
    if options.folder:
        if options.data is None:
            parser.error("give --data, the folder of the human segmentation set")
        for row in options.rows:
            for source in options.sources:
                one(options.folder, row, source, options.data, options.bodies)
    print(table())
    fill_table(DOCS / "robustness.md", "benchmarks/borders.py", table())


if __name__ == "__main__":
    main()
