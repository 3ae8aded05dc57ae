"""`fieldconv datasets make` and `check`: write an example folder, check any folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from fieldconv import datasets
from fieldconv._progress import track
from fieldconv.commands.output import print_line, print_table


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
    datasets.make_folder(
        out,
        task,
        meshes=meshes,
        vertices=vertices,
        species=species,
        difficulty=difficulty,
        seed=seed,
        watch=partial(track, what="Making creatures"),
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
    report = datasets.check_folder(folder, task=task, watch=partial(track, what="Reading"))
    print(f"{folder}: {report.layout}, {report.task}")
    if report.groups:
        rows: list[list[str] | None] = [
            [group.name, *(f"{number:,}" for number in (group.meshes, *group.vertices))]
            for group in report.groups
        ]
        if len(rows) > 1:
            rows += [None, ["all", f"{sum(group.meshes for group in report.groups):,}"]]
        columns = ["group", "meshes", "vertices: least", "median", "most"]
        print_table(columns, rows, right=range(1, len(columns)))
    if report.labels:
        most, total = max(report.labels.values()) or 1, sum(report.labels.values()) or 1
        print_table(
            ["label", "vertices", "share", ""],
            [
                (name, f"{count:,}", f"{100 * count / total:.1f} %", "█" * round(20 * count / most))
                for name, count in report.labels.items()
            ],
            right=(1, 2),
        )
    if report.known is not None and not report.labels:
        pairs = f"{report.pairs:,} pairs; " if report.pairs else ""
        print(f"{pairs}{100 * report.known:.1f} % of vertices have ground truth")
    if not report.problems:
        print("Everything is as it should be.")
    if report.advice:
        print_line("Worth knowing:", "bold")
        print("\n".join(f"  {line}" for line in report.advice))
    if not report.problems:
        return 0
    print_line(f"{len(report.problems)} problem{'s' * (len(report.problems) > 1)}:", "bold red")
    print("\n".join([*(f"  {problem}" for problem in report.problems), report.hint]))
    return 1
