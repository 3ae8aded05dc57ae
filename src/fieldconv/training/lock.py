"""One training at a time in a folder: a lock that ends with the process, and says who holds it."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from fieldconv._io import read_text, write_json

LOCK, HOLDER = ".lock", ".lock.json"


@contextmanager
def run_lock(out: str | Path | None) -> Iterator[None]:
    """Keep other processes from training into a folder; raise ValueError if one does already.

    The system takes the lock away when the process ends, however it ends.
    """
    if out is None:
        yield
        return
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"{folder} is in use: {_holder(folder)} trains there; wait for it, or choose another folder"
        ) from None
    try:
        began = time.strftime("%Y-%m-%d %H:%M:%S")
        write_json(folder / HOLDER, {"process": os.getpid(), "machine": platform.node(), "since": began})
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def _holder(folder: Path) -> str:
    try:
        held = json.loads(read_text(folder / HOLDER))
        return f"process {held['process']} on {held['machine']} since {held['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
