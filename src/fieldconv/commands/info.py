"""`fieldconv info`: what is in a mesh, and what is wrong with it."""

from __future__ import annotations

import sys

from fieldconv.commands.options import Meshes


def info(mesh: Meshes, /, radius: float = 0.2) -> int:
    """What is in a mesh, and what is wrong with it.

    Args:
        mesh: Mesh files (obj, off, ply, stl, glb).
        radius: Geodesic radius, on the mesh scaled to unit area, for the count of neighbours.
    """
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from fieldconv.geometry.geodesics import geodesic_discs
    from fieldconv.geometry.mesh import Mesh, MeshError

    if not mesh:
        print("fieldconv: name at least one mesh file", file=sys.stderr)
        return 2
    console = Console()
    failed = 0
    for path in mesh:
        try:
            shape = Mesh.load(path)
        except MeshError as error:
            print(f"fieldconv: {error}", file=sys.stderr)
            failed = 1
            continue
        report = shape.check()
        table = Table(title=str(path), show_header=False, title_justify="left", title_style="bold")
        for what, count in report.counts.items():
            yes_or_no = what in ("orientable", "inside_out")
            table.add_row(what.replace("_", " "), ("no", "yes")[count] if yes_or_no else f"{count:,}")
        try:
            unit = shape.normalised()
            low, high = shape.vertices.min(0), shape.vertices.max(0)
            table.add_row("size", " × ".join(f"{side:.4g}" for side in high - low))
            table.add_row("area", f"{shape.area:.6g}")
            # A few hundred discs tell the count well enough, on a mesh of any size.
            count = len(shape.vertices)
            some = np.unique(np.linspace(0, count - 1, min(count, 500)).astype(np.int64))
            held = np.diff(geodesic_discs(unit, radius, sources=some).offsets)
            table.add_row(
                f"neighbours within {radius:g}", f"{held.mean():.0f} on average, {held.min()} to {held.max()}"
            )
            fine = "  Nothing is wrong."
        except MeshError as error:
            table.add_row("unusable", str(error))
            failed, fine = 1, "  It cannot be used."
        console.print(table)
        problems = report.problems
        console.print("\n".join(f"  • {line}" for line in problems) if problems else fine)
    return failed
