"""What belongs to the caller's process, and is given back as it was."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


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
