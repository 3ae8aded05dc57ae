"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; rename it onto ``path`` only if the block succeeds.

    Whatever stops the block (an exception, a full disk, Ctrl-C, SIGKILL), the old file stays as it was
    and no half-written file bears its name.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "labels.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("1 2 3")
    >>> target.read_text()
    '1 2 3'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Same suffix: writers choose the format by it. Leading dot: folder readers leave it alone.
    while True:
        temporary = path.parent / f".{path.stem}-{secrets.token_hex(4)}.part{path.suffix}"
        try:  # with the permissions that any new file has
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            break
        except FileExistsError:
            continue
    mode = temporary.stat().st_mode & 0o777
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(mode)  # some writers put a file of their own there
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
