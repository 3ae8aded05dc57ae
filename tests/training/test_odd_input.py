"""`predict` says what it did to odd input, and that a network was never trained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fieldconv.cli import main
from fieldconv.geometry import Mesh
from fieldconv.geometry.mesh.check import oddities
from fieldconv.training import predict
from fieldconv.training.fit import attach_task
from tests.training.blobs import blob, blobs, tiny_network


def odd_mesh() -> Mesh:
    """Two blobs, three loose vertices, and a vertex without position on some faces of the first blob."""
    mesh, _ = blob(0, 1)
    count = len(mesh.vertices)
    vertices = np.concatenate([mesh.vertices, mesh.vertices + 5, np.full((3, 3), 9.0)])
    vertices[7] = np.nan
    return Mesh(vertices, np.concatenate([mesh.faces, mesh.faces + count]), "odd")


def test_everything_odd_is_counted() -> None:
    found = oddities(odd_mesh(), ["dropped 1 vertex"])
    assert (found.without_position, found.without_face, found.components) == (1, 3, 2)
    assert str(found) == (
        "1 vertex without a position; 3 vertices on no face; 2 components; repaired: dropped 1 vertex"
    )
    assert str(oddities(blob(0, 1)[0])) == ""


def test_the_summary_and_the_file_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = blobs(count=1)
    model = tiny_network("segmentation", data)
    attach_task(model, data)
    model.save_pretrained(tmp_path / "run")
    odd_mesh().save(tmp_path / "odd.ply")
    blob(1, 1)[0].save(tmp_path / "fine.ply")
    meshes = [str(tmp_path / name) for name in ("odd.ply", "fine.ply")]
    assert main(["predict", str(tmp_path / "run"), *meshes, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "1 vertex without a position; 3 vertices on no face; 2 components; repaired: " in said
    assert "fine.ply" not in said
    assert "never trained" not in said
    told = json.loads((tmp_path / "out" / "predictions.json").read_text(encoding="utf-8"))
    odd, fine = told["meshes"]
    assert told["trained"] is True
    assert (odd["without_position"], odd["without_face"], odd["components"], odd["repaired"]) == (
        1,
        3,
        2,
        True,
    )
    assert (fine["without_position"], fine["components"], fine["repairs"]) == (0, 1, [])
    labels = np.load(tmp_path / "out" / "odd.npy")
    assert np.flatnonzero(labels < 0).tolist() == [7, *range(len(labels) - 3, len(labels))]


def test_an_untrained_network_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tiny_network("segmentation", blobs(count=1))
    model.save_pretrained(tmp_path / "run")
    blob(1, 1)[0].save(tmp_path / "fine.ply")
    assert (
        main(["predict", str(tmp_path / "run"), str(tmp_path / "fine.ply"), "--out", str(tmp_path / "out")])
        == 0
    )
    assert "never trained" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "predictions.json").read_text(encoding="utf-8"))["trained"] is False


def test_python_has_it_too() -> None:
    found = predict(tiny_network("segmentation", blobs(count=1)), odd_mesh())
    assert found.input is not None
    assert found.input.without_position == 1


def test_errors_for_paths_in_place_of_objects_name_the_right_call() -> None:
    mesh, _ = blob(0, 1)
    with pytest.raises(TypeError, match=r"not str; read one with fc\.load\('RUN'\)"):
        predict("RUN", mesh)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"read a file with Mesh\.load\('shape.obj'\)"):
        Mesh("shape.obj")
