"""`fieldconv bench`: the tables of the `benchmarks` folder."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Literal

Table = Literal["geodesics", "layers"]


def bench_command(tables: tuple[Table, ...] = ("geodesics", "layers"), /) -> int:
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
    return 0
