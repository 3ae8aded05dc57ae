"""How weights change: optimiser, learning rate, moving average."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from fieldconv.tasks.base import TrainingConfig


def make_optimiser(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Return Adam or AdamW over all weights, fused where the device supports it."""
    kind = torch.optim.AdamW if config.optimiser == "adamw" else torch.optim.Adam
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)
    return kind(parameters, lr=config.learning_rate, weight_decay=config.weight_decay, fused=fused or None)


def learning_rate(config: TrainingConfig, step: int, steps: int) -> float:
    """Return the learning rate of one step, counted from 0.

    Examples
    --------
    >>> config = TrainingConfig(schedule="one_cycle", learning_rate=1.0, warm_up=0.5)
    >>> [round(learning_rate(config, step, 5), 3) for step in range(5)]
    [0.04, 0.52, 1.0, 0.5, 0.0]
    >>> config = TrainingConfig(schedule="steps", learning_rate=1.0, epochs=3, drop_every=2, drop=0.1)
    >>> [learning_rate(config, step, 6) for step in range(6)]
    [1.0, 1.0, 1.0, 1.0, 0.1, 0.1]
    """
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "steps":
        epoch = step * config.epochs // steps
        return float(config.learning_rate * config.drop ** (epoch // config.drop_every))
    done = step / max(steps - 1, 1)
    if done < config.warm_up:
        return config.learning_rate * (0.04 + 0.96 * done / config.warm_up)
    left = (1 - done) / (1 - config.warm_up)
    return config.learning_rate * (1 - math.cos(math.pi * left)) / 2


class MovingAverage:
    """Exponential moving average of the weights, with a smaller decay in the first steps."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._live = {name: value.detach() for name, value in model.named_parameters()}
        self.weights = {name: value.clone() for name, value in self._live.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        average = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
        average(list(self.weights.values()), list(self._live.values()), None)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the network the averaged weights inside the block."""
        live: dict[str, Tensor] = {name: value.clone() for name, value in self._live.items()}
        for name, value in self.weights.items():
            self._live[name].copy_(value)
        try:
            yield
        finally:
            for name, value in live.items():
                self._live[name].copy_(value)
