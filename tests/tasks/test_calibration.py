"""Temperatures and calibration errors whose values are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fieldconv.tasks.base.label_task import LIMITS, Reliability, fit_temperature


@pytest.mark.parametrize("factor", [0.25, 1.0, 3.0])
def test_scores_scaled_by_a_known_factor_get_it_back(factor: float) -> None:
    torch.manual_seed(0)
    honest = 2 * torch.randn(40_000, 5)
    target = torch.distributions.Categorical(logits=honest).sample()
    assert fit_temperature(factor * honest, target) == pytest.approx(factor, rel=0.03)
    # Exactly: scaling the scores scales the temperature.
    once = fit_temperature(honest, target)
    assert fit_temperature(factor * honest, target) == pytest.approx(factor * once, rel=1e-6)


def test_no_other_temperature_is_likelier_and_unknown_targets_do_not_count() -> None:
    torch.manual_seed(1)
    scores = 3 * torch.randn(500, 4)
    target = torch.distributions.Categorical(logits=scores / 2).sample()
    target[::3] = -1
    best = fit_temperature(scores, target)

    def entropy(temperature: float) -> float:
        return float(torch.nn.functional.cross_entropy(scores / temperature, target, ignore_index=-1))

    assert all(entropy(best) <= entropy(best * factor) for factor in (0.9, 0.99, 1.01, 1.1))
    assert fit_temperature(scores[target >= 0], target[target >= 0]) == best


def test_temperatures_are_limited() -> None:
    sure = torch.tensor([[5.0, 0.0]])
    assert fit_temperature(sure, torch.tensor([0])) == pytest.approx(LIMITS[0], rel=1e-3)
    assert fit_temperature(sure, torch.tensor([1])) == pytest.approx(LIMITS[1], rel=1e-3)
    assert fit_temperature(sure, torch.tensor([-1])) == 1


def test_calibration_error_of_a_constructed_set() -> None:
    """Of 100 answers of 0.95 80 are right, of 300 of 0.55 150: (100 · 0.15 + 300 · 0.05) / 400."""
    found = Reliability()
    found.add(np.full(100, 0.95), np.arange(100) < 80)
    found.add(np.full(300, 0.55), np.arange(300) < 150)
    assert found.error == pytest.approx(0.075)
    np.testing.assert_allclose(found.curve, [[0.55, 0.5], [0.95, 0.8]])


def test_honest_answers_have_no_calibration_error_and_sure_wrong_ones_all_of_it() -> None:
    draw, honest, wrong = np.random.default_rng(0), Reliability(), Reliability()
    sure = draw.uniform(0.2, 1, 200_000)
    honest.add(sure, draw.random(200_000) < sure)
    assert honest.error < 0.005
    wrong.add([1.0, 1.0], [False, False])
    assert wrong.error == 1
    assert np.isnan(Reliability().error)
