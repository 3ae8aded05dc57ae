"""Compare training from the network for bodies and from scratch on few labelled bodies; see docs/bodies.md.

    python benchmarks/finetune_bodies.py DATA [--network bodies] [--bodies 5 20] [--out results.json]

DATA is the human segmentation set. Networks are trained on random bodies of it, with its own labels, for 400
steps, from the weights of the network and from scratch, and tested on 60 other bodies.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fieldconv as fc
from fieldconv._io import write_json
from fieldconv.datasets import HumanSegmentation, SurfaceDataset
from fieldconv.training import Machine, start_from

TEST_BODIES, STEPS = 60, 400


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--network", default="bodies", help="name or run")
    parser.add_argument("--bodies", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    base = fc.load(options.network)
    settings = base.config.changed(head="labels", outputs=8)
    to_surface = fc.ToSurface(**settings.surface_settings.to_dict())
    every = HumanSegmentation.read(options.data, split="train")
    rows: list[dict[str, Any]] = []
    for seed in options.seeds:
        order = np.random.default_rng(seed).permutation(len(every.items))
        items = tuple(every.items[k] for k in order[: TEST_BODIES + max(options.bodies)])
        data = SurfaceDataset(replace(every, items=items), pre_transform=to_surface, cache=False)
        for bodies in options.bodies:
            training, test = data[TEST_BODIES : TEST_BODIES + bodies], data[:TEST_BODIES]
            for start in ("bodies", "nothing"):
                torch.manual_seed(seed)
                model = fc.FCNet(settings)
                if start == "bodies":
                    start_from(model, base)
                fc.train(
                    model,
                    training,
                    preset="quick",
                    epochs=STEPS // bodies,
                    learning_rate=0.001 if start == "bodies" else 0.006,
                    reshaped=0,
                    quiet=True,
                    machine=Machine(threads=1),
                )
                accuracy = fc.evaluate(model, test).metrics["accuracy"]
                rows.append({"bodies": bodies, "seed": seed, "from": start, "accuracy": accuracy})
                print(rows[-1], flush=True)
                if options.out is not None:
                    write_json(options.out, rows)


if __name__ == "__main__":
    main()
