"""Write random bodies with their ground truth to a folder, for training; see docs/bodies.md.

    pip install --group bodies
    python -m recipes.bodies.make FOLDER --bodies 3000

One file for each seed, body-000000.npz and so on, and template.npz. Started again, it goes on where it was;
several may run at once on parts of the seeds (``--first``). About 0.7 s for a body on one core.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from fieldconv._io import read_text, write_text
from recipes.bodies import generator_version, make_body, template


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="outside the checkout")
    parser.add_argument("--bodies", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first body")
    parser.add_argument(
        "--vertices",
        type=int,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="any number between",
    )
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "version.txt"
    if not note.exists():
        write_text(note, generator_version())
        template().save(folder / "template.npz")
    elif read_text(note) != generator_version():
        parser.error(f"{folder} has bodies of another version of the generator; choose a new folder")
    began, made = time.perf_counter(), 0
    for seed in range(options.first, options.first + options.bodies):
        path = folder / f"body-{seed:06d}.npz"
        if path.exists():
            continue
        make_body(seed, vertices=_draw_vertices(seed, options.vertices)).save(path)
        made += 1
        if made % 100 == 0:
            print(f"{path.name}  {(time.perf_counter() - began) / made:.2f} s each", flush=True)
    print(f"{made} bodies made in {time.perf_counter() - began:.0f} s", flush=True)


def _draw_vertices(seed: int, limits: list[int] | None) -> int | None:
    """All sizes alike, on a scale of ratios."""
    if limits is None:
        return None
    low, high = np.log(limits)
    return int(np.exp(np.random.default_rng((seed, 5)).uniform(low, high)))


if __name__ == "__main__":
    main()
