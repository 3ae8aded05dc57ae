"""Do the same with every mesh of a dataset: in threads, with a progress bar, noting all that goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track

from fieldconv._compiled import num_threads
from fieldconv.folders.errors import DatasetError
from fieldconv.geometry.mesh import MeshError

Job = TypeVar("Job")
Result = TypeVar("Result")
Watch = Callable[[Sequence[Any]], Iterable[Any]]


def progress_bar(what: str) -> Watch:
    """Return what shows a progress bar over a list; nothing is shown where there is no terminal."""
    console = Console(stderr=True)

    def watch(jobs: Sequence[Any]) -> Iterable[Any]:
        return track(jobs, what, console=console, disable=not console.is_terminal, transient=True)

    return watch


def run_all(
    jobs: Sequence[Job], work: Callable[[Job], Result], *, watch: Watch | None = None
) -> tuple[list[Result | None], list[str]]:
    """Return ``work(job)`` of every job, None where it fails, and why, one sentence each.

    Threads suffice, for the compiled loops hold no interpreter lock.

    Examples
    --------
    >>> run_all([1, 2, 3], lambda job: 10 * job)
    ([10, 20, 30], [])
    """
    results: list[Result | None] = []
    problems: list[str] = []
    with ThreadPoolExecutor(num_threads()) as pool:
        try:
            attempts = pool.map(lambda job: attempt(lambda: work(job)), jobs)
            for _, (result, notes) in zip(watch(jobs) if watch else jobs, attempts, strict=True):
                results.append(result)
                problems += notes
        except BaseException:
            pool.shutdown(cancel_futures=True)  # so that Ctrl-C need not wait for the rest
            raise
    return results, list(dict.fromkeys(problems))


def attempt(work: Callable[[], Result]) -> tuple[Result | None, list[str]]:
    """Return ``work()`` and no problems, or None and what is wrong with the files it reads."""
    try:
        return work(), []
    except DatasetError as error:
        return None, [f"{error.what}: {problem}" for problem in error.problems]
    except MeshError as error:
        return None, [str(error)]
