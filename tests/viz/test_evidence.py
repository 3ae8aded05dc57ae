"""From a network and a test set to the report, without a made-up file in between."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

from fieldconv.datasets.creature_dataset import Creatures
from fieldconv.geometry.mesh import Mesh
from fieldconv.models.fcnet import FCNet
from fieldconv.tasks.base import Evaluation
from fieldconv.training.api import adopt, prepared_for
from fieldconv.training.runs import evaluate_run
from fieldconv.viz.evidence import write_evidence
from fieldconv.viz.predictions import alike, predicted
from fieldconv.viz.report import write_report
from fieldconv.viz.runs import read_run, shape_panels

TASKS = ["classification", "segmentation", "correspondence", "matching"]


class Measured(NamedTuple):
    folder: Path
    task: str
    model: FCNet
    data: Creatures
    evaluation: Evaluation


@pytest.fixture(scope="module", params=TASKS)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """An untrained network in a run folder, measured on a few creatures."""
    task, folder = request.param, tmp_path_factory.mktemp(request.param)
    stale = folder / "evaluation" / "shapes" / "99.ply"  # of an earlier evaluation
    stale.parent.mkdir(parents=True)
    stale.write_text("old")
    torch.manual_seed(0)
    data = Creatures(task, split="test", meshes=3, vertices=250, species="snake", cache=False, progress=False)
    classes = None if task == "matching" else data.num_classes
    samples = {"samples": 120} if task == "segmentation" else {}
    model = FCNet.for_task(task, classes=classes, preset="tiny", **samples)
    adopt(model, data)
    data = prepared_for(model, data)
    model.save_pretrained(folder)
    evaluation = evaluate_run(model, folder, data, folder, quiet=True)
    write_evidence(folder, evaluation, model, data, shapes=2, points=60)
    return Measured(folder, task, model, data, evaluation)


def test_evaluation_can_be_looked_at(measured: Measured) -> None:
    folder, task, _, data, evaluation = measured
    run = read_run(folder)
    assert run.metrics == pytest.approx({k: v for k, v in evaluation.metrics.items() if v == v})
    panels = shape_panels(run)
    shown = {colouring.name for panel in panels for colouring in panel.colourings}
    expected = {
        "classification": set(),
        "segmentation": {"Prediction", "Truth", "Wrong"},
        "correspondence": {"Correspondence", "Geodesic error"},
        "matching": {"Rank of the first right match"},
    }
    assert shown >= expected[task]
    assert len(panels) == {"correspondence": 3, "matching": 4}.get(task, 2)
    assert write_report(folder).stat().st_size > 1000
    if task == "segmentation":
        assert run.descriptors is not None
        points, labels = run.descriptors
        assert len(points) == len(labels) == 60
        # The accuracy of a shape can be counted on what is shown of it.
        place, path = run.shape_files()[0]
        kept = Mesh.load(path).vertex_data
        right = (kept["prediction"] == kept["truth"])[kept["truth"] >= 0].mean()
        assert right == pytest.approx(run.shapes[place]["accuracy"])
    if task == "correspondence":
        place, path = run.shape_files()[0]
        error = Mesh.load(path).vertex_data["error"]
        assert 100 * np.nanmean(error) == pytest.approx(run.shapes[place]["mean_error"], rel=1e-4)
    if task == "matching":
        place, path = run.shape_files()[0]
        rank = Mesh.load(path).vertex_data["rank"]
        samples = data[place].model.num_nodes
        median = np.nanmedian(rank) * (samples - 1) + 1  # every vertex is a sample here
        assert median == pytest.approx(run.shapes[place]["median_rank"], abs=0.51)


def test_shapes_of_an_earlier_evaluation_go(measured: Measured) -> None:
    assert not (measured.folder / "evaluation" / "shapes" / "99.ply").exists()


def test_predictions_of_a_run_are_shown(measured: Measured) -> None:
    folder, task, model, data, _ = measured
    meshes = [data.meshes(0)[0]]
    [shown], template = predicted(folder, meshes)
    assert (template is not None) == (task == "correspondence")
    if task == "classification":
        assert shown.note.startswith("snake")
    elif task == "segmentation":
        np.testing.assert_array_equal(shown.colourings[0].values, model.predict(meshes[0]))
    elif task == "correspondence":
        assert [c.name for c in shown.colourings] == ["Correspondence", "Confidence"]
        np.testing.assert_array_equal(shown.colourings[0].match, model.predict(meshes[0]))
    else:
        assert len(shown.colourings[0].values) == len(meshes[0].vertices)


def test_alike_descriptors_have_alike_colours() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(50, 8))
    second = first[::-1] + 1e-4 * rng.normal(size=(50, 8))
    a, b = alike([first, second])
    assert np.abs(a.astype(int) - b[::-1]).max() <= 2
    assert np.ptp(a, axis=0).min() > 60
