"""Networks and runs written by earlier versions load, predict what they did then, and are reported on.

`tests/fixtures/v0.2.0` holds a tiny run of each task, trained for one epoch on four embedded creatures by
that version (`fieldconv train TASK --preset tiny --meshes 4 --vertices 250 --species quadruped snake
--epochs 1`), a mesh, what `fieldconv.predict` returned for it (correspondence scores in half precision), and
the settings of all tasks, networks and presets.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import fieldconv as fc
from fieldconv.runs import read_run
from fieldconv.training import RunSettings
from fieldconv.training.evidence import write_report

OLD = Path(__file__).parents[1] / "fixtures" / "v0.2.0"
TASKS = ("classification", "segmentation", "correspondence", "matching")


@pytest.mark.parametrize("task", TASKS)
def test_predictions_are_those_of_then(task: str) -> None:
    with np.load(OLD / "predictions.npz") as stored:
        expected = dict(stored)
    model = fc.FCNet.from_pretrained(OLD / task)
    assert (model.task, model.name) == (task, "fcnet")
    found = fc.predict(model, OLD / "quadruped.off")
    for name in ("labels", "scores", "descriptors"):
        value, then = getattr(found, name), expected.get(f"{task}_{name}")
        if then is None:
            assert value is None, name
        elif name == "labels":
            assert np.array_equal(value, then)
        else:
            np.testing.assert_allclose(value, then, rtol=2e-3, atol=1e-4 * float(np.abs(then).max()))


@pytest.mark.parametrize("task", TASKS)
def test_their_settings_are_read(task: str) -> None:
    folder = OLD / task
    settings = RunSettings.assemble(task, file=folder / "run.yaml")
    assert settings.network == fc.load(folder).config.changed(outputs=settings.network.outputs)
    assert settings.preset == "tiny"


@pytest.mark.parametrize("task", TASKS)
def test_their_reports_are_drawn(task: str, tmp_path: Path) -> None:
    page = write_report([OLD / task], tmp_path / "report.html").read_text(encoding="utf-8")
    assert task.capitalize() in page
    assert "learning_rate" in page
    stored = json.loads((OLD / task / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    assert stored["metrics"]
    assert read_run(OLD / task).metrics == stored["metrics"]


def test_settings_of_every_task_network_and_preset_are_those_of_then() -> None:
    """Written by 0.2.0 as `RunSettings.assemble(...).to_dict()`, for creatures and for a folder."""
    with gzip.open(OLD / "settings.json.gz") as stored:
        then = json.load(stored)
    assert len(then) == 450
    for key, expected in then.items():
        task, network, preset, where = key.split()
        changes = {"data": "MESHES"} if where == "folder" else {}
        found = RunSettings.assemble(task, preset=preset, network=network, changes=changes).to_dict()
        assert json.loads(json.dumps(found)) == expected, key
