"""What a perfect estimate of a damaged shape's scale would be worth.

    python benchmarks/scans_scale.py RUN      # a segmentation network, such as one of `benchmarks/scans.py`

Meshes are scaled to unit area, so that those of which a part is missing come out too large. Creatures are cut
or get holes; the network is asked as usual, and once more with every mesh scaled by the area it had before.
An estimate of scale, however good, gains at most the difference.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from fieldconv import FCNet, Mesh, Surface
from fieldconv.datasets.creatures import PARTS, make_creature, named
from fieldconv.geometry.damage import damage
from fieldconv.training.apply import task_of
from robustness import SPECIES

EACH = 3  # creatures of each species
SEED = 4_000_000  # of creatures that are measured nowhere else
LEVELS = {
    "cut": lambda mesh, rng: damage.cut(mesh, rng, named("cut").cut, pieces=1.0),
    "holes": lambda mesh, rng: damage.holes(mesh, rng, named("holes").holes, pieces=1.0),
}


def answer(network: FCNet, mesh: Mesh, left: float) -> np.ndarray:
    """Return names of parts of a mesh that has this share of its area left, scaled as if all were there."""
    usual = Mesh.normalised

    def as_before(own: Mesh) -> Mesh:
        return replace(usual(own), vertices=usual(own).vertices * left**0.5)

    Mesh.normalised = as_before  # type: ignore[method-assign]
    try:
        surface = Surface.from_mesh(mesh, **network.surface_settings().to_dict())
    finally:
        Mesh.normalised = usual  # type: ignore[method-assign]
    with torch.no_grad():
        labels = task_of(network).decode(network(surface), surface).labels
    return np.asarray(network.class_names)[labels]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    network = FCNet.from_pretrained(parser.parse_args().run).eval()
    for level, damaged in LEVELS.items():
        right, left = [], []
        for number in range(EACH * len(SPECIES)):
            made = make_creature(SPECIES[number % len(SPECIES)], SEED + number, vertices=1000)
            done = damaged(made.mesh, np.random.default_rng(number))
            labels = np.asarray(PARTS)[made.labels[done.nearest]]
            left.append(done.mesh.area / made.mesh.area)
            both = (answer(network, done.mesh, share) == labels for share in (1.0, left[-1]))
            right.append([float(np.mean(one)) for one in both])
        usual, known = 100 * np.mean(right, 0)
        print(
            f"{level}: {100 * np.mean(left):.0f} % of the area left ({100 * min(left):.0f} to "
            f"{100 * max(left):.0f}), usual scale {usual:.1f} % right, known scale {known:.1f} %, "
            f"{len(right)} creatures",
            flush=True,
        )


if __name__ == "__main__":
    main()
