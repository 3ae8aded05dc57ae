"""Compiled loops: numba functions that release the interpreter lock, run on plain Python threads.

numba's own thread layers are neither fork- nor thread-safe. A kernel here is single-threaded and releases
the interpreter lock; the caller cuts its work into blocks and `run_blocks` spreads them over a thread
pool. That is safe in forked DataLoader workers and in several threads at once, and because each block
writes its own rows, the result never depends on the number of threads.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numba
from numba.core import event

from fieldconv._arrays import Floats, Ints

Result = TypeVar("Result")


class _CompileNotice(event.Listener):  # type: ignore[misc]
    """Print a line when the first kernel is compiled, not read from the cache, and every ten seconds."""

    kernels = 0  # those that others call are compiled within these, and count too
    last = 0.0

    def on_start(self, compilation: event.Event) -> None:
        if not compilation.data["dispatcher"].py_func.__module__.startswith("fieldconv"):
            return
        self.kernels += 1
        now = time.monotonic()
        if self.kernels == 1:
            text = "compiling kernels, kept for later runs …"
        elif now - self.last >= 10:
            text = f"still compiling, {self.kernels} kernels so far …"
        else:
            return
        self.last = now
        print(f"fieldconv: {text}", file=sys.stderr, flush=True)

    def on_end(self, compilation: event.Event) -> None:
        """Ends are not printed."""


event.register("numba:compile", _CompileNotice())


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function compiled on first use, cached on disk, and run without the interpreter lock."""
    compiled: Callable[..., Any] = numba.njit(function, nogil=True, cache=True, error_model="numpy")
    return compiled


@kernel
def copy_into(source: Floats | Ints, target: Floats | Ints) -> None:
    """Copy a row into another one. In kernels, assigning a slice takes a second longer to compile."""
    for i in range(len(source)):
        target[i] = source[i]


def num_threads() -> int:
    """Return how many threads to use: torch's setting once torch is loaded, else the number of cores.

    In DataLoader workers torch's setting is 1.
    """
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):
        return int(torch.get_num_threads())
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _pool(threads: int) -> ThreadPoolExecutor:
    key = (os.getpid(), threads)  # a forked child inherits no live threads, so it makes its own pool
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(threads, thread_name_prefix="fieldconv")
    return _pools[key]


def begin(function: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:
    """Start a call on another thread and return a function that waits for its result.

    With one thread only, the call happens when the result is asked for.

    Examples
    --------
    >>> later = begin(max, 2, 3)
    >>> later()
    3
    """
    threads = num_threads()
    if threads <= 1:
        return functools.partial(function, *arguments)
    return _pool(threads).submit(function, *arguments).result


def blocks(count: int, size: int) -> list[tuple[int, int]]:
    """Return the range 0 … count in blocks of a size, for `run_blocks`.

    Examples
    --------
    >>> blocks(7, 3)
    [(0, 3), (3, 6), (6, 7)]
    """
    return [(start, min(start + size, count)) for start in range(0, count, size)]


def shares(count: int) -> list[tuple[int, int]]:
    """Return the range 0 … count in as many parts as there are threads, for `run_blocks`."""
    parts = max(min(num_threads(), count), 1)
    return list(itertools.pairwise(part * count // parts for part in range(parts + 1)))


def run_blocks(function: Callable[..., Result], blocks: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Call ``function(*block)`` for every block, in parallel, and return the results in order.

    Examples
    --------
    >>> run_blocks(lambda first, last: last - first, [(0, 2), (2, 7)])
    [2, 5]
    """
    threads = min(num_threads(), len(blocks))
    if threads <= 1:
        return [function(*block) for block in blocks]
    pool = _pool(threads)
    results: dict[int, Result] = {}
    waiting = enumerate(blocks)

    def work() -> None:
        for place, block in waiting:
            results[place] = function(*block)

    # The caller works too: others may wake late, since torch's idle threads keep their cores for a while.
    helpers = [pool.submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    return [results[place] for place in range(len(blocks))]
