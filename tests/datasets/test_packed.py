"""Datasets in few large files: the same as those they were made of, read when their turn comes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from fieldconv.cli import main
from fieldconv.datasets import DatasetError, PackedDataset, Packer, make_folder, open_dataset
from fieldconv.surface import ToSurface
from fieldconv.training import train
from tests.training.blobs import blobs, tiny_network

TASKS = ("segmentation", "classification", "correspondence", "matching")


def packed(folder: Path, data: Any, **options: Any) -> PackedDataset:
    packer = Packer(folder)
    packer.add("train", data)
    packer.finish()
    return PackedDataset(folder, cache=False, progress=False, **options)


def tensors(surface: Any) -> dict[str, torch.Tensor]:
    return {name: value for name, value in surface.to_dict().items() if isinstance(value, torch.Tensor)}


def assert_same(one: Any, other: Any) -> None:
    one, other = tensors(one), tensors(other)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("task", TASKS)
def test_a_packed_dataset_equals_the_original(task: str, tmp_path: Path) -> None:
    data = blobs(task, count=3, samples=60)
    found = packed(tmp_path, data)
    assert (len(found), found.names, found.num_classes) == (len(data), data.names, data.num_classes)
    for index in range(len(data)):
        one, other = data[index], found[index]
        for part, same in zip(one, other, strict=True) if task == "matching" else [(one, other)]:
            assert_same(part, same)
        for mesh, again in zip(data.meshes(index), found.meshes(index), strict=True):
            assert mesh.name == again.name
            np.testing.assert_array_equal(mesh.vertices, again.vertices)
            np.testing.assert_array_equal(mesh.faces, again.faces)


@pytest.mark.parametrize("task", ["segmentation", "matching"])
def test_training_from_it_gives_the_same_network(task: str, tmp_path: Path) -> None:
    data = blobs(task, count=4)
    weights = []
    for source in (data, packed(tmp_path, data, memory=0)):
        network = tiny_network(task, source)
        train(network, source, preset="tiny", epochs=2, batch=2, quiet=True)
        weights.append(network.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """A folder and what is packed of it train the same network, its reshaped copies included."""
    monkeypatch.setenv("FIELDCONV_CACHE", str(tmp_path / "cache"))
    make_folder(tmp_path / "meshes", meshes=5, vertices=250, species=["snake"])
    small = ["--preset", "tiny", "--samples", "60"]
    line = ["pack", "segmentation", "--data", str(tmp_path / "meshes"), "--out", str(tmp_path / "packed")]
    assert main([*line, *small, "--reshaped", "1", "--size", "100KB"]) == 0
    assert "surfaces in" in capsys.readouterr().out
    assert len(list((tmp_path / "packed").glob("train-0*.surfaces"))) > 1
    weights = []
    for data in ("meshes", "packed"):
        if data == "packed":  # nothing is prepared anew, nor read from the cache
            (tmp_path / "meshes").rename(tmp_path / "away")
            monkeypatch.setenv("FIELDCONV_CACHE", str(tmp_path / "other"))
        run = [
            "train",
            "segmentation",
            "--data",
            str(tmp_path / data),
            "--out",
            str(tmp_path / f"run-{data}"),
        ]
        assert main([*run, *small, "--epochs", "2", "--width", "6", "--reshaped", "1"]) == 0
        weights.append(load_file(tmp_path / f"run-{data}" / "model.safetensors"))
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    (tmp_path / "away").rename(tmp_path / "meshes")
    assert main([*line, *small]) == 1
    assert "holds a packed dataset already" in capsys.readouterr().err


def test_reading_is_lazy_and_memory_is_bounded(tmp_path: Path) -> None:
    data = blobs(count=6)
    size = max(sum(value.nbytes for value in tensors(surface).values()) for surface in data)
    packer = Packer(tmp_path)
    packer.add("train", data)
    packer.finish()
    file, elsewhere = tmp_path / "train-0000.surfaces", tmp_path / "away"

    def in_memory(found: Any) -> list[bool]:
        """Whether each surface can be had without the file."""
        file.rename(elsewhere)
        there = []
        for index in range(len(found)):
            try:
                there.append(found[index].num_nodes > 0)
            except DatasetError:
                there.append(False)
        elsewhere.rename(file)
        return there

    # Kernels remember twice as much as a surface has.
    found = PackedDataset(tmp_path, cache=False, progress=False, memory=2 * 3 * size)
    assert not any(in_memory(found))
    for _ in range(3):
        for index in range(6):
            found[index]
    assert in_memory(found) == [True, True, False, False, False, False]  # these are read each time
    assert in_memory(found[::2]) == [True, False, False]  # parts of a dataset share what is in memory


def test_other_settings_are_prepared_anew(tmp_path: Path) -> None:
    data = blobs(count=2)  # of 162 vertices, all of them samples
    packed(tmp_path, data)
    settings = data.pre_transform.settings.to_dict()  # type: ignore[attr-defined]

    def opened(**changes: Any) -> Any:
        pre = ToSurface(**{**settings, **changes})
        return open_dataset(tmp_path, pre_transform=pre, cache=False, progress=False)

    assert opened(radius=0.2)[0].num_edges < data[0].num_edges
    assert opened(samples=50)[0].num_nodes == 50
    # More samples than vertices, and enough vertices, change nothing.
    assert_same(opened(samples=500, min_vertices=100)[1], data[1])
    assert opened(min_vertices=400)[0].num_nodes > 162


def test_problems_are_reported_in_one_line(tmp_path: Path) -> None:
    data = blobs(count=2)
    found = packed(tmp_path, data)
    with pytest.raises(DatasetError, match="packed for segmentation, not for classification"):
        open_dataset(tmp_path, "classification")
    with pytest.raises(DatasetError, match="has no test part"):
        open_dataset(tmp_path, split="test")
    file = tmp_path / "train-0000.surfaces"
    sound = file.read_bytes()
    file.write_bytes(sound[:1000] + b"x" + sound[1001:])
    with pytest.raises(DatasetError, match="blob-0/surface is damaged") as error:
        found[0]
    assert "\n" not in str(error.value)
    file.write_bytes(sound[:-10])
    with pytest.raises(DatasetError, match="blob-1/mesh is damaged"):
        found.meshes(1)
    file.unlink()
    with pytest.raises(DatasetError, match="No such file"):
        found[0]


@pytest.mark.parametrize("name", ["packed.json", "train.json"])
@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_index_is_reported_in_one_line(name: str, seed: int, tmp_path: Path) -> None:
    packed(tmp_path, blobs(count=2))
    draw = np.random.default_rng(seed)
    content = json.loads((tmp_path / name).read_text(encoding="utf-8"))
    key = list(content)[draw.integers(len(content))]
    content[key] = [None, 10**400, "x" * 10**5, [], {}, [[]], [["a"]], [[1, 2, 3, 4]], -1, True][seed % 10]
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    message = ""
    try:
        assert len(open_dataset(tmp_path, cache=False, progress=False)[0].y)
    except ValueError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1
    assert len(message) < 1000


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    found = packed(tmp_path / "in", blobs(count=2))
    (tmp_path / "in" / "train-0000.surfaces").rename(tmp_path / "train-0000.surfaces")
    index = tmp_path / "in" / "train.json"
    index.write_text(index.read_text(encoding="utf-8").replace('"train-0', '"../train-0'), encoding="utf-8")
    with pytest.raises(DatasetError, match="No such file"):
        PackedDataset(tmp_path / "in", cache=False, progress=False)[0]
    assert len(found) == 2
