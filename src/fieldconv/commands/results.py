"""What commands share: finding meshes, keeping them safe, printing metrics."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fieldconv._io import read_text
from fieldconv.geometry.mesh.files import meshes_below

if TYPE_CHECKING:
    from fieldconv.tasks.base import Evaluation


def mesh_paths(named: Sequence[Path]) -> list[Path]:
    """Return files, the meshes in folders, and the files named in text files."""
    paths: list[Path] = []
    for path in named:
        if path.is_dir():
            paths += meshes_below(path)
        elif path.suffix.lower() in (".txt", ".lst"):
            lines = (line.strip() for line in read_text(path).splitlines())
            paths += [path.parent / line for line in lines if line and not line.startswith("#")]
        else:
            paths.append(path)
    if not paths:
        raise ValueError("no meshes given; name mesh files, a folder, or a text file that lists them")
    return paths


def check_elsewhere(out: Path, meshes: Sequence[Path]) -> None:
    """Raise ValueError if results, which have the names of the meshes, would lie among them."""
    for mesh in meshes:
        if mesh.parent.resolve() == out.resolve():
            raise ValueError(f"{out} is the folder of {mesh.name} itself; choose another one for --out")


def check_place(*pages: Path | None) -> None:
    """Raise ValueError if the folder of a page or picture to write does not exist."""
    for page in pages:
        if page is not None and not page.parent.is_dir():
            raise ValueError(
                f"{page.parent}: no such folder; make it first, or choose another place for {page.name}"
            )


def print_metrics(result: Evaluation) -> None:
    """Print a table of an evaluation's numbers."""
    from rich.console import Console
    from rich.table import Table

    from fieldconv.runs.run import Run
    from fieldconv.runs.trust import beside, remarks

    run = Run(evaluation=result)
    told = {key: beside(run, key) for key in result.metrics}
    table = Table("metric", "value", *(["95 % interval, guessing"] if any(told.values()) else []))
    table.columns[1].justify = "right"
    for key, value in result.metrics.items():
        table.add_row(run.metric(key).label, run.metric(key).text(value), *([told[key]] if told[key] else []))
    if "iou" in result.tables:
        table.add_section()
        untested = set(run.untested())
        for name, value in zip(result.class_names, result.tables["iou"], strict=True):
            if name not in untested:
                table.add_row(f"IoU of {name}", f"{100 * value:.1f} %")
    console = Console()
    console.print(table)
    for line in (result.measured_on(), *remarks(run)):
        console.print(line, highlight=False, soft_wrap=True)


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Collect warnings, and print the package's own afterwards, one line each."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        yield
    for note in noted:
        if any(known in str(note.message) for known in ("no report was written", "do not rely on")):
            print(f"fieldconv: {note.message}", file=sys.stderr)
