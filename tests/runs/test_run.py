"""What a run folder holds, as it is read and written."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fieldconv.runs import (
    Run,
    RunError,
    metric_context,
    read_run,
    remarks,
    write_descriptors,
    write_evaluation,
    write_log,
)
from fieldconv.tasks import Evaluation, Metric
from tests.viz.runs import write_run


def evaluation(count: int = 8) -> Evaluation:
    """Two classes; the first shape has no number, as if it had no vertex with a label."""
    shapes = [{"name": f"shape {k}", "vertices": 10 + k, "accuracy": 0.5 + k / 20} for k in range(count)]
    shapes[0]["accuracy"] = math.nan
    return Evaluation(
        "segmentation",
        {"accuracy": 0.75, "mean_iou": 0.5, "unknown": math.nan},
        shapes,
        {"confusion": np.array([[6.0, 2.0], [1.0, 3.0]]), "iou": np.array([0.5, np.nan])},
        {"confidence": np.array([[0.5, 0.25], [1.0, 0.75]])},
        guesses={"mean_iou": ("always “head”", 0.3)},
        intervals={"mean_iou": (0.4, 0.6)},
        class_names=("head", "tail"),
        part="all",
        rotations=3,
        description={"metrics": {"accuracy": Metric("accuracy", "share of right ones").to_dict()}},
    )


def test_an_evaluation_is_read_as_it_was_written(tmp_path: Path) -> None:
    """NaN is null in the file: of metrics it is left out, elsewhere it means that there is no number."""
    found = evaluation()
    write_evaluation(tmp_path, found)
    read = read_run(tmp_path).evaluation
    assert read.to_dict() == {**found.to_dict(), "metrics": {"accuracy": 0.75, "mean_iou": 0.5}}
    np.testing.assert_array_equal(read.tables["iou"], found.tables["iou"])
    np.testing.assert_array_equal(read.curves["confidence"], found.curves["confidence"])
    assert read.shapes[0]["accuracy"] is None


def test_an_evaluation_says_the_same_before_and_after_it_was_written(tmp_path: Path) -> None:
    found = evaluation()
    write_evaluation(tmp_path, found)
    here, there = Run(evaluation=found), read_run(tmp_path)
    assert list(remarks(here)) == list(remarks(there)) != []
    assert here.metrics == there.metrics
    for key in found.metrics:
        assert metric_context(here, key) == metric_context(there, key)
    assert metric_context(here, "mean_iou") == "40.0 % to 60.0 %, always “head”: 30.0 %"
    assert [here.goodness(shape) for shape in here.shapes] == [
        there.goodness(shape) for shape in there.shapes
    ]
    assert (here.rank_by, here.untested(), here.parts()[1]) == (
        there.rank_by,
        there.untested(),
        there.parts()[1],
    )  # type: ignore[index]
    assert (
        here.evaluation.measured_on()
        == there.evaluation.measured_on()
        == "Measured on 8 shapes, 108 vertices."
    )
    assert here.metric("accuracy").label == there.metric("accuracy").label == "share of right ones"


def test_an_evaluation_alone_has_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the current folder is a run."""
    monkeypatch.chdir(write_run(tmp_path / "run", "segmentation"))
    alone = Run(evaluation=evaluation())
    assert (alone.shape_files(), alone.template_file, alone.descriptors) == ([], None, None)


def test_a_log_and_descriptors_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_log(tmp_path, [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25, "score": 0.9}])
    write_descriptors(tmp_path, [[0.0, 1.0], [2.0, 3.0]], [4, -1])
    run = read_run(tmp_path)
    np.testing.assert_array_equal(run.history["loss"], [0.5, 0.25])
    np.testing.assert_array_equal(run.history["score"], [math.nan, 0.9])
    assert run.descriptors is not None
    points, labels = run.descriptors
    assert (points.tolist(), labels.tolist()) == ([[0, 1], [2, 3]], [4, -1])


def test_a_run_keeps_its_own_description(tmp_path: Path) -> None:
    silent = Run(evaluation=Evaluation("segmentation", {"gap": 1.0}, []))
    described = silent.with_description({"metrics": {"gap": {"title": "gap in mm"}}})
    assert (silent.metric("gap").label, described.metric("gap").label) == ("gap", "gap in mm")
    assert described.with_description({"metrics": {}}) is described


@pytest.mark.parametrize(
    "content", [{"metrics": {"accuracy": "high"}}, {"shapes": [3]}, {"intervals": {"a": [1]}}]
)
def test_numbers_that_cannot_be_read_give_one_line(tmp_path: Path, content: object) -> None:
    path = tmp_path / "evaluation" / "metrics.json"
    path.parent.mkdir()
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RunError, match=r"metrics.json: its numbers cannot be read .*evaluate the run again"):
        read_run(tmp_path)


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
    (run / file).write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=message):
        read_run(run)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match="not a run folder"):
        read_run(tmp_path)


def test_worst_comes_first(tmp_path: Path) -> None:
    """By the described number in its direction, or by the shapes' own order."""
    correspondence = read_run(write_run(tmp_path / "a", "correspondence"))
    small, large = ({"mean_error": error} for error in (0.1, 0.2))
    assert sorted([small, large, {}], key=correspondence.goodness) == [{}, large, small]
    classes = read_run(write_run(tmp_path / "b", "classification"))
    shapes = [{"accuracy": 1.0, "order": -1}, {"accuracy": 0.0, "order": 0.5}]
    assert [classes.goodness(shape) for shape in shapes] == [-1, 0.5]


def test_without_a_description_shapes_are_sorted_by_their_own_metric(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", "segmentation", described=False))
    assert run.rank_by == "accuracy"
    pairs = read_run(write_run(tmp_path / "pairs", "matching", described=False))
    assert pairs.rank_by == "average_precision"  # the first number, as no metric is a shape's own


def test_shapes_are_described_in_words(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", "classification", described=False))
    shape = {"truth": 1, "predicted": 2, "accuracy": 0.0, "confidence": 0.5}
    assert run.describe(shape) == "accuracy 0.0 %"
    assert run.describe({**shape, "note": "as it says"}) == "as it says"
    assert run.describe({}) == ""


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"metrics": {"a": {"better": "up"}}}, "its description cannot be read .*choose 'more'"),
        ({"metrics": [1]}, "its description cannot be read"),
        ({"curves": 3}, "its description cannot be read"),
    ],
)
def test_broken_descriptions_give_one_line(tmp_path: Path, description: object, message: str) -> None:
    run = write_run(tmp_path / "run", "segmentation")
    path = run / "evaluation" / "metrics.json"
    path.write_text(
        json.dumps({**json.loads(path.read_text(encoding="utf-8")), "description": description}),
        encoding="utf-8",
    )
    with pytest.raises(RunError, match=message) as caught:
        read_run(run)
    assert "\n" not in str(caught.value)
