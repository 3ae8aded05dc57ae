from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest

from fieldconv.viz import Metric, figures

rng = np.random.default_rng(0)
CURVE = np.stack([np.linspace(0, 0.25, 20), np.linspace(0.2, 1, 20)], 1)
FIGURES = {
    "lines": lambda: figures.lines(
        {"a_$b": ([1, 2, 3], [1.0, np.nan, 3.0], [0.1, 0.1, 0.1]), "_b": ([1], [2])}
    ),
    "training": lambda: figures.training_curves({"epoch": [1, 2], "loss": [2, 1], "accuracy": [0.5, 0.6]}),
    "one epoch": lambda: figures.training_curves({"loss": [2.0]}),
    "confusion": lambda: figures.confusion_matrix(rng.random((3, 3)), ["a", "_b", "$c"]),
    "large confusion": lambda: figures.confusion_matrix(np.eye(30), [f"class {k}" for k in range(30)]),
    "iou": lambda: figures.bars({"IoU": [0.5, np.nan]}, ["a", "_b$"]),
    "several runs": lambda: figures.bars({"_a": [0.5, np.nan], "$b": [0.2, 0.3]}, ["a", "b"]),
    "ranking": lambda: figures.ranking([("_a", 0.2), ("$b", 0.1)], "$b", Metric("accuracy")),
    "percent": lambda: figures.lines({"FCNet": (CURVE[:, 0], CURVE[:, 1])}, percent=True),
    "scores": lambda: figures.training_curves({"loss": [2, 1], "score": [-3, -2], "accuracy": [0.5, 0.6]}),
    "no scores": lambda: figures.training_curves({"epoch": [1, 2], "seconds": [3, 4]}),
    "scatter": lambda: figures.scatter(rng.random((50, 2)), np.arange(50) % 3 - 1, ["a"]),
    "wide confusion": lambda: figures.confusion_matrix(rng.random((2, 5)), ["a", "b"], list("abcde")),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_saved_for_print(name: str, tmp_path: Path) -> None:
    png, pdf = FIGURES[name]().save(tmp_path / "figure.png")
    assert png.read_bytes()[:4] == b"\x89PNG"
    content = pdf.read_bytes()
    assert content[:4] == b"%PDF"
    assert b"/Type3" not in content.replace(b" ", b"")  # publishers refuse bitmap fonts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.pdf", "figure.png"]


def test_same_figure_same_file(tmp_path: Path) -> None:
    a, b = (FIGURES["iou"]().save(tmp_path / name) for name in ("a", "b"))
    assert [p.read_bytes() for p in a] == [p.read_bytes() for p in b]


def test_a_dot_in_the_name_is_no_suffix(tmp_path: Path) -> None:
    png, _ = FIGURES["iou"]().save(tmp_path / "within_0.05")
    assert png.name == "within_0.05.png"


def test_lines_draws_every_curve() -> None:
    [axes] = figures.lines({"a": ([0, 1], [2, 3]), "b": ([0, 1], [4, 5], [1, 1])}).figure.axes
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert drawn == [[2, 3], [4, 5]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    low, high = (
        axes.collections[0].get_paths()[0].vertices[:, 1].min(),
        axes.collections[0].get_paths()[0].vertices[:, 1].max(),
    )
    assert (low, high) == (3, 6)


def test_confusion_matrix_shows_shares_of_rows() -> None:
    [axes] = figures.confusion_matrix([[3, 1], [0, 0]], ["a", "b"]).figure.axes
    np.testing.assert_allclose(axes.images[0].get_array(), [[0.75, 0.25], [0, 0]])


def test_training_columns_are_sorted_by_kind() -> None:
    columns = {
        "epoch": np.array([1.0]),
        "loss": np.array([0.5]),
        "validation_loss": np.array([0.7]),
        "accuracy": np.array([0.9]),
        "mean_error": np.array([2.5]),
        "seconds": np.array([0.5]),
        "learning_rate": np.array([0.01]),
        "score": np.array([-3.0]),
        "validation_gap": np.array([0.5]),
        "empty": np.array([np.nan]),
    }
    known = {"gap": Metric("gap", better="less", style="plain")}
    assert figures.split_history(columns, known) == {
        "loss": ["loss", "validation_loss"],
        "share": ["accuracy"],
        "score": ["mean_error", "score", "validation_gap"],
    }


def test_percent_ticks_have_the_digits_they_need() -> None:
    """A score that moves by half a percent must not be labelled 0 %, 0 %, 1 %, 1 %."""
    figure = figures.lines({"a": ([0, 1], [0.001, 0.009])}, percent=True).figure
    figure.draw_without_rendering()
    [axes] = figure.axes
    texts = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(texts)) == len(texts) > 2
    assert all(text.endswith(" %") for text in texts)


def test_epochs_are_whole() -> None:
    for epochs in (1, 3, 7, 60, 200):
        figure = figures.lines({"a": (np.arange(1, epochs + 1), np.ones(epochs))}, whole=True).figure
        figure.draw_without_rendering()
        ticks = figure.axes[0].get_xticks()
        assert len(ticks) < 12
        assert (ticks == ticks.round()).all()


def test_curves_of_one_colour_have_different_dashes() -> None:
    flat = ([0, 1], [1, 1])
    [axes] = figures.lines({"a": flat, "b": flat, "c": flat}, colours=[0, 0, 1]).figure.axes
    first, second, third = axes.lines
    assert first.get_color() == second.get_color() != third.get_color()
    assert first.get_linestyle() != second.get_linestyle()


def tips(html: str) -> list[str]:
    return [unescape(text) for text in re.findall(r'data-tip="([^"]*)"', html)]


@pytest.mark.parametrize("name", FIGURES)
def test_plots_on_a_page_are_text_in_the_colours_of_the_page(name: str) -> None:
    plot = FIGURES[name]()
    html = plot.html()
    assert len(html) < 100_000
    if name != "scatter":  # which has no axes
        assert "<text" in html
        assert "fill: var(--ink)" in html
    assert escape(plot.label) in html
    assert not re.search(r"<style|<script|https?:|<metadata|\bid=\"(figure|axes|text)_", html)
    for key in plot.keys:
        assert f"{escape(key.name)}</span>" in html


def test_the_pointer_shows_every_value_of_a_curve() -> None:
    curves = {"a": ([1, 2, 3], [0.1, np.nan, 0.3]), "b": ([2, 3], [0.5, 0.6])}
    html = figures.lines(curves, x="epoch", percent=True).html()
    assert tips(html) == ["epoch 1\na: 10.0 %", "epoch 2\nb: 50.0 %", "epoch 3\na: 30.0 %\nb: 60.0 %"]


def test_long_curves_have_at_most_a_hundred_places() -> None:
    at = np.arange(5000)
    found = tips(figures.lines({"a": (at, at / 7)}, x="step").html())
    assert 50 <= len(found) <= 100
    for text in found:
        step, value = re.fullmatch(r"step (\S+)\na: (\S+)", text).groups()  # type: ignore[union-attr]
        assert float(value) == pytest.approx(float(step) / 7, rel=1e-3)


def test_spots_lie_where_the_values_are_drawn() -> None:
    """The box of a bar, in the units of the SVG, has the height of the bar's path and its middle."""
    html = figures.bars({"IoU": [0.25, 0.5, 0.75]}, ["a", "b", "c"]).html()
    assert tips(html) == ["a: 25.0 %", "b: 50.0 %", "c: 75.0 %"]
    boxes = re.findall(r'd="M\S+? (\S+?)h\S+?v-(\S+?)h', html)
    drawn = re.findall(r'd="M \S+ (\S+) L \S+ \S+ L \S+ (\S+) L[^"]*"[^>]*fill: #', html)
    assert len(boxes) == len(drawn) == 3
    for (bottom, height), ends in zip(boxes, drawn, strict=True):
        high, low = sorted(map(float, ends))
        assert float(bottom) == pytest.approx(low, abs=0.1)
        assert float(height) == pytest.approx(low - high, abs=0.1)


def test_the_pointer_shows_the_shares_of_a_confusion_matrix() -> None:
    html = figures.confusion_matrix([[3, 1], [0, 0]], ["a", "b"]).html()
    assert tips(html) == ["true a\npredicted a: 75.0 %", "true a\npredicted b: 25.0 %"]


def test_every_point_has_its_class_under_the_pointer() -> None:
    html = figures.scatter(rng.random((50, 2)), np.arange(50) % 3 - 1, ["a"]).html()
    assert tips(html) == ["a", "1"]
    boxes = re.findall(r'data-tip="\w+" d="([^"]*)"', html)
    assert [box.count("z") for box in boxes] == [(np.arange(50) % 3 == k).sum() for k in (1, 2)]


def test_dark_lines_are_lighter_on_dark_pages_and_classes_keep_their_colours() -> None:
    eight = {str(k): ([0, 1], [k, k]) for k in range(8)}
    assert "stroke: color-mix(in oklab, #7a0000, white var(--lift))" in figures.lines(eight).html()
    html = figures.bars({"IoU": [0.5] * 8}, list("abcdefgh")).html()
    assert "fill: #7a0000" in html
    assert "color-mix" not in html


def test_letters_missing_in_the_font_are_left_to_the_browser(recwarn: pytest.WarningsRecorder) -> None:
    assert "形" in figures.lines({"形": ([0, 1], [0, 1])}, y="形").html()
    assert len(recwarn) == 0
