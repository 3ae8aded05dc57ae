"""What a benchmark set is: a dataset that knows its layout, its task and what others reached on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from fieldconv.datasets.surface_dataset import SurfaceDataset
from fieldconv.labels.collection import Collection, Item
from fieldconv.labels.splits import Split


class Published(NamedTuple):
    """Published results, to show beside your own."""

    metric: str  # its key
    source: str  # how it was measured
    results: tuple[tuple[str, float], ...] = ()  # of each method; empty if published as curves only


class Benchmark(SurfaceDataset):
    """A benchmark set in a folder. None is downloaded; the error for a missing one says where to get it.

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
    **options
        As for ``read`` of the set, or for `SurfaceDataset`.
    """

    key: ClassVar[str]  # in run folders
    title: ClassVar[str]
    task_name: ClassVar[str]
    folders: ClassVar[tuple[str, ...]] = ()  # a folder that holds all of these has the layout
    hint: ClassVar[str] = ""  # the layout, and where the set can be had
    published: ClassVar[Published | None] = None
    up: ClassVar[str] = "y"  # the axis along which its shapes stand
    generic: ClassVar[bool] = False  # other layouts may look like this one, so that it is tried last

    def __init__(self, root: str | Path, *, split: Split = "train", **options: Any) -> None:
        of_read = {name: options.pop(name) for name in self._parameters() if name in options}
        super().__init__(self.read(root, split=split, **of_read), **options)

    @classmethod
    def detect(cls, root: Path) -> bool:
        """Whether a folder has the layout of this set."""
        return bool(cls.folders) and all((root / folder).is_dir() for folder in cls.folders)

    @classmethod
    def read(cls, root: str | Path, *, split: str = "train") -> Collection:
        """Return the meshes and targets of a folder, and what is wrong with it.

        A set may take further keywords. One called ``seed`` draws the split; sets without it are divided as
        published.
        """
        raise NotImplementedError

    @classmethod
    def collection(
        cls, root: Path, items: Iterable[Item], problems: Sequence[str], **more: Any
    ) -> Collection:
        """Return what ``read`` found in a folder; ``more`` are other fields of the `Collection`."""
        if not root.is_dir():
            problems = ["no such folder"]
        return Collection(
            f"{cls.title} in {root}",
            cls.task_name,
            tuple(items),
            problems=tuple(problems),
            hint=cls.hint if problems else "",
            **more,
        )

    @classmethod
    def open(
        cls, root: str | Path, *, split: Split = "train", seed: int = 0, **options: Any
    ) -> SurfaceDataset:
        """Return a part of the set; the seed is used only if it divides the set."""
        if "seed" in cls._parameters():
            options["seed"] = seed
        return cls(root, split=split, **options)

    @classmethod
    def _parameters(cls) -> list[str]:
        return list(signature(cls.read).parameters)
