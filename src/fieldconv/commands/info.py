"""`fieldconv info`: what is in a mesh, what is wrong with it, and what preparing it would take."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fieldconv as fc
from fieldconv._checked import check_count
from fieldconv._duration import duration
from fieldconv.commands.arguments import Meshes
from fieldconv.commands.output import print_line, print_table
from fieldconv.geometry.geodesic.discs import PAIR_BYTES, RADIUS
from fieldconv.surface.settings import SAMPLES

COUNTED_DISCS = 200
COUNTED_VERTICES = 4096  # larger meshes are coarsened before discs are counted
PAIR_SECONDS = 4e-6  # for a pair of neighbours
VERTEX_SECONDS = 1.5e-5  # for a vertex of a mesh that is sampled
VERTEX_BYTES = 1500


def info_command(mesh: Meshes, /, radius: float = RADIUS, samples: int = SAMPLES) -> int:
    """Show what is in a mesh, what is wrong with it, and what preparing it would take.

    Args:
        mesh: Mesh files (obj, off, ply, stl, glb), clouds of points (also xyz), or folders of meshes.
        radius: Geodesic radius, on the mesh scaled to unit area, for the count of neighbours.
        samples: Samples for a second estimate, beside that for every vertex.
    """
    fc.keep_freed_memory()
    check_count("samples", samples)
    failed = False
    for path in mesh:
        try:
            if path.is_dir():
                failed |= _show_folder(path)
            else:
                failed |= _show(fc.geometry.load_shape(path), str(path), radius, samples)
        except fc.MeshError as error:
            print(f"fieldconv: {error}", file=sys.stderr)
            failed = True
    return int(failed)


def _show_folder(folder: Path) -> bool:
    """Print a line for each mesh of a folder; return whether one cannot be used."""
    paths = fc.geometry.meshes_below(folder)
    rows = []
    odd = unusable = 0
    for path in paths:
        name = path.relative_to(folder).as_posix()
        try:
            shape = fc.Mesh.load(path)
            report = shape.check()
        except fc.MeshError as error:
            unusable += 1
            rows.append([name, "", "", "", str(error).removeprefix(f"{path}: ")])
            continue
        unusable += shape.problem is not None
        odd += bool(report.problems)
        counts = [f"{report.counts[key]:,}" for key in ("vertices", "faces", "components")]
        rows.append([name, *counts, shape.problem or "; ".join(report.problems) or "none"])
    print_table(["mesh", "vertices", "faces", "components", "problems"], rows, right=(1, 2, 3))
    print_line(
        f"{len(paths):,} meshes, {odd:,} with something odd, {unusable:,} that cannot be used. "
        f"For labels too: fieldconv datasets check {folder}"
    )
    return unusable > 0


def _show(shape: fc.Mesh, title: str, radius: float, samples: int) -> bool:
    """Print a mesh's counts and problems, then its neighbourhoods; return whether it cannot be used."""
    shape = fc.geometry.with_near_numbers(shape)
    report = shape.check()
    print_line(title, "bold")
    rows = []
    for what, count in report.counts.items():
        yes_or_no = what in ("orientable", "inside_out")
        rows.append([what.replace("_", " "), ("no", "yes")[count] if yes_or_no else f"{count:,}"])
    if shape.problem is None:
        low, high = shape.vertices.min(0), shape.vertices.max(0)
        rows.append(["size", " × ".join(f"{side:.4g}" for side in high - low)])
        rows.append(["area", f"{shape.area:.6g}"])
    else:
        rows.append(["unusable", shape.problem])
    print_table([], rows)
    fine = "  Nothing is wrong." if shape.problem is None else "  It cannot be used."
    print("\n".join(f"  • {line}" for line in report.problems) if report.problems else fine)
    if shape.problem is not None:
        return True
    held = _neighbours(shape, radius)
    count = len(shape.vertices)
    pairs = held.mean() * count
    text = (
        f"  Neighbours within {radius:g}: {held.mean():,.0f} on average, {held.min():,} to {held.max():,}. "
        f"Preparing every vertex: {_price(pairs, PAIR_SECONDS * pairs, PAIR_BYTES * pairs)}."
    )
    if samples < count:
        fewer = pairs * (samples / count) ** 2
        seconds = PAIR_SECONDS * fewer + VERTEX_SECONDS * count
        size = PAIR_BYTES * fewer + VERTEX_BYTES * count
        text += f" Preparing {samples:,} samples: {_price(fewer, seconds, size)}."
    print(text)
    return False


def _price(pairs: float, seconds: float, size: float) -> str:
    """Return in words what so many pairs of neighbours cost."""
    number = f"{pairs / 1e6:,.1f} million" if pairs >= 1e6 else f"{round(pairs, -2):,.0f}"
    gigabytes = f"{size / 1e9:,.0f}" if size >= 1e10 else f"{size / 1e9:.2g}"
    return f"about {number} pairs, {gigabytes} GB, {duration(max(seconds, 0.1))} on one core"


def _neighbours(shape: fc.Mesh, radius: float) -> NDArray[np.int64]:
    """Return the number of vertices in some discs, counted on a coarser mesh if there are many."""
    coarse = fc.geometry.coarsen(shape, COUNTED_VERTICES, rounds=0)
    count = len(coarse.mesh.vertices)
    some = np.unique(np.linspace(0, count - 1, min(count, COUNTED_DISCS)).astype(np.int64))
    discs = fc.geodesic_discs(coarse.mesh, radius * shape.area**0.5, sources=some, solver="front")
    stands_for = np.bincount(coarse.vertex_map[coarse.vertex_map >= 0], minlength=count)
    return np.add.reduceat(stands_for[discs.targets], discs.offsets[:-1])
