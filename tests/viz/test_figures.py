from __future__ import annotations

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
    "iou": lambda: figures.iou_bars([0.5, np.nan], ["a", "b"]),
    "percent": lambda: figures.lines({"FCNet": (CURVE[:, 0], CURVE[:, 1])}, percent=True),
    "scores": lambda: figures.training_curves({"loss": [2, 1], "score": [-3, -2], "accuracy": [0.5, 0.6]}),
    "no scores": lambda: figures.training_curves({"epoch": [1, 2], "seconds": [3, 4]}),
    "scatter": lambda: figures.scatter(rng.random((50, 2)), np.arange(50) % 3 - 1, ["a"]),
    "wide confusion": lambda: figures.confusion_matrix(rng.random((2, 5)), ["a", "b"], list("abcde")),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_saved_for_print(name: str, tmp_path: Path) -> None:
    png, pdf = figures.save_figure(FIGURES[name](), tmp_path / "figure.png")
    assert png.read_bytes()[:4] == b"\x89PNG"
    content = pdf.read_bytes()
    assert content[:4] == b"%PDF"
    assert b"/Type3" not in content.replace(b" ", b"")  # publishers refuse bitmap fonts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.pdf", "figure.png"]


def test_same_figure_same_file(tmp_path: Path) -> None:
    a, b = (figures.save_figure(FIGURES["iou"](), tmp_path / name) for name in ("a", "b"))
    assert [p.read_bytes() for p in a] == [p.read_bytes() for p in b]


def test_a_dot_in_the_name_is_no_suffix(tmp_path: Path) -> None:
    png, _ = figures.save_figure(FIGURES["iou"](), tmp_path / "within_0.05")
    assert png.name == "within_0.05.png"


def test_lines_draws_what_it_is_given() -> None:
    [axes] = figures.lines({"a": ([0, 1], [2, 3]), "b": ([0, 1], [4, 5], [1, 1])}).axes
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert drawn == [[2, 3], [4, 5]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    low, high = (
        axes.collections[0].get_paths()[0].vertices[:, 1].min(),
        axes.collections[0].get_paths()[0].vertices[:, 1].max(),
    )
    assert (low, high) == (3, 6)


def test_confusion_matrix_shows_shares_of_rows() -> None:
    [axes] = figures.confusion_matrix([[3, 1], [0, 0]], ["a", "b"]).axes
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
    assert figures.split_history(columns, known) == (
        ["loss", "validation_loss"],
        ["accuracy"],
        ["mean_error", "score", "validation_gap"],
    )


def test_percent_ticks_have_the_digits_they_need() -> None:
    """A score that moves by half a percent must not be labelled 0 %, 0 %, 1 %, 1 %."""
    figure = figures.lines({"a": ([0, 1], [0.001, 0.009])}, percent=True)
    figure.draw_without_rendering()
    [axes] = figure.axes
    texts = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(texts)) == len(texts) > 2
    assert all(text.endswith(" %") for text in texts)
