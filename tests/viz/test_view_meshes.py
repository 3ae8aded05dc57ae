from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldconv.geometry import Mesh
from fieldconv.viz import VertexValues, view, write_shape
from fieldconv.viz.values import MeshValues
from viz.test_viewer import page_data, unpack


@pytest.fixture
def ball_file(ball: Mesh, tmp_path: Path) -> Path:
    ball.save(tmp_path / "ball.ply")
    return tmp_path / "ball.ply"


def panels(page: Path) -> list[dict[str, Any]]:
    """Return the panels of a page, as JSON."""
    found: list[dict[str, Any]] = page_data(page.read_text(encoding="utf-8"))["panels"]
    return found


def test_page_is_written_and_opened(ball_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = view([ball_file], out=tmp_path / "x.html")
    assert opened == [page.resolve().as_uri()]
    assert view([ball_file], out=tmp_path / "y.html", open=False).exists()
    assert len(opened) == 1


def test_picture_alone(ball_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert view([ball_file], png=tmp_path / "ball.png") == tmp_path / "ball.png"
    assert (tmp_path / "ball.png").read_bytes()[:4] == b"\x89PNG"
    assert not list(tmp_path.glob("*.html"))


def test_everything_at_once(ball_file: Path, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "l.txt", np.arange(162) % 5, fmt="%d", encoding="utf-8")
    np.save(tmp_path / "height.npy", np.linspace(0, 1, 162))
    np.save(tmp_path / "f.npy", np.full(162, 1 + 1j))
    np.save(tmp_path / "m.npy", np.arange(162)[::-1])
    two = [ball_file, ball_file]
    page = view(
        two,
        labels=[tmp_path / "l.txt"] * 2,
        scalar=[tmp_path / "height.npy"] * 2,
        field=[tmp_path / "f.npy"] * 2,
        map=tmp_path / "m.npy",
        out=tmp_path / "x.html",
        open=False,
    )
    first, second = (panel["colourings"] for panel in panels(page))
    assert [colouring["name"] for colouring in second] == ["Field", "Correspondence", "Label", "Height"]
    np.testing.assert_array_equal(unpack(first[1]["match"]), np.arange(162))
    np.testing.assert_array_equal(unpack(second[1]["match"]), np.arange(162)[::-1])
    assert second[0]["arrows"]["shown"] is False


def test_disc_is_on_the_unit_area_mesh(ball_file: Path, tmp_path: Path) -> None:
    page = view([ball_file], disc=3, radius=0.2, out=tmp_path / "x.html", open=False)
    data = page_data(page.read_text(encoding="utf-8"))
    [shown] = data["meshes"]
    mesh = Mesh.load(ball_file).normalised()
    assert mesh.area == pytest.approx(1)
    assert shown["size"] == pytest.approx(np.ptp(mesh.vertices, axis=0))
    assert shown["centre"] == pytest.approx(mesh.vertices[3])  # the disc fills the view
    assert data["camera"]["zoom"] == pytest.approx(shown["scale"] / (1.25 * 0.2))
    assert panels(page)[0]["note"].startswith("disc of vertex 3, radius 0.2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\nthree\n", r"v.txt, line 3: 'three' is not a number"),
        ("1 2\n3\n", r"v.txt, line 2: 1 numbers where the lines before have 2"),
        ("1\n2\n", r"v.txt: 2 rows for a mesh with 162 vertices"),
        ("0.5\n" * 162, r"v.txt: 0.5 for vertex 0 is not a whole number"),
        ("1 2\n" * 162, r"v.txt: values of shape \(162, 2\)"),
        ("", r"v.txt: 0 rows for a mesh"),
    ],
)
def test_bad_labels_are_explained(ball_file: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        view([ball_file], labels=tmp_path / "v.txt", open=False)


def test_pickled_values_are_refused(ball_file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([{}] * 162), allow_pickle=True)
    with pytest.raises(ValueError, match=r"v.npy: not an array of numbers"):
        view([ball_file], scalar=tmp_path / "v.npy", open=False)


def test_one_file_per_mesh(ball_file: Path) -> None:
    with pytest.raises(ValueError, match="--labels names 1 files; give 2 files"):
        view([ball_file, ball_file], labels=ball_file, open=False)
    with pytest.raises(ValueError, match="--map names 2 files; give 1 file, one per mesh"):
        view([ball_file, ball_file], map=[ball_file, ball_file], open=False)


def test_missing_value_file(ball_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere.txt: no such file"):
        view([ball_file], scalar=tmp_path / "nowhere.txt", open=False)


def test_given_values_come_first(ball_file: Path, tmp_path: Path) -> None:
    """As the command line passes the predictions of a network."""
    parts = VertexValues(name="Prediction", kind="labels", values=np.arange(162) % 2, class_names=("a", "b"))
    places = VertexValues(name="Correspondence", kind="places", values=np.arange(162)[::-1])
    template = Mesh.load(ball_file)
    page = view(
        [ball_file, ball_file],
        shown=[MeshValues([parts], "horse (61 %)"), MeshValues([places])],
        template=template,
        out=tmp_path / "x.html",
        open=False,
    )
    of_template, first, second = panels(page)
    assert [panel["title"] for panel in (of_template, first, second)] == ["Template", "ball", "ball"]
    assert first["note"] == "horse (61 %)"
    assert first["colourings"][0]["names"] == ["a", "b"]
    np.testing.assert_array_equal(unpack(of_template["colourings"][0]["match"]), np.arange(162))
    np.testing.assert_array_equal(unpack(second["colourings"][0]["match"]), np.arange(162)[::-1])
    with pytest.raises(ValueError, match="values for 1 meshes but 2 meshes"):
        view([ball_file, ball_file], shown=[MeshValues()], open=False)
    with pytest.raises(ValueError, match="leave out --map"):
        view([ball_file, ball_file], template=template, map=ball_file, open=False)


def test_names_in_files_are_shown(ball: Mesh, tmp_path: Path) -> None:
    parts = VertexValues(
        name="Prediction", kind="labels", values=np.arange(162) % 2, class_names=("head", "tail")
    )
    confidence = VertexValues(name="Confidence", kind="scalar", values=np.full(162, 0.5), limits=(0, 1))
    path = tmp_path / "new.ply"
    write_shape(path, ball, [parts, confidence], about={"run": "animals", "note": "2 parts"})
    [panel] = panels(view([path], out=tmp_path / "x.html", open=False))
    assert panel["note"] == "2 parts, predicted by animals"
    assert panel["colourings"][0]["names"] == ["head", "tail"]
    assert panel["colourings"][1]["limits"] == [0, 1]


def test_places_without_their_template_are_left_out(ball: Mesh, tmp_path: Path) -> None:
    Mesh(ball.vertices, ball.faces, vertex_data={"match": np.arange(162)}).save(tmp_path / "a.ply")
    [panel] = panels(view([tmp_path / "a.ply"], out=tmp_path / "x.html", open=False))
    assert panel["colourings"] == []


def test_labels_may_be_names(ball_file: Path, ball: Mesh, tmp_path: Path) -> None:
    words = ["leg"] * len(ball.vertices)
    words[0], words[3] = "head", "-1"
    (tmp_path / "parts.txt").write_text("\n".join(words), encoding="utf-8")
    page = view([ball_file], labels=tmp_path / "parts.txt", out=tmp_path / "x.html", open=False)
    [colouring] = panels(page)[0]["colourings"]
    assert (colouring["kind"], colouring["names"]) == ("labels", ["head", "leg"])
    assert unpack(colouring["values"])[:4].tolist() == [0, 1, 1, -1]
