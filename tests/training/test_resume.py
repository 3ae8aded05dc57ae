"""A run that was killed ends like one that was not; two processes end like one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from fieldconv.training import CheckpointError, Machine, train
from fieldconv.training.checkpoint import STATE, State
from tests.training.blobs import blobs, tiny_network

ROOT = Path(__file__).parents[2]
# Dropout, moving average, validation, warm-up: all that a state has to remember.
SCRIPT = """
import os, signal, sys
sys.path[:0] = [{root!r}, {tests!r}]
from fieldconv.tasks.correspondence import Correspondence
from fieldconv.training import train
from tests.training.blobs import blobs, tiny_network

data = blobs("correspondence", count=4)

def run(out, resume):
    train(tiny_network("correspondence", data), data[:3], validation=data[3:], preset="tiny", epochs=3,
          batch=1, average=0.9, out=out, resume=resume, quiet=True)

collate, steps = Correspondence.collate, 0

def dying(self, *arguments):
    global steps
    steps += 1
    if steps == 8:  # the second step of the third epoch
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has one way only
    return collate(self, *arguments)

if sys.argv[1] == "die":
    Correspondence.collate = dying
    run(sys.argv[2], False)
run(sys.argv[2], True)
run(sys.argv[3], False)
"""


def test_killed_mid_epoch_and_resumed_is_bit_identical(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    code = SCRIPT.format(root=str(ROOT), tests=str(ROOT / "tests"))

    def start(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, how, str(killed), str(whole)]
        return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)

    died = start("die")
    assert died.returncode == (signal.SIGTERM if os.name == "nt" else -signal.SIGKILL), died.stderr
    assert State.load(killed).epoch == 2
    again = start("resume")
    assert again.returncode == 0, again.stderr
    for name in ("model.safetensors", STATE):
        one, two = load_file(whole / name), load_file(killed / name)
        assert one.keys() == two.keys()
        assert all(torch.equal(one[key], two[key]) for key in one)
    for one_row, two_row in zip(State.load(whole).history, State.load(killed).history, strict=True):
        assert one_row | {"seconds": 0} == two_row | {"seconds": 0}


def test_a_finished_run_resumes_to_itself(tmp_path: Path) -> None:
    data = blobs(count=2)
    kwargs: dict[str, Any] = {"preset": "tiny", "epochs": 2, "out": tmp_path, "quiet": True}
    first = tiny_network("segmentation", data)
    train(first, data, **kwargs)
    second = tiny_network("segmentation", data)
    rows = train(second, data, resume=True, **kwargs)
    assert len(rows) == 2
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_resuming_with_other_settings_is_refused(tmp_path: Path) -> None:
    data = blobs(count=2)
    train(tiny_network("segmentation", data), data, preset="tiny", epochs=1, out=tmp_path, quiet=True)
    with pytest.raises(CheckpointError, match=r"begun with other settings \(learning_rate\)"):
        train(
            tiny_network("segmentation", data),
            data,
            preset="tiny",
            epochs=1,
            learning_rate=0.5,
            out=tmp_path,
            resume=True,
            quiet=True,
        )


def test_settings_that_came_later_do_not_keep_a_run_from_being_resumed(tmp_path: Path) -> None:
    data = blobs(count=2)
    kwargs: dict[str, Any] = {"preset": "tiny", "epochs": 1, "out": tmp_path, "quiet": True}
    train(tiny_network("segmentation", data), data, **kwargs)
    state = State.load(tmp_path)
    del state.config["training"]["drop_every"]
    state.save(tmp_path)
    assert len(train(tiny_network("segmentation", data), data, resume=True, **kwargs)) == 1
    with pytest.raises(CheckpointError, match=r"begun with other settings \(drop_every\)"):
        train(tiny_network("segmentation", data), data, resume=True, drop_every=7, **kwargs)


def test_a_truncated_state_is_reported(tmp_path: Path) -> None:
    data = blobs(count=2)
    train(tiny_network("segmentation", data), data, preset="tiny", epochs=1, out=tmp_path, quiet=True)
    (tmp_path / STATE).write_bytes((tmp_path / STATE).read_bytes()[:500])
    with pytest.raises(CheckpointError, match="cannot be read"):
        State.load(tmp_path)


DISTRIBUTED = """
import sys
sys.path[:0] = [{root!r}, {tests!r}]
from tests.training.test_resume import train_on

