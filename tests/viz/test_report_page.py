from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldconv.runs import RunError, read_run
from fieldconv.viz import write_report
from fieldconv.viz.report_page import write_figures
from viz.browser import Browser
from viz.runs import BENCHMARK, PARTS, TASKS, write_run
from viz.test_viewer import LOADS, NASTY, Tags

READY = (
    "document.readyState === 'complete' && "
    "(!document.querySelector('[data-fieldconv]') || window.fieldconv && fieldconv.ready)"
)


def own_text(path: Path) -> str:
    """Return the page without packed numbers and references within plots."""
    html = path.read_text(encoding="utf-8")
    html = re.sub(r'(xlink:href="|url\()#\w+', "", html)
    html = re.sub(r'xlink:href="data:image/png;base64,[A-Za-z0-9+/= ]*"', "", html)
    return re.sub(r'"data":"[A-Za-z0-9+/=]*"', '"data":""', html)


@dataclass
class PagePlot:
    """A plot of a page: its description, legend, texts for the pointer, and SVG."""

    label: str
    keys: list[str]
    tips: list[str]
    svg: str


def plots_of(path: Path) -> list[PagePlot]:
    found = []
    for html in path.read_text(encoding="utf-8").split('<div class="plot"')[1:]:
        html = html[: html.rindex("</svg>")]
        [label] = re.findall(r'aria-label="([^"]*)"', html)
        keys, tips = (re.findall(what, html) for what in (r"([^>]*)</span>", r'data-tip="([^"]*)"'))
        found.append(PagePlot(unescape(label), list(map(unescape, keys)), list(map(unescape, tips)), html))
    return found


EXPECTED = {
    "classification": ["Confusion", "predicted"],
    "segmentation": ["79.0 %", "10 test shapes, 6,420 vertices", "mean IoU", "Descriptors", "Wrong"],
    "correspondence": ["87.0 %", "Geodesic errors", "Template", "Feature 2"],
    "matching": ["32.5 %", "6 test pairs", "Precision and recall", "HKS", "First right match"],
    "regression": ["RMSE in mm", "validation RMSE in mm", "Height, predicted", "Flow"],
}


@pytest.mark.parametrize("task", TASKS)
def test_report_shows_what_the_run_has(task: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "my run", task)
    text = own_text(write_report(run))
    published = ["Field convolutions (paper)", "MeshWalker"] if task == "segmentation" else []
    for part in ("Training", "training.learning_rate", "12 epochs", *EXPECTED[task], *published):
        assert part in text
    assert LOADS.findall(text) == []


def test_report_goes_into_the_run_folder_by_default(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "classification")
    assert write_report(run) == run / "report.html"


def test_names_from_files_are_escaped(tmp_path: Path) -> None:
    safe = own_text(write_report(write_run(tmp_path / "a", "segmentation")))
    run = write_run(tmp_path / "b", "segmentation", name=NASTY)
    for path in (run / "config.json", run / "evaluation" / "metrics.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        content["class_names"] = [NASTY, *PARTS[1:]]
        content["data"] = f"human segmentation set in {NASTY}"
        path.write_text(json.dumps(content), encoding="utf-8")
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


def test_a_run_without_epochs(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"task": "matching"}', encoding="utf-8")
    (tmp_path / "log.csv").write_text("epoch,loss\n", encoding="utf-8")
    assert "has not been evaluated" in write_report(tmp_path).read_text(encoding="utf-8")


@pytest.mark.parametrize("better", ["more", "less"])
def test_own_result_is_ranked_among_published_ones(tmp_path: Path, better: str) -> None:
    run = write_run(tmp_path / "run", "segmentation")
    path = run / "evaluation" / "metrics.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["description"]["metrics"]["accuracy"] = {"better": better}
    content["metrics"]["accuracy"] = 0.928  # between the two published ones
    path.write_text(json.dumps(content), encoding="utf-8")
    [ranking] = [p for p in plots_of(write_report(run)) if "This run" in p.label]
    order = [BENCHMARK["results"][0][0], "This run", BENCHMARK["results"][1][0]]
    order = order if better == "more" else order[::-1]
    assert [tip.split(":")[0] for tip in ranking.tips] == order
    places = [ranking.svg.index(f">{name}</text>") for name in order]
    assert places == sorted(places)


def test_the_best_run_is_marked_in_the_direction_of_the_metric(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / f"run{k}", "regression", seed=k, epochs=3 + k) for k in range(3)]
    errors = [read_run(run).metrics["rmse"] for run in runs]
    html = own_text(write_report(runs, tmp_path / "compare.html"))
    marked = re.findall(r"<td class=strong>([^<]*)</td>", html)
    assert marked == [f"{min(errors):.4g}"]


