"""Writing of files: whole or not at all, the same on every system."""

from __future__ import annotations

import csv
import errno
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from fieldconv._arrays import Array


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; rename it onto ``path`` only if the block succeeds.

    Whatever stops the block (an exception, a full disk, Ctrl-C, SIGKILL), the old file stays as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Writers choose the format by the suffix, readers of folders skip names with a leading dot, and systems
    # limit the length of names.
    while True:
        temporary = path.parent / f".{path.stem[:40]}-{secrets.token_hex(4)}.part{path.suffix[:40]}"
        try:  # with the permissions that any new file has
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            break
        except FileExistsError:
            continue
    try:
        mode = temporary.stat().st_mode & 0o777
        yield temporary
        with open(temporary, "r+b") as written:  # open for writing: some systems flush no other handle
            os.fsync(written.fileno())
        temporary.chmod(mode)  # some writers replace the file by their own
        os.replace(temporary, path)
    except OSError as error:  # name the file itself, not the temporary one
        if error.filename not in (None, str(temporary), temporary):
            raise
        reason = error.strerror or " ".join(str(error).split())
        raise OSError(error.errno or errno.EIO, reason, str(path)) from None
    finally:
        with suppress(OSError):  # the folder may be gone
            temporary.unlink(missing_ok=True)


def read_text(path: str | Path) -> str:
    """Return the text of a UTF-8 file, without a byte-order mark."""
    return Path(path).read_text(encoding="utf-8-sig")


def write_text(path: str | Path, text: str) -> None:
    """Write text as UTF-8, with the same line ends on every system."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def write_json(path: str | Path, content: object) -> None:
    """Write plain values as indented JSON."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_csv(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table: a line of column names, then the rows."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def write_array(path: str | Path, values: Array) -> None:
    """Write an array as NumPy's ``.npy``."""
    with atomic_path(path) as temporary:
        np.save(temporary, values, allow_pickle=False)
