"""The whole way in a folder whose name has blanks and letters of several scripts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from fieldconv._io import read_text, write_text
from fieldconv.cli import main
from tests.training.blobs import read

SMALL = ["--preset", "tiny", "--samples", "None", "--radius", "0.3", "--width", "6"]
CLASSES = ("Füße", "お腹 (belly)", "голова")


def shows(page: Path, words: str) -> bool:
    """Whether a page has these words, plain or as JSON writes them."""
    text = read_text(page)
    return words in text or json.dumps(words)[1:-1] in text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("paths") / "Übung 形 mesh"
    for number in range(4):
        sample = read("segmentation", number)
        part = root / "data é" / ("train" if number < 3 else "test")
        sample.mesh.save(part / f"Körper {number}形.obj")
        np.savetxt(part / f"Körper {number}形.txt", sample.target, fmt="%d", encoding="utf-8")
    write_text(root / "data é" / "classes.txt", "".join(f"{name}\n" for name in CLASSES))
    return root


@pytest.fixture(scope="module")
def run(place: Path) -> Path:
    out = place / "run №1"
    words = [
        "train",
        "segmentation",
        "--data",
        str(place / "data é"),
        *SMALL,
        "--epochs",
        "1",
        "--out",
        str(out),
    ]
    assert main(words) == 0
    return out


def test_train_and_resume(run: Path) -> None:
    config = json.loads(read_text(run / "config.json"))
    assert tuple(config["class_names"]) == CLASSES
    assert all(shows(run / "report.html", name) for name in CLASSES)
    assert main(["train", "segmentation", "--out", str(run), "--resume"]) == 0


def test_evaluate(run: Path, place: Path) -> None:
    assert main(["evaluate", str(run), "--out", str(place / "次")]) == 0
    result = json.loads(read_text(place / "次" / "evaluation" / "metrics.json"))
    assert [shape["name"] for shape in result["shapes"]] == ["test/Körper 3形.obj"]


def test_predict_from_a_list_of_meshes(run: Path, place: Path) -> None:
    write_text(place / "меши.txt", "data é/test/Körper 3形.obj\n")
    assert main(["predict", str(run), str(place / "меши.txt"), "--out", str(place / "вывод")]) == 0
    rows = list(csv.DictReader(read_text(place / "вывод" / "Körper 3形.csv").splitlines()))
    assert len(rows) == 162
    assert {row["name"] for row in rows} <= set(CLASSES)
    assert (place / "вывод" / "Körper 3形.ply").is_file()


def test_report_and_view(run: Path, place: Path) -> None:
    main(["report", str(run), "--out", str(place / "отчёт.html")])
    assert shows(place / "отчёт.html", "голова")
    mesh = str(place / "data é" / "test" / "Körper 3形.obj")
    picture = str(place / "снимок.png")
    page = str(place / "страница.html")
    assert main(["view", mesh, "--run", str(run), "--out", page, "--png", picture, "--no-open"]) == 0
    assert shows(Path(page), "голова")
    assert Path(picture).stat().st_size > 1000


def test_other_commands(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "check", str(place / "data é")]) == 0
    assert main(["info", str(place / "data é" / "test" / "Körper 3形.obj")]) == 0
    cache = ["--cache", str(place / "倉庫"), "--workers", "2"]
    assert main(["precompute", str(place / "data é"), "--radius", "0.3", *cache]) == 0
    assert "4 prepared" in capsys.readouterr().out