def test_training_plots_are_sorted_by_kind(tmp_path: Path) -> None:
    plots = plots_of(write_report(write_run(tmp_path / "run", "regression")))
    drawn = {p.label.split(" over epoch: ")[0]: p for p in plots if " over epoch: " in p.label}
    assert list(drawn) == ["loss", "score"]
    assert re.findall(r"([a-zA-Z ]+?) from", drawn["loss"].label) == [" loss"]
    assert drawn["score"].keys == ["training score", "validation RMSE in mm"]
    for plot in drawn.values():
        assert [tip.split("\n")[0] for tip in plot.tips] == [f"epoch {k}" for k in range(1, 13)]


def test_comparison_overlays_runs_and_lists_differences(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / part / "run", "matching", seed=k, epochs=5 + k)
        for k, part in enumerate(("one", "two"))
    ]
    path = write_report(runs, tmp_path / "compare.html")
    html = own_text(path)
    [curves] = [p for p in plots_of(path) if p.label.startswith("precision over recall")]
    assert curves.keys == ["one/run", "two/run", "HKS"]
    assert "training.epochs" in html[html.index("Settings that differ") :]
    assert LOADS.findall(html) == []


def test_curves_of_runs_that_differ_in_their_seed_are_averaged(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / part / "run", "matching", seed=k) for k, part in enumerate(("one", "two"))]
    path = write_report(runs, tmp_path / "compare.html")
    [curves] = [p for p in plots_of(path) if p.label.startswith("precision over recall")]
    assert curves.keys == ["one/run and 1 other seed", "HKS"]
    heights = np.mean([read_run(run).curves["FCNet"][:, 1] for run in runs], axis=0)
    shown = [float(re.findall(r"other seed: (\S+)", tip)[0]) for tip in curves.tips]
    np.testing.assert_allclose(shown, heights, rtol=1e-3, atol=1e-6)
    [loss] = [p for p in plots_of(path) if p.label.startswith("loss over epoch")]
    assert loss.keys == ["one/run", "two/run"]  # each run, in the colour of its group
    assert "These runs have the same settings but for their seed." in own_text(path)


def test_runs_that_differ_in_their_seed_are_averaged(tmp_path: Path) -> None:
    """Mean and standard deviation by hand; the group with the smaller error comes first."""
    runs = [write_run(tmp_path / f"run{k}", "regression", seed=k, epochs=5 if k < 3 else 6) for k in range(5)]
    errors = np.array([read_run(run).metrics["rmse"] for run in runs])
    html = own_text(write_report(runs, tmp_path / "compare.html"))
    three, two = errors[:3], errors[3:]
    texts = {}
    for group in (three, two):
        spread = np.sqrt(((group - group.mean()) ** 2).sum() / (len(group) - 1))
        texts[group.mean()] = f"{group.mean():.4g} ± {spread:.2g}"
    places = [html.index(texts[mean]) for mean in sorted(texts)]
    assert places == sorted(places)
    each = [html.rindex(f">{error:.4g}<") for error in sorted(errors)]
    assert each == sorted(each)
    differ = html[html.index("Settings that differ") :]
    assert "training.epochs" in differ
    assert "training.seed" not in differ
    assert "network.rings" not in differ


