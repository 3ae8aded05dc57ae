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
pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
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
    """The package without them, and the tests of layers and tasks: links, so that kernels stay compiled."""
    folder = tmp_path_factory.mktemp("copy")
    link_tree(Path(fieldconv.__file__).parent, folder / "src" / "fieldconv")
    for name in ("tests", "benchmarks"):
        link_tree(ROOT / name, folder / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def link_tree(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    (source / "__pycache__").mkdir(exist_ok=True)  # where numba keeps what it has compiled
    for entry in source.iterdir():
        if entry.is_dir() and entry.name == "rivals":
            continue
        if entry.is_dir() and entry.name != "__pycache__":
            link_tree(entry, target / entry.name)
        else:
            (target / entry.name).symlink_to(entry)


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
