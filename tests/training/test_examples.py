"""The examples run, small."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from tests.training.blobs import read

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_segment(tmp_path: Path) -> None:
    assert 0 <= load("segment").main(tmp_path, epochs=1, meshes=3, vertices=250) <= 1
    assert (tmp_path / "predicted.ply").is_file()


def test_classify_folder(tmp_path: Path) -> None:
    for seed in range(8):
        folder = tmp_path / "meshes" / ("one" if seed % 2 == 0 else "two")
        folder.mkdir(parents=True, exist_ok=True)
        read("classification", seed).mesh.save(folder / f"{seed}.obj")
    found = load("classify_folder").main(tmp_path / "meshes", tmp_path / "run", epochs=1, width=6)
    assert 0 <= found <= 1


def test_match_shapes(tmp_path: Path) -> None:
    found = load("match_shapes").main(tmp_path, epochs=1, meshes=2, vertices=250, width=6, blocks=2)
    assert 0 <= found <= 1
    assert (tmp_path / "scene.ply").is_file()