def test_numbers_have_intervals(tmp_path: Path) -> None:
    text = own_text(write_report(write_run(tmp_path / "run", "segmentation")))
    accuracies = 0.7 + 0.02 * np.arange(10)
    low, high = (float(end[:-2]) / 100 for end in re.findall(r"<small>(\S+ %) to (\S+ %)</small>", text)[0])
    half = 1.96 * accuracies.std() / np.sqrt(10)  # what a normal distribution would give
    assert low == pytest.approx(accuracies.mean() - half, abs=0.005)
    assert high == pytest.approx(accuracies.mean() + half, abs=0.005)


def change(run: Path, **changes: Any) -> Path:
    """Change an evaluation."""
    path = run / "evaluation" / "metrics.json"
    content = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps(content), encoding="utf-8")
    return run


def test_few_shapes_have_a_warning(tmp_path: Path) -> None:
    run = change(write_run(tmp_path / "run", "regression"), shapes=[{"name": "a", "rmse": 3.0}])
    text = own_text(write_report(run))
    assert "Measured on 1 test shape: too few" in text
    assert "<small>" not in text
    assert "<summary>The test shape</summary>" in text


@pytest.mark.parametrize(
    ("part", "amount", "warning"),
    [("train", "10 training shapes", "All of these"), ("all", "10 shapes", "Most of these")],
)
def test_numbers_of_training_shapes_have_a_warning(
    tmp_path: Path, part: str, amount: str, warning: str
) -> None:
    run = change(write_run(tmp_path / "run", "segmentation"), part=part)
    text = own_text(write_report(run))
    assert f"Measured on {amount}, 6,420 vertices." in text
    assert f"{warning} shapes were trained on: the numbers say little about new ones." in text


def test_given_intervals_stand_below_their_numbers(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "segmentation")
    change(run, intervals={"mean_iou": [0.512, 0.634]})
    assert "<small>51.2 % to 63.4 %</small>" in own_text(write_report(run))


def test_guessing_stands_beside_accuracy(tmp_path: Path) -> None:
    confusion = np.zeros((8, 8))
    confusion[0, 0], confusion[1, 0], confusion[1, 1] = 2, 5, 3
    run = write_run(tmp_path / "run", "classification")
    change(run, metrics={"accuracy": 0.5}, tables={"confusion": confusion.tolist()})
    text = own_text(write_report(run))
    assert "always “hand”: 80.0 %" in text
    assert "Guessing (always answering “hand”) does at least as well: 80.0 %." in text
    assert "Not tested, because no test shape has them: lower arm, upper arm, torso" in text
    [matrix] = [p for p in plots_of(run / "report.html") if p.label.startswith("confusion matrix")]
    rows = {tip.split("\n")[0] for tip in matrix.tips}
    assert rows == {"true head", "true hand"}  # no row for what was never tested
    assert matrix.svg.count("</text>") == 2 + 2 + 2 + 3  # names, titles of the axes, shares


def test_untested_parts_have_no_bar(tmp_path: Path) -> None:
    """A part that is predicted but never true has an intersection over union of 0, which says nothing."""
    run = write_run(tmp_path / "run", "segmentation")
    change(run, tables={"confusion": [[0, 0], [2, 8]], "iou": [0.0, 0.8]})
    [bars] = [p for p in plots_of(write_report(run)) if p.label.startswith("intersection over union")]
    assert bars.tips == ["hand: 80.0 %"]
    assert re.findall("fill: (#[0-9a-f]{6})", bars.svg) == ["#e69f00"]  # the second colour, as on the shapes


