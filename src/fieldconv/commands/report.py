"""`fieldconv report` and `fieldconv filters`: pages about runs and their networks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from fieldconv import training
from fieldconv.commands.arguments import Run
from fieldconv.commands.output import check_place


def report_command(
    runs: Annotated[tuple[Path, ...], "RUN"], /, out: Path | None = None, figures: Path | None = None
) -> None:
    """Write a run's report, or one page with the curves of several runs over each other.

    $ fieldconv report RUN
    $ fieldconv report RUN RUN --out compare.html
    $ fieldconv report RUN --figures FOLDER

    Args:
        runs: Run folders.
        out: Page to write; report.html in the run's folder, or compare.html here, if not given.
        figures: Folder to write the plots to as well, as PNG and PDF for print, and for a single run
            pictures of its worst and best test shapes. docs/reproducing.md lists the figures of the paper.
    """
    check_place(out)
    print(f"Wrote {training.write_report(runs, out)}")
    if figures is not None:
        for path in training.write_figures(runs, figures):
            print(f"Wrote {path}")


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
