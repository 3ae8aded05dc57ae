"""A package of somebody else adds a task and a network, in one file each, by being installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fieldconv.geometry import Mesh

SOURCE = Path(__file__).parent / "heights"
COMMANDS = """
import sys
from fieldconv.cli import main

run, mesh, folder = sys.argv[1:]
small = ["--meshes", "4", "--vertices", "250", "--species", "snake", "--epochs", "30", "--preset", "tiny"]
brief = ["--meshes", "4", "--vertices", "250", "--species", "snake", "fish", "--epochs", "1"]
for words in (
    ["train", "height", "--network", "perceptron", *small, "--no-rotate", "--width", "24", "--out", run],
    ["evaluate", run],
    ["predict", run, mesh, "--out", f"{run}-result"],
    ["report", run, "--out", f"{run}.html"],
    ["view", mesh, "--run", run, "--out", f"{run}-view.html", "--no-open"],
    ["view", f"{run}-result/shape.ply", "--out", f"{run}-again.html", "--no-open"],
    ["datasets", "make", "creatures", folder, "--task", "height", "--meshes", "4", "--vertices", "250"],
    ["train", "height", "--data", folder, "--preset", "tiny", "--epochs", "1", "--out", f"{run}-own"],
    ["train", "segmentation", "--network", "perceptron", *brief, "--out", f"{run}-parts"],
    ["train", "classification", "--network", "perceptron", *brief, "--out", f"{run}-class"],
    ["predict", f"{run}-class", mesh, "--out", f"{run}-class-result"],
):
    print(">>>", *words, flush=True)
    code = main(words)
    assert code == 0, (code, words)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as pip leaves it: the modules, and the metadata with the entry points of pyproject.toml."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(SOURCE, site, dirs_exist_ok=True)
    text = (SOURCE / "pyproject.toml").read_text(encoding="utf-8")
    points = re.findall(r'\[project\.entry-points\."([\w.]+)"\]\n(\w+) = "([\w:]+)"', text)
    assert len(points) == 2
    metadata = site / "heights-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: heights\nVersion: 0.1\n", encoding="utf-8"
    )
    lines = [f"[{group}]\n{name} = {value}\n" for group, name, value in points]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return site


@pytest.fixture(scope="module")
def done(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of results, and what was printed, after all commands."""
    out = tmp_path_factory.mktemp("out")
    vertices = np.random.default_rng(0).normal(size=(4, 3)) + 3 * np.eye(4, 3)
    Mesh(vertices, [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]).save(out / "shape.obj")
    words = [sys.executable, "-c", COMMANDS, str(out / "run"), str(out / "shape.obj"), str(out / "folder")]
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)])}
    ran = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", env=there, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return out, ran.stdout + ran.stderr


def test_one_short_file_each() -> None:
    for name in ("height.py", "perceptron.py"):
        assert len((SOURCE / name).read_text(encoding="utf-8").splitlines()) <= 80


def test_it_learns_and_is_measured_in_its_own_terms(done: tuple[Path, str]) -> None:
    out, _ = done
    result = json.loads((out / "run" / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    assert result["description"]["metrics"]["mean_error"]["better"] == "less"
    assert result["metrics"]["mean_error"] < 0.15  # always one half would give 0.2 or more
    config = json.loads((out / "run" / "config.json").read_text(encoding="utf-8"))
    assert (config["task"], config["network_name"], config["network"]["width"]) == (
        "height",
        "perceptron",
        24,
    )
    log = (out / "run" / "metrics.csv").read_text(encoding="utf-8").splitlines()
    assert "score" not in log[0].split(",")  # the task has none


def test_predictions_are_written_and_shown(done: tuple[Path, str]) -> None:
    out, _ = done
    values = np.load(out / "run-result" / "shape.npy")
    assert values.shape == (4,)
    assert values.dtype == np.float32
    mesh = Mesh.load(out / "run-result" / "shape.ply")
    np.testing.assert_allclose(mesh.vertex_data["value"], values, rtol=1e-6)
    header, first, *_ = (out / "run-result" / "shape.csv").read_text(encoding="utf-8").splitlines()
    assert header == "vertex,value"
    assert float(first.split(",")[1]) == pytest.approx(values[0], abs=1e-5)
    assert np.load(out / "run-result" / "shape.descriptors.npy").shape == (4, 24)
    for page in ("run.html", "run-view.html", "run-again.html"):
        assert (out / page).stat().st_size > 10_000
    assert "mean error" in (out / "run.html").read_text(encoding="utf-8")


def test_a_network_without_discs_never_computes_them(installed: Path) -> None:
    code = (
        "from fieldconv.networks import network_named; from fieldconv.surface import parts\n"
        "settings = network_named('perceptron').for_task('segmentation', classes=3).config.surface_settings\n"
        "print([part.name for part in parts.parts_of(settings)])"
    )
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)])}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", env=there, check=True
    )
    assert ran.stdout.strip() == "['samples', 'balls', 'hks']"


def test_help_shows_them(done: tuple[Path, str], installed: Path) -> None:
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)])}
    code = "from fieldconv.cli import main; main(['train', '--help'])"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", env=there, check=False
    )
    assert "height              the height of each vertex" in ran.stdout
    assert "perceptron" in ran.stdout
