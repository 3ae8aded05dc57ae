"""A folder is looked at once on the way of a command."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fieldconv.cli import main
from fieldconv.datasets import make_folder
from fieldconv.datasets.benchmarks import BENCHMARKS
from fieldconv.datasets.folder_dataset import DataFolder
from fieldconv.datasets.source import DataSource


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each benchmark was asked whether a folder is its own."""
    counts: Counter[str] = Counter()

    def counting(key: str, detect):
        return staticmethod(lambda root: counts.update([key]) or detect(root))

    for benchmark in BENCHMARKS.all():
        monkeypatch.setattr(benchmark, "detect", counting(benchmark.key, benchmark.detect))
    return counts


def test_training_and_evaluation_ask_each_benchmark_once(
    asked: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIELDCONV_CACHE", str(tmp_path / "cache"))
    meshes, run = str(tmp_path / "meshes"), str(tmp_path / "run")
    make_folder(meshes, meshes=5, vertices=250, species=["snake"])
    small = ["--preset", "tiny", "--epochs", "1", "--width", "6", "--samples", "60"]
    assert main(["train", "segmentation", "--data", meshes, "--out", run, *small]) == 0
    assert asked == dict.fromkeys(asked, 1)
    assert len(asked) == len(BENCHMARKS.all())
    asked.clear()
    assert main(["evaluate", run]) == 0
    assert asked == dict.fromkeys(asked, 1)


def test_another_folder_is_another_source(tmp_path: Path) -> None:
    source = DataSource(data=str(tmp_path / "one"))
    assert source.folder is source.folder
    assert source == DataSource(data=str(tmp_path / "one"))
    assert DataSource().folder is None


def test_an_own_folder_is_listed_once(tmp_path: Path) -> None:
    make_folder(tmp_path, "classification", meshes=4, vertices=250, species=["snake"])
    folder = DataFolder.recognise(tmp_path)
    train = folder.open("classification", cache=False)
    mesh = tmp_path / train.names[0]
    mesh.with_name("later.obj").write_bytes(mesh.read_bytes())
    again, test = (folder.open("classification", split=split, cache=False) for split in ("train", "test"))
    assert again.names == train.names
    assert len(test) == 1
    assert len(DataFolder.recognise(tmp_path).open("classification", cache=False)) == len(train) + 1
