"""`fieldconv datasets make` and `check`: write an example folder, check any folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal


def make_command(
    what: Literal["creatures"],
    out: Annotated[Path, "FOLDER"],
    /,
    task: str = "segmentation",
    meshes: int = 60,
    vertices: int = 1000,
    species: tuple[str, ...] | None = None,
    difficulty: str = "clean",
    seed: int = 0,
) -> int:
    """Write a folder of embedded creatures, in the layout that your own meshes would have.

    $ fieldconv datasets make creatures FOLDER --task segmentation --meshes 60 --vertices 1000

    Args:
        what: What to write.
        out: New folder to write to.
        task: Task to write it for.
        meshes: Total number; a fifth of them are for testing.
        vertices: Vertices of each mesh, 250 to 50,000.
        species: Species to use; all by default (for correspondence, quadruped).
        difficulty: Level of difficulty: clean, posed, noise, uneven, holes, cut, missing, hard …
        seed: Another seed gives another dataset.
    """
    from fieldconv._progress import progress_bar
    from fieldconv.datasets.make import make_folder

    make_folder(
        out,
        task,
        meshes=meshes,
        vertices=vertices,
        species=species,
        difficulty=difficulty,
        seed=seed,
        watch=progress_bar("Making creatures"),
    )
    return check_command(out, task)


def check_command(folder: Path, /, task: str | None = None) -> int:
    """Read everything in a dataset folder of any known layout, list what is wrong, and sum it up.

    Knows the layouts of SHREC'11, the human segmentation set, remeshed FAUST, SHREC'19 (both tracks), and
    of your own meshes.

    $ fieldconv datasets check FOLDER

    Args:
        folder: Folder to check.
        task: What it is meant for, if that is not clear from its layout.
    """
    from rich.console import Console
    from rich.table import Table

    from fieldconv._progress import progress_bar
    from fieldconv.datasets.folder_check import check_folder

    report = check_folder(folder, task=task, watch=progress_bar("Reading"))
    console = Console(highlight=False)
    console.print(f"{folder}: {report.layout}, {report.task}", markup=False)
    if report.groups:
        table = Table("group", "meshes", "vertices: least", "median", "most")
        for column in table.columns[1:]:
            column.justify = "right"
        for group in report.groups:
            table.add_row(group.name, *(f"{number:,}" for number in (group.meshes, *group.vertices)))
        if len(report.groups) > 1:
            table.add_section()
            table.add_row("all", f"{sum(group.meshes for group in report.groups):,}")
        console.print(table)
    if report.labels:
        most, total = max(report.labels.values()) or 1, sum(report.labels.values()) or 1
        table = Table("label", "vertices", "share", "")
        table.columns[1].justify = table.columns[2].justify = "right"
        for name, count in report.labels.items():
            table.add_row(name, f"{count:,}", f"{100 * count / total:.1f} %", "█" * round(20 * count / most))
        console.print(table)
    if report.known is not None and not report.labels:
        pairs = f"{report.pairs:,} pairs; " if report.pairs else ""
        console.print(f"{pairs}{100 * report.known:.1f} % of vertices have ground truth")
    if not report.problems:
        console.print("Everything is as it should be.")
    if report.advice:
        console.print("Worth knowing:", style="bold")
        for line in report.advice:
            console.print(f"  {line}", markup=False, soft_wrap=True)
    if not report.problems:
        return 0
    console.print(f"{len(report.problems)} problem{'s' * (len(report.problems) > 1)}:", style="bold red")
    for line in [*(f"  {problem}" for problem in report.problems), report.hint]:
        console.print(line, markup=False, soft_wrap=True)
    return 1
