"""Datasets from any folder: one's own layout, or whichever of the benchmarks it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from fieldconv.datasets.base import SurfaceDataset
from fieldconv.datasets.benchmarks import FAUST, SHREC11, SHREC19, HumanSegmentation, SHREC19Humans
from fieldconv.datasets.check import OWN, detect_layout
from fieldconv.datasets.collection import Task
from fieldconv.datasets.layouts.folder import read_folder

BENCHMARKS: dict[str, Callable[..., SurfaceDataset]] = {
    "SHREC'19 humans": SHREC19Humans,
    "remeshed FAUST": FAUST,
    "SHREC'19": SHREC19,
    "human segmentation": HumanSegmentation,
    "SHREC'11": SHREC11,
}
SEEDED = ("SHREC'11", "SHREC'19", "SHREC'19 humans")  # the others are divided as published


class FolderDataset(SurfaceDataset):
    """Anyone's own meshes in a folder; `fieldconv.datasets.layouts.folder` has the layouts.

    Parameters
    ----------
    root : path
    task : {"classification", "segmentation", "correspondence", "matching"}, optional
        Guessed from the layout if not given.
    split : {"train", "test", "all"}
        By the folders train/ and test/, by the lists train.txt and test.txt, or else by the seed.
    test_fraction, seed : float, int
        Share of the test split, and what it is drawn by.
    index_base : {0, 1}
        What the ids in vertex maps count from.
    **options
        As for `SurfaceDataset`.

    Raises
    ------
    DatasetError
        Lists everything that is wrong with the folder.
    """

    def __init__(
        self,
        root: str | Path,
        task: Task | None = None,
        *,
        split: Literal["train", "test", "all"] = "train",
        test_fraction: float = 0.2,
        seed: int = 0,
        index_base: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(
            read_folder(
                root, task=task, split=split, test_fraction=test_fraction, seed=seed, index_base=index_base
            ),
            **options,
        )


def open_dataset(
    root: str | Path,
    task: Task | None = None,
    *,
    split: Literal["train", "test", "all"] = "train",
    seed: int = 0,
    **options: Any,
) -> SurfaceDataset:
    """The dataset in a folder, be it a benchmark's or one's own.

    Parameters
    ----------
    root : path
    task : str, optional
        What it is to be used for; an error if the folder is for something else.
    split : {"train", "test", "all"}
    seed : int
        For layouts that are divided at random.
    **options
        As for `SurfaceDataset`, or for the dataset in question.
    """
    layout = detect_layout(root, task)
    if layout == OWN:
        return FolderDataset(root, task, split=split, seed=seed, **options)
    if layout in SEEDED:
        options["seed"] = seed
    return BENCHMARKS[layout](root, split=split, **options)
