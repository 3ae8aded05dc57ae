"""`fieldconv view`: meshes on a page."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import fieldconv as fc
from fieldconv import training
from fieldconv.commands.arguments import Meshes
from fieldconv.commands.output import check_place
from fieldconv.geometry.geodesic.discs import RADIUS

Files = tuple[Path, ...]
Axis = Literal["x", "y", "z"]


def view_command(
    meshes: Meshes,
    /,
    labels: Files = (),
    scalar: Files = (),
    field: Files = (),
    map: Files = (),
    error: Files = (),
    disc: int | None = None,
    radius: float = RADIUS,
    run: Path | None = None,
    up: Axis | None = None,
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
        meshes: Mesh files (obj, off, ply, stl, glb), or clouds of points (also xyz).
        labels: A class per vertex, counted from 0, or its name; negative means none.
        scalar: A number per vertex.
        field: A vector per vertex: complex or two columns (in the tangent frames), or three (in space).
        map: For each mesh after the first: which vertex of the first, from 0, its vertices correspond to.
        error: A number per vertex, shown from grey to red.
        disc: Show the geodesic disc of this vertex, on the mesh scaled to unit area.
        radius: Radius of the disc.
        run: Run folder whose network predicts the meshes.
        up: Axis that points up at first; guessed from the shapes if not given.
        out: Page to write; named after the first mesh, in the current folder, if not given.
        png: Write a static picture too; without --out, nothing but the picture.
        open: Open the page in the browser.
    """
    check_place(out, png)
    shown = template = None
    if run is not None:
        model = fc.load(run)
        task = training.task_of(model)
        found = [fc.predict(model, path) for path in meshes]
        values = zip(found, task.show_all(found), strict=True)
        shown, template = [fc.viz.MeshValues(own, task.note(one)) for one, own in values], model.template
    files = {"labels": labels, "scalar": scalar, "field": field, "map": map, "error": error}
    written = fc.viz.view(
        meshes,
        **{what: given or None for what, given in files.items()},
        disc=disc,
        radius=radius,
        shown=shown,
        template=template,
        up=up,
        out=out,
        png=png,
        open=open,
    )
    print(f"Wrote {written} ({written.stat().st_size / 1e6:.1f} MB)")
