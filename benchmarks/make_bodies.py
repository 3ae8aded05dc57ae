"""Write random bodies with their ground truth to a folder, for training; see docs/bodies.md.

    pip install "fieldconv[bodies]"
    python benchmarks/make_bodies.py FOLDER --bodies 3000

One file for each seed, body-000000.npz and so on, and template.npz. Started again, it goes on where it was;
several may run at once on parts of the seeds (``--first``). About 0.7 s for a body on one core.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from fieldconv._io import read_text, write_text
from fieldconv.datasets.bodies import generator_version, make_body, template


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="outside the checkout")
    parser.add_argument("--bodies", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first body")
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
        make_body(seed).save(path)
        made += 1
        if made % 100 == 0:
            print(f"{path.name}  {(time.perf_counter() - began) / made:.2f} s each", flush=True)
    print(f"{made} bodies made in {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
