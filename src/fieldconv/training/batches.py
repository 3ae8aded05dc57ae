"""Which examples make which step: the same on one process or several, in one go or resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fieldconv.networks.protocol import Network
from fieldconv.tasks.base import Chunk, Example, Examples, Task, TrainingConfig

Thing = TypeVar("Thing")

# Up to this size shapes are joined: the cost of calling a layer is shared. Larger ones go through the
# network one by one, their gradients added, which needs less memory, and the kernels sort edges only once.
JOINED_EDGES = {"cpu": 40_000}
JOINED_EDGES_ELSEWHERE = 2_000_000


@dataclass
class Step:
    """What one process does in one step.

    Attributes
    ----------
    chunks : list of Chunk
        Go through the network one after the other; their gradients add up.
    share : float
        Factor of each example's loss, so that the mean over processes of the sums of gradients is the
        gradient of the mean loss over the whole batch.
    examples : int
        Number of examples in the whole batch.
    """

    chunks: list[Chunk]
    share: float
    examples: int


@dataclass
class Turns:
    """What an epoch shows: each mesh once, in the next of its shapes.

    Attributes
    ----------
    shapes : list of SurfaceDataset
        The same elements in the same order, the meshes themselves and copies of them.
    epoch : int
    """

    shapes: list[Examples]
    epoch: int

    def __len__(self) -> int:
        return len(self.shapes[0])

    def __getitem__(self, index: int) -> Example:
        return self.shapes[(self.epoch + index) % len(self.shapes)][index]


def steps_per_epoch(examples: int, batch: int) -> int:
    """Return how many steps an epoch has; the last batch may be smaller."""
    return -(-examples // batch)


def epoch_steps(
    data: Examples | Turns,
    task: Task,
    config: TrainingConfig,
    epoch: int,
    network: Network,
    *,
    rank: int = 0,
    processes: int = 1,
    device: str = "cpu",
    joined_edges: int | None = None,
) -> Iterator[Step]:
    """Yield the steps of an epoch; an example's random numbers depend on seed, epoch and its index only.

    Shapes of up to ``joined_edges`` edges together are one chunk; how many that are is the device's, if None.
    """
    order = np.random.default_rng([config.seed, epoch]).permutation(len(data))
    most = JOINED_EDGES.get(device, JOINED_EDGES_ELSEWHERE) if joined_edges is None else joined_edges
    for first in range(0, len(order), config.batch):
        batch = order[first : first + config.batch].tolist()
        mine, share = batch[rank::processes], processes / len(batch)
        if not mine:  # the others wait for this process's gradient: let it be zero
            mine, share = batch[:1], 0.0
        groups: list[list[tuple[Example, np.random.Generator]]] = []
        filled = most
        for index in mine:
            example = data[index]
            size = task.size(example)
            if filled + size > most:
                groups.append([])
                filled = 0
            groups[-1].append((example, np.random.default_rng([config.seed, epoch, index])))
            filled += size
        chunks = [
            task.collate([e for e, _ in group], [d for _, d in group], config, network) for group in groups
        ]
        yield Step(chunks, share, len(batch))


def ahead(things: Iterable[Thing]) -> Iterator[Thing]:
    """Yield the same things, each made in a thread while the one before is used."""
    iterator = iter(things)
    nothing = object()
    with ThreadPoolExecutor(1, thread_name_prefix="fieldconv-batches") as pool:
        coming = pool.submit(next, iterator, nothing)
        while (thing := coming.result()) is not nothing:
            coming = pool.submit(next, iterator, nothing)
            yield thing  # type: ignore[misc]
