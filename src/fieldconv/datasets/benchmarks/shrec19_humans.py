"""SHREC'19, matching humans with different connectivity: 44 bodies of many sources, 430 pairs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from fieldconv._arrays import Ints
from fieldconv.datasets.benchmarks.benchmark import Benchmark
from fieldconv.labels.collection import (
    Collection,
    Item,
    Pair,
    Sample,
    fill_geodesically,
    first_preimage,
    load_mesh,
    mesh_files,
    natural_order,
)
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.label_files import read_vertex_map
from fieldconv.labels.own_folder import read_pairs
from fieldconv.labels.splits import split_groups


class SHREC19Humans(Benchmark):
    """SHREC'19, matching humans with different connectivity, 430 pairs of 44 bodies: matching.

    Laid out as ``shapes/<i>.off``, ``smpl_matches/<i>.txt`` and ``pairs.txt``. ``smpl_matches/<i>.txt`` names
    (from 1) the vertex of shape i at each of the 6,890 points of a template, so two such files make the map
    between two shapes. A vertex that no line names is taken to be at the point of the geodesically nearest
    one that is named.
    Other parameters are those of `Benchmark`.

    Parameters
    ----------
    split_by : {"shape", "pair"}
        Draw ``test_fraction`` (0.3 by default) of the shapes, so that no tested shape was seen in training
        (pairs of a tested and a trained one are left out); or of the pairs, whose shapes are then known from
        other pairs. "shape" by default.
    """

    key, title, task_name = "shrec19_humans", "SHREC'19 humans", "matching"
    folders = ("shapes", "smpl_matches")
    hint = (
        "The set is laid out as shapes/<i>.off, smpl_matches/<i>.txt and pairs.txt; it can be had from "
        "github.com/riccardomarin/SHREC19_matching_humans."
    )

    @classmethod
    def read(
        cls,
        root: str | Path,
        *,
        split: str = "train",
        split_by: Literal["shape", "pair"] = "shape",
        test_fraction: float = 0.3,
        seed: int = 0,
    ) -> Collection:
        root = Path(root)
        problems: list[str] = []
        shapes = {path.stem: path for path in mesh_files(root / "shapes")}
        maps = {name: root / "smpl_matches" / f"{name}.txt" for name in shapes}
        if not shapes:
            problems.append("no shapes/*.off")
        problems += [
            f"shapes/{shapes[name].name}: its ground truth smpl_matches/{name}.txt is missing"
            for name, path in maps.items()
            if not path.is_file()
        ]
        listed: list[tuple[str, str]] = []
        if shapes and not (root / "pairs.txt").is_file():
            problems.append("pairs.txt is missing")
        elif shapes:
            for line, (scene, model, *_) in read_pairs(root / "pairs.txt", problems):
                absent = [name for name in (scene, model) if name not in shapes]
                problems += [f"pairs.txt, line {line}: shapes/{name}.off is missing" for name in absent]
                if not absent:
                    listed.append((scene, model))
        if split_by not in ("shape", "pair"):
            raise ValueError(f"split_by is {split_by!r}; choose 'shape' or 'pair'")
        drawn = list(shapes) if split_by == "shape" else listed
        inside = split_groups([""] * len(drawn), split, test_fraction=test_fraction, seed=seed)
        if split_by == "shape":
            side = {drawn[i] for i in inside}
            chosen = [pair for pair in listed if side.issuperset(pair)]
        else:
            chosen = [listed[i] for i in inside]
        names = sorted({name for pair in chosen for name in pair}, key=natural_order)
        items = [Item(name, partial(_read, shapes[name], maps[name]), group="humans") for name in names]
        pairs = [
            Pair(names.index(scene), names.index(model), _truth, group="humans") for scene, model in chosen
        ]
        return cls.collection(root, items, problems, pairs=tuple(pairs))


def _read(path: Path, map_path: Path) -> Sample:
    """The target: (V,) the template's point at each vertex, and (K,) the vertex at each point."""
    mesh = load_mesh(path)
    vertices = read_vertex_map(map_path, num_targets=len(mesh.vertices), base=1)
    points = fill_geodesically(mesh, first_preimage(vertices, len(mesh.vertices)))
    return Sample(mesh, (points, vertices))


def _truth(scene: Sample, model: Sample) -> Ints:
    (points, scene_vertices), (_, vertices) = scene.target, model.target
    if len(scene_vertices) != len(vertices):
        raise DatasetError(
            f"smpl_matches of {scene.mesh.name} and {model.mesh.name}",
            [f"have {len(scene_vertices)} and {len(vertices)} lines; expected as many in both"],
        )
    return np.where(points >= 0, vertices[points], -1)
