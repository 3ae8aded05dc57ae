"""What a benchmark set is: a dataset that knows its layout, its task and what others reached on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from fieldconv.datasets.surface_dataset import SurfaceDataset
from fieldconv.labels.collection import Collection

Split = Literal["train", "test", "all"]


class Published(NamedTuple):
    """Published results, to show beside your own.

    Attributes
    ----------
    metric : str
        Key of the metric.
    source : str
        How it was measured.
    results : tuple of (method, value)
        Empty where results were published as curves only.
    """

    metric: str
    source: str
    results: tuple[tuple[str, float], ...] = ()


class Benchmark(SurfaceDataset):
    """A benchmark set in a folder. None is downloaded: the error for a missing one says where to get it.

    Attributes
    ----------
    key, title : str
        Its name in run folders, and for people.
    task_name : str
        The task it is for.
    published : Published or None
    up : str
        The axis along which its shapes stand.
    seeded : bool
        Whether a seed divides it; others are divided as published.
    generic : bool
        Whether other sets' layouts may look like its own, so that it is tried last.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    task_name: ClassVar[str]
    published: ClassVar[Published | None] = None
    up: ClassVar[str] = "y"
    seeded: ClassVar[bool] = False
    generic: ClassVar[bool] = False
    read: ClassVar[Callable[..., Collection]]

    @staticmethod
    def detect(root: Path) -> bool:
        """Whether a folder has the layout of this set."""
        return False

    @classmethod
    def open(
        cls, root: str | Path, *, split: Split = "train", seed: int = 0, **options: Any
    ) -> SurfaceDataset:
        """Return a part of the set; the seed is used only if it divides the set."""
        if cls.seeded:
            options["seed"] = seed
        return cls(root, split=split, **options)  # type: ignore[call-arg,arg-type]
