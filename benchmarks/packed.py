"""Compare the processor time of training steps from packed files and from memory.

    python benchmarks/packed.py [--meshes 20] [--rounds 4] [--network fcnet]

Embedded creatures, segmentation, the preset `quick`: reading, collating, loss and gradient of every step of
an epoch, by one thread. "in memory" is the plain dataset. "packed, kept" holds in memory every surface
that it has read, up to 4 GB by default. "packed, read" reads every surface from its file in each step, as for
sets larger than the memory; in training, another thread reads ahead. Of each step the quickest of all rounds
counts, without the first, which compiles.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict

import torch
from rich.console import Console
from rich.table import Table

from fieldconv import keep_freed_memory
from fieldconv.datasets import Creatures, PackedDataset, Packer
from fieldconv.networks import network_named
from fieldconv.surface import ToSurface
from fieldconv.tasks import task_named
from fieldconv.training import RunSettings
from fieldconv.training.schedule import epoch_steps


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--meshes", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--network", default="fcnet")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    task = task_named("segmentation")
    settings = RunSettings.assemble(task.name, preset="quick", network=options.network)
    pre = ToSurface(**settings.network.surface_settings.to_dict())
    memory = Creatures(task.name, meshes=options.meshes, pre_transform=pre)
    settings = settings.with_outputs(memory.num_classes)
    network = network_named(settings.network_name)(settings.network)
    with tempfile.TemporaryDirectory() as folder:
        packer = Packer(folder)
        packer.add("train", memory)
        packer.finish()
        sources = {
            "in memory": memory,
            "packed, kept": PackedDataset(folder, pre_transform=pre),
            "packed, read": PackedDataset(folder, pre_transform=pre, memory=0),
        }
        quickest: dict[str, dict[int, float]] = {name: defaultdict(lambda: float("inf")) for name in sources}
        for turn in range(options.rounds + 1):
            epochs = {
                name: epoch_steps(data, task, settings.training, 1, network) for name, data in sources.items()
            }
            for number in range(-(-options.meshes // settings.training.batch)):
                for name, steps in epochs.items():
                    began = time.process_time()
                    for chunk in next(steps).chunks:
                        losses, _ = task.loss(network(chunk.surface), chunk, settings.training)
                        losses.sum().backward()
                    network.zero_grad()
                    if turn:
                        took = time.process_time() - began
                        quickest[name][number] = min(quickest[name][number], took)
    table = Table("source", "seconds of an epoch", "ratio to memory")
    sums = {name: sum(steps.values()) for name, steps in quickest.items()}
    for name, seconds in sums.items():
        table.add_row(name, f"{seconds:.2f}", f"{seconds / sums['in memory']:.3f}")
    console = Console(width=110)
    console.print(table)
    console.print(
        f"{options.meshes} creatures, {packer.surfaces} surfaces in {packer.files} file, "
        f"{packer.bytes / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
