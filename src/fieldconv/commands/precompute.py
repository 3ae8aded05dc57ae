"""`fieldconv precompute`: a folder of meshes prepared ahead of training, on one machine or many."""

from __future__ import annotations

import os
import re
import secrets
import signal
import sys
import time
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import fieldconv as fc
from fieldconv._progress import Progress
from fieldconv.commands.output import one_line
from fieldconv.surface.settings import SurfaceSettings

Job = tuple[Path, SurfaceSettings, str, str]  # mesh, how to prepare it, cache, network
Outcome = tuple[bool, str]  # whether it was not prepared before, and what went wrong

SETTINGS = (
    "surface",
    "How meshes are prepared; with --task, as its training does if not given.",
    SurfaceSettings,
    vars(SurfaceSettings()),
)


def precompute_command(
    folder: Path,
    /,
    task: str | None = None,
    network: str = "fcnet",
    workers: int = 0,
    cache: str | None = None,
    shard: str | None = None,
    dask: str | None = None,
    **options: Any,
) -> int:
    """Prepare every mesh in a folder, and the folders in it, ahead of training.

    What is prepared is kept; a second run skips it. Ctrl-C loses nothing that is finished. A mesh that
    cannot be used is named at the end.

    $ fieldconv precompute MESHES --task segmentation
    $ fieldconv precompute MESHES --task segmentation --shard 3/16 --cache /shared/surfaces
    $ fieldconv precompute MESHES --task segmentation --dask tcp://scheduler:8786 --cache s3://bucket/surfaces

    Args:
        folder: Folder of meshes.
        task: Prepare them as training for this task does, by default settings, unless options say otherwise.
        network: The network that will be trained for it.
        workers: Processes; as many as cores if 0.
        cache: Folder or address (such as s3://bucket/surfaces) to keep prepared surfaces in; the user's cache
            folder if not given.
        shard: Only this part of the meshes, such as 3/16 for the third of sixteen; for arrays of jobs.
        dask: Address of a Dask scheduler, whose workers do the work; needs `pip install fieldconv[cluster]`.
    """
    if workers < 0:
        raise ValueError(f"workers is {workers}; give a whole number from 1 up, or 0 for as many as cores")
    if task is None:
        settings = SurfaceSettings(**options)
    else:
        kind = fc.networks.network_named(network).Config
        config = fc.tasks.task_named(task).network_config(kind, network=network, classes=1, **options)
        settings = config.surface_settings
    paths = fc.geometry.meshes_below(folder)
    paths = paths if shard is None else shard_of(paths, shard)
    # Other machines may have another home, and start in another folder.
    where = cache or fc.surface.default_folder()
    where = where if "://" in where else os.path.abspath(where)
    if dask is None:  # workers of a cluster may see folders that this machine does not
        fc.SurfaceCache(where).check_writable()
    jobs = [(path.absolute(), settings, where, network) for path in paths]
    skipped, problems = 0, []
    began = time.perf_counter()
    outcomes = _by_dask(jobs, dask) if dask is not None else _by_processes(jobs, workers)
    try:
        with closing(outcomes), Progress("Preparing meshes", len(jobs)) as progress:
            for number, (fresh, problem) in enumerate(outcomes, start=1):
                skipped += not fresh and not problem
                if problem:
                    problems.append(problem)
                rate = number / (time.perf_counter() - began)
                progress.step(note=f"{rate:.1f} meshes/s")
    except KeyboardInterrupt:
        print("\nfieldconv: stopped. What was finished is kept; the same line goes on.", file=sys.stderr)
        return 130
    made = len(jobs) - skipped - len(problems)
    print(f"{made} prepared, {skipped} were there already, {len(problems)} failed, "
          f"{time.perf_counter() - began:.1f} s")  # fmt: skip
    for problem in sorted(problems):
        print(f"  {problem}", file=sys.stderr)
    return 1 if problems else 0


def shard_of(paths: list[Path], shard: str) -> list[Path]:
    """Return every n-th path from the i-th on, for the shard "i/n"; raise ValueError if it is not one.

    Examples
    --------
    >>> [path.name for path in shard_of([Path("a"), Path("b"), Path("c"), Path("d"), Path("e")], "2/3")]
    ['b', 'e']
    """
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(
            f"shard is {shard[:40]!r}; give one of n parts, such as 3/16 for the third of sixteen"
        )
    return paths[int(match[1]) - 1 :: int(match[2])]


def _by_processes(jobs: list[Job], workers: int) -> Generator[Outcome, None, None]:
    """Prepare meshes in processes on this machine."""
    if not jobs:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(workers or cores, len(jobs))
    spawn = get_context("spawn")  # not fork: the parent may hold threads
    pool = ProcessPoolExecutor(workers, spawn, _start_worker, (max(cores // workers, 1),))
    try:
        # Child processes inherit that they ignore Ctrl-C; the parent handles it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            left = {pool.submit(prepare, *job) for job in jobs}
        finally:
            signal.signal(signal.SIGINT, before)
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    except BrokenProcessPool:
        raise ValueError(
            "a worker was ended by the system, perhaps for lack of memory; what is finished is kept: start "
            "again, with fewer --workers"
        ) from None
    except BaseException:
        for worker in active_children():  # entries are written whole or not at all
            worker.terminate()
        # Without this, Python warns about leaked semaphores of the pool.
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


def _by_dask(jobs: list[Job], address: str) -> Generator[Outcome, None, None]:
    """Prepare meshes on the workers of a Dask scheduler, which moves those of a lost worker to others."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ValueError("--dask needs `pip install fieldconv[cluster]`") from None
    try:
        client = Client(address, timeout=20)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(f"no Dask scheduler answers at {address}: {' '.join(str(error).split())}") from None
    if not jobs:
        return
    with client:
        keys = [f"fieldconv-{secrets.token_hex(4)}-{number}" for number in range(len(jobs))]
        futures = client.map(prepare, *zip(*jobs, strict=True), key=keys)
        named = {future.key: job[0] for future, job in zip(futures, jobs, strict=True)}
        finished = as_completed(futures)
        del futures  # so that the scheduler forgets finished ones
        for future in finished:
            try:
                yield future.result()
            except Exception as error:  # any failure of a worker, or its repeated loss
                yield True, f"{named[future.key]}: {' '.join(str(error).split())[:300]}"


def _start_worker(threads: int) -> None:
    import torch

    Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    """End this worker when its parent ends; otherwise it outlives a parent that is killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # nothing else ends a process from a thread; entries are written whole or not at all


def prepare(path: Path, settings: SurfaceSettings, cache: str, network: str) -> Outcome:
    """Prepare one mesh; return whether it was not prepared before, and what went wrong."""
    fc.networks.network_named(network)  # registers operators of its own
    try:
        store = fc.SurfaceCache(cache)
        mesh = fc.Mesh.load(path)
        if store.has(mesh, settings):
            return False, ""
        store.surface(mesh, settings)
    except (ValueError, OSError) as error:
        return True, one_line(error, path)
    return True, store.problem and f"{path}: {store.problem}"
