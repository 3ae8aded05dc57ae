"""Datasets: embedded creatures, the paper's benchmarks, and anyone's own folder of meshes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fieldconv.datasets.base import Matches, SurfaceDataset, SurfacePair
    from fieldconv.datasets.benchmarks import FAUST, SHREC11, SHREC19, HumanSegmentation, SHREC19Humans
    from fieldconv.datasets.check import check_folder
    from fieldconv.datasets.creature_dataset import Creatures
    from fieldconv.datasets.folder import FolderDataset, open_dataset
    from fieldconv.datasets.make import make_folder
    from fieldconv.datasets.problems import DatasetError

# Imported when first used: checking and writing folders needs no torch.
_HOME = {
    "FAUST": "benchmarks",
    "SHREC11": "benchmarks",
    "SHREC19": "benchmarks",
    "Creatures": "creature_dataset",
    "DatasetError": "problems",
    "FolderDataset": "folder",
    "HumanSegmentation": "benchmarks",
    "Matches": "base",
    "SHREC19Humans": "benchmarks",
    "SurfaceDataset": "base",
    "SurfacePair": "base",
    "check_folder": "check",
    "make_folder": "make",
    "open_dataset": "folder",
}

__all__ = [  # noqa: RUF022
    "Creatures",
    "DatasetError",
    "FAUST",
    "FolderDataset",
    "HumanSegmentation",
    "Matches",
    "SHREC11",
    "SHREC19",
    "SHREC19Humans",
    "SurfaceDataset",
    "SurfacePair",
    "check_folder",
    "make_folder",
    "open_dataset",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
