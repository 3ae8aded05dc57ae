"""Whether a network's confidence says where not to trust it: at rims, at mistakes, on shapes never seen.

    python benchmarks/confidence.py RUN          # RUN: a network that `benchmarks/scans.py` trained
    python benchmarks/confidence.py              # writes the table again

The network is calibrated on clean creatures it has not seen, and asked with `predict` about others: clean and
damaged ones of the species it learnt, clean ones of species it did not, and shapes that are no creatures.
Confidence is the largest probability at a vertex.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import shapes
from fieldconv import FCNet, Mesh
from fieldconv._io import atomic_path
from fieldconv.datasets import Creatures
from fieldconv.datasets.creatures import SPECIES as ALL
from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry import rim_distances
from fieldconv.training import calibrate, predict
from pages import DOCS, fill_table
from robustness import MESHES, SPECIES
from scans import TEST, VALIDATION, creatures

RESULT = Path(__file__).parent / "results" / "robustness" / "confidence.json"
LEVELS = ("clean", "holes", "cut", "fused", "missing", "hard")
NEAR = 0.05  # of a rim, along edges, on a mesh of unit area


def known(level: str) -> Iterator[tuple[Mesh, np.ndarray]]:
    """(mesh, label of each vertex) of creatures of the species that were learnt."""
    data = Creatures(
        "segmentation", split="test", seed=TEST, meshes=MESHES, species=SPECIES, difficulty=level
    )
    for index in range(len(data)):
        yield data.meshes(index)[0], data[index].vertex_y.numpy()


def unknown() -> Iterator[tuple[str, Mesh]]:
    """(kind, mesh) of what was never seen."""
    for number, species in enumerate(sorted(set(ALL) - set(SPECIES))):
        yield "other species", make_creature(species, number, vertices=1000).mesh
    for made in (shapes.torus(), shapes.icosphere(3)):
        yield "no creatures", Mesh(*made)


def near_rim(mesh: Mesh) -> np.ndarray:
    """(V,) whether a vertex lies near the boundary of its mesh."""
    return np.asarray(rim_distances(mesh) < NEAR * np.sqrt(mesh.area))


def ranked(confidence: np.ndarray, right: np.ndarray) -> float:
    """How often a right vertex has more confidence than a wrong one: 0.5 if it says nothing, 1 if all."""
    wrong = int((~right).sum())
    if wrong in (0, len(right)):
        return float("nan")
    rank = rankdata(confidence)[right].sum()
    return float((rank - right.sum() * (right.sum() + 1) / 2) / (right.sum() * wrong))


def summary(confidence: np.ndarray, right: np.ndarray | None, rim: np.ndarray) -> dict[str, float]:
    """What is shown of a row, as shares."""
    found = {"confidence": confidence.mean(), "doubtful": (confidence < 0.7).mean()}
    if right is not None:
        found |= {"right": right.mean(), "ranked": ranked(confidence, right)}
    if rim.any():
        found |= {"confidence_near_rims": confidence[rim].mean(), "elsewhere": confidence[~rim].mean()}
        if right is not None:
            found |= {"right_near_rims": right[rim].mean(), "right_elsewhere": right[~rim].mean()}
    return {name: round(float(value), 4) for name, value in found.items()}


def measure(run: Path) -> dict[str, Any]:
    """Return the numbers of each row."""
    network = FCNet.from_pretrained(run)
    calibrate(network, creatures(network, VALIDATION))
    rows: dict[str, dict[str, float]] = {}

    def sure(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
        scores = np.asarray(predict(network, mesh, descriptors=False).scores)
        return scores.max(1), scores.argmax(1)

    for level in LEVELS:
        parts = []
        for mesh, truth in known(level):
            confidence, label = sure(mesh)
            parts.append((confidence, label == truth, near_rim(mesh)))
        rows[level] = summary(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        print(level, rows[level], flush=True)
    other: dict[str, list[np.ndarray]] = {}
    for kind, mesh in unknown():
        other.setdefault(kind, []).append(sure(mesh)[0])
    for kind, found in other.items():
        confidence = np.concatenate(found)
        rows[kind] = summary(confidence, None, np.zeros(len(confidence), bool))
        print(kind, rows[kind], flush=True)
    return {"run": run.name, "temperature": round(network.temperature, 4), "rows": rows}


def table(found: dict[str, Any]) -> str:
    """One line for each kind of shape, in percent."""
    heads = {
        "right": "right",
        "confidence": "mean confidence",
        "doubtful": "vertices below 70 %",
        "ranked": "right above wrong",
        "confidence_near_rims": "confidence near rims",
        "elsewhere": "… elsewhere",
        "right_near_rims": "right near rims",
        "right_elsewhere": "… elsewhere",
    }
    lines = [f"| | {' | '.join(heads.values())} |", f"|---|{'---:|' * len(heads)}"]
    for name, row in found["rows"].items():
        cells = [f"{100 * row[key]:.1f}" if key in row else "" for key in heads]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="?", help="folder of a trained network")
    options = parser.parse_args()
    if options.run is not None:
        measured = json.dumps(measure(options.run), indent=1)
        with atomic_path(RESULT) as temporary:
            temporary.write_text(measured + "\n", encoding="utf-8")
    found = json.loads(RESULT.read_text(encoding="utf-8"))
    print(table(found))
    fill_table(DOCS / "robustness.md", "benchmarks/confidence.py", table(found))


if __name__ == "__main__":
    main()
