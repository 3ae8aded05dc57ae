"""Losses, averages and answers of tasks with classes, against sums written out."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from fieldconv.surface import batch as surface_batch
from fieldconv.tasks import Classification, Segmentation, TrainingConfig, task_named
from tests.nn.surfaces import flat_surface
from tests.tasks.surfaces import three_vertices


def naive_loss(scores: list[float], right: int, smoothing: float) -> float:
    """−Σ target · log probability, with a share of the target spread over all classes."""
    total = math.log(sum(math.exp(score) for score in scores))
    target = [smoothing / len(scores) + (1 - smoothing) * (k == right) for k in range(len(scores))]
    return sum(share * (total - score) for share, score in zip(target, scores, strict=True))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("task", ["segmentation", "correspondence"])
def test_loss_of_labels_is_a_mean_over_known_points_of_each_shape(task: str, smoothing: float) -> None:
    torch.manual_seed(0)
    surfaces = [flat_surface(n, seed=n) for n in (4, 6)]
    surfaces[0].y, surfaces[1].y = torch.tensor([0, 2, -1, 1]), torch.tensor([-1, -1, 1, 0, -1, -1])
    chunk: Any = SimpleNamespace(surface=surface_batch(surfaces))
    outputs = torch.randn(10, 3, dtype=torch.float64)
    config = TrainingConfig(label_smoothing=smoothing)
    losses, scores = task_named(task).loss(outputs, chunk, config)
    start = 0
    for i, surface in enumerate(surfaces):
        rows = list(zip(outputs[start : start + len(surface.y)].tolist(), surface.y.tolist(), strict=True))
        known = [(row, right) for row, right in rows if right >= 0]
        expected = sum(naive_loss(row, right, smoothing) for row, right in known) / len(known)
        assert float(losses[i]) == pytest.approx(expected)
        assert scores is not None
        hits = sum(max(range(3), key=row.__getitem__) == right for row, right in known)
        assert float(scores[i]) == pytest.approx(hits / len(known))
        start += len(surface.y)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_loss_of_classes_is_one_for_each_shape(smoothing: float) -> None:
    torch.manual_seed(0)
    outputs = torch.randn(3, 4, dtype=torch.float64)
    chunk: Any = SimpleNamespace(surface=SimpleNamespace(y=torch.tensor([2, 0, 3])))
    losses, scores = Classification().loss(outputs, chunk, TrainingConfig(label_smoothing=smoothing))
    for loss, row, right in zip(losses.tolist(), outputs.tolist(), (2, 0, 3), strict=True):
        assert loss == pytest.approx(naive_loss(row, right, smoothing))
    assert scores is not None
    assert scores.tolist() == (outputs.argmax(1) == torch.tensor([2, 0, 3])).float().tolist()


@pytest.mark.parametrize("task", [Segmentation(), Classification()], ids=lambda task: task.name)
def test_orientations_are_averaged_as_probabilities(task: Any) -> None:
    """One orientation that is very sure does not outvote two that are sure enough."""
    one = torch.tensor([[100.0, 0.0, 0.0]])
    other = torch.tensor([[0.0, 5.0, 1.0]])
    found = task.combine([one, other, other]).softmax(1)
    expected = (one.softmax(1) + 2 * other.softmax(1)) / 3
    torch.testing.assert_close(found, expected)
    assert found.argmax() == 1
    assert (one + 2 * other).argmax() == 0  # scores would say otherwise
    assert torch.equal(task.combine([one]), one)


def test_vertices_read_probabilities_of_the_samples() -> None:
    surface, outputs = three_vertices()
    found = Segmentation().decode(outputs, surface)
    assert found.labels is not None
    assert found.labels.tolist() == [0, 1, 1]
    sure = math.exp(5) / (1 + math.exp(5))
    np.testing.assert_allclose(
        found.scores, [[1, 0], [1 - sure, sure], [1 - 0.6 * sure, 0.6 * sure]], atol=1e-6
    )


def test_the_class_of_a_shape() -> None:
    found = Classification().decode(torch.tensor([[0.0, 2.0, 1.0]]), flat_surface(3))
    assert found.labels == 1
    exponentials = np.exp([0.0, 2.0, 1.0])
    np.testing.assert_allclose(found.scores, exponentials / exponentials.sum(), rtol=1e-6)
