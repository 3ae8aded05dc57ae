"""Which examples make which step: the same on one process or several, at once or resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fieldconv.networks.protocol import Network
from fieldconv.tasks.base import Chunk, Example, Examples, Task, TrainingConfig

Thing = TypeVar("Thing")

# Shapes up to this size are joined, which shares the cost of calling a layer. Larger ones go through the
# network one by one, their gradients added: that needs less memory, and the kernels sort edges only once.
JOINED_EDGES_CPU, JOINED_EDGES_GPU = 40_000, 2_000_000


@dataclass
class Step:
    """What one process does in one step."""

    chunks: list[Chunk]  # go through the network one after the other; their gradients add up
    # Factor of each example's loss, so that the mean over processes of the sums of gradients is the gradient
    # of the mean loss over the whole batch
    share: float


@dataclass
class CopySchedule:
    """The examples of an epoch: each mesh once, in turn as itself or as one of its copies."""

    shapes: list[Examples]  # the meshes themselves, and copies of them in the same order
    epoch: int

    def __len__(self) -> int:
        return len(self.shapes[0])

    def __getitem__(self, index: int) -> Example:
        return self.shapes[(self.epoch + index) % len(self.shapes)][index]


def epoch_steps(
    data: Examples | CopySchedule,
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

    Shapes of up to ``joined_edges`` edges together are one chunk; None takes the number of the device.
    """
    order = np.random.default_rng([config.seed, epoch]).permutation(len(data))
    usual = JOINED_EDGES_CPU if device == "cpu" else JOINED_EDGES_GPU
    largest = usual if joined_edges is None else joined_edges
    for first in range(0, len(order), config.batch):
        batch = order[first : first + config.batch].tolist()
        mine, share = batch[rank::processes], processes / len(batch)
        if not mine:  # the other processes wait for a gradient; this one is zero
            mine, share = batch[:1], 0.0
        groups: list[list[tuple[Example, np.random.Generator]]] = []
        filled = largest
        for index in mine:
            example = data[index]
            size = task.size(example)
            if filled + size > largest:
                groups.append([])
                filled = 0
            groups[-1].append((example, np.random.default_rng([config.seed, epoch, index])))
            filled += size
        chunks = [
            task.collate([e for e, _ in group], [d for _, d in group], config, network) for group in groups
        ]
        yield Step(chunks, share)


def prefetch(things: Iterable[Thing]) -> Iterator[Thing]:
    """Yield the same things, each made in a thread while the one before is used."""
    iterator, end = iter(things), object()
    with ThreadPoolExecutor(1, thread_name_prefix="fieldconv-batches") as pool:
        pending = pool.submit(next, iterator, end)
        while (thing := pending.result()) is not end:
            pending = pool.submit(next, iterator, end)
            yield thing  # type: ignore[misc]
