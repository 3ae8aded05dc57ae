"""Where entries of the cache are: a folder that several processes share, or an object store.

A store reads, writes, lists and removes bytes under names. Its methods raise OSError, and nothing else.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fieldconv._io import atomic_path

STALE = 3600.0  # seconds after which an unfinished file has lost its writer


class Found(NamedTuple):
    """An entry in a store: its name, size in bytes, and when it was last used, in seconds."""

    name: str
    size: int
    used: float


class Store(Protocol):
    """Bytes under names."""

    where: str
    """The folder or address."""

    def read(self, name: str) -> bytes | None:
        """Return the bytes under a name; None if there are none that can be read."""

    def write(self, name: str, content: bytes) -> None:
        """Keep bytes under a name; others see all of them or none."""

    def entries(self) -> list[Found]:
        """Return all entries."""

    def remove(self, name: str) -> None:
        """Remove an entry, if it is there."""

    def tidy(self) -> None:
        """Remove what writers that were killed have left, never what is being written."""


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer would be waited for, for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def store_at(where: str | os.PathLike[str]) -> Store:
    """Return the store in a folder, or at an address with ``://``.

    Examples
    --------
    >>> store_at("memory://surfaces").where
    'memory://surfaces'
    """
    text = os.fspath(where)
    if text.startswith("file://"):
        return FolderStore(Path(text.removeprefix("file://")))
    return ObjectStore(text) if "://" in text else FolderStore(Path(text))


class FolderStore:
    """Entries as files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.where = str(folder)

    def path(self, name: str) -> Path:
        return self.folder / name

    def read(self, name: str) -> bytes | None:
        path = self.path(name)
        try:
            with open(path, "rb", opener=_without_waiting) as file:
                about = os.fstat(file.fileno())
                content = file.read() if stat.S_ISREG(about.st_mode) else None
        except (OSError, ValueError):
            return None
        with suppress(OSError):  # when it was last used; nothing is lost without it
            os.utime(path, ns=(time.time_ns(), about.st_mtime_ns))
        return content

    def write(self, name: str, content: bytes) -> None:
        path = self.path(name)
        try:
            with atomic_path(path) as temporary:
                temporary.write_bytes(content)
        except PermissionError:  # Windows replaces no entry while another process reads it
            if self.read(name) != content:
                raise

    def entries(self) -> list[Found]:
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
                found.append(Found(path.relative_to(self.folder).as_posix(), about.st_size, used))
        return sorted(found)

    def remove(self, name: str) -> None:
        self.path(name).unlink(missing_ok=True)

    def tidy(self) -> None:
        for path in self.folder.glob("??/.*.part.surface"):
            try:
                if time.time() - path.stat().st_mtime > STALE:
                    path.unlink(missing_ok=True)
            except OSError:
                continue


class ObjectStore:
    """Entries as objects in any store that fsspec knows, such as ``s3://bucket/surfaces``.

    Objects appear whole. Those of stores where they do not are recognised by their digest, as all damage is.
    """

    def __init__(self, address: str) -> None:
        self.where = address
        self._system: Any = None
        self._root = ""

    def _open(self) -> Any:
        if self._system is None:
            import fsspec

            try:
                self._system, self._root = fsspec.core.url_to_fs(self.where)
            except (ImportError, ValueError) as error:
                raise OSError(f"{self.where}: {error}") from None
        return self._system

    def path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def read(self, name: str) -> bytes | None:
        try:
            return bytes(self._open().cat_file(self.path(name)))
        except Exception:  # stores raise their own kinds; whatever it is, there is nothing to read
            return None

    def write(self, name: str, content: bytes) -> None:
        system = self._open()
        try:
            system.makedirs(self.path(name).rpartition("/")[0], exist_ok=True)
            system.pipe_file(self.path(name), content)
        except Exception as error:
            raise OSError(f"{self.where}: {error}") from None

    def entries(self) -> list[Found]:
        system = self._open()
        try:
            files = system.find(self._root, detail=True)
        except Exception as error:
            raise OSError(f"{self.where}: {error}") from None
        within = len(self.path(""))
        return sorted(
            Found(path[within:], int(about.get("size") or 0), 0.0)
            for path, about in files.items()
            if path.endswith(".surface")
        )

    def remove(self, name: str) -> None:
        try:
            self._open().rm_file(self.path(name))
        except FileNotFoundError:
            return
        except Exception as error:
            raise OSError(f"{self.where}: {error}") from None

    def tidy(self) -> None:
        """Leave everything: there are no unfinished objects."""
