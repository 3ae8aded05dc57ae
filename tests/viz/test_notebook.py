"""Meshes, surfaces, predictions and evaluations in a notebook."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from fieldconv.geometry import Mesh
from fieldconv.surface import Surface
from fieldconv.tasks import Evaluation, Prediction
from fieldconv.viz.notebook import MAX_INLINE_VERTICES
from shapes import icosphere
from viz.browser import Browser
from viz.test_viewer import page_data, unpack

READY = "window.fieldconv && fieldconv.ready"


def inner(shown: str) -> str:
    """Return the page inside a frame."""
    frame = re.search(r'<iframe srcdoc="([^"]*)"', shown)
    assert frame is not None
    return html.unescape(frame[1])


def outside(page: str) -> list[str]:
    """Return the addresses that a page would load."""
    return re.findall(r'(?:src|href)\s*=\s*["\']?(https?:[^"\'> ]+)', page)


def test_a_mesh_shows_itself_small_and_offline(ball: Mesh) -> None:
    shown = ball._repr_html_()
    assert outside(inner(shown)) == []
    assert len(shown) < 150_000
    assert 'sandbox="allow-scripts"' in shown


def test_a_large_mesh_is_drawn_coarser() -> None:
    points, faces = icosphere(6)  # 40,962 vertices
    shown = Mesh(points, faces, "planet")._repr_html_()
    page = inner(shown)
    assert "40,962 vertices, drawn with" in page
    drawn = int(re.search(r"drawn with ([\d,]+)", page)[1].replace(",", ""))  # type: ignore[index]
    assert MAX_INLINE_VERTICES / 4 < drawn <= MAX_INLINE_VERTICES


def test_an_unusable_mesh_shows_its_problem() -> None:
    nothing = Mesh([[np.nan, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], "<b>bad</b>")
    shown = nothing._repr_html_()
    assert "problem" in shown
    assert "<b>" not in shown


def test_labels_field_and_disc(ball: Mesh, browser: Browser, tmp_path: Path) -> None:
    """In a browser, in the frame of a notebook."""
    half = (ball.vertices[:, 0] > 0).astype(int)
    field = np.cross([0, 0, 1.0], ball.vertices)
    shown = ball.show(
        labels=half, names=["left", "right"], field=field, scalar={"Height": ball.vertices[:, 2]}
    )
    browser.open(shown.save(tmp_path / "shown.html"), ready=READY)
    options = browser.run("[...document.querySelector('.fc-select').options].map(o => o.textContent)")
    assert options == ["Label", "Field", "Height"]
    assert browser.errors == []
    framed = tmp_path / "notebook.html"
    framed.write_text(
        f"<!DOCTYPE html><meta charset=utf-8>{ball.show(disc=5)._repr_html_()}", encoding="utf-8"
    )
    browser.open(framed)
    browser.settle()
    assert browser.errors == []
    assert "disc of vertex 5" in ball.show(disc=5).html


def test_repr_of_a_display_has_its_size(ball: Mesh) -> None:
    assert re.match(r"Display\(0\.\d MB", repr(ball.show()))


def test_a_surface_shows_its_features_and_discs(ball: Mesh) -> None:
    surface = Surface.from_mesh(ball, radius=0.3, samples=100)
    shown = surface._repr_html_()
    assert f"100 samples of {len(ball.vertices)} vertices" in html.unescape(shown)
    assert "edge_index" in shown
    assert "Feature 2" in inner(shown)
    page = surface.show(field=torch.ones(100, dtype=torch.complex64), disc=7).html
    assert "Disc" in page
    assert "Field" in page
    with pytest.raises(ValueError, match="32 samples"):
        Surface.from_mesh(ball, radius=0.3, samples=20).show()


def test_a_disc_is_where_the_sample_sees_its_neighbours(ball: Mesh) -> None:
    surface = Surface.from_mesh(ball, radius=0.3)
    disc = page_data(surface.show(disc=3).html)["panels"][0]["colourings"][0]
    assert (disc["kind"], disc["radius"]) == ("polar", pytest.approx(0.3))
    distance = np.linalg.norm(unpack(disc["values"]), axis=1)
    away = np.linalg.norm(surface.pos.numpy() - surface.pos.numpy()[3], axis=1)
    inside = ~np.isnan(distance)
    assert distance[3] == 0
    assert away[inside].max() < 0.3  # a chord is shorter than the arc
    assert away[~inside].min() > 0.25
    assert distance[inside] == pytest.approx(away[inside], rel=0.05)


def test_a_batch_shows_a_table_only(ball: Mesh) -> None:
    from fieldconv.surface import batch as surface_batch

    both = surface_batch([Surface.from_mesh(ball, radius=0.3)] * 2)
    assert "<iframe" not in both._repr_html_()


def test_a_prediction_shows_labels_and_confidence(ball: Mesh) -> None:
    count = len(ball.vertices)
    scores = np.tile(np.float32([0.25, 0.75]), (count, 1))
    found = Prediction(ball, np.ones(count, np.int64), scores, None, ("head", "tail"))
    page = inner(found._repr_html_())
    assert '"tail"' in page
    assert "Confidence" in page
    whole = Prediction(ball, np.array(1), np.float32([0.25, 0.75]), None, ("cat", "dog"))
    assert "dog, 75 % sure" in inner(whole._repr_html_())


def test_a_prediction_on_a_template_shows_both(ball: Mesh) -> None:
    count = len(ball.vertices)
    found = Prediction(ball, np.arange(count), None, None, template=ball)
    assert "Template" in inner(found._repr_html_())


def evaluation(count: int) -> Evaluation:
    shapes = [{"name": f"{k}", "vertices": 10, "accuracy": 0.5} for k in range(count)]
    return Evaluation("segmentation", {"accuracy": 0.5}, shapes)


def test_an_evaluation_says_how_many_shapes_were_measured() -> None:
    assert evaluation(1).measured_on() == (
        "Measured on 1 test shape, 10 vertices: too few to say how far to trust it."
    )
    shown = evaluation(12)._repr_html_()
    assert "measured on 12 test shapes, 120 vertices." in shown
    assert "50.0 %" in shown


def test_a_report_of_numbers_alone(tmp_path: Path, browser: Browser) -> None:
    shown = evaluation(12).report()
    assert outside(re.sub(r"<script.*?</script>", "", shown.html, flags=re.S)) == []
    browser.open(shown.save(tmp_path / "report.html"))
    assert "12 test shapes" in browser.run("document.body.innerText")
    assert browser.errors == []
