"""Datasets in worker processes that begin from nothing, as all do on Windows and macOS."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.utils.data import ConcatDataset, DataLoader

from fieldconv.datasets import Creatures, FolderDataset, SurfacePair
from fieldconv.surface import Surface, ToSurface
from handmade import write_lines
from tests.training.blobs import blobs, read

TASKS = ("classification", "segmentation", "correspondence", "matching")


def parts(element: Surface | SurfacePair) -> list[Surface]:
    return [element.scene, element.model] if isinstance(element, SurfacePair) else [element]


def test_every_kind_of_dataset_survives_spawn(tmp_path: Path) -> None:
    folder, prepared = tmp_path / "Übung 形" / "train", ToSurface(radius=0.3)
    for number in range(2):
        sample = read("segmentation", number)
        sample.mesh.save(folder / f"{number}.obj")
        write_lines(folder / f"{number}.txt", sample.target)
    options = {"pre_transform": prepared, "progress": False, "cache": tmp_path / "kept"}
    data = ConcatDataset(
        [
            *(blobs(task, count=2) for task in TASKS),
            FolderDataset(folder.parent, task="segmentation", **options, memory=0),  # read by the workers
            Creatures("segmentation", meshes=1, vertices=250, species=["snake"], **options),
        ]
    )
    loader = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="spawn")
    found = list(loader)
    assert len(found) == len(data) == 11
    for here, there in zip(data, found, strict=True):
        assert type(here) is type(there)
        for one, two in zip(parts(here), parts(there), strict=True):
            assert one.to_dict().keys() == two.to_dict().keys()
            assert all(
                torch.equal(value, two[key]) if isinstance(value, torch.Tensor) else value == two[key]
                for key, value in one.to_dict().items()
            )
