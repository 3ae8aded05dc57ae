"""Whether a network and a dataset fit each other, how each is made ready for the other, and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv.networks.protocol import Network
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import on_device, orientations
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Examples, Task

DENSITY_PROBE = 20  # examples from which the usual number of samples is taken


def check_network(model: object) -> None:
    """Raise TypeError if ``model`` is not a network, but for example the folder of one."""
    if not isinstance(model, Network):
        given = f"fc.load({str(model)[:60]!r})" if isinstance(model, str | Path) else "fc.load(FOLDER)"
        raise TypeError(f"a network is needed, not {type(model).__name__}; read one with {given}")


def check_fit(model: Network, data: Examples) -> None:
    """Raise ValueError if the network's outputs are not what the data has as targets."""
    check_network(model)
    task, kind = task_named(data.task), type(model).__name__
    if model.config.head != task.head:
        raise ValueError(
            f"the network's head is {model.config.head!r}, but {task.name} needs {task.head!r}; "
            f"build it with {kind}.for_task({task.name!r}, …)"
        )
    outputs = task.outputs(data)
    if outputs is not None and model.config.outputs != outputs:
        what = f"{outputs} classes" if data.class_names or data.template is not None else f"{outputs} values"
        raise ValueError(
            f"the network has {model.config.outputs} outputs, but the data has {what}; "
            f"build it with {kind}.for_task({task.name!r}, classes={outputs})"
        )
    if model.class_names and tuple(data.class_names) != tuple(model.class_names):
        raise ValueError(
            f"the network knows the classes {', '.join(model.class_names)}; the data has "
            f"{', '.join(data.class_names)}"
        )
    own, other = model.template, data.template
    if own is not None and other is not None and not np.array_equal(own.vertices, other.vertices):
        raise ValueError(
            "the data's template is not the one the network was trained with; its vertices are other points"
        )


def attach_task(model: Network, data: Examples) -> None:
    """Set what the network is trained for, which checkpoints and predictions need."""
    model.task, model.class_names, model.template = data.task, tuple(data.class_names), data.template
    if not len(data):
        return
    probe = np.unique(np.linspace(0, len(data) - 1, DENSITY_PROBE).astype(int)).tolist()
    examples = [data[i] for i in probe]
    surfaces = [s for e in examples for s in ((e.scene, e.model) if task_named(data.task).paired else (e,))]
    model.density = int(np.median([surface.num_nodes for surface in surfaces]))


def start_from(model: Network, base: Network) -> list[str]:
    """Copy the weights of another network that fit; return the names of those that stay new.

    Another number of outputs changes the last layer only, so that all layers before it are copied. Raise
    ValueError if no weights fit.
    """
    weights = base.state_dict()
    fresh = []
    with torch.no_grad():
        for name, own in model.state_dict().items():
            if name in weights and weights[name].shape == own.shape:
                own.copy_(weights[name])
            else:
                fresh.append(name)
    if len(fresh) == len(model.state_dict()):
        raise ValueError(f"no weights of {base.source or base.name} fit this network")
    return fresh


def prepared_for(model: Network, data: Examples) -> Examples:
    """Return the data as the network needs it: the same samples, features and operators."""
    settings = model.surface_settings()
    if data.settings in (None, model.config.surface_settings, settings):  # None: the caller prepared it
        return data
    return data.prepared_with(settings)


def divide(data: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """Return data to learn from, and a share of it, at least one example, to validate with."""
    order = np.random.default_rng(seed).permutation(len(data))
    count = max(1, round(share * len(data)))
    if count >= len(data):
        raise ValueError(
            f"{len(data)} examples cannot be divided into training and validation; set validation to 0"
        )
    return data[sorted(order[count:].tolist())], data[sorted(order[:count].tolist())]


class NetworkOutputs:
    """Outputs for one surface at a time, on the CPU and of single precision.

    The task averages over ``rotations`` orientations, which differ if the inputs turn with the shape.
    """

    def __init__(self, model: Network, task: Task, rotations: int = 1) -> None:
        self.model, self.task, self.rotations = model, task, rotations

    def __call__(self, surface: Surface) -> Tensor:
        return self.task.combine(
            [self._apply_temperature(self.model(turned)) for turned in self._orientations(surface)]
        )

    def with_descriptors(self, surface: Surface) -> tuple[Tensor, NDArray[np.float32] | None]:
        """Return the outputs, and the mean descriptors if the network has any."""
        pairs = [self.model.with_descriptors(turned) for turned in self._orientations(surface)]
        outputs = self.task.combine([self._apply_temperature(one) for one, _ in pairs])
        described = [one.float().cpu().numpy() for _, one in pairs if one is not None]
        return outputs, np.mean(described, 0) if described else None

    def _apply_temperature(self, outputs: Tensor) -> Tensor:
        outputs, temperature = outputs.float().cpu(), self.model.temperature
        return outputs if temperature == 1 or not self.task.calibrated else outputs / temperature

    def _orientations(self, surface: Surface) -> Iterator[Surface]:
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
