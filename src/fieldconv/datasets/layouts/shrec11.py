"""SHREC'11: 30 classes of 20 watertight meshes, as distributed with MeshCNN."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from fieldconv.datasets.collection import Collection, Item, Sample, load_mesh, mesh_files, subfolders
from fieldconv.datasets.splits import check_split, choose

LAYOUT = "<class>/train/*.obj and <class>/test/*.obj"
HINT = (
    f"SHREC'11 is laid out as {LAYOUT}. It is distributed with MeshCNN (github.com/ranahanocka/MeshCNN, "
    "scripts/shrec) and with the research code of the paper (github.com/twmitchel/FieldConv)."
)


def detect(root: Path) -> bool:
    """Whether the folder has this layout."""
    folders = subfolders(root)
    return bool(folders) and all(
        (folder / "train").is_dir() or (folder / "test").is_dir() for folder in folders
    )


def read_shrec11(
    root: str | Path, *, split: str = "train", train_per_class: int | None = 10, seed: int = 0
) -> Collection:
    """Read the folder ``root``.

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
    train_per_class : int or None
        How many meshes of each class, drawn by ``seed`` from all there are, make up the training set; the
        others are the test set. None keeps to the folders train/ and test/.
    seed : int
    """
    check_split(split)
    root = Path(root)
    problems: list[str] = []
    items: list[Item] = []
    classes = [folder.name for folder in subfolders(root)] if root.is_dir() else []
    if not root.is_dir():
        problems.append("no such folder")
    elif not classes:
        problems.append(f"holds no class folders; expected {LAYOUT}")
    for index, name in enumerate(classes):
        train, test = mesh_files(root / name / "train"), mesh_files(root / name / "test")
        pool = train + test
        if not pool:
            problems.append(f"{name}: no meshes; expected {name}/train/*.obj")
        elif train_per_class is not None and len(pool) < train_per_class + (split == "test"):
            problems.append(f"{name}: {len(pool)} meshes; expected more than {train_per_class} to train on")
        elif train_per_class is None and not (
            train if split == "train" else test if split == "test" else pool
        ):
            problems.append(f"{name}: no meshes in {name}/{split}")
        if train_per_class is not None:
            drawn = set(choose(len(pool), train_per_class, seed=seed, group=name))
            train = [path for i, path in enumerate(pool) if i in drawn]
            test = [path for i, path in enumerate(pool) if i not in drawn]
        for path in {"train": train, "test": test, "all": pool}[split]:
            items.append(Item(path.relative_to(root).as_posix(), partial(_read, path, index), group=name))
    return Collection(
        f"SHREC'11 in {root}",
        "classification",
        tuple(items),
        class_names=tuple(classes),
        problems=tuple(problems),
        hint=HINT if problems else "",
    )


def _read(path: Path, label: int) -> Sample:
    return Sample(load_mesh(path), np.int64(label))
