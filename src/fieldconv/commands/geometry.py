"""`fieldconv info`, `precompute` and `cache`: meshes before any learning."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Annotated, Literal

import tyro

from fieldconv.geometry.meshfiles import meshes_below
from fieldconv.models.config import FCNetConfig, Task
from fieldconv.settings import SurfaceSettings

Meshes = Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="MESH [MESH ...]")]


def info(mesh: Meshes, /, radius: float = 0.2) -> int:
    """What is in a mesh, and what is wrong with it.

    Args:
        mesh: Mesh files (obj, off, ply, stl, glb).
        radius: Geodesic radius, on the mesh scaled to unit area, for the count of neighbours.
    """
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from fieldconv.geometry.geodesics import geodesic_discs
    from fieldconv.geometry.mesh import Mesh, MeshError

    if not mesh:
        print("fieldconv: name at least one mesh file", file=sys.stderr)
        return 2
    console = Console()
    failed = 0
    for path in mesh:
        try:
            shape = Mesh.load(path)
        except MeshError as error:
            print(f"fieldconv: {error}", file=sys.stderr)
            failed = 1
            continue
        report = shape.check()
        table = Table(title=str(path), show_header=False, title_justify="left", title_style="bold")
        for what, count in report.counts.items():
            yes_or_no = what in ("orientable", "inside_out")
            table.add_row(what.replace("_", " "), ("no", "yes")[count] if yes_or_no else f"{count:,}")
        try:
            unit = shape.normalised()
            low, high = shape.vertices.min(0), shape.vertices.max(0)
            table.add_row("size", " × ".join(f"{side:.4g}" for side in high - low))
            table.add_row("area", f"{shape.area:.6g}")
            # A few hundred discs tell the count well enough, on a mesh of any size.
            count = len(shape.vertices)
            some = np.unique(np.linspace(0, count - 1, min(count, 500)).astype(np.int64))
            held = np.diff(geodesic_discs(unit, radius, sources=some).offsets)
            table.add_row(
                f"neighbours within {radius:g}", f"{held.mean():.0f} on average, {held.min()} to {held.max()}"
            )
            fine = "  Nothing is wrong."
        except MeshError as error:
            table.add_row("unusable", str(error))
            failed, fine = 1, "  It cannot be used."
        console.print(table)
        problems = report.problems
        console.print("\n".join(f"  • {line}" for line in problems) if problems else fine)
    return failed


def precompute(
    folder: tyro.conf.Positional[Path],
    /,
    task: Task | None = None,
    settings: Annotated[SurfaceSettings, tyro.conf.arg(name="")] = SurfaceSettings(),  # noqa: B008
    workers: int = 0,
    cache: Path | None = None,
) -> int:
    """Prepare every mesh in a folder, and the folders in it, ahead of training.

    What is prepared is kept; a second run skips it. Ctrl-C loses nothing that is finished. A mesh that
    cannot be used is named at the end.

    $ fieldconv precompute MESHES --task segmentation

    Args:
        folder: Folder of meshes.
        task: Prepare them as training for this task does, by default settings, unless options say otherwise.
        settings: How meshes are prepared.
        workers: Processes; as many as cores if 0.
        cache: Folder to keep prepared surfaces in; the user's cache folder if not given.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if workers < 0:
        raise ValueError(f"workers is {workers}; give a whole number from 1 up, or 0 for as many as cores")
    if task is not None:
        given = {k: v for k, v in settings.to_dict().items() if v != getattr(SurfaceSettings(), k)}
        settings = FCNetConfig.for_task(task, classes=1, **given).surface_settings
    paths = meshes_below(folder)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(workers or cores, len(paths))
    skipped, problems = 0, []
    began = time.perf_counter()
    columns = (
        TextColumn("preparing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    # Spawned, not forked: the parent may hold threads.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=_start_worker,
        initargs=(max(cores // workers, 1),),
    )
    try:
        with Progress(*columns, disable=not sys.stderr.isatty()) as progress:
            bar = progress.add_task("", total=len(paths), rate="")
            left = {pool.submit(_prepare, path, settings, cache) for path in paths}
            done_count = 0
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for future in done:
                    fresh, problem = future.result()
                    done_count += 1
                    skipped += not fresh and not problem
                    if problem:
                        problems.append(problem)
                    rate = done_count / (time.perf_counter() - began)
                    progress.update(bar, advance=1, rate=f"{rate:.1f} meshes/s")
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():  # entries are written whole or not at all
            worker.terminate()
        raise
    pool.shutdown()
    made = len(paths) - skipped - len(problems)
    print(f"{made} prepared, {skipped} were there already, {len(problems)} failed, "
          f"{time.perf_counter() - began:.1f} s")  # fmt: skip
    for problem in sorted(problems):
        print(f"  {problem}", file=sys.stderr)
    return 1 if problems else 0


def _start_worker(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle


def _prepare(path: Path, settings: SurfaceSettings, cache: Path | None) -> tuple[bool, str]:
    """Prepare one mesh; gives whether there was anything to do, and what went wrong."""
    from fieldconv.cache import SurfaceCache
    from fieldconv.geometry.mesh import Mesh

    store = SurfaceCache(cache)
    try:
        mesh = Mesh.load(path)
        if store.has(mesh, settings):
            return False, ""
        store.surface(mesh, settings)
    except (ValueError, OSError) as error:
        message = str(error)
        return True, message if str(path) in message else f"{path}: {message}"
    return True, ""


def cache(
    action: tyro.conf.Positional[Literal["size", "clear"]] = "size", /, folder: Path | None = None
) -> None:
    """Size of what is kept (prepared surfaces, distances on templates), or clear it.

    Args:
        action: What to do.
        folder: Another folder than the user's cache folder.
    """
    from fieldconv.cache import SurfaceCache

    store = SurfaceCache(folder)
    count, size = store.clear() if action == "clear" else store.size()
    done = "removed from" if action == "clear" else "in"
    print(f"{count} files, {size / 1e6:.1f} MB, {done} {store.folder}")
