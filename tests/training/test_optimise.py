"""Learning rates and averaged weights against their formulas."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from fieldconv.tasks import TrainingConfig
from fieldconv.training.optimise import MovingAverage, learning_rate


def one_weight(value: float) -> nn.Linear:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, value)
    return layer


def test_the_average_is_the_recursion_written_out() -> None:
    layer = one_weight(0.0)
    average, expected = MovingAverage(layer, decay=0.6), 0.0
    for step in range(30):
        nn.init.constant_(layer.weight, float(step * step % 7))
        average.update(step)
        decay = min(0.6, (1 + step) / (10 + step))  # below 0.6 for the first twelve steps
        expected = decay * expected + (1 - decay) * (step * step % 7)
        assert average.weights["weight"].item() == pytest.approx(expected, rel=1e-5)


def test_the_network_gets_its_own_weights_back() -> None:
    layer = one_weight(0.0)
    average = MovingAverage(layer, decay=0.5)
    nn.init.constant_(layer.weight, 8.0)
    average.update(0)
    with average.applied():
        assert layer.weight.item() == pytest.approx(0.9 * 8)
    assert layer.weight.item() == 8
    with pytest.raises(RuntimeError), average.applied():
        raise RuntimeError
    assert layer.weight.item() == 8


@pytest.mark.parametrize("warm_up", [0.1, 0.3, 0.5])
def test_one_cycle_rises_from_a_25th_and_falls_to_zero_along_a_cosine(warm_up: float) -> None:
    config, steps = TrainingConfig(schedule="one_cycle", learning_rate=0.2, warm_up=warm_up), 1001
    rates = [learning_rate(config, step, steps) for step in range(steps)]
    top = round(warm_up * 1000)
    assert rates[0] == pytest.approx(0.2 / 25)
    assert rates[top] == max(rates) == pytest.approx(0.2)
    assert rates[top // 2] == pytest.approx((0.2 / 25 + 0.2) / 2)
    third = top + round((1000 - top) / 3)
    assert rates[third] == pytest.approx(0.2 * (1 + math.cos(math.pi / 3)) / 2, rel=0.01)
    assert rates[-1] == pytest.approx(0, abs=1e-12)


def test_averaged_weights_are_no_part_of_the_graph() -> None:
    layer = one_weight(1.0)
    average = MovingAverage(layer, decay=0.9)
    layer(torch.ones(1, 1)).sum().backward()
    average.update(0)
    assert not average.weights["weight"].requires_grad
