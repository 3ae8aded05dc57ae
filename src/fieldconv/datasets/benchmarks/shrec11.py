"""SHREC'11: 30 classes of 20 watertight meshes, as distributed with MeshCNN."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from fieldconv.datasets.benchmarks.benchmark import Benchmark, Published
from fieldconv.labels.collection import Collection, Item, Sample, load_mesh, mesh_files, subfolders
from fieldconv.labels.splits import check_split, choose

LAYOUT = "<class>/train/*.obj and <class>/test/*.obj"


class SHREC11(Benchmark):
    """SHREC'11, 30 classes of 20 meshes: classification.

    Laid out as ``<class>/train/*.obj`` and ``<class>/test/*.obj``, as distributed with MeshCNN.
    Other parameters are those of `Benchmark`.

    Parameters
    ----------
    train_per_class : int or None
        How many meshes of each class are drawn by ``seed`` from all there are to be trained on; the others
        are the test split. None keeps to the folders train/ and test/. 10 by default.
    seed : int
    """

    key, title, task_name = "shrec11", "SHREC'11", "classification"
    hint = (
        f"SHREC'11 is laid out as {LAYOUT}. It is distributed with MeshCNN (github.com/ranahanocka/MeshCNN, "
        "scripts/shrec) and with the research code of the paper (github.com/twmitchel/FieldConv)."
    )
    generic = True
    published = Published(
        "accuracy",
        "10 training meshes per class, mean of three samplings",
        (
            ("Field convolutions (paper)", 0.992),
            ("DiffusionNet", 0.989),
            ("MeshWalker", 0.971),
            ("HSN", 0.961),
            ("MeshCNN", 0.910),
            ("GWCNN", 0.903),
        ),
    )

    @classmethod
    def read(
        cls, root: str | Path, *, split: str = "train", train_per_class: int | None = 10, seed: int = 0
    ) -> Collection:
        check_split(split)
        root = Path(root)
        problems: list[str] = []
        items: list[Item] = []
        classes = [folder.name for folder in subfolders(root)] if root.is_dir() else []
        if not classes:
            problems.append(f"holds no class folders; expected {LAYOUT}")
        for index, name in enumerate(classes):
            train, test = mesh_files(root / name / "train"), mesh_files(root / name / "test")
            pool = train + test
            if train_per_class is not None:
                drawn = set(choose(len(pool), train_per_class, seed=seed, group=name))
                train = [path for i, path in enumerate(pool) if i in drawn]
                test = [path for i, path in enumerate(pool) if i not in drawn]
            paths = {"train": train, "test": test, "all": pool}[split]
            if not pool:
                problems.append(f"{name}: no meshes; expected {name}/train/*.obj")
            elif train_per_class is not None and len(pool) < train_per_class + (split == "test"):
                problems.append(
                    f"{name}: {len(pool)} meshes; expected more than {train_per_class} to train on"
                )
            elif train_per_class is None and not paths:
                problems.append(f"{name}: no meshes in {name}/{split}")
            items += [
                Item(path.relative_to(root).as_posix(), partial(_read, path, index), group=name)
                for path in paths
            ]
        return cls.collection(root, items, problems, class_names=tuple(classes))

    @staticmethod
    def detect(root: Path) -> bool:
        folders = subfolders(root)
        return bool(folders) and all(
            (folder / "train").is_dir() or (folder / "test").is_dir() for folder in folders
        )


def _read(path: Path, label: int) -> Sample:
    return Sample(load_mesh(path), np.int64(label))
