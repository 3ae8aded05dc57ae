"""The package works without the other networks: they can be taken out as one folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fieldconv

ROOT = Path(__file__).parents[2]
TRAINING = [
    "train",
    "segmentation",
    "--preset",
    "tiny",
    "--meshes",
    "4",
    "--vertices",
    "250",
    "--epochs",
    "1",
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package without them, beside the tests of layers and tasks."""
    folder = tmp_path_factory.mktemp("copy")
    left_out = shutil.ignore_patterns("rivals")
    shutil.copytree(Path(fieldconv.__file__).parent, folder / "src" / "fieldconv", ignore=left_out)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def run(copy: Path, *words: str) -> str:
    there = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, env=there, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_imports(copy: Path) -> None:
    said = run(copy, "-c", "import fieldconv.networks as n; print(n.__file__, n.network_names())")
    assert said.split() == [str(copy / "src" / "fieldconv" / "networks" / "__init__.py"), "['fcnet']"]


def test_trains_an_epoch(copy: Path) -> None:
    assert "The network is in run" in run(copy, "-m", "fieldconv.cli", *TRAINING, "--out", "run")


def test_layers_and_tasks_pass_their_tests(copy: Path) -> None:
    said = run(copy, "-m", "pytest", "-v", "-x", "-p", "no:xdist", "tests/nn", "tests/tasks")
    assert re.search(r"\d\d\d passed", said)
