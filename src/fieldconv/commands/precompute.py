"""`fieldconv precompute`: a folder of meshes prepared ahead of training."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Annotated

import tyro

from fieldconv.folders.parallel import Lines
from fieldconv.geometry.meshfiles import meshes_below
from fieldconv.surface.settings import SurfaceSettings


def precompute(
    folder: tyro.conf.Positional[Path],
    /,
    task: str | None = None,
    network: str = "fcnet",
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
        network: The network that will be trained for it.
        settings: How meshes are prepared.
        workers: Processes; as many as cores if 0.
        cache: Folder to keep prepared surfaces in; the user's cache folder if not given.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from fieldconv.networks import network_named
    from fieldconv.tasks import task_named

    if workers < 0:
        raise ValueError(f"workers is {workers}; give a whole number from 1 up, or 0 for as many as cores")
    if task is not None:
        given = {k: v for k, v in settings.to_dict().items() if v != getattr(SurfaceSettings(), k)}
        kind = network_named(network)
        settings = (
            task_named(task).network_config(kind.Config, network=network, classes=1, **given).surface_settings
        )
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
    lines = Lines("Preparing meshes", len(paths))
    # Spawned, not forked: the parent may hold threads.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=_start_worker,
        initargs=(max(cores // workers, 1), network),
    )
    try:
        with Progress(*columns, disable=not sys.stderr.isatty()) as progress:
            bar = progress.add_task("", total=len(paths), rate="")
            with _deaf_to_ctrl_c():  # what is started within never hears it: it is ours to handle
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
                    if progress.disable:
                        lines.step()
    except KeyboardInterrupt:
        for worker in active_children():  # entries are written whole or not at all
            worker.terminate()
        # An ordinary end, not an abrupt one: else Python complains about semaphores of the pool.
        pool.shutdown(cancel_futures=True)
        print("\nfieldconv: stopped. What was finished is kept; the same line goes on.", file=sys.stderr)
        return 130
    pool.shutdown()
    made = len(paths) - skipped - len(problems)
    print(f"{made} prepared, {skipped} were there already, {len(problems)} failed, "
          f"{time.perf_counter() - began:.1f} s")  # fmt: skip
    for problem in sorted(problems):
        print(f"  {problem}", file=sys.stderr)
    return 1 if problems else 0


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker(threads: int, network: str) -> None:
    import torch

    from fieldconv.networks import network_named

    torch.set_num_threads(threads)
    network_named(network)  # which may bring operators of its own


def _prepare(path: Path, settings: SurfaceSettings, cache: Path | None) -> tuple[bool, str]:
    """Prepare one mesh; return whether there was anything to do, and what went wrong."""
    from fieldconv.geometry.mesh import Mesh
    from fieldconv.surface.cache import SurfaceCache

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
