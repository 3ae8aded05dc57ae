"""Where entries of the cache are: a folder that several processes share, or an object store.

A store reads, writes, lists and removes bytes under names. Its methods raise OSError, and nothing else.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fieldconv._io import atomic_path

STALE_SECONDS = 3600.0  # seconds after which an unfinished file has lost its writer


class Entry(NamedTuple):
    """An entry in a store: its name, size in bytes, and when it was last used, in seconds."""

    name: str
    size: int
    used: float


def _nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a FIFO without a writer would block


def store_at(where: str | os.PathLike[str]) -> FolderStore | ObjectStore:
    """Return the store in a folder, or at an address with ``://``."""
    text = os.fspath(where)
    if text.startswith("file://"):
        return FolderStore(Path(text.removeprefix("file://")))
    return ObjectStore(text) if "://" in text else FolderStore(Path(text))


class FolderStore:
    """Entries as files in a folder, whose path is ``where``."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.where = folder, str(folder)

    def read(self, name: str) -> bytes | None:
        """Return the bytes under a name; None if there are none that can be read."""
        path = self.folder / name
        try:
            with open(path, "rb", opener=_nonblocking) as file:
                about = os.fstat(file.fileno())
                content = file.read() if stat.S_ISREG(about.st_mode) else None
        except (OSError, ValueError):
            return None
        with suppress(OSError):  # when it was last used; nothing is lost without it
            os.utime(path, ns=(time.time_ns(), about.st_mtime_ns))
        return content

    def write(self, name: str, content: bytes) -> None:
        """Keep bytes under a name; others see all of them or none."""
        try:
            with atomic_path(self.folder / name) as temporary:
                temporary.write_bytes(content)
        except PermissionError:  # Windows replaces no entry while another process reads it
            if self.read(name) != content:
                raise

    def entries(self) -> list[Entry]:
        """Return all entries."""
        found = []
        for path in self.folder.glob("??/*.surface"):
            if path.name.startswith("."):
                continue
            try:
                about = path.stat()
            except OSError:  # another process removed it meanwhile
                continue
            if stat.S_ISREG(about.st_mode):
                used = max(about.st_atime, about.st_mtime)
                found.append(Entry(path.relative_to(self.folder).as_posix(), about.st_size, used))
        return sorted(found)

    def remove(self, name: str) -> None:
        """Remove an entry, if it is there."""
        (self.folder / name).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove what writers that were killed have left, never what is being written."""
        for path in self.folder.glob("??/.*.part.surface"):
            try:
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink(missing_ok=True)
            except OSError:
                continue


class ObjectStore:
    """Entries as objects in any store that fsspec knows, such as ``s3://bucket/surfaces``.

    Objects appear whole. Those of stores where they do not are recognised by their digest, as all damage is.
    Methods are those of `FolderStore`.
    """

    def __init__(self, address: str) -> None:
        self.where = address

    @contextmanager
    def _system(self) -> Iterator[tuple[Any, str]]:
        """The file system, and the path of the address in it."""
        try:
            import fsspec

            yield fsspec.core.url_to_fs(self.where)
        except Exception as error:  # stores raise errors of their own kinds
            raise OSError(f"{self.where}: {error}") from None

    def read(self, name: str) -> bytes | None:
        with suppress(OSError), self._system() as (system, root):
            return bytes(system.cat_file(_join(root, name)))
        return None

    def write(self, name: str, content: bytes) -> None:
        with self._system() as (system, root):
            system.makedirs(_join(root, name).rpartition("/")[0], exist_ok=True)
            system.pipe_file(_join(root, name), content)

    def entries(self) -> list[Entry]:
        with self._system() as (system, root):
            files = system.find(root, detail=True)
        within = len(_join(root, ""))
        return sorted(
            Entry(path[within:], int(about.get("size") or 0), 0.0)
            for path, about in files.items()
            if path.endswith(".surface")
        )

    def remove(self, name: str) -> None:
        with self._system() as (system, root), suppress(FileNotFoundError):
            system.rm_file(_join(root, name))

    def tidy(self) -> None:
        """Leave everything: there are no unfinished objects."""


def _join(root: str, name: str) -> str:
    return f"{root.rstrip('/')}/{name}"
