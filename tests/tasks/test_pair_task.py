"""Tasks about pairs: one's own needs few lines, and ours override little of what tasks are made of."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import fieldconv as fc
from fieldconv.datasets import Creatures, FolderDataset, make_folder
from fieldconv.surface import ToSurface
from fieldconv.tasks import TASKS, Matching, Metric, PairTask, Task
from fieldconv.tasks.base import Chunk, PairExample, TrainingConfig


class Siamese(PairTask):
    """Descriptors of corresponding points are alike, those of a batch as a whole are not."""

    name, about = "siamese", "descriptors that are alike at corresponding points"
    metrics = (Metric("nearest", "nearest sample is right"),)

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, None]:
        scene, model = (outputs[chunk.extra[side]] for side in ("scene", "model"))
        likeness = torch.einsum("bpc,bqc->bpq", scene, model).log_softmax(-1)
        return -likeness.diagonal(dim1=1, dim2=2).mean(1), None

    def measure_pair(self, scene: Tensor, model: Tensor, pair: PairExample) -> dict[str, float]:
        asked, right = pair.matches.match
        return {"nearest": float((torch.cdist(scene[asked], model).argmin(1) == right).float().mean())}


@pytest.fixture
def siamese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TASKS, "_added", {"siamese": Siamese})


def overridden(task: type[Task]) -> set[str]:
    """Methods of a task's class that one of its bases defines."""
    own = {name for name, value in vars(task).items() if inspect.isfunction(value)}
    return {name for name in own if any(hasattr(base, name) for base in task.__mro__[1:-1])}


def test_a_paired_task_overrides_few_methods() -> None:
    assert len(overridden(Matching)) <= 7
    assert overridden(Siamese) == {"loss", "measure_pair"}


@pytest.mark.usefixtures("siamese")
def test_ones_own_paired_task_is_trained_measured_and_used(tmp_path: Path) -> None:
    options: dict[str, Any] = {"pre_transform": ToSurface(0.3, samples=60), "cache": False}
    options |= {"vertices": 250, "species": "snake"}
    data = Creatures("siamese", meshes=4, **options)
    model = fc.networks.FCNet.for_task("siamese", preset="tiny", radius=0.3, samples=60, width=6)
    fc.train(model, data, preset="tiny", epochs=2, quiet=True)
    found = fc.evaluate(model, data, out=tmp_path / "run")
    assert found.shapes[0]["name"] == data.names[0]
    nearest = [shape["nearest"] for shape in found.shapes]
    assert found.metrics == {"nearest": pytest.approx(np.mean(nearest))}
    one, other = (model.predict(mesh) for mesh in data.meshes(0))  # descriptors at the vertices
    vertex = fc.match(model, *data.meshes(0)).target
    distance = np.linalg.norm(one[:1] - other, axis=1)
    assert distance[vertex[0]] == pytest.approx(distance.min())


@pytest.mark.usefixtures("siamese")
def test_its_folder_is_that_of_every_paired_task(tmp_path: Path) -> None:
    make_folder(tmp_path / "meshes", "siamese", meshes=4, vertices=250, species="snake", test_fraction=0.5)
    prepared: dict[str, Any] = {"pre_transform": ToSurface(0.3, samples=60), "cache": False}
    for side in ("train", "test"):
        own = FolderDataset(tmp_path / "meshes", "siamese", split=side, **prepared)
        ours = FolderDataset(tmp_path / "meshes", split=side, **prepared)
        assert (own.task, ours.task, own.names) == ("siamese", "matching", ours.names)
        for one, two in zip(own, ours, strict=True):
            assert torch.equal(one.matches.match, two.matches.match)


def test_default_points_are_corresponding_ones() -> None:
    data = Creatures(
        "matching",
        meshes=2,
        vertices=250,
        species="snake",
        pre_transform=ToSurface(0.3, samples=60),
        cache=False,
    )
    found = Siamese().points(data[0], np.random.default_rng(0), TrainingConfig())
    true = set(map(tuple, data[0].matches.match.T.tolist()))
    assert set(zip(found["scene"].tolist(), found["model"].tolist(), strict=True)) <= true
