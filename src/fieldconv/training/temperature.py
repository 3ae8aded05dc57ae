"""Probabilities that mean what they say: one temperature, found on shapes that were not learnt from."""

from __future__ import annotations

import numpy as np
import torch

from fieldconv.networks.protocol import Network
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Examples
from fieldconv.tasks.base.label_task import fit_temperature
from fieldconv.training.fit import prepared_for
from fieldconv.training.outputs import NetworkOutputs, evaluation_mode

MOST = 2**24  # scores that are looked at; some points of each shape if there are more


def calibrate(model: Network, data: Examples) -> float:
    """Set the temperature of a network so that its probabilities are likeliest on a dataset; return it.

    Training does so with its validation part. Labels of samples do not change by it, only how sure they are.

    Parameters
    ----------
    model : Network
        For a task whose outputs are scores of classes, such as segmentation.
    data : SurfaceDataset
        Shapes that were not learnt from.

    Raises
    ------
    ValueError
        If the task has no probabilities.
    """
    task = task_named(data.task)
    if not task.calibrated:
        raise ValueError(f"a network for {task.name} gives no probabilities, there is nothing to calibrate")
    data = prepared_for(model, data)
    model.temperature = 1.0
    outputs, draw = NetworkOutputs(model, task), np.random.default_rng(0)
    each = max(1, MOST // (max(model.config.outputs, 1) * max(len(data), 1)))
    scores, targets = [], []
    with evaluation_mode(model):
        for surface in data:
            found, target = outputs(surface), surface.y
            chosen = torch.from_numpy(draw.permutation(len(target))[:each])
            scores.append(found[chosen])
            targets.append(target[chosen])
    model.temperature = fit_temperature(torch.cat(scores), torch.cat(targets))
    return model.temperature
