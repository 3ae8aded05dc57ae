"""What belongs to the caller's process, and is given back as it was."""

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
    """Undo on leaving what the block did to environment variables, warning filters and Python's random state.

    Many packages change one of them when they are imported.

    Examples
    --------
    >>> with process_unchanged():
    ...     os.environ["SOME_PACKAGE_WAS_HERE"] = "1"
    >>> "SOME_PACKAGE_WAS_HERE" in os.environ
    False
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
    """Limit matrix products to one thread inside the block; afterwards they have as many as before.

    The limit holds for the whole process. Where several threads are in such a block at once, the first one to
    enter sets the limit and the last one to leave lifts it; otherwise one would restore the limit of another.
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
    """Give up that only this thread may set limits, as threadpoolctl has it from version 3.8 on.

    The thread that leaves the block last lifts the limit, and need not be the one that has set it.
    """
    import threadpoolctl

    controller = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", None)  # public, for this purpose
    if clear is not None:
        clear()
