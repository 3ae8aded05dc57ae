"""Measure the network for bodies on real sets that it was not trained on; see docs/bodies.md.

    python benchmarks/bodies.py DATA [--network bodies] [--only faust shrec19 parts] [--out results.json]

DATA holds faust_remeshed, shrec19_humans and human_seg. Errors are geodesic distances × 100 on the second
shape, at unit area, for the vertices of the first shape whose truth is known.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import fieldconv as fc
from fieldconv._io import write_json
from fieldconv.datasets import HumanSegmentation
from fieldconv.geometry import nearest_samples, refine_map
from fieldconv.geometry.damage import damage
from fieldconv.labels import first_preimage, read_pairs, read_vertex_map
from fieldconv.tasks import Prediction
from fieldconv.training.apply import task_of

DAMAGES = ("clean", "cut", "noise", "decimated", "fused")


class Bodies:
    """Predictions of one network, each computed once."""

    def __init__(self, network: str, points: int = 400) -> None:
        self.points = points  # random vertices of the first shape at which errors are measured
        self.model = fc.load(network)
        self.model.task = "template-parts"
        self.task = task_of(self.model)
        self.predictions: dict[str, Prediction] = {}

    def predict(self, key: str, mesh: fc.Mesh) -> Prediction:
        """Return the prediction on a mesh."""
        if key not in self.predictions:
            self.predictions[key] = fc.predict(self.model, mesh, descriptors=False)
        return self.predictions[key]


def pair_errors(
    bodies: Bodies,
    names: tuple[str, str],
    meshes: tuple[fc.Mesh, fc.Mesh],
    truth: np.ndarray,
    refine: bool = False,
) -> np.ndarray:
    """Return the errors × 100 of the map from the first mesh to the second; truth −1 is unknown."""
    one, two = (bodies.predict(name, mesh) for name, mesh in zip(names, meshes, strict=True))
    target = bodies.task.correspond(one, two)
    if refine:
        target = refine_map(*meshes, target).target
    known = np.flatnonzero(truth >= 0)
    points = np.random.default_rng(0).permutation(known)[: bodies.points]
    # Distances from the true vertices to those of the map.
    sources, back = np.unique(truth[points], return_inverse=True)
    order, distance = nearest_samples(meshes[1].normalised(), sources, k=len(sources))
    mapped = target[points]
    return 100 * np.where(order[mapped] == back[:, None], distance[mapped], 0).sum(1)


def faust(bodies: Bodies, root: Path, refine: bool, count: int) -> dict[str, Any]:
    """Measure dense maps between different people, without and with damage."""
    rng = np.random.default_rng(0)
    pairs = [rng.permutation(80)[:2] for _ in range(4 * count)]
    pairs = [(a, b) for a, b in pairs if a // 10 != b // 10][:count]
    errors: dict[str, list[np.ndarray]] = {}
    for a, b in pairs:
        meshes = [fc.Mesh.load(root / "shapes" / f"tr_reg_{k:03d}.off").validate() for k in (a, b)]
        maps = [
            read_vertex_map(root / "corres" / f"tr_reg_{k:03d}.vts", num_targets=len(mesh.vertices), base=1)
            for k, mesh in zip((a, b), meshes, strict=True)
        ]
        line = first_preimage(maps[0], len(meshes[0].vertices))
        truth = np.where(line >= 0, maps[1][line], -1)
        for kind in DAMAGES:
            changed = damaged(meshes[0], kind, int(a))
            own = truth if kind == "clean" else truth[changed.nearest]
            key, two = (f"faust {a} {kind}", f"faust {b} clean"), (changed.mesh, meshes[1])
            errors.setdefault(kind, []).append(pair_errors(bodies, key, two, own))
            if refine:
                refined_errors = pair_errors(bodies, key, two, own, refine=True)
                errors.setdefault(f"{kind}, refined", []).append(refined_errors)
    means = {kind: float(np.mean([one.mean() for one in each])) for kind, each in errors.items()}
    return {"pairs": len(pairs), **means, "curves": {kind: curve(each) for kind, each in errors.items()}}


def curve(errors: list[np.ndarray]) -> list[float]:
    """Return the share of points whose error × 100 is at most 0, 0.5, 1 … 20, each pair with equal weight."""
    return [round(float(np.mean([(one <= most).mean() for one in errors])), 4) for most in np.arange(41) / 2]


def damaged(mesh: fc.Mesh, kind: str, seed: int) -> damage.Damaged:
    """Return the mesh with one kind of damage."""
    rng = np.random.default_rng(seed)
    if kind == "cut":
        return damage.cut(mesh, rng, 0.1)
    if kind == "noise":
        return damage.add_noise(mesh, rng, 0.005)
    if kind == "decimated":
        return damage.decimate(mesh, 1250)
    if kind == "fused":
        return damage.fuse(mesh, rng)
    return damage.no_damage(mesh)


def shrec19(bodies: Bodies, root: Path, refine: bool, count: int) -> dict[str, Any]:
    """Measure ``count`` of the pairs of SHREC'19 humans, evenly spread over their list."""
    every = [fields[:2] for _, fields in read_pairs(root / "pairs.txt", [])]
    pairs = [every[k * len(every) // min(count, len(every))] for k in range(min(count, len(every)))]
    names = sorted({name for pair in pairs for name in pair}, key=int)
    meshes = {name: fc.Mesh.load(root / "shapes" / f"{name}.off") for name in names}
    maps = {
        name: read_vertex_map(
            root / "smpl_matches" / f"{name}.txt", num_targets=len(meshes[name].vertices), base=1
        )
        for name in names
    }
    errors: dict[str, np.ndarray] = {}
    smooth: dict[str, np.ndarray] = {}
    for a, b in pairs:
        line = first_preimage(maps[a], len(meshes[a].vertices))
        truth = np.where(line >= 0, maps[b][line], -1)
        two = (meshes[a], meshes[b])
        errors[f"{a} {b}"] = pair_errors(bodies, (f"s{a}", f"s{b}"), two, truth)
        if refine:
            smooth[f"{a} {b}"] = pair_errors(bodies, (f"s{a}", f"s{b}"), two, truth, refine=True)
    means = {key: float(own.mean()) for key, own in errors.items()}
    result: dict[str, Any] = {
        "pairs": len(errors),
        "mean": float(np.mean(list(means.values()))),
        "median of pairs": float(np.median(list(means.values()))),
        "worst pairs": {key: means[key] for key in sorted(means, key=means.__getitem__)[-5:]},
        "curves": {"clean": curve(list(errors.values()))},
    }
    if refine:
        result["mean, refined"] = float(np.mean([one.mean() for one in smooth.values()]))
        result["curves"]["clean, refined"] = curve(list(smooth.values()))
    return result


def parts(bodies: Bodies, root: Path, every: int) -> dict[str, Any]:
    """Measure the eight parts of the bodies for segmentation, by source, with their confusion."""
    totals: dict[str, np.ndarray] = {}
    for item in HumanSegmentation.read(root, split="train").items[::every]:
        name, sample = item.name, item.read()
        source = name.split("/")[-1].split("_")[0].lower()
        labels = bodies.predict(name, sample.mesh).labels
        truth = np.asarray(sample.target)
        matrix = totals.setdefault(source, np.zeros((8, 8)))
        assert labels is not None
        known = truth >= 0
        np.add.at(matrix, (truth[known], labels[known]), 1)
    accuracy = {source: float(np.trace(m) / m.sum()) for source, m in totals.items()}
    return {
        "accuracy": accuracy,
        "mean of sources": float(np.mean(list(accuracy.values()))),
        "confusion in %": {
            source: (100 * m / np.maximum(m.sum(1, keepdims=True), 1)).round(1).tolist()
            for source, m in totals.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--network", default="bodies", help="name or run")
    parser.add_argument("--only", nargs="*", default=["parts", "faust", "shrec19"])
    parser.add_argument("--refine", action="store_true", help="measure refined maps as well")
    parser.add_argument("--pairs", type=int, default=155, help="of bodies in FAUST and SHREC'19")
    parser.add_argument("--points", type=int, default=400, help="vertices of a shape to measure at")
    parser.add_argument("--every", type=int, default=1, help="every second, third … of the bodies with parts")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    bodies, results = Bodies(options.network, options.points), {}
    for name in options.only:
        began = time.perf_counter()
        if name == "parts":
            results[name] = parts(bodies, options.data / "human_seg", options.every)
        elif name == "faust":
            results[name] = faust(bodies, options.data / "faust_remeshed", options.refine, options.pairs)
        else:
            results[name] = shrec19(bodies, options.data / "shrec19_humans", options.refine, options.pairs)
        bodies.predictions.clear()
        print(
            name,
            {k: v for k, v in results[name].items() if k not in ("confusion in %", "curves")},
            flush=True,
        )
        print(f"  {time.perf_counter() - began:.0f} s", flush=True)
        if options.out is not None:
            write_json(options.out, results)


if __name__ == "__main__":
    main()
