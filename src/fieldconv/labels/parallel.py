"""Do the same with every mesh of a dataset: in threads, with a progress bar, noting all that goes wrong."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track

from fieldconv._compiled import num_threads
from fieldconv._duration import duration
from fieldconv.geometry.mesh.mesh import MeshError
from fieldconv.labels.errors import DatasetError

Job = TypeVar("Job")
Result = TypeVar("Result")
Watch = Callable[[Sequence[Any]], Iterable[Any]]
EVERY = 10.0  # seconds between two lines


def progress_bar(what: str) -> Watch:
    """Return what shows a progress bar over a list; where there is no terminal, a line every ten seconds."""

    def watch(jobs: Sequence[Any]) -> Iterable[Any]:
        return followed(jobs, what, total=len(jobs))

    return watch


def followed(things: Iterable[Any], what: str, *, total: int | None = None) -> Iterator[Any]:
    """Yield the same things and show how far they are: a bar in a terminal, else a line every ten seconds."""
    console = Console(stderr=True)
    if console.is_terminal:
        yield from track(things, what, total, console=console, transient=True)
        return
    lines = Lines(what, total)
    for thing in things:
        yield thing
        lines.step()


class Lines:
    """How far a long call is, where there is no terminal: a line on standard error every ten seconds.

    Parameters
    ----------
    what : str
    total : int, optional
        Number of steps.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what, self.total, self.done = what, total, 0
        self.began = self.last = time.monotonic()

    def step(self, count: int = 1) -> None:
        """Count some steps as done."""
        self.done += count
        now = time.monotonic()
        if now - self.last < EVERY:
            return
        self.last = now
        text = f"{self.what}: {self.done:,}"
        if self.total:
            left = (now - self.began) / self.done * (self.total - self.done)
            text += f" of {self.total:,}, about {duration(left)} left"
        print(text, file=sys.stderr, flush=True)


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