for job in sys.argv[1:]:
    train_on(2, *job.split("|"))
"""
TASKS = ("segmentation", "matching")


def train_on(processes: int, task: str, out: str, how: str = "") -> None:
    """Five examples in batches of four: in every other step one of two processes has nothing to do.

    ``how`` is "stop" for an end after the first of two epochs, or "resume".
    """

    def stop(row: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    data = blobs(task, count=5)
    try:
        train(
            tiny_network(task, data),
            data,
            preset="tiny",
            epochs=2,
            batch=4,
            learning_rate=0.001,
            **({"positives": 32} if task == "matching" else {}),
            average=0.9,
            out=out,
            machine=Machine(devices=str(processes), strategy="ddp" if processes > 1 else "auto"),
            quiet=True,
            resume=how == "resume",
            each_epoch=stop if how == "stop" else None,
        )
    except KeyboardInterrupt:
        assert how == "stop"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs by one process and by two, which torchrun starts once: that takes far longer than training."""
    folder = tmp_path_factory.mktemp("processes")
    script = folder / "script.py"
    script.write_text(DISTRIBUTED.format(root=str(ROOT), tests=str(ROOT / "tests")), encoding="utf-8")
    for task in TASKS:
        train_on(1, task, str(folder / f"{task}-1"))
    train_on(1, "segmentation", str(folder / "begun-by-1"), "stop")
    jobs = [f"{task}|{folder / f'{task}-2'}" for task in TASKS]
    jobs += [f"segmentation|{folder / 'begun-by-2'}|stop", f"segmentation|{folder / 'begun-by-1'}|resume"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*launcher, str(script), *jobs],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def assert_alike(task: str, one: Path, two: Path) -> None:
    """Sums of several processes are rounded otherwise, and the optimiser divides small numbers by others."""
    start = tiny_network(task, blobs(task, count=2)).state_dict()
    weights, others = (load_file(folder / "model.safetensors") for folder in (one, two))
    moved = max(float((weights[name] - start[name]).abs().max()) for name in weights)
    for name in weights:
        torch.testing.assert_close(weights[name], others[name], rtol=1e-3, atol=0.03 * moved)
    for a, b in zip(State.load(one).history, State.load(two).history, strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-3)
        assert a["score"] == pytest.approx(b["score"], abs=0.02)


@pytest.mark.skipif(os.name == "nt", reason="several processes are not tried on Windows")
@pytest.mark.parametrize("task", TASKS)
def test_two_processes_match_one(task: str, runs: Path) -> None:
    assert_alike(task, runs / f"{task}-1", runs / f"{task}-2")


@pytest.mark.skipif(os.name == "nt", reason="several processes are not tried on Windows")
def test_two_processes_go_on_where_one_stopped(runs: Path) -> None:
    state = State.load(runs / "begun-by-1")
    assert state.epoch == 2
    assert {name.split("/")[0] for name in state.rng} == {"0", "1"}  # each has its own random numbers
    assert_alike("segmentation", runs / "segmentation-1", runs / "begun-by-1")


@pytest.mark.skipif(os.name == "nt", reason="several processes are not tried on Windows")
def test_one_process_goes_on_where_two_stopped(runs: Path) -> None:
    assert State.load(runs / "begun-by-2").epoch == 1
    train_on(1, "segmentation", str(runs / "begun-by-2"), "resume")
    assert State.load(runs / "begun-by-2").epoch == 2
    assert_alike("segmentation", runs / "segmentation-1", runs / "begun-by-2")
