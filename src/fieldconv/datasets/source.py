"""Where the meshes of a run come from, as plain data, and the datasets that this means."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldconv._arrays import Bools
from fieldconv._checked import check_count, checked
from fieldconv.labels.splits import Split
from fieldconv.surface.settings import SurfaceSettings

if TYPE_CHECKING:
    from fieldconv.datasets.folder_dataset import DataFolder
    from fieldconv.datasets.surface_dataset import SurfaceDataset


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Where the meshes come from: a folder, or embedded creatures if there is none."""

    data: str | None = None
    """Folder of a benchmark or of your own meshes; embedded creatures if not given."""
    hold_out: str | None = None
    """Train without these and test on them: numbers such as 70:80, a pattern of names such as *scape*, or a
    share such as 10% drawn at random. Pairs are tested if both shapes are held out."""
    split_seed: int = 0
    """Seed that draws the test part of a set without a split of its own."""
    meshes: int | None = None
    """Number of embedded creatures to train on, and a fifth as many to test on."""
    vertices: int = 1000
    """Number of vertices of each embedded creature."""
    species: tuple[str, ...] | None = None
    """Species of the embedded creatures; if not given all, or quadruped for a task with one template."""
    difficulty: str = "clean"
    """Difficulty of the embedded creatures: clean, posed, noise, holes, hard …"""

    def __post_init__(self) -> None:
        if self.meshes is not None and self.meshes < 1:
            raise ValueError(f"meshes is {self.meshes}; give a whole number from 1 up")
        check_count("vertices", self.vertices)

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> DataSource:
        """Build from what a file holds."""
        return cls(**checked(cls, values))

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can hold."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @cached_property
    def folder(self) -> DataFolder | None:
        """The folder and what it is, recognised at the first use; None for creatures."""
        from fieldconv.datasets.folder_dataset import DataFolder

        return None if self.data is None else DataFolder.recognise(self.data)

    def open(
        self, task: str, settings: SurfaceSettings, part: Split, *, progress: bool = True
    ) -> SurfaceDataset:
        """Return the training or test part with these settings; raise DatasetError if it cannot be read."""
        from fieldconv.surface.surface import ToSurface

        options: dict[str, Any] = {"pre_transform": ToSurface.of(settings), "progress": progress}
        if self.folder is None:
            return self._creatures(task, part, options)
        if self.hold_out is None:
            return self.folder.open(task, split=part, seed=self.split_seed, **options)
        data = self.folder.open(task, split="train", seed=self.split_seed, **options)
        others, held = data.hold_out(partial(is_held_out, self.hold_out, seed=self.split_seed))
        for side, purpose in ((others, "to train on"), (held, "to test on")):
            if not len(side):
                raise ValueError(f"--hold-out {self.hold_out} leaves nothing of {self.data} {purpose}")
        return {"train": others, "test": held, "all": data}[part]

    def _creatures(self, task: str, part: Split, options: dict[str, Any]) -> SurfaceDataset:
        from fieldconv.datasets.creature_collection import Creatures, test_share
        from fieldconv.tasks import task_named

        kind = task_named(task)
        # One species, so that more of it are needed; else the dataset's own number.
        meshes = self.meshes or (40 if kind.one_template else None)
        if meshes is not None and part == "test":
            meshes = test_share(meshes, task)
        return Creatures(
            task,
            split=part,
            meshes=meshes,
            vertices=self.vertices,
            species=self.species,
            difficulty=self.difficulty,
            seed=self.split_seed,
            **options,
        )

    def about(self) -> dict[str, object]:
        """Return what a checkpoint and a report say of the data: its name, up axis, published results."""
        if self.folder is None:
            return {"dataset": "creatures", "up": "z"}
        benchmark = self.folder.benchmark
        if benchmark is None:
            return {"dataset": Path(self.folder.root).name}
        about: dict[str, object] = {"dataset": benchmark.key, "up": benchmark.up}
        published = benchmark.published
        if published is not None:
            about["benchmark"] = {
                "name": benchmark.title,
                "metric": published.metric,
                "source": published.source,
                "results": [list(row) for row in published.results],
            }
        return about


def is_held_out(pattern: str, names: list[str], seed: int = 0) -> Bools:
    """Return which names a range of numbers, a share in percent (drawn by ``seed``) or a pattern selects.

    Examples
    --------
    >>> is_held_out("1:", ["a.obj", "b.obj", "c.obj"]).tolist()
    [False, True, True]
    >>> is_held_out("B*", ["a.obj", "b.obj", "c.obj"]).tolist()
    [False, True, False]
    >>> sum(is_held_out("30%", list("abcdefghij"))).item()
    3
    """
    inside = np.zeros(len(names), bool)
    numbers = re.fullmatch(r"(\d*):(\d*)", pattern)
    share = re.fullmatch(r"(\d+(?:\.\d*)?)%", pattern)
    if share:
        count = round(len(names) * float(share[1]) / 100)
        inside[np.random.default_rng(seed).permutation(len(names))[:count]] = True
    elif numbers:
        inside[slice(*(int(n) if n else None for n in numbers.groups()))] = True
    else:
        inside[:] = [fnmatch.fnmatchcase(name.lower(), pattern.lower()) for name in names]
    return inside
