"""How compiled loops are made and run: numba functions without the interpreter lock, on plain threads.

numba's own thread layers are neither fork- nor thread-safe. A kernel here is single-threaded and releases
the interpreter lock; the caller cuts its work into blocks and `run_blocks` spreads them over a thread
pool. That is safe in forked DataLoader workers and in several threads at once, and because each block
writes its own rows, the result never depends on the number of threads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numba
from numba.core import event

Result = TypeVar("Result")


class _CompileNotice(event.Listener):  # type: ignore[misc]
    """Say once per process that compilation has begun; a kernel read from the cache stays silent."""

    def on_start(self, happening: event.Event) -> None:
        dispatcher = happening.data["dispatcher"]
        if dispatcher.py_func.__module__.startswith("fieldconv"):
            event.unregister("numba:compile", self)
            print("fieldconv: compiling kernels, kept for later runs …", file=sys.stderr, flush=True)

    def on_end(self, happening: event.Event) -> None:
        pass


event.register("numba:compile", _CompileNotice())


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, keep the machine code on disk, release the interpreter lock."""
    compiled: Callable[..., Any] = numba.njit(function, nogil=True, cache=True, error_model="numpy")
    return compiled


def num_threads() -> int:
    """Threads to use: torch's setting once torch is loaded (1 in DataLoader workers), else all cores."""
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
    """Call a function on another thread, if there may be one; gives what waits for the result.

    Examples
    --------
    >>> later = begin(max, 2, 3)
    >>> later()
    3
    """
    threads = num_threads()
    if threads <= 1:
        return partial(function, *arguments)
    return _pool(threads).submit(function, *arguments).result


def run_blocks(function: Callable[..., Result], blocks: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Call ``function(*block)`` for every block, in parallel, and give the results in order.

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
