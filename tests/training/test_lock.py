"""Two trainings in one folder: the second is refused, and told who is there."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from fieldconv.training.training_run import LOCK, run_lock

HOLDING = """
import sys, time
from fieldconv.training.training_run import run_lock
with run_lock(sys.argv[1]):
    print("holding", flush=True)
    time.sleep(600)
"""


def test_another_process_is_named_and_a_crash_frees_the_folder(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE, encoding="utf-8"
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "holding\n"
        with (
            pytest.raises(ValueError, match=rf"in use: process {other.pid} on .* since 20"),
            run_lock(tmp_path),
        ):
            pytest.fail("two at once")
    finally:
        other.kill()
        other.wait()
    for _ in range(50):  # until the system has taken the lock away
        try:
            with run_lock(tmp_path):
                assert (tmp_path / LOCK).exists()
            return
        except ValueError:
            time.sleep(0.1)
    pytest.fail("the lock of a killed process stayed")


def test_nothing_is_locked_without_a_folder() -> None:
    with run_lock(None), run_lock(None):
        pass
