"""Train the network for bodies that ships with the package; see docs/bodies.md.

    python -m recipes.bodies.make FOLDER --bodies 1300 --vertices 700 8000
    python -m recipes.bodies.train FOLDER --out RUN --bodies 1300 --epochs 12 [--resume]

`make bodies` does both, and puts the network into the package.

The last 20 bodies are kept out, to choose the best epoch by. No mesh of any other set is looked at.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import fieldconv as fc
from fieldconv.tasks import TemplatePoints
from fieldconv.training import Machine
from recipes.bodies.dataset import Bodies

KEPT_OUT = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of bodies, as `make` writes it")
    parser.add_argument("--out", type=Path, required=True, help="run folder")
    parser.add_argument("--bodies", type=int, default=1300)
    parser.add_argument("--kept-out", type=int, help="seed of the first body that is kept out")
    parser.add_argument("--start", type=Path, help="run to take the first weights from")
    parser.add_argument("--features", default="hks+balls")
    parser.add_argument("--smoothing", type=float, default=0.02)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--learning-rate", type=float, default=0.006)
    parser.add_argument("--warm-up", type=float, default=0.1)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    task = TemplatePoints()
    kept_out = options.bodies - KEPT_OUT if options.kept_out is None else options.kept_out
    settings = task.network_config(
        fc.FCNetConfig, classes=1, features=options.features, smoothing=options.smoothing
    )
    to_surface = fc.ToSurface(**settings.surface_settings.to_dict())
    cache = options.folder / "prepared"
    train, test = (
        Bodies(folder=options.folder, seeds=seeds, pre_transform=to_surface, cache=cache)
        for seeds in (
            [seed for seed in range(options.bodies) if not kept_out <= seed < kept_out + KEPT_OUT],
            range(kept_out, kept_out + KEPT_OUT),
        )
    )
    torch.manual_seed(0)
    model = fc.FCNet(settings.changed(outputs=task.outputs(train)))
    if options.start is not None:
        model.load_state_dict(fc.load(options.start).state_dict())
    print(f"{len(train)} bodies, {model.num_parameters:,} parameters", flush=True)
    fc.train(
        model,
        train,
        validation=test,
        out=options.out,
        resume=options.resume,
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        warm_up=options.warm_up,
        machine=Machine(threads=1),
    )


if __name__ == "__main__":
    main()
