"""Prepared surfaces on disk, so that no part of any mesh is computed twice.

Each part of a surface (samples, discs, signatures …) is an entry of its own. Its name is a hash of the mesh,
the part and the settings it depends on; its content is a digest followed by packed tensors, which repeat the
name. Entries are written whole or not at all, may be written by several processes at once, and are checked
when read: an entry that is truncated, altered or under another name is computed again, never used.

A cache that cannot be written to, because the disk is full or it belongs to somebody else, is reported once,
and work goes on without it. A cache in a folder is kept below a size (``$FIELDCONV_CACHE_LIMIT``, such as
20GB; 50GB by default, none for no limit): the entries that were not used for longest are removed first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

from torch import Tensor

from fieldconv._io import atomic_path
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.surface.codec import PackingError, pack_tensors, unpack_tensors
from fieldconv.surface.parts import Preparation, make_parts, parts_of
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface

FOLDER, LIMIT = "FIELDCONV_CACHE", "FIELDCONV_CACHE_LIMIT"
_FORMAT = 3  # raise it when the tensors of a Surface change
_DIGEST = hashlib.sha256().digest_size
_NAME = "entry"  # under which the packed tensors repeat the entry's name
_DEFAULT_LIMIT = "50GB"
_KEEP_SHARE = 0.9  # of the limit that is left when entries are removed, so that not every write removes some
_RECOUNT_SHARE = 0.05  # of the limit that is written before entries of other processes are counted again
_IN_USE_SECONDS = 600.0  # an entry that was used so recently may be needed again
_STALE_SECONDS = 3600.0  # seconds after which an unfinished file has lost its writer
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_reported: set[str] = set()
_reporting, _counting = Lock(), Lock()


def default_folder() -> str:
    """Return the default folder: ``$FIELDCONV_CACHE``, or the user's cache folder."""
    if os.environ.get(FOLDER):
        return os.environ[FOLDER]
    return str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fieldconv")


def size_limit(text: str | None = None) -> int | None:
    """Return the bytes that a size such as "20GB" means; by default ``$FIELDCONV_CACHE_LIMIT``.

    Examples
    --------
    >>> size_limit("20GB"), size_limit("none")
    (20000000000, None)
    """
    text = (text if text is not None else os.environ.get(LIMIT) or _DEFAULT_LIMIT).strip()
    if text.lower() == "none":
        return None
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?) *([KMGT]?)B?", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{LIMIT} is {text[:40]!r}; give a size such as 20GB, or none")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def mesh_digest(mesh: Mesh) -> str:
    """Return a hash of a mesh's vertices and faces."""
    digest = hashlib.sha256(mesh.vertices.tobytes())
    digest.update(mesh.faces.tobytes())
    return digest.hexdigest()


