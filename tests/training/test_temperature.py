"""One temperature for a network: found on held-out shapes, kept, and used for all probabilities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fieldconv.tasks.base.label_task import LIMITS
from fieldconv.training import calibrate, evaluate, load, predict, train
from tests.training.blobs import blobs, tiny_network


def test_scores_made_too_large_get_a_larger_temperature_and_the_same_probabilities(tmp_path: Path) -> None:
    data, unseen = blobs(count=3), blobs(count=2, first=50)
    model = tiny_network("segmentation", data)
    train(model, data, preset="tiny", epochs=6, rotate=False, quiet=True)
    assert model.temperature == 1  # nothing was kept out
    mesh = unseen.meshes(0)[0]
    once = calibrate(model, unseen)
    assert 1.01 * LIMITS[0] < once < 0.3 * LIMITS[1]
    before = predict(model, mesh)
    last = [layer for layer in model.head.modules() if isinstance(layer, torch.nn.Linear)][-1]
    with torch.no_grad():
        for parameter in last.parameters():
            parameter.mul_(3.0)
    assert calibrate(model, unseen) == pytest.approx(3 * once, rel=1e-4)
    after = predict(model, mesh)
    np.testing.assert_allclose(after.scores, before.scores, atol=1e-4)
    model.save_pretrained(tmp_path)
    kept = load(tmp_path)
    assert kept.temperature == model.temperature
    np.testing.assert_array_equal(predict(kept, mesh).scores, after.scores)


def test_training_calibrates_on_its_validation_part(tmp_path: Path) -> None:
    data, unseen = blobs(count=3), blobs(count=2, first=50)
    model = tiny_network("segmentation", data)
    smoothing = {"label_smoothing": 0.6, "epochs": 6, "rotate": False}  # far too modest by intention
    train(model, data, validation=unseen, preset="tiny", out=tmp_path, quiet=True, **smoothing)
    assert model.temperature < 0.8
    assert load(tmp_path).temperature == model.temperature
    honest = evaluate(model, unseen)
    model.temperature = 1.0
    modest = evaluate(model, unseen)
    assert honest.metrics["calibration_error"] < 0.5 * modest.metrics["calibration_error"]
    assert honest.metrics["sample_accuracy"] == modest.metrics["sample_accuracy"]


def test_descriptors_cannot_be_calibrated() -> None:
    data = blobs("matching", count=2)
    with pytest.raises(ValueError, match="gives no probabilities"):
        calibrate(tiny_network("matching", data), data)
