"""Datasets: embedded creatures, benchmarks, and anyone's own folder of meshes."""

from typing import TYPE_CHECKING

from fieldconv._lazy import lazy

if TYPE_CHECKING:
    from fieldconv.datasets.base import SurfaceDataset as SurfaceDataset
    from fieldconv.datasets.benchmarks.faust import FAUST as FAUST
    from fieldconv.datasets.benchmarks.human_segmentation import HumanSegmentation as HumanSegmentation
    from fieldconv.datasets.benchmarks.shrec11 import SHREC11 as SHREC11
    from fieldconv.datasets.benchmarks.shrec19 import SHREC19 as SHREC19
    from fieldconv.datasets.benchmarks.shrec19_humans import SHREC19Humans as SHREC19Humans
    from fieldconv.datasets.check import check_folder as check_folder
    from fieldconv.datasets.creature_dataset import Creatures as Creatures
    from fieldconv.datasets.folder_dataset import FolderDataset as FolderDataset
    from fieldconv.datasets.folder_dataset import open_dataset as open_dataset
    from fieldconv.datasets.make import make_folder as make_folder
    from fieldconv.datasets.matches import Matches as Matches
    from fieldconv.datasets.matches import SurfacePair as SurfacePair
    from fieldconv.datasets.pack import Packer as Packer
    from fieldconv.datasets.packed import PackedDataset as PackedDataset
    from fieldconv.folders.errors import DatasetError as DatasetError

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Creatures": "creature_dataset",
        "DatasetError": "fieldconv.folders.errors",
        "FAUST": "benchmarks.faust",
        "FolderDataset": "folder_dataset",
        "HumanSegmentation": "benchmarks.human_segmentation",
        "Matches": "matches",
        "PackedDataset": "packed",
        "Packer": "pack",
        "SHREC11": "benchmarks.shrec11",
        "SHREC19": "benchmarks.shrec19",
        "SHREC19Humans": "benchmarks.shrec19_humans",
        "SurfaceDataset": "base",
        "SurfacePair": "matches",
        "check_folder": "check",
        "make_folder": "make",
        "open_dataset": "folder_dataset",
    },
)
