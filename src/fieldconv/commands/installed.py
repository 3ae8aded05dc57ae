"""`fieldconv models`, `cache`, `bench`: what is installed and kept on this machine, and how fast it is."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Literal

import fieldconv as fc
from fieldconv.models import CARD, MODELS, WEIGHTS


def models_command() -> None:
    """List the networks that come with the package; predict, match, evaluate and train --finetune take them.

    $ fieldconv models
    $ fieldconv predict bodies scan.ply --out RESULT
    """
    for name, network in MODELS.items():
        size = (network.folder / WEIGHTS).stat().st_size / 1e6
        card = network.folder / CARD
        print(f"{name:16}{network.about}\n{'':16}task {network.task}, {size:.1f} MB, card {card}")


def cache_command(action: Literal["size", "clear"] = "size", /, folder: str | None = None) -> None:
    """Show the size of what is kept (prepared surfaces, distances on templates), or clear it.

    Clearing leaves what other processes are writing. $FIELDCONV_CACHE names another folder or an address such
    as s3://bucket/surfaces; $FIELDCONV_CACHE_LIMIT is the size it may have, such as 20GB, or none.

    Args:
        action: What to do.
        folder: Folder or address to use instead of the user's cache folder.
    """
    store = fc.SurfaceCache(folder)
    count, size = store.clear() if action == "clear" else store.size()
    done = "removed from" if action == "clear" else "in"
    limit = "no limit" if store.limit is None else f"limit {store.limit / 1e9:.3g} GB"
    print(f"{count} files, {size / 1e6:.1f} MB, {done} {store.folder} ({limit})")


def bench_command(tables: tuple[Literal["geodesics", "layers"], ...] = ("geodesics", "layers"), /) -> None:
    """Measure speed and accuracy on this machine, as ratios to stated baselines.

    Args:
        tables: Which tables: geodesic discs, layers and training steps.
    """
    here = Path(__file__).resolve()
    # In a wheel the benchmarks lie inside the package, in a checkout beside it.
    places = (here.parents[1] / "benchmarks", here.parents[3] / "benchmarks")
    folder = next((place for place in places if (place / "geodesics.py").is_file()), None)
    if folder is None:
        raise FileNotFoundError(2, "the benchmarks are not installed", str(places[0]))
    arguments = sys.argv
    sys.path.insert(0, str(folder))
    try:
        for table in tables:
            sys.argv = [str(folder / f"{table}.py")]
            runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        sys.argv = arguments
