"""Training from packed files against training from memory: seconds of an epoch, in turns.

    python benchmarks/packed.py [--meshes 80] [--rounds 3] [--network fcnet]

Embedded creatures, segmentation, the default preset (reshaped copies left out, so that each epoch shows the
same surfaces). "in memory" is the dataset as it was made. "packed, kept" reads each surface once and keeps
it, as long as there is room (4 GB by default). "packed, read" has no room at all: every surface is read from
its file whenever its turn comes, as happens with sets larger than the memory. The first epoch of each
training is not counted. The ratio is to "in memory" of the same round.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from fieldconv import keep_freed_memory
from fieldconv.datasets import Creatures, PackedDataset, Packer
from fieldconv.networks import network_named
from fieldconv.surface import ToSurface
from fieldconv.training import train
from fieldconv.training.settings import RunSettings


def epoch_times(settings: RunSettings, data: object, epochs: int) -> tuple[float, float]:
    """Seconds, and seconds of the processor, of the quickest epoch after the first."""
    torch.manual_seed(0)
    network = network_named(settings.network_name)(settings.network)
    marks = []
    train(
        network,
        data,
        config=settings.training.changed(epochs=epochs, validation=0.0, reshaped=0),
        quiet=True,
        each_epoch=lambda row: marks.append((time.monotonic(), time.process_time())),
    )
    steps = np.diff(np.array(marks), axis=0)
    return float(steps[:, 0].min()), float(steps[:, 1].min())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--meshes", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--network", default="fcnet")
    options = parser.parse_args()
    keep_freed_memory()
    settings = RunSettings.assemble("segmentation", network=options.network)
    pre = ToSurface(**settings.network.surface_settings.to_dict())
    memory = Creatures("segmentation", meshes=options.meshes, pre_transform=pre)
    settings = settings.with_outputs(memory.num_classes)
    with tempfile.TemporaryDirectory() as folder:
        packer = Packer(folder)
        packer.add("train", memory)
        packer.finish()
        sources = {
            "in memory": memory,
            "packed, kept": PackedDataset(folder, pre_transform=pre),
            "packed, read": PackedDataset(folder, pre_transform=pre, memory=0),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in sources}
        for _ in range(options.rounds):
            for name, data in sources.items():
                found[name].append(epoch_times(settings, data, options.epochs))
                print(name, found[name][-1], flush=True)
    table = Table("source", "seconds of an epoch", "of the processor", "ratio", "ratio of the processor")
    for name, times in found.items():
        mean = np.median(np.array(times), axis=0)
        ratio = np.median(np.array(times) / np.array(found["in memory"]), axis=0)
        table.add_row(name, f"{mean[0]:.2f}", f"{mean[1]:.2f}", f"{ratio[0]:.3f}", f"{ratio[1]:.3f}")
    console = Console(width=110)
    console.print(table)
    console.print(
        f"{options.meshes} creatures, {packer.surfaces} surfaces in {packer.files} file, "
        f"{packer.bytes / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
