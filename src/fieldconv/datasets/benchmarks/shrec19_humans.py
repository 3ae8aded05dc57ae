"""SHREC'19, matching humans with different connectivity: 44 bodies of many sources, 430 pairs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fieldconv._arrays import Ints
from fieldconv.datasets.benchmarks.benchmark import Benchmark, Split
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
from fieldconv.labels.pairs import read_pairs
from fieldconv.labels.splits import split_groups

HINT = (
    "The set is laid out as shapes/<i>.off, smpl_matches/<i>.txt and pairs.txt; it can be had from "
    "github.com/riccardomarin/SHREC19_matching_humans."
)


def read_shrec19_humans(
    root: str | Path,
    *,
    split: str = "train",
    split_by: Literal["shape", "pair"] = "shape",
    test_fraction: float = 0.3,
    seed: int = 0,
) -> Collection:
    """Read the folder ``root``.

    ``smpl_matches/<i>.txt`` names (from 1) the vertex of shape i at each of the 6,890 points of a template,
    so two such files make the map between two shapes. A vertex that no line names is taken to be at the
    point of the geodesically nearest one that is named.

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
    split_by : {"shape", "pair"}
        Draw ``test_fraction`` of the shapes, so that no tested shape was seen in training (pairs of a tested
        and a trained one are left out); or of the pairs, whose shapes are then known from other pairs.
    """
    root = Path(root)
    problems: list[str] = []
    shapes = {path.stem: path for path in mesh_files(root / "shapes")}
    if not root.is_dir():
        problems.append("no such folder")
    elif not shapes:
        problems.append("no shapes/*.off")
    for name in shapes:
        if not (root / "smpl_matches" / f"{name}.txt").is_file():
            problems.append(
                f"shapes/{shapes[name].name}: its ground truth smpl_matches/{name}.txt is missing"
            )
    listed: list[tuple[str, str]] = []
    if shapes and not (root / "pairs.txt").is_file():
        problems.append("pairs.txt is missing")
    elif shapes:
        for line, fields in read_pairs(root / "pairs.txt", problems):
            absent = [name for name in fields[:2] if name not in shapes]
            problems += [f"pairs.txt, line {line}: shapes/{name}.off is missing" for name in absent]
            if not absent:
                listed.append((fields[0], fields[1]))
    if split_by == "pair":
        kept = split_groups([""] * len(listed), split, test_fraction=test_fraction, seed=seed)
        chosen = [listed[i] for i in kept]
    elif split_by == "shape":
        known = list(shapes)
        side = {
            known[i] for i in split_groups([""] * len(known), split, test_fraction=test_fraction, seed=seed)
        }
        chosen = [pair for pair in listed if side.issuperset(pair)]
    else:
        raise ValueError(f"split_by is {split_by!r}; choose 'shape' or 'pair'")
    names = sorted({name for pair in chosen for name in pair}, key=natural_order)
    return Collection(
        f"SHREC'19 humans in {root}",
        "matching",
        tuple(
            Item(name, partial(_read, shapes[name], root / "smpl_matches" / f"{name}.txt"), group="humans")
            for name in names
        ),
        pairs=tuple(
            Pair(names.index(scene), names.index(model), _truth, group="humans") for scene, model in chosen
        ),
        problems=tuple(problems),
        hint=HINT if problems else "",
    )


class SHREC19Humans(Benchmark):
    """SHREC'19, matching humans with different connectivity, 430 pairs of 44 bodies: matching.

    Laid out as ``shapes/<i>.off``, ``smpl_matches/<i>.txt`` and ``pairs.txt``.

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
    split_by : {"shape", "pair"}
        Draw ``test_fraction`` of the shapes, so that tested shapes are new; or of the pairs.
    **options
        As for `SurfaceDataset`.
    """

    key, title, task_name = "shrec19_humans", "SHREC'19 humans", "matching"
    seeded = True

    def __init__(
        self,
        root: str | Path,
        *,
        split: Split = "train",
        split_by: Literal["shape", "pair"] = "shape",
        test_fraction: float = 0.3,
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(
            read_shrec19_humans(root, split=split, split_by=split_by, test_fraction=test_fraction, seed=seed),
            **options,
        )

    @staticmethod
    def detect(root: Path) -> bool:
        """Whether the folder has this layout."""
        return (root / "shapes").is_dir() and (root / "smpl_matches").is_dir()

    read = staticmethod(read_shrec19_humans)


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
