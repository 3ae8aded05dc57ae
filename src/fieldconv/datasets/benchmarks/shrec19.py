"""SHREC'19, shape correspondence with isometric and non-isometric deformations: 50 scans, 76 pairs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fieldconv._arrays import Ints
from fieldconv.datasets.benchmarks.benchmark import Benchmark, Published
from fieldconv.labels.collection import Collection, Item, Pair, Sample, load_mesh, mesh_files
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.label_files import read_vertex_map
from fieldconv.labels.own_folder import read_pairs
from fieldconv.labels.splits import split_groups

GROUPS = ("figure", "glove", "hand")


class SHREC19(Benchmark):
    """SHREC'19, isometric and non-isometric deformations, 76 pairs of 50 scans: matching.

    Laid out as ``models/scan_A.obj``, ``gt/scan_A.scan_B.gt.txt`` and ``pairs/figure_pairs.txt``,
    ``glove_pairs.txt``, ``hand_pairs.txt``. A line ``A B`` of a pairs file is a pair of the model A and the
    scene B. Line v of its ground truth is the vertex of the model at vertex v of the scene; −1 means none.
    Other parameters are those of `Benchmark`.

    Parameters
    ----------
    test_fraction, seed : float, int
        This share (0.2 by default) of the pairs of each group, drawn by the seed, is the test split.
    index_base : {0, 1}
        What the ids in the ground truth count from; 0 by default.
    """

    key, title, task_name = "shrec19", "SHREC'19", "matching"
    folders = ("models", "pairs")
    hint = (
        "The set is laid out as models/scan_A.obj, gt/scan_A.scan_B.gt.txt and pairs/figure_pairs.txt, "
        "glove_pairs.txt, hand_pairs.txt; the scans can be had from shrec19.cs.cf.ac.uk."
    )
    published = Published("mean_average_precision", "published as curves only")

    @classmethod
    def read(
        cls,
        root: str | Path,
        *,
        split: str = "train",
        test_fraction: float = 0.2,
        seed: int = 0,
        index_base: int = 0,
    ) -> Collection:
        root = Path(root)
        problems: list[str] = []
        scans = {path.stem: path for path in mesh_files(root / "models")}
        if not scans:
            problems.append("no models/scan_*.obj")
        listed: list[tuple[str, str, str]] = []
        for group in GROUPS if scans else ():
            name = f"pairs/{group}_pairs.txt"
            if not (root / name).is_file():
                problems.append(f"{name} is missing")
                continue
            for line, fields in read_pairs(root / name, problems, name=name):
                model, scene = (_scan(field) for field in fields[:2])
                absent = [f"models/{scan}.obj" for scan in (model, scene) if scan not in scans]
                if not _truth_path(root, model, scene).is_file():
                    absent.append(f"gt/{_truth_path(root, model, scene).name}")
                problems += [f"{name}, line {line}: {file} is missing" for file in absent]
                if not absent:
                    listed.append((model, scene, group))
        groups = [group for _, _, group in listed]
        chosen = [listed[i] for i in split_groups(groups, split, test_fraction=test_fraction, seed=seed)]
        names = sorted({name for model, scene, _ in chosen for name in (model, scene)})
        group_of = {name: group for model, scene, group in listed for name in (model, scene)}
        pairs = [
            Pair(
                names.index(scene),
                names.index(model),
                partial(_truth, _truth_path(root, model, scene), index_base),
                group=group,
            )
            for model, scene, group in chosen
        ]
        items = [Item(name, partial(_read, scans[name]), group=group_of[name]) for name in names]
        return cls.collection(root, items, problems, pairs=tuple(pairs))


def _scan(name: str) -> str:
    """scan_007 for any of 7, 007, scan_007 and scan_007.obj."""
    name = name.removesuffix(".obj")
    return f"scan_{int(name):03d}" if name.isdigit() else name


def _truth_path(root: Path, model: str, scene: str) -> Path:
    return root / "gt" / f"{model}.{scene}.gt.txt"


def _read(path: Path) -> Sample:
    return Sample(load_mesh(path), None)


def _truth(path: Path, base: int, scene: Sample, model: Sample) -> Ints:
    ids = read_vertex_map(path, num_targets=len(model.mesh.vertices), base=base)
    if len(ids) != len(scene.mesh.vertices):
        raise DatasetError(
            str(path),
            [f"has {len(ids)} lines; expected {len(scene.mesh.vertices)}, one per vertex of the scene"],
        )
    return ids
