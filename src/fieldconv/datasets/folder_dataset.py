"""Datasets from any folder: your own layout, or one of the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fieldconv.datasets.benchmarks import benchmark_in
from fieldconv.datasets.benchmarks.benchmark import Benchmark
from fieldconv.datasets.packed import PackedDataset, is_packed, read_index
from fieldconv.datasets.surface_dataset import SurfaceDataset
from fieldconv.labels.collection import Collection
from fieldconv.labels.own_folder import OwnFolder
from fieldconv.labels.splits import Split
from fieldconv.tasks import all_tasks, task_named

OWN = "own folder"
HINT = "`fieldconv datasets make creatures OUT --task TASK` writes a folder that shows the layout."


def guess_task(root: str | Path) -> str:
    """Return the name of the task that the layout of a folder fits best."""
    return max(all_tasks(), key=lambda task: task.recognises(Path(root))).name


def read_folder(
    root: str | Path | OwnFolder, *, task: str | None = None, split: str = "train", **options: Any
) -> Collection:
    """Return the meshes and targets of a folder, as a task reads it; parameters as for `FolderDataset`.

    Parts of one `OwnFolder` are read from one list of its files.
    """
    folder = (root if isinstance(root, OwnFolder) else OwnFolder(Path(root))).part(split, **options)
    kind = task_named(task or guess_task(folder.root))
    if not folder.root.is_dir():
        return Collection(f"folder {folder.root}", kind.name, problems=("no such folder",))
    collection = kind.read_folder(folder)
    problems = tuple(dict.fromkeys(folder.problems))
    return replace(collection, problems=problems, hint=HINT if problems else "")


class FolderDataset(SurfaceDataset):
    """Anyone's own meshes in a folder, laid out as the task says (`Task.layout`; docs/data.md).

    A `DatasetError` lists everything that is wrong with the folder.

    Parameters
    ----------
    root : path or OwnFolder
    task : str, optional
        Guessed from the layout if not given.
    split : {"train", "test", "all"}
        Part of the meshes: by the folders train/ and test/, the lists train.txt and test.txt, or the seed.
    test_fraction, seed : float, int
        How to divide a folder that does not do so itself: this share of each class, drawn by the seed, is
        the test split.
    index_base : {0, 1}
        What the ids in vertex maps count from.
    **options
        As for `SurfaceDataset`.
    """

    def __init__(
        self,
        root: str | Path | OwnFolder,
        task: str | None = None,
        *,
        split: Split = "train",
        test_fraction: float = 0.2,
        seed: int = 0,
        index_base: int = 0,
        **options: Any,
    ) -> None:
        division = {"test_fraction": test_fraction, "seed": seed, "index_base": index_base}
        super().__init__(read_folder(root, task=task, split=split, **division), **options)


@dataclass(frozen=True)
class DataFolder:
    """A folder of meshes, and what it is; `recognise` finds out."""

    root: str | Path
    packed: bool  # whether `fieldconv pack` wrote it
    benchmark: type[Benchmark] | None  # whose layout it has; None if it is packed or your own
    own: OwnFolder  # as one of your own; its files are listed once, however many parts are opened

    @classmethod
    def recognise(cls, root: str | Path) -> DataFolder:
        """Return a folder with what it is; each benchmark's ``detect`` is called once."""
        packed = is_packed(root)
        return cls(root, packed, None if packed else benchmark_in(root), OwnFolder(Path(root)))

    def task_for(self, task: str | None = None) -> str:
        """Return the task, or else what the folder is for; raise ValueError if a benchmark is for another."""
        if self.packed:
            return task or read_index(self.root).task
        known = self.benchmark
        if known is None:
            return task or guess_task(self.root)
        if task not in (None, known.task_name):
            raise ValueError(
                f"{self.root} is laid out as {known.title}, which is for {known.task_name}, not {task}"
            )
        return known.task_name

    def open(
        self, task: str | None = None, *, split: Split = "train", seed: int = 0, **options: Any
    ) -> SurfaceDataset:
        """Return a part of it; parameters as for `open_dataset`."""
        task = self.task_for(task)
        if self.packed:
            return PackedDataset(self.root, task, split=split, **options)
        if self.benchmark is not None:
            return self.benchmark.open(self.root, split=split, seed=seed, **options)
        return FolderDataset(self.own, task, split=split, seed=seed, **options)


def open_dataset(
    root: str | Path, task: str | None = None, *, split: Split = "train", seed: int = 0, **options: Any
) -> SurfaceDataset:
    """Return the dataset in a folder, a benchmark's, your own, or a packed one.

    Parameters
    ----------
    root : path
    task : str, optional
        What it is to be used for; an error if the folder is for something else.
    split : {"train", "test", "all"}
    seed : int
        Seed for layouts that are divided at random.
    **options
        As for `SurfaceDataset`, or for the dataset in question.
    """
    return DataFolder.recognise(root).open(task, split=split, seed=seed, **options)
