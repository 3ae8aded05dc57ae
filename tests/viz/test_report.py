from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from fieldconv.viz import page
from fieldconv.viz.published import BENCHMARKS
from fieldconv.viz.report import compare, write_figures, write_report
from fieldconv.viz.runs import RunError, describe, read_run, score, shape_panels
from viz.browser import Browser
from viz.runs import PARTS, write_run
from viz.test_viewer import LOADS, NASTY, Tags

TASKS = ["classification", "segmentation", "correspondence", "matching"]
READY = (
    "window.fieldconvPlots && fieldconvPlots.ready && "
    "(!document.querySelector('[data-fieldconv]') || window.fieldconv && fieldconv.ready)"
)


def own_text(path: Path) -> str:
    """The page without Plotly's own code and without packed numbers."""
    html = path.read_text().replace(page._plotly(), "")
    return re.sub(r'"data":"[A-Za-z0-9+/=]*"', "", html)


@pytest.mark.parametrize("task", TASKS)
def test_report_shows_what_the_run_has(task: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "my run", task)
    text = own_text(write_report(run))
    expected = {
        "classification": ["95", "Confusion", "Field convolutions (paper)", "predicted"],
        "segmentation": ["92.1 %", "mean IoU", "ECHO descriptors", "MeshWalker", "Wrong"],
        "correspondence": ["87.0 %", "Geodesic errors", "Template", "Feature 2"],
        "matching": ["34.0 %", "Precision and recall", "HKS", "Rank of the first right match"],
    }
    for part in ("Training", "training.learning_rate", "12 epochs", *expected[task]):
        assert part in text
    assert LOADS.findall(text) == []


def test_report_goes_into_the_run_folder_by_default(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "classification")
    assert write_report(run) == run / "report.html"


def test_names_from_files_are_escaped(tmp_path: Path) -> None:
    safe = own_text(write_report(write_run(tmp_path / "a", "segmentation")))
    run = write_run(tmp_path / "b", "segmentation", name=NASTY)
    for path in (run / "config.json", run / "evaluation" / "metrics.json"):
        content = json.loads(path.read_text())
        content["class_names"] = [NASTY, *PARTS[1:]]
        content["data"] = f"human segmentation set in {NASTY}"
        path.write_text(json.dumps(content))
    nasty = own_text(write_report(run))
    assert Tags(nasty).names == Tags(safe).names
    assert NASTY not in nasty


@pytest.mark.parametrize(
    "missing", ["config.json", "log.csv", "evaluation/metrics.json", "evaluation/shapes"]
)
def test_what_is_missing_is_left_out(missing: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "segmentation")
    (run / missing).rename(tmp_path / "gone")
    assert "<h2>" in own_text(write_report(run))


def test_a_run_that_has_just_begun(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"task": "matching"}')
    (tmp_path / "log.csv").write_text("epoch,loss\n")
    assert "has not been evaluated" in write_report(tmp_path).read_text()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("config.json", "{", r"config.json cannot be read"),
        ("config.json", "[1]", r"config.json holds no settings"),
        ("evaluation/metrics.json", "nonsense", r"metrics.json cannot be read"),
    ],
)
def test_broken_files_are_named(file: str, text: str, message: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "matching")
    (run / file).write_text(text)
    with pytest.raises(RunError, match=message):
        write_report(run)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        write_report(tmp_path / "nowhere")
    with pytest.raises(RunError, match="not a run folder"):
        write_report(tmp_path)


def test_worst_comes_first() -> None:
    wrong_and_sure, wrong, right, right_and_sure = (
        {"accuracy": a, "confidence": c} for a, c in ((0.0, 0.9), (0.0, 0.5), (1.0, 0.5), (1.0, 0.9))
    )
    shuffled = [right, wrong_and_sure, right_and_sure, wrong]
    ordered = sorted(shuffled, key=lambda shape: score("classification", shape))
    assert ordered == [wrong_and_sure, wrong, right, right_and_sure]


def test_shapes_show_truth_prediction_and_mistakes(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", "segmentation"))
    panels = shape_panels(run)
    assert [panel.title for panel in panels] == ["shape 0", "shape 1", "shape 8", "shape 9"]
    assert panels[0].note == "worst: accuracy 70.0 %"
    prediction, truth, wrong = panels[0].colourings
    np.testing.assert_array_equal(wrong.values, prediction.values != truth.values)
    assert truth.names == PARTS


def test_features_share_their_hues(tmp_path: Path) -> None:
    """The same magnitude has the same hue on all shapes, so the largest of all is common."""
    panels = shape_panels(read_run(write_run(tmp_path / "run", "correspondence")))
    assert panels[0].title == "Template"
    first, second = (next(c for c in panel.colourings if c.name == "Feature 2") for panel in panels[1:])
    strongest = max((first, second), key=lambda c: c.limits[1])
    assert strongest.ramp[-1].tolist() == [255, 0, 0]


def test_classes_are_described_in_words(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", "classification"))
    shape = {"truth": 1, "predicted": 2, "accuracy": 0.0, "confidence": 0.5}
    assert describe(run, shape) == "hand, predicted lower arm (50 %)"
    assert describe(run, {**shape, "predicted": 1}) == "hand (50 %)"


def test_published_results_are_the_papers() -> None:
    best = {b.task: b.results[0] for b in BENCHMARKS if b.results}
    assert best == {
        "classification": ("Field convolutions (paper)", 0.992),
        "segmentation": ("Field convolutions (paper)", 0.929),
    }


def test_comparison_overlays_runs_and_says_what_differs(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / part / "run", "matching", seed=k) for k, part in enumerate(("one", "two"))]
    html = own_text(compare(runs, tmp_path / "compare.html"))
    plots = [json.loads(block) for block in Tags(html).data]
    [curves] = [p for p in plots if p["layout"]["yaxis"]["title"]["text"] == "precision"]
    assert [trace["name"] for trace in curves["data"]] == ["one/run", "two/run", "HKS"]
    assert "training.seed" in html
    assert "network.rings" not in html  # the same in both
    assert LOADS.findall(html) == []


def test_comparing_one_run_is_its_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "matching")
    assert "Shapes" in compare([run], tmp_path / "compare.html").read_text()
    with pytest.raises(RunError, match="name at least one"):
        compare([], tmp_path / "compare.html")


def test_figures_of_runs(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / f"run{k}", "segmentation", seed=k) for k in range(2)]
    alone = write_figures(runs[:1], tmp_path / "alone")
    assert {p.name for p in alone} >= {"training.pdf", "confusion.png", "iou.pdf", "descriptors.pdf"}
    both = write_figures(runs, tmp_path / "both")
    assert {p.name for p in both} >= {"training_loss.png", "training_validation_accuracy.pdf"}


@pytest.mark.parametrize("width", [1400, 390])
def test_report_in_a_browser(browser: Browser, tmp_path: Path, width: int) -> None:
    browser.size(width, 900 if width > 400 else 844, phone=width < 400)
    run = write_run(tmp_path / "run", "segmentation", name=NASTY)
    browser.open(write_report(run), ready=READY)
    browser.settle()
    assert browser.errors == []
    assert browser.requests == [(run / "report.html").as_uri()]
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelectorAll('.plot .main-svg').length") >= 5
    assert browser.run("fieldconv.viewers[0].views.length") == 4
    assert browser.run("document.querySelector('.fc-title').textContent") == f"{NASTY} 0"
