"""`fieldconv info`: what is in a mesh, what is wrong with it, and what preparing it would take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from fieldconv._checked import check_count
from fieldconv._duration import duration
from fieldconv.commands.arguments import Meshes
from fieldconv.geometry.geodesic.discs import PAIR_BYTES, RADIUS
from fieldconv.surface.settings import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from fieldconv.geometry.mesh.mesh import Mesh

DISCS = 200  # that are counted
COARSE = 4096  # vertices at which discs are counted on larger meshes
SECONDS = 4e-6  # for a pair of neighbours
VERTEX_SECONDS = 1.5e-5  # for a vertex of a mesh that is sampled
VERTEX_BYTES = 1500


def info_command(mesh: Meshes, /, radius: float = RADIUS, samples: int = SAMPLES) -> int:
    """Show what is in a mesh, what is wrong with it, and what preparing it would take.

    Args:
        mesh: Mesh files (obj, off, ply, stl, glb), clouds of points (also xyz), or folders of meshes.
        radius: Geodesic radius, on the mesh scaled to unit area, for the count of neighbours.
        samples: Samples for a second estimate, beside that for every vertex.
    """
    from rich.console import Console

    from fieldconv import keep_freed_memory
    from fieldconv.geometry.mesh.mesh import MeshError
    from fieldconv.geometry.shapefile import load_shape

    keep_freed_memory()
    check_count("samples", samples)
    console = Console()
    failed = 0
    for path in mesh:
        try:
            if path.is_dir():
                failed |= _show_folder(path, console)
            else:
                failed |= _show(load_shape(path), str(path), radius, samples, console)
        except MeshError as error:
            print(f"fieldconv: {error}", file=sys.stderr)
            failed = 1
    return failed


def _show_folder(folder: Path, console: Any) -> int:
    """Print a line for each mesh of a folder; return 1 if one cannot be used."""
    from rich.table import Table

    from fieldconv.geometry.mesh.files import meshes_below
    from fieldconv.geometry.mesh.mesh import Mesh, MeshError

    table = Table("mesh", "vertices", "faces", "components", "problems")
    for column in table.columns[1:4]:
        column.justify = "right"
    paths = meshes_below(folder)
    odd = unusable = 0
    for path in paths:
        name = path.relative_to(folder).as_posix()
        try:
            shape = Mesh.load(path)
            report = shape.check()
        except MeshError as error:
            unusable += 1
            table.add_row(name, "", "", "", str(error).removeprefix(f"{path}: "))
            continue
        unusable += shape.problem is not None
        odd += bool(report.problems)
        counts = report.counts
        numbers = [f"{counts[key]:,}" for key in ("vertices", "faces", "components")]
        table.add_row(name, *numbers, shape.problem or "; ".join(report.problems) or "none")
    console.print(table)
    console.print(
        f"{len(paths):,} meshes, {odd:,} with something odd, {unusable:,} that cannot be used. "
        f"For labels too: fieldconv datasets check {folder}",
        highlight=False,
        soft_wrap=True,
    )
    return int(unusable > 0)


def _show(shape: Mesh, title: str, radius: float, samples: int, console: Any) -> int:
    """Print a mesh's counts and problems at once, then its neighbourhoods; return 1 if it cannot be used."""
    from rich.table import Table

    from fieldconv.geometry.mesh.numbering import with_near_numbers

    shape = with_near_numbers(shape)
    report = shape.check()
    console.print(title, style="bold", markup=False, highlight=False, soft_wrap=True)
    table = Table(show_header=False)
    for what, count in report.counts.items():
        yes_or_no = what in ("orientable", "inside_out")
        table.add_row(what.replace("_", " "), ("no", "yes")[count] if yes_or_no else f"{count:,}")
    if shape.problem is None:
        low, high = shape.vertices.min(0), shape.vertices.max(0)
        table.add_row("size", " × ".join(f"{side:.4g}" for side in high - low))
        table.add_row("area", f"{shape.area:.6g}")
    else:
        table.add_row("unusable", shape.problem)
    console.print(table)
    fine = "  Nothing is wrong." if shape.problem is None else "  It cannot be used."
    console.print("\n".join(f"  • {line}" for line in report.problems) if report.problems else fine)
    if shape.problem is not None:
        return 1
    held = _neighbours(shape, radius)
    count = len(shape.vertices)
    pairs = held.mean() * count
    text = (
        f"  Neighbours within {radius:g}: {held.mean():,.0f} on average, {held.min():,} to {held.max():,}. "
        f"Preparing every vertex: {_price(pairs, SECONDS * pairs, PAIR_BYTES * pairs)}."
    )
    if samples < count:
        fewer = pairs * (samples / count) ** 2
        seconds, size = SECONDS * fewer + VERTEX_SECONDS * count, PAIR_BYTES * fewer + VERTEX_BYTES * count
        text += f" Preparing {samples:,} samples: {_price(fewer, seconds, size)}."
    console.print(text, highlight=False, soft_wrap=True)
    return 0


def _price(pairs: float, seconds: float, size: float) -> str:
    """Return in words what so many pairs of neighbours take."""
    gigabytes = f"{size / 1e9:,.0f}" if size >= 1e10 else f"{size / 1e9:.2g}"
    return f"about {_pairs(pairs)}, {gigabytes} GB, {duration(max(seconds, 0.1))} on one core"


def _neighbours(shape: Mesh, radius: float) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Vertices in some discs, counted on a coarser mesh if there are very many."""
    import numpy as np

    from fieldconv.geometry.geodesic.geodesic_discs import geodesic_discs
    from fieldconv.geometry.resample.coarsen import coarsened

    coarse = coarsened(shape, COARSE, rounds=0)
    count = len(coarse.mesh.vertices)
    some = np.unique(np.linspace(0, count - 1, min(count, DISCS)).astype(np.int64))
    discs = geodesic_discs(coarse.mesh, radius * shape.area**0.5, sources=some, solver="front")
    stands_for = np.bincount(coarse.vertex_map[coarse.vertex_map >= 0], minlength=count)
    return np.add.reduceat(stands_for[discs.targets], discs.offsets[:-1])


def _pairs(count: float) -> str:
    """Return a number of pairs in words, as exactly as it is known."""
    return f"{count / 1e6:,.1f} million pairs" if count >= 1e6 else f"{round(count, -2):,.0f} pairs"
