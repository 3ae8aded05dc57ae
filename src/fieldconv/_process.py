"""State of the caller's process that is restored after use."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


@contextmanager
def process_unchanged() -> Iterator[None]:
    """Restore environment variables, warning filters and Python's random state after the block.

    Many packages change one of them when they are imported.
    """
    variables, numbers = dict(os.environ), random.getstate()
    with warnings.catch_warnings():
        try:
            yield
        finally:
            random.setstate(numbers)
            for name in set(os.environ) - set(variables):
                del os.environ[name]
            os.environ.update(variables)


_lock = Lock()
_inside = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit matrix products to one thread inside the block.

    The limit holds for the whole process. If several threads are in such blocks at once, the first to enter
    sets the limit and the last to leave lifts it; otherwise one would restore the limit of another.
    """
    from threadpoolctl import threadpool_limits

    global _inside, _limits
    with _lock:
        if _inside == 0:
            _limits = threadpool_limits(1)
            _let_others_set_limits()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limits.restore_original_limits()
                _let_others_set_limits()
                _limits = None


def _let_others_set_limits() -> None:
    """Allow any thread to set limits, since the thread that lifts them may not have set them.

    From version 3.8 on, threadpoolctl allows that to one thread only.
    """
    import threadpoolctl

    controller = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", None)  # public, for this purpose
    if clear is not None:
        clear()
