"""Measure whole commands on meshes of any size: seconds, processor time, memory, and their growth.

    python benchmarks/large_meshes.py RUN … [--sizes 10000 … 2000000] [--out growth.json] [--plot growth.png]

Each RUN is a trained network, such as that of `fieldconv demo`. Each command runs in its own process; its
start-up counts. The meshes are bumpy tori. The last column is the cost of each further vertex: where it is
constant, growth is linear.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import shapes
from fieldconv.geometry import Mesh

SIZES = (500, 10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000)


def bumpy_torus(vertices: int) -> Mesh:
    """Return a torus with about so many vertices and no symmetry."""
    around = round((2 * vertices) ** 0.5)
    points, faces = shapes.torus(1.0, 0.4, around, max(vertices // around, 3))
    angle = np.arctan2(points[:, 1], points[:, 0])
    return Mesh(points * (1 + 0.1 * np.sin(5 * angle)[:, None]) + 0.02 * np.sin(9 * points), faces)


def run_command(arguments: list[str]) -> dict[str, float]:
    """Run a command; return its seconds, processor seconds and largest memory in gigabytes."""
    began = time.monotonic()
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "fieldconv.cli", *arguments],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"fieldconv {' '.join(arguments)} failed")
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": time.monotonic() - began,
        "processor": used.ru_utime + used.ru_stime,
        "gigabytes": used.ru_maxrss * unit / 1e9,
    }


def microseconds(row: dict[str, float], before: dict[str, float]) -> float:
    """Return the processor time of each vertex that a mesh has more than the one before."""
    return 1e6 * (row["processor"] - before["processor"]) / (row["vertices"] - before["vertices"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    results: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in sorted(options.sizes):
            mesh = bumpy_torus(size)
            mesh.save(folder / "mesh.ply")
            path, out = str(folder / "mesh.ply"), str(folder / "o")
            lines = {"info": ["info", path]}
            lines |= {
                f"predict {run.name}": ["predict", str(run), path, "--out", out] for run in options.runs
            }
            for command, arguments in lines.items():
                row = {"vertices": len(mesh.vertices), **run_command(arguments)}
                results.setdefault(command, []).append(row)
                print(command, row, flush=True)
    console = Console(width=110)
    for command, rows in results.items():
        columns = ("vertices", "seconds", "processor seconds", "GB", "microseconds for a further vertex")
        table = Table(*columns, title=f"fieldconv {command}")
        for row, before in zip(rows, [None, *rows], strict=False):
            table.add_row(
                f"{row['vertices']:,}",
                f"{row['seconds']:.1f}",
                f"{row['processor']:.1f}",
                f"{row['gigabytes']:.2f}",
                "" if before is None else f"{microseconds(row, before):.1f}",
            )
        console.print(table)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if options.plot:
        plot(results, options.plot)


def plot(results: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Plot processor time over vertices, both logarithmic, with a straight line for linear growth."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for command, rows in results.items():
        sizes = [row["vertices"] for row in rows]
        axes.loglog(sizes, [row["processor"] for row in rows], "o-", label=command)
    slowest = list(results.values())[-1]
    largest, low = slowest[-1], slowest[1]["vertices"]
    axes.loglog(
        [low, largest["vertices"]],
        [largest["processor"] * low / largest["vertices"], largest["processor"]],
        "k:",
        label="linear",
    )
    axes.set(xlabel="vertices", ylabel="processor time in seconds")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
