"""Whether a trained network says the same of one shape at every density: 700 to 100,000 vertices.

    python benchmarks/density.py RUN                   # a segmentation network, on creatures it has not seen
    python benchmarks/density.py RUN --kind anew       # the creatures are triangulated anew at each density
    python benchmarks/density.py RUN --meshes a.ply …  # on other meshes

Creatures of 700 vertices are subdivided, so that the shape stays exactly what it is, or made anew. Other
meshes are decimated to 700 vertices and then subdivided, or (anew) decimated or subdivided to each density.
Each is predicted at every density. Labels are compared with those of the densest at the vertices of the
sparsest, weighted by area. All densities share these; of those made anew, scores are interpolated at the
nearest place.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from fieldconv import FCNet, Mesh
from fieldconv._io import atomic_path
from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry import subdivided
from fieldconv.geometry.damage import decimated
from fieldconv.training import predict
from robustness import SPECIES

RESULT = Path(__file__).parent / "results" / "robustness"
DENSITIES = (700, 2000, 5000, 20_000, 100_000)
SEED = 3_000_000  # of test creatures of another set than those that are measured elsewhere


def creatures(kind: str) -> Iterator[tuple[str, dict[int, Mesh]]]:
    """(name, mesh at each density) of one creature of each species."""
    for number, species in enumerate(SPECIES):
        made = {n: make_creature(species, SEED + number, vertices=min(n, 50_000)).mesh for n in DENSITIES}
        if kind == "subdivided":
            yield species, {n: subdivided(made[DENSITIES[0]], n).mesh for n in DENSITIES}
        else:  # the densest are 50,000, subdivided
            yield species, {n: subdivided(mesh, n).mesh for n, mesh in made.items()}


def given(paths: list[Path], kind: str) -> Iterator[tuple[str, dict[int, Mesh]]]:
    """(name, mesh at each density): fewer vertices by collapsing edges, more by splitting them."""
    for path in paths:
        mesh = Mesh.load(path).repair().mesh
        if kind == "subdivided":
            mesh = decimated(mesh, DENSITIES[0]).mesh
        count = len(mesh.vertices)
        yield (
            path.stem,
            {n: decimated(mesh, n).mesh if n < count else subdivided(mesh, n).mesh for n in DENSITIES},
        )


def read(mesh: Mesh, scores: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, k) scores at points in space, interpolated in the nearest triangle at a nearby vertex."""
    near = cKDTree(mesh.vertices).query(points, 3)[1]
    order = np.argsort(mesh.faces.ravel(), kind="stable")
    first = np.searchsorted(mesh.faces.ravel()[order], np.arange(len(mesh.vertices) + 1))
    best = np.full(len(points), np.inf)
    found = np.zeros((len(points), scores.shape[1]))
    for k in range(near.shape[1]):
        begin, number = first[near[:, k]], first[near[:, k] + 1] - first[near[:, k]]
        for step in range(int(number.max())):
            rows = np.flatnonzero(number > step)
            corner = mesh.faces[order[begin[rows] + step] // 3]
            weight = in_triangle(points[rows], mesh.vertices[corner])
            away = np.linalg.norm((weight[:, :, None] * mesh.vertices[corner]).sum(1) - points[rows], axis=1)
            better = away < best[rows]
            best[rows[better]] = away[better]
            found[rows[better]] = (weight[:, :, None] * scores[corner]).sum(1)[better]
    return found


def in_triangle(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(n, 3) barycentric coordinates of the projection of each point, clipped into its triangle."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(b - a, c - a)
    square = np.maximum((normal**2).sum(1), 1e-300)
    v = (np.cross(points - a, c - a) * normal).sum(1) / square
    w = (np.cross(b - a, points - a) * normal).sum(1) / square
    weight = np.clip(np.stack([1 - v - w, v, w], 1), 0, None)
    return weight / np.maximum(weight.sum(1, keepdims=True), 1e-300)


def measure(
    network: FCNet, shapes: Iterator[tuple[str, dict[int, Mesh]]], samples: int | None
) -> list[dict[str, Any]]:
    rows = []
    for name, meshes in shapes:
        points, area = meshes[DENSITIES[0]].vertices, meshes[DENSITIES[0]].vertex_areas
        labels, seconds = {}, {}
        for density, mesh in meshes.items():
            began = time.process_time()
            scores = predict(network, mesh, samples=samples).scores
            seconds[density] = round(time.process_time() - began, 2)
            labels[density] = read(mesh, np.asarray(scores), points).argmax(1)
        last = labels[DENSITIES[-1]]
        rows.append(
            {
                "shape": name,
                "vertices": {density: len(mesh.vertices) for density, mesh in meshes.items()},
                "agreement": {
                    d: round(float(area[one == last].sum() / area.sum()), 4) for d, one in labels.items()
                },
                "processor_seconds": seconds,
            }
        )
        print(name, rows[-1]["agreement"], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of a trained segmentation network")
    parser.add_argument("--kind", choices=("subdivided", "anew"), default="subdivided")
    parser.add_argument("--meshes", type=Path, nargs="+", help="instead of creatures")
    parser.add_argument("--samples", type=int, help="as of `predict`")
    options = parser.parse_args()
    shapes = given(options.meshes, options.kind) if options.meshes else creatures(options.kind)
    rows = measure(FCNet.from_pretrained(options.run), shapes, options.samples)
    mean = {d: round(float(np.mean([row["agreement"][d] for row in rows])), 4) for d in DENSITIES}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"mean {mean}, largest memory {peak:.1f} GB")
    kind = f"meshes-{options.kind}" if options.meshes else options.kind
    result = {"run": options.run.name, "samples": options.samples, "kind": kind, "mean": mean}
    result |= {"largest_memory_gb": round(peak, 2), "rows": rows}
    path = RESULT / f"density-{kind}-{options.samples or 'usual'}.json"
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
