"""Run a function on every mesh of a dataset, in threads, and collect all problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fieldconv._compiled import num_threads
from fieldconv.geometry.mesh.mesh import MeshError
from fieldconv.labels.errors import DatasetError

Job = TypeVar("Job")
Result = TypeVar("Result")
Watch = Callable[[Sequence[Any]], Iterable[Any]]  # iterates over a list and shows progress


def run_all(
    jobs: Sequence[Job], work: Callable[[Job], Result], *, watch: Watch | None = None
) -> tuple[list[Result | None], list[str]]:
    """Return ``work(job)`` of every job, None where it fails, and a sentence for each failure.

    Threads suffice: the compiled loops release the interpreter lock.

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
            pool.shutdown(cancel_futures=True)  # Ctrl-C does not wait for the rest
            raise
    return results, list(dict.fromkeys(problems))


def attempt(work: Callable[[], Result]) -> tuple[Result | None, list[str]]:
    """Return ``work()`` and no problems, or None and the problems of the files it reads."""
    try:
        return work(), []
    except DatasetError as error:
        return None, [f"{error.what}: {problem}" for problem in error.problems]
    except MeshError as error:
        return None, [str(error)]
