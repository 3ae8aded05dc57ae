"""What a task is: examples to batches, outputs to losses, a network and a test set to numbers."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from torch import Tensor
from torch_geometric.data import Batch

from fieldconv.models.config import FCNetConfig
from fieldconv.surface import Surface
from fieldconv.tasks.presets import TrainingConfig

Network = Callable[[Surface], Tensor]
Follow = Callable[[Iterable[Any]], Iterable[Any]]
# What layers and losses read; the way back to the mesh is not needed in training.
_USED = ("x", "area", "edge_index", "log", "transport", "weight", "radius", "y")


@dataclass
class Chunk:
    """Examples that go through the network together.

    Attributes
    ----------
    surface : Surface or batch of them
    names : of the examples, for messages.
    extra : further tensors that the loss needs.
    """

    surface: Surface
    names: list[str]
    extra: dict[str, Tensor] = field(default_factory=dict)

    def to(self, device: torch.device) -> Chunk:
        if device.type == "cpu":
            return self
        extra = {key: value.to(device) for key, value in self.extra.items()}
        return Chunk(self.surface.to(device), self.names, extra)


@dataclass
class Evaluation:
    """How well a network does on a test set.

    Attributes
    ----------
    task : str
    metrics : dict of str to float
        Single numbers, the most important one first.
    shapes : list of dict
        For each shape or pair its name and its own numbers.
    tables : dict of str to arrays
        Confusion matrices and what else is not a single number.
    curves : dict of str to (k, 2) arrays
        Curves by name: x, y.
    class_names : tuple of str
    rotations : int
        Orientations of each shape over which the network was averaged.
    """

    task: str
    metrics: dict[str, float]
    shapes: list[dict[str, Any]]
    tables: dict[str, NDArray[Any]] = field(default_factory=dict)
    curves: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()
    rotations: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; NaN as None."""
        return {
            "task": self.task,
            "metrics": {key: _plain(value) for key, value in self.metrics.items()},
            "rotations": self.rotations,
            "class_names": list(self.class_names),
            "tables": {key: _plain(value) for key, value in self.tables.items()},
            "curves": {key: _plain(value) for key, value in self.curves.items()},
            "shapes": [{key: _plain(value) for key, value in shape.items()} for shape in self.shapes],
        }


class Task(ABC):
    """One of the paper's experiments, apart from the data and the training loop."""

    name: ClassVar[str]
    metric: ClassVar[str]
    """The key of `Evaluation.metrics` by which the best epoch is chosen; more is better."""

    def network(self, data: Any, *, preset: str = "default", **changes: Any) -> FCNetConfig:
        """The settings of the network for a dataset."""
        classes = None if self.name == "matching" else data.num_classes
        return FCNetConfig.for_task(self.name, classes=classes, preset=preset, **changes)  # type: ignore[arg-type]

    def edges(self, example: Any) -> int:
        """Size of an example."""
        return int(example.num_edges)

    @abstractmethod
    def collate(
        self, examples: Sequence[Any], draws: Sequence[np.random.Generator], config: TrainingConfig
    ) -> Chunk:
        """Put examples together; ``draws`` has the random numbers of each, so that no other example, order
        or process changes what happens to it."""

    @abstractmethod
    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor]:
        """(examples,) loss of each, and (examples,) how well each is solved, from 0 to 1."""

    @abstractmethod
    def evaluate(self, network: Network, data: Any, *, follow: Follow) -> Evaluation:
        """Try the network on a dataset, one example at a time; ``follow`` wraps the loop to show progress."""


def varied(surface: Surface, draw: np.random.Generator, config: TrainingConfig) -> Surface:
    """What training shows of a surface: turned (and stretched) at random if its features are positions."""
    shown = Surface(**{key: surface[key] for key in _USED if key in surface})
    if surface.x is not surface.pos and not torch.equal(surface.x, surface.pos):
        return shown
    matrix = np.eye(3)
    if config.rotate:
        matrix = Rotation.from_quat(draw.normal(size=4)).as_matrix()
    if config.stretch:
        matrix = matrix * draw.uniform(1 - config.stretch, 1 + config.stretch, 3)
    shown.x = surface.x @ torch.from_numpy(matrix.astype(np.float32))
    return shown


def check_rotations(count: int) -> None:
    if count < 1:
        raise ValueError(f"rotations is {count}; give a whole number from 1 up")


def orientations(surface: Surface, count: int) -> Iterable[Surface]:
    """The surface, and turned ``count`` − 1 times if its features are positions; the same turns each time."""
    check_rotations(count)
    yield surface
    if count == 1 or surface.x is None or not torch.equal(surface.x, surface.pos):
        return
    for turn in Rotation.random(count - 1, random_state=0).as_matrix():
        turned = surface.clone("x")
        turned.x = surface.x @ torch.from_numpy(turn.astype(np.float32))
        yield turned


def joined(surfaces: Sequence[Surface]) -> Surface:
    """A batch of surfaces; a single one stays itself, with what the kernels remember about its edges."""
    return surfaces[0] if len(surfaces) == 1 else Batch.from_data_list(list(surfaces))


def at_vertices(surface: Surface, values: Tensor) -> Tensor:
    """`Surface.interpolate`, without copies where every vertex is a sample."""
    return values if surface.num_nodes == surface.num_vertices else surface.interpolate(values)


def on_device(surface: Surface, device: torch.device) -> Surface:
    """The surface where the network is; the dataset's own copy stays where it was."""
    return surface if device.type == "cpu" else copy.copy(surface).to(device)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value.tolist()] if value.ndim else _plain(value.item())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
