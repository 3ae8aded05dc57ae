"""`fieldconv filters`: a page of learned filters."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fieldconv import training
from fieldconv.commands.arguments import Run
from fieldconv.commands.results import check_place


def filters_command(
    run: Run,
    /,
    mesh: Path | None = None,
    out: Path | None = None,
    most: int = 16,
    up: Literal["x", "y", "z"] | None = None,
) -> None:
    """Write a page of a network's learned filters and, with a mesh, what each block responds to on it.

    $ fieldconv filters RUN --mesh shape.obj

    Args:
        run: Run or checkpoint folder, or the name of a network that `fieldconv models` lists.
        mesh: Mesh to apply the network to.
        out: Page to write; filters.html in the run's folder if not given.
        most: At most this many input and output channels of each convolution.
        up: Axis that points up at first; guessed from the mesh if not given.
    """
    check_place(out)
    print(f"Wrote {training.write_filters(run, out, mesh=mesh, most=most, up=up)}")