@pytest.mark.parametrize(("baseline", "named"), [(0.4, True), (0.1, False)])
def test_a_descriptor_that_beats_the_network_is_named(tmp_path: Path, baseline: float, named: bool) -> None:
    run = write_run(tmp_path / "run", "matching")
    change(run, metrics={"mean_average_precision": 0.325, "hks_mean_average_precision": baseline})
    assert ("HKS 40.0 %; this network 32.5 %" in own_text(write_report(run))) == named


def test_comparing_one_run_is_its_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "matching")
    assert "Shapes" in write_report([run], tmp_path / "compare.html").read_text(encoding="utf-8")
    with pytest.raises(RunError, match="name at least one"):
        write_report([], tmp_path / "compare.html")


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
    assert browser.run("document.querySelectorAll('.plot > svg').length") >= 5
    letters = (
        "Math.min(...[...document.querySelectorAll('.plot text')].map(t => t.getBoundingClientRect().height))"
    )
    assert browser.run(letters) >= 7
    assert browser.run("fieldconv.viewers[0].views.length") == 4
    assert browser.run("document.querySelector('.fc-title').textContent") == f"{NASTY} 0"


def test_values_are_shown_under_the_pointer(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_report(write_run(tmp_path / "run", "segmentation")), ready=READY)
    loss = read_run(tmp_path / "run").history["loss"]
    shown = "document.getElementById('tip').checkVisibility() && document.getElementById('tip').textContent"
    assert browser.run(shown) is False
    fourth = browser.centre("[aria-label^='loss'] .spot:nth-of-type(4)")
    browser.settle()  # scrolling there would hide what the pointer shows
    browser.hover(*fourth)
    assert browser.run(shown) == f"epoch 4\nloss: {loss[3]:.4g}"
    place = "(r => [r.left >= 0, r.right <= innerWidth, r.bottom <= innerHeight])"
    assert browser.run(f"{place}(document.getElementById('tip').getBoundingClientRect())") == [True] * 3
    browser.hover(*browser.centre("h1"))
    assert browser.run(shown) is False


def test_report_on_paper(browser: Browser, tmp_path: Path) -> None:
    """Details are open, plots fit the sheet, colours are light; afterwards the page is as before."""
    browser.open(write_report(write_run(tmp_path / "run", "segmentation")), ready=READY)
    browser.click(".fc-theme")
    state = (
        "[document.querySelectorAll('details[open]').length, document.documentElement.dataset.theme,"
        "Math.max(...[...document.querySelectorAll('.plot > svg')].map(e => e.clientWidth))]"
    )
    closed, theme, wide = browser.run(state)
    assert (closed, theme) == (0, "dark")
    browser.size(650, 900)  # pixels across a sheet of A4 without margins
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    browser.settle()
    opened, theme, narrow = browser.run(state)
    assert (opened, theme) == (2, "light")
    assert narrow <= 650
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.size(1400, 900)
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    browser.settle()
    assert browser.run(state) == [0, "dark", wide]
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"])
    assert pdf[:4] == b"%PDF"
    assert 3 <= pdf.count(b"/Type /Page\n") <= 9
    assert browser.errors == []


@pytest.mark.parametrize("task", TASKS)
def test_pages_are_small(task: str, tmp_path: Path) -> None:
    """Well under 1 MB besides the shapes, whose numbers are packed."""
    page = own_text(write_report(write_run(tmp_path / "run", task, epochs=200)))
    assert len(page.encode()) < 400_000


def test_one_function_writes_the_page_of_one_run_and_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [write_run(tmp_path / f"run{k}", "segmentation", seed=k) for k in range(2)]
    monkeypatch.chdir(tmp_path)
    page = write_report(runs)
    assert page.resolve() == tmp_path / "compare.html"
    assert own_text(page) == own_text(write_report(runs, tmp_path / "b.html"))
    alone, listed = (own_text(path) for path in (write_report(runs[0]), write_report(runs[:1], "a.html")))
    assert re.sub(r"fieldconv-\d+", "", alone) == re.sub(r"fieldconv-\d+", "", listed)
