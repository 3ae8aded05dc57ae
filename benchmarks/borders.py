"""What is left of the mistakes on bodies of a source never seen, and what moves it: borders between parts.

    python benchmarks/borders.py RUN_MIT RUN_SCAPE … --data HUMAN_SEG      # runs with --hold-out '*SOURCE*'
    python benchmarks/borders.py                                          # writes the table again

Each network is tried on the bodies of the source that it has not seen: as it is, with more samples inside
than the mesh has vertices, averaged over sets of samples, and with scores diffused over the surface for a
time that is chosen on bodies the network learnt from. And it is counted how much of the mistakes goes one
way: where two parts meet, vertices of the first called the second, less those of the second called the
first. A network that draws borders unsteadily errs both ways; one that learnt to draw them elsewhere errs
one way.
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
from fieldconv.folders.collection import Item
from fieldconv.training import predict
from fieldconv.training.checkpoint import read_config
from pages import DOCS, fill_table

RESULT = Path(__file__).parent / "results" / "robustness" / "borders.json"
TIMES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3)  # of a body of unit area: a vertex stands for 0.0013
VARIANTS = {
    "as they are": {},
    "2,048 samples": {"samples": 2048},
    "2,048 samples, three sets": {"samples": 2048, "samplings": 3},
}
LEARNT_FROM = 30  # bodies on which the time is chosen


def diffused(mesh: Mesh, scores: NDArray[Any], time: float) -> NDArray[Any]:
    """Return (V, k) probabilities after one implicit step of heat flow."""
    probability = np.exp(scores - scores.max(1, keepdims=True))
    probability /= probability.sum(1, keepdims=True)
    if time == 0:
        return probability
    laplacian, mass = robust_laplacian.mesh_laplacian(mesh.vertices, mesh.faces)
    return np.asarray(splu((mass + time * mesh.area * laplacian).tocsc()).solve(mass @ probability))


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """Return so many of them, evenly spread."""
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(int))]


def measure(run: Path, data: Path, count: int) -> dict[str, Any]:
    """Return the share of vertices right in every variant, in one source."""
    network = FCNet.from_pretrained(run)
    source = read_config(run)["source"]["hold_out"].strip("*").lower()
    unseen = spread(read_human_seg(data, split="test", hold_out=[source]).items, count)
    seen = spread(read_human_seg(data, split="train", hold_out=[source]).items, LEARNT_FROM)
    right = dict.fromkeys(TIMES, 0)
    for item in seen:
        mesh, truth = item.read()
        scores = np.asarray(predict(network, mesh, descriptors=False).scores)
        for time in TIMES:
            right[time] += int((diffused(mesh, scores, time).argmax(1) == truth).sum())
    best = max(TIMES, key=right.__getitem__)
    parts = len(network.class_names)
    found = dict.fromkeys([*VARIANTS, "diffused"], 0)
    confusion, total = np.zeros((parts, parts), np.int64), 0
    for item in unseen:
        mesh, truth = item.read()
        known, total = truth >= 0, total + int((truth >= 0).sum())
        for name, options in VARIANTS.items():
            scores = np.asarray(predict(network, mesh, descriptors=False, **options).scores)
            label = scores.argmax(1)
            found[name] += int((label == truth)[known].sum())
            if not options:
                np.add.at(confusion, (truth[known], label[known]), 1)
                better = diffused(mesh, scores, best).argmax(1)
                found["diffused"] += int((better == truth)[known].sum())
    wrong = total - int(np.trace(confusion))
    one_way = int(np.abs(confusion - confusion.T).sum()) // 2
    result = {
        "run": run.name,
        "source": source,
        "bodies": len(unseen),
        "accuracy": {name: round(number / total, 4) for name, number in found.items()},
        "time_chosen_on_bodies_learnt_from": best,
        "wrong": round(wrong / total, 4),
        "of_it_one_way": round(one_way / total, 4),
        "confusion": confusion.tolist(),
    }
    print({key: value for key, value in result.items() if key != "confusion"}, flush=True)
    return result


def table(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0]["accuracy"])
    head = " | ".join("scores diffused" if name == "diffused" else name for name in names)
    lines = [
        f"| source never seen | bodies | {head} | wrong | of it one way |",
        f"|---|---:|{'---:|' * (len(names) + 2)}",
    ]
    for row in rows:
        numbers = [*row["accuracy"].values(), row["wrong"], row["of_it_one_way"]]
        shown = " | ".join(f"{100 * number:.1f}" for number in numbers)
        lines.append(f"| {row['source']} | {row['bodies']} | {shown} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="*", help="each trained with another source held out")
    parser.add_argument("--data", type=Path, help="folder of the human segmentation set")
    parser.add_argument("--bodies", type=int, default=40, help="of each source, evenly spread")
    options = parser.parse_args()
    if options.runs:
        if options.data is None:
            parser.error("give --data, the folder of the human segmentation set")
        rows = [measure(run, options.data, options.bodies) for run in options.runs]
        with atomic_path(RESULT) as temporary:
            temporary.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    rows = json.loads(RESULT.read_text(encoding="utf-8"))
    print(table(rows))
    fill_table(DOCS / "robustness.md", "benchmarks/borders.py", table(rows))


if __name__ == "__main__":
    main()
