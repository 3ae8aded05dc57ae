"""`fieldconv datasets`: write an example folder, check any folder. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from fieldconv.datasets.collection import Task


@dataclass(frozen=True)
class Make:
    """Write a folder of embedded creatures, in the layout that --data reads.

    Example: fieldconv datasets make creatures OUT --task segmentation --meshes 60 --vertices 1000
    """

    what: tyro.conf.Positional[Literal["creatures"]]
    """What to write."""
    out: tyro.conf.Positional[Path]
    """New folder to write to."""
    task: Task = "segmentation"
    """Task to write it for."""
    meshes: int = 60
    """How many, together; a fifth of them for testing."""
    vertices: int = 1000
    """Of each mesh, 250 to 50,000."""
    species: tuple[str, ...] | None = None
    """Only these; all by default."""
    difficulty: str = "clean"
    """Level of difficulty: clean, posed, noise, holes, hard …"""
    seed: int = 0
    """Another seed is another dataset."""

    def run(self) -> int:
        """Write the folder and sum it up; the exit code."""
        from fieldconv.datasets.make import make_folder
        from fieldconv.datasets.parallel import progress_bar

        console = Console()
        make_folder(
            self.out,
            self.task,
            meshes=self.meshes,
            vertices=self.vertices,
            species=self.species,
            difficulty=self.difficulty,
            seed=self.seed,
            watch=progress_bar("Making creatures"),
        )
        console.print(f"Wrote {self.out}: {self.meshes} meshes for {self.task}.", highlight=False)
        return Check(self.out).run()


@dataclass(frozen=True)
class Check:
    """Read everything in a dataset folder of any known layout, list what is wrong, and sum it up.

    Example: fieldconv datasets check DIR
    """

    folder: tyro.conf.Positional[Path]
    """Folder to check."""
    task: Task | None = None
    """What it is meant for, if that is not clear from its layout."""

    def run(self) -> int:
        """Print the summary; 1 if something is wrong, else 0."""
        from fieldconv.datasets.check import check_folder
        from fieldconv.datasets.parallel import progress_bar

        report = check_folder(self.folder, task=self.task, watch=progress_bar("Reading"))
        console = Console()
        console.print(f"{self.folder}: {report.layout}, {report.task}", highlight=False)
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
            console.print(_histogram(report.labels))
        if report.task in ("correspondence", "matching"):
            pairs = f"{report.pairs:,} pairs; " if report.task == "matching" else ""
            console.print(f"{pairs}{report.known:.1%} of vertices have ground truth", highlight=False)
        if not report.problems:
            console.print("Everything is as it should be.")
            return 0
        console.print(f"{len(report.problems)} problem{'s' * (len(report.problems) > 1)}:", style="bold red")
        for problem in report.problems:
            console.print(f"  {problem}", highlight=False, markup=False, soft_wrap=True)
        if report.hint:
            console.print(report.hint, highlight=False, markup=False)
        return 1


Command = Annotated[Make, tyro.conf.subcommand("make")] | Annotated[Check, tyro.conf.subcommand("check")]
"""For the command line: what `fieldconv datasets` can be followed by; has ``run() -> exit code``."""


def _histogram(labels: dict[str, int]) -> Table:
    total, most = sum(labels.values()) or 1, max(labels.values()) or 1
    table = Table("label", "vertices", "share", "")
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, count in labels.items():
        table.add_row(name, f"{count:,}", f"{count / total:.1%}", "█" * round(20 * count / most))
    return table
