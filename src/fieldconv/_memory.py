"""How much memory is free, and what the process does with memory it has freed."""

from __future__ import annotations

import ctypes
import platform
from pathlib import Path


def available_memory() -> int | None:
    """Return the bytes of memory that this process could take, None if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = {line.split(":")[0]: line.split()[1] for line in lines if line.endswith("kB")}
    return 1024 * int(found["MemAvailable"]) if "MemAvailable" in found else None


# Numbers of options in glibc's malloc.h
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Keep freed memory for the next tensors, instead of returning it to the system.

    Every training step makes the same large tensors. By default glibc, the C library of most Linux systems,
    returns large blocks as soon as they are freed, and the system clears each page before it hands it out
    again, which takes a quarter of the time of a step. With this call the process stays as large as its peak.
    Other C libraries are left alone.

    Examples
    --------
    >>> keep_freed_memory()  # doctest: +SKIP
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_MAX, 0)  # no block of its own from the system for a large tensor
        library.mallopt(_TRIM_THRESHOLD, -1)  # never shrink


def give_back_memory() -> None:
    """Return freed memory to the system now, where the C library can."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
