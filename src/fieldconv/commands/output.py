"""What commands share: finding meshes, keeping them safe, printing tables and metrics."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fieldconv import geometry, runs, tasks


def mesh_paths(named: Sequence[Path]) -> list[Path]:
    """Return files, the meshes in folders, and the files named in text files."""
    paths: list[Path] = []
    for path in named:
        if path.is_dir():
            paths += geometry.meshes_below(path)
        elif path.suffix.lower() in (".txt", ".lst"):
            lines = (line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines())
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


def one_line(error: Exception, path: Path) -> str:
    """Return an error's message in one line, with the path before it if it does not name it."""
    message = " ".join(str(error).split())
    return message if str(path) in message else f"{path}: {message}"


def print_line(text: str, style: str | None = None) -> None:
    """Print text in a style such as "bold", and as it is where there are no styles."""
    from rich.console import Console

    Console().print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str] | None], right: Collection[int] = ()
) -> None:
    """Print a table, without a header if ``columns`` is empty.

    None between rows draws a line. Columns with a number in ``right`` are aligned to the right.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, show_header=bool(columns))
    for number in right:
        table.columns[number].justify = "right"
    for row in rows:
        table.add_section() if row is None else table.add_row(*row)
    Console(highlight=False).print(table)


def print_metrics(result: tasks.Evaluation) -> None:
    """Print a table of an evaluation's numbers."""
    run = runs.Run(evaluation=result)
    context = {key: runs.metric_context(run, key) for key in result.metrics}
    rows: list[Sequence[str] | None] = [
        (run.metric(key).label, run.metric(key).text(value), *([context[key]] if context[key] else []))
        for key, value in result.metrics.items()
    ]
    if "iou" in result.tables:
        untested = set(run.untested())
        named = zip(result.class_names, result.tables["iou"], strict=True)
        rows += [None, *((f"IoU of {n}", f"{100 * iou:.1f} %") for n, iou in named if n not in untested)]
    columns = ["metric", "value", *(["95 % interval, guessing"] if any(context.values()) else [])]
    print_table(columns, rows, right=[1])
    for line in (result.measured_on(), *runs.remarks(run)):
        print_line(line)


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Collect warnings, and print the package's own afterwards, one line each."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        yield
    for note in noted:
        if any(known in str(note.message) for known in ("no report was written", "do not rely on")):
            print(f"fieldconv: {note.message}", file=sys.stderr)
