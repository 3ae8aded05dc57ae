"""`fieldconv view`, `report` and `filters`: pages and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from fieldconv.commands.geometry import Meshes

Files = tuple[Path, ...]
Runs = Annotated[Files, tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")]
Axis = Literal["x", "y", "z"]


def view(
    meshes: Meshes,
    /,
    labels: Files = (),
    scalar: Files = (),
    field: Files = (),
    map: Files = (),
    error: Files = (),
    disc: int | None = None,
    radius: float = 0.2,
    run: Path | None = None,
    up: Axis = "y",
    out: Path | None = None,
    png: Path | None = None,
    open: bool = True,
) -> None:
    """Show meshes on one page that works offline: turn, zoom, colour; several views turn together.

    Files of values hold one line (or row) per vertex: text, or NumPy's .npy. Give one for each mesh, in the
    same order. What a mesh file itself carries (labels, numbers, colours) can be chosen on the page too.

    $ fieldconv view shape.ply
    $ fieldconv view a.obj b.obj --labels a.txt b.txt --out compare.html --no-open
    $ fieldconv view shape.obj --disc 100 --radius 0.2
    $ fieldconv view shape.obj --run RUN --png shape.png

    Args:
        meshes: Mesh files (obj, off, ply, stl, glb).
        labels: A class per vertex, counted from 0; negative means none.
        scalar: A number per vertex.
        field: A vector per vertex: complex or two columns (in the tangent frames), or three (in space).
        map: For each mesh after the first: which vertex of the first, from 0, its vertices correspond to.
        error: A number per vertex, shown from grey to red.
        disc: Show the geodesic disc of this vertex, on the mesh scaled to unit area.
        radius: Radius of the disc.
        run: Run folder whose network predicts the meshes.
        up: Axis that points up at first.
        out: Page to write; named after the first mesh, in the current folder, if not given.
        png: Write a static picture too; without --out, nothing but the picture.
        open: Open the page in the browser.
    """
    from fieldconv.viz.view import view as show

    files = {"labels": labels, "scalar": scalar, "field": field, "map": map, "error": error}
    written = show(
        meshes,
        **{what: given or None for what, given in files.items()},
        disc=disc,
        radius=radius,
        run=run,
        up=up,
        out=out,
        png=png,
        open=open,
    )
    print(f"Wrote {written} ({written.stat().st_size / 1e6:.1f} MB)")


def report(runs: Runs, /, out: Path | None = None, figures: Path | None = None) -> None:
    """Write a run's report, or one page with the curves of several runs over each other.

    $ fieldconv report RUN
    $ fieldconv report RUN RUN --out compare.html
    $ fieldconv report RUN --figures FOLDER

    Args:
        runs: Run folders.
        out: Page to write; report.html in the run's folder, or compare.html here, if not given.
        figures: Folder to write the plots to as well, as PNG and PDF for print.
    """
    from fieldconv.viz.report import compare, write_figures, write_report

    if len(runs) == 1:
        print(f"Wrote {write_report(runs[0], out)}")
    else:
        print(f"Wrote {compare(runs, out or Path('compare.html'))}")
    if figures is not None:
        for path in write_figures(runs, figures):
            print(f"Wrote {path}")


def filters(
    run: tyro.conf.Positional[Path],
    /,
    mesh: Path | None = None,
    out: Path | None = None,
    most: int = 16,
    up: Axis = "y",
) -> None:
    """Write a page of a network's learned filters and, with a mesh, what each block responds to on it.

    $ fieldconv filters RUN --mesh shape.obj

    Args:
        run: Run or checkpoint folder.
        mesh: Mesh to apply the network to.
        out: Page to write; filters.html in the run's folder if not given.
        most: At most this many input and output channels of each convolution.
        up: Axis that points up at first.
    """
    from fieldconv.viz.filters import write_filters

    print(f"Wrote {write_filters(run, out, mesh=mesh, most=most, up=up)}")
