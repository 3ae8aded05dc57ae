"""Networks written by version 0.1.0 load and predict what they did then.

`tests/fixtures/v0.1.0` holds a tiny network of each task, trained for one epoch on four embedded creatures by
that version, a mesh, and what `fieldconv.predict` returned for it (correspondence scores in half precision).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fieldconv as fc
from fieldconv.training.report import write_report
from fieldconv.training.settings import RunSettings

OLD = Path(__file__).parents[1] / "fixtures" / "v0.1.0"
TASKS = ("classification", "segmentation", "correspondence", "matching")


@pytest.fixture(scope="module")
def expected() -> dict[str, np.ndarray]:
    with np.load(OLD / "predictions.npz") as stored:
        return dict(stored)


@pytest.mark.parametrize("task", TASKS)
def test_predictions_are_those_of_then(task: str, expected: dict[str, np.ndarray]) -> None:
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
    settings = RunSettings.assemble(task, file=OLD / task / "run.yaml")
    assert settings.network == fc.load(OLD / task).config.changed(outputs=settings.network.outputs)
    assert settings.preset == "tiny"


def test_their_reports_are_drawn(tmp_path: Path) -> None:
    page = write_report(OLD / "segmentation", tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Segmentation" in page
    assert "learning_rate" in page
