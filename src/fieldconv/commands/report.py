"""`fieldconv report`: one page about one or several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fieldconv import training
from fieldconv.commands.results import check_place


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