class SurfaceCache:
    """Prepared surfaces on disk.

    Parameters
    ----------
    folder : path, optional
        A folder, or an address that fsspec knows, such as ``s3://bucket/surfaces``; else `default_folder`.
    limit : int, optional
        Bytes it may take; else `size_limit`. It holds for folders, not for object stores.

    Attributes
    ----------
    problem : str
        Why the last entry could not be written; empty if all could.

    Examples
    --------
    >>> import tempfile
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> cache = SurfaceCache(tempfile.mkdtemp())
    >>> surface = cache.surface(square, SurfaceSettings(radius=0.5))
    >>> cache.has(square, SurfaceSettings(radius=0.5)), cache.has(square, SurfaceSettings(radius=0.4))
    (True, False)
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, limit: int | None = None) -> None:
        self._store = store_at(folder if folder is not None else default_folder())
        self.folder = self._store.where
        self.limit = limit if limit is not None else size_limit()
        self.problem = ""
        self._size: int | None = None  # of all entries when they were last counted
        self._written = 0  # since then

    def surface(self, mesh: Mesh, settings: SurfaceSettings) -> Surface:
        """Return the surface of a mesh: intact parts are read, the others are computed and stored."""
        keys = _part_keys(mesh_digest(mesh), len(mesh.vertices), settings)
        found = {name: self.load(key) for name, key in keys.items()}
        missing = [part for part in parts_of(settings) if found[part.name] is None]
        if missing:
            made = make_parts(Preparation(mesh, settings.in_effect(len(mesh.vertices))), missing)
            for name, tensors in made.items():
                self.save(keys[name], tensors)
            found |= made
        return Surface.assemble({name: part for name, part in found.items() if part is not None}, settings)

    def find(self, mesh: Mesh, settings: SurfaceSettings) -> Surface | None:
        """Return the surface of a mesh if all its parts are there and intact."""
        return self.find_by_digest(mesh_digest(mesh), len(mesh.vertices), settings)

    def find_by_digest(self, digest: str, vertices: int, settings: SurfaceSettings) -> Surface | None:
        """Return the surface of the mesh with this `mesh_digest` and so many vertices, as `find` does."""
        found = {}
        for name, key in _part_keys(digest, vertices, settings).items():
            tensors = self.load(key)
            if tensors is None:
                return None
            found[name] = tensors
        return Surface.assemble(found, settings)

    def has(self, mesh: Mesh, settings: SurfaceSettings) -> bool:
        """Whether all parts of a surface are there and intact."""
        return self.find(mesh, settings) is not None

    def paths(self, mesh: Mesh, settings: SurfaceSettings) -> dict[str, Path]:
        """Return the file of each part of the surface in a folder, whether it exists or not."""
        keys = _part_keys(mesh_digest(mesh), len(mesh.vertices), settings)
        return {name: self.path(key) for name, key in keys.items()}

    def load(self, key: object) -> dict[str, Tensor] | None:
        """Return the tensors stored under ``key`` (any JSON value); None if there are none intact."""
        stored = self._store.read(_file(key))
        return None if stored is None else read_entry(stored, entry_name(key))

    def save(self, key: object, tensors: dict[str, Tensor]) -> bool:
        """Store tensors under ``key``; return whether that succeeded."""
        content = write_entry(entry_name(key), tensors)
        try:
            self._store.write(_file(key), content)
            self._make_room(len(content))
        except OSError as error:
            self.problem = self._unwritable(error)
            _report_once(f"the cache {self.problem}; going on without it")
            return False
        return True

    def check_writable(self) -> None:
        """Raise OSError if nothing can be written there."""
        name = f"00/.{uuid4().hex}.part.surface"  # no entry, and tidied away if it is left behind
        try:
            self._store.write(name, b"")
            self._store.remove(name)
        except OSError as error:
            raise OSError(f"the cache {self._unwritable(error)}") from None

    def _unwritable(self, error: OSError) -> str:
        reason = error.strerror or " ".join(str(error).split())[:200]
        return f"{self.folder} cannot be written to ({reason})"

    def path(self, key: object) -> Path:
        """Return the file of the entry under ``key``, in a folder."""
        return Path(self.folder) / _file(key)

    def entries(self) -> list[Entry]:
        """Return the entries: name, size, and when each was last used."""
        return self._store.entries()

    def size(self) -> tuple[int, int]:
        """Return the number of entries, and the bytes they take."""
        sizes = [entry.size for entry in self.entries()]
        return len(sizes), sum(sizes)

    def clear(self) -> tuple[int, int]:
        """Remove every entry, but nothing that is being written; return `size` as it was before."""
        found = self.entries()
        for entry in found:
            self._store.remove(entry.name)
        self._store.tidy()
        return len(found), sum(entry.size for entry in found)

    def _make_room(self, size: int) -> None:
        """Count what was written; if it is too much, remove the entries that were not used for longest."""
        if self.limit is None or not isinstance(self._store, FolderStore):
            return
        with _counting:
            self._written += size
            known = self._size is not None and self._written <= _RECOUNT_SHARE * self.limit
            if known and (self._size or 0) + self._written <= self.limit:
                return
            entries = sorted(self._store.entries(), key=lambda entry: entry.used)
            self._size, self._written = sum(entry.size for entry in entries), 0
            if self._size <= self.limit:
                return
            self._store.tidy()
            for entry in entries:
                if self._size <= _KEEP_SHARE * self.limit:
                    break
                if time.time() - entry.used < _IN_USE_SECONDS:
                    _report_once(
                        f"the cache {self.folder} may take {self.limit / 1e9:.3g} GB, less than what "
                        f"is in use; {LIMIT} sets another limit"
                    )
                self._store.remove(entry.name)
                self._size -= entry.size


def write_entry(name: str, tensors: dict[str, Tensor]) -> bytes:
    """Return an entry: the digest of all that follows, then packed tensors that bear the name."""
    content = pack_tensors(tensors, {_NAME: name})
    return hashlib.sha256(content).digest() + content


def read_entry(stored: bytes, name: str) -> dict[str, Tensor] | None:
    """Return the tensors of an entry; None if it is damaged or bears another name."""
    content = stored[_DIGEST:]
    if hashlib.sha256(content).digest() != stored[:_DIGEST]:
        return None
    try:
        tensors, about = unpack_tensors(content)
    except PackingError:
        return None
    return tensors if about.get(_NAME) == name else None


def entry_name(key: object) -> str:
    """Return the name of the entry under a key: a hash."""
    return hashlib.sha256(json.dumps([_FORMAT, key], sort_keys=True).encode()).hexdigest()


def _file(key: object) -> str:
    name = entry_name(key)
    return f"{name[:2]}/{name[2:]}.surface"


def _part_keys(digest: str, vertices: int, settings: SurfaceSettings) -> dict[str, list[object]]:
    kept = settings.in_effect(vertices)
    return {part.name: [digest, *part.key(kept)] for part in parts_of(settings)}


def _report_once(message: str) -> None:
    with _reporting:
        if message in _reported:
            return
        _reported.add(message)
    print(f"fieldconv: {message}", file=sys.stderr, flush=True)


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
    """Entries as files in a folder, whose path is ``where``; methods raise OSError, and nothing else."""

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
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
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
