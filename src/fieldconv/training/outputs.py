"""Outputs of a network for evaluation and prediction: no gradients, on the CPU, in single precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv.networks.protocol import Network
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import on_device, orientations
from fieldconv.tasks.base import Task


class NetworkOutputs:
    """Calls a network for one surface at a time, averaged over ``rotations`` orientations of the shape.

    The task combines their outputs. They differ if the network's inputs turn with the shape.
    """

    def __init__(self, model: Network, task: Task, rotations: int = 1) -> None:
        self.model, self.task, self.rotations = model, task, rotations

    def __call__(self, surface: Surface) -> Tensor:
        return self.task.combine([self._tempered(self.model(turned)) for turned in self._turned(surface)])

    def with_descriptors(self, surface: Surface) -> tuple[Tensor, NDArray[np.float32] | None]:
        """Return the outputs, and the mean descriptors if the network has any."""
        pairs = [self.model.with_descriptors(turned) for turned in self._turned(surface)]
        outputs = self.task.combine([self._tempered(one) for one, _ in pairs])
        described = [one.float().cpu().numpy() for _, one in pairs if one is not None]
        return outputs, np.mean(described, 0) if described else None

    def _tempered(self, outputs: Tensor) -> Tensor:
        outputs, temperature = outputs.float().cpu(), self.model.temperature
        return outputs if temperature == 1 or not self.task.calibrated else outputs / temperature

    def _turned(self, surface: Surface) -> Iterator[Surface]:
        device = next(self.model.parameters()).device
        for turned in orientations(surface, self.rotations, self.model.config.features):
            yield on_device(turned, device)


@contextmanager
def evaluation_mode(model: Network) -> Iterator[None]:
    """Put the network into evaluation mode inside the block, and keep no gradients."""
    before = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(before)
