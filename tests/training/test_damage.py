"""Damaged checkpoints, states and settings: one short line each, no memory taken for what they declare."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from fieldconv.cli import main
from fieldconv.networks import Network
from fieldconv.training import CheckpointError, RunSettings, load, train
from fieldconv.training.checkpoint import STATE, State
from fieldconv.training.run_settings import read_settings
from tests.training.blobs import blobs, tiny_network

SOUND = Path(__file__).parents[1] / "fixtures" / "v0.2.0" / "segmentation"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SOUND, tmp_path / "run"))


def peak_memory() -> int:
    """The largest size of this process so far, in bytes."""
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else 1024 * peak)


def refused(folder: Path) -> str:
    """The one line by which a checkpoint is refused, soon and without much memory."""
    began, before = time.process_time(), peak_memory()
    with pytest.raises(CheckpointError) as raised:
        load(folder)
    assert time.process_time() - began < 15
    assert peak_memory() - before < 500_000_000
    said = str(raised.value)
    assert "\n" not in said
    assert len(said) < 1000
    assert str(folder) in said
    return said


SIZES = [
    "width",
    "lift_channels",
    "echo_channels",
    "rings",
    "band_limit",
    "blocks",
    "echo_samples",
    "outputs",
]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in SIZES for value in (10**9, 1000)),
        *(("width", value) for value in (10**6, 10**400, -1, 1.5, "x", None, [], True)),
    ],
)
def test_sizes_of_a_network(checkpoint: Path, name: str, value: Any) -> None:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    config["network"][name] = value
    (checkpoint / "config.json").write_text(json.dumps(config), encoding="utf-8")
    refused(checkpoint)


@pytest.mark.parametrize("radius", [1e308, 1e200, -1, 0, float("inf"), float("nan"), "far", None])
def test_radii(checkpoint: Path, radius: Any) -> None:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    config["network"]["radius"] = radius
    (checkpoint / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert "radius" in refused(checkpoint)


WRONG = [None, 3, -1.5, "x", [], {}, [[]], [1], {"a": 1}, True, "x" * 10**6, ["x"] * 10**5]


@pytest.mark.parametrize("key", ["network", "network_name", "task", "class_names", "format", "source"])
def test_any_kind_of_value_in_a_config(checkpoint: Path, key: str) -> None:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    fine = 0
    for value in WRONG:
        (checkpoint / "config.json").write_text(json.dumps({**config, key: value}), encoding="utf-8")
        with suppress(CheckpointError):  # and nothing else
            assert isinstance(load(checkpoint), Network)
            fine += 1
            continue
        refused(checkpoint)
    assert fine <= 6


@pytest.mark.parametrize("key", ["network", "network_name", "task", "class_names"])
def test_a_config_that_lacks_something(checkpoint: Path, key: str) -> None:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    del config[key]
    (checkpoint / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert f"its '{key}' is missing" in refused(checkpoint)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, "", "null", "3", "NaN", "\0" * 50, "9" * 10_000, '{"library": 3}'],
)
def test_any_text_as_a_config(checkpoint: Path, text: str) -> None:
    (checkpoint / "config.json").write_text(text, encoding="utf-8")
    refused(checkpoint)


def test_weights_that_are_no_numbers(checkpoint: Path) -> None:
    for value in (float("nan"), float("inf")):
        weights = load_file(SOUND / "model.safetensors")
        name = sorted(weights)[3]
        weights[name].reshape(-1)[-1] = value
        save_file(weights, checkpoint / "model.safetensors")
        assert "holds NaN or infinity" in refused(checkpoint)


def test_class_names_that_do_not_fit(checkpoint: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    for names in (config["class_names"][:-1], [*config["class_names"], "more"]):
        (checkpoint / "config.json").write_text(
            json.dumps({**config, "class_names": names}), encoding="utf-8"
        )
        assert "class names for" in refused(checkpoint)


def test_a_template_that_does_not_fit(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SOUND.parent / "correspondence", tmp_path / "run"))
    shutil.copy(SOUND.parent / "quadruped.off", tmp_path / "other.off")
    from fieldconv.geometry import Mesh

    mesh = Mesh.load(folder / "template.ply")
    Mesh(np.concatenate([mesh.vertices, mesh.vertices[:1]]), mesh.faces).save(folder / "template.ply")
    assert "vertices for" in refused(folder)


# Settings


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 20_000,
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "task: [1]",
        "preset: 3",
        "network: 3",
        "network: {width: " + "9" * 5000 + "}",
        "network: {radius: 1" + "0" * 400 + "}",
        "training: {learning_rate: 1" + "0" * 400 + "}",
        "training: {epochs: 2020-01-01}",
        "training: {epochs: .nan}",
        "source: {vertices: 0}",
        "? [1]\n: 2",
        "\0",
        "x" * 10**6,
        "network: [" + "x, " * 10**5 + "]",
    ],
)
def test_settings_of_any_kind(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    code = main(["train", "segmentation", "--config", str(path), "--out", str(tmp_path / "run")])
    said = capsys.readouterr().err
    assert code in (1, 2)
    assert said.startswith("fieldconv: ")
    assert said.count("\n") == 1
    assert len(said) < 1500
    assert not (tmp_path / "run").exists()


def test_a_network_to_begin_with_whose_name_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"finetune: {'x' * 10**5}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no such folder") as error:
        RunSettings.assemble("segmentation", file=tmp_path / "run.yaml")
    assert len(str(error.value)) < 300


def test_settings_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match=r"run\.yaml cannot be read"):
        read_settings(tmp_path / "run.yaml")


@pytest.mark.parametrize("option", [["--vertices", "0"], ["--vertices", "-5"], ["--meshes", "0"],
                                    ["--radius", "1e308"], ["--width", "1000000000"],
                                    ["--samples", "0"], ["--epochs", "0"], ["--batch", "-1"]])  # fmt: skip
def test_options_out_of_range(tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "segmentation", *option, "--out", str(tmp_path / "run")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert option[0][2:] in said


# States


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three epochs that was stopped after two."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    data = blobs(count=2)
    model = tiny_network("segmentation", data)

    def stop(row: dict[str, float]) -> None:
        if row["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(model, data, preset="tiny", epochs=3, out=folder, quiet=True, each_epoch=stop)
    (folder / "metrics.csv").unlink()  # as after a kill between state and metrics
    return folder


def go_on(folder: Path) -> list[dict[str, Any]]:
    data = blobs(count=2)
    return train(
        tiny_network("segmentation", data), data, preset="tiny", epochs=3, out=folder, resume=True, quiet=True
    )


def test_a_kill_between_state_and_metrics_leaves_both_complete(stopped: Path, tmp_path: Path) -> None:
    """The state of the second epoch is there, its metrics are not; resuming completes both."""
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    assert State.load(folder).epoch == 2
    assert not (folder / "metrics.csv").exists()
    rows = go_on(folder)
    table = (folder / "metrics.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in table] == ["epoch", "1", "2", "3"]
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    (folder / "metrics.csv").unlink()  # killed at the very end
    go_on(folder)
    assert (folder / "metrics.csv").read_text(encoding="utf-8").splitlines() == table


def test_damaged_states_are_one_line(stopped: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    with safe_open(stopped / STATE, framework="pt") as file:
        numbers = json.loads(file.metadata()["state"])
    tensors = load_file(stopped / STATE)

    def check(changed: dict[str, torch.Tensor], text: str) -> None:
        save_file(changed, folder / STATE, {"state": text})
        with pytest.raises(CheckpointError) as raised:
            go_on(folder)
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 1000

    for key in ("epoch", "step", "history", "best", "config"):
        for value in (None, "x", -1, 10**9, [3], {"x": 3}, [[]] * 2):
            check(tensors, json.dumps({**numbers, key: value}))
    check(tensors, "[" * 100_000)
    check(tensors, "3")
    weights = [name for name in tensors if name.startswith("weights/")]
    memory = [name for name in tensors if name.startswith("optimiser/") and tensors[name].ndim]
    for name in (weights[0], memory[0]):
        check({**tensors, name: torch.zeros(3, 3, 3, 3)}, json.dumps(numbers))
        check({**tensors, f"{name}x/y": torch.zeros(1)}, json.dumps(numbers))
    check({**tensors, weights[0]: torch.full_like(tensors[weights[0]], float("nan"))}, json.dumps(numbers))
    check({**tensors, "rng/0/cpu": torch.zeros(3)}, json.dumps(numbers))
    check({**tensors, "nonsense": torch.zeros(3)}, json.dumps(numbers))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", STATE])
def test_a_pipe_or_folder_in_place_of_a_file_is_one_line(stopped: Path, tmp_path: Path, name: str) -> None:
    """A pipe that nobody writes to would be waited for, for ever."""
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    for make in (os.mkfifo, os.mkdir):
        path = folder / name
        path.unlink() if path.is_file() or path.is_fifo() else path.rmdir()
        make(path)
        with pytest.raises(CheckpointError, match="is not a file") as raised:
            go_on(folder) if name == STATE else load(folder)
        assert "\n" not in str(raised.value)


# Full disks and long names


def test_a_full_disk_while_saving_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors import SafetensorError

    def full(*_: Any) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    data = blobs(count=1)
    model = tiny_network("segmentation", data)
    monkeypatch.setattr("fieldconv.training.checkpoint.save_file", full)
    with pytest.raises(OSError, match="No space left") as raised:
        model.save_pretrained(tmp_path)
    assert raised.value.errno == errno.ENOSPC
    assert raised.value.filename == str(tmp_path / "model.safetensors")
    assert not list(tmp_path.glob(".*"))


def test_names_of_231_letters(tmp_path: Path) -> None:
    name = "n" * 231
    shutil.copy(SOUND.parent / "quadruped.off", tmp_path / f"{name}.off")
    out = tmp_path / "out"
    assert main(["predict", str(SOUND), str(tmp_path / f"{name}.off"), "--out", str(out)]) == 0
    assert {path.name.removeprefix(name) for path in out.iterdir() if path.name.startswith(name)} >= {
        ".npy", ".csv", ".ply", ".probabilities.npy", ".descriptors.npy"
    }  # fmt: skip
