"""A folder of prepared surfaces, so that no mesh is prepared twice.

An entry's name is a hash of the geometry, the settings and the solver's version; its content is a digest
followed by safetensors. Entries are written whole or not at all, may be written by several processes at
once, and are checked when read: a truncated or altered entry is built again, never used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError

from ._io import atomic_path
from .geometry.geodesics import SOLVER_VERSION
from .geometry.mesh import Mesh
from .settings import SurfaceSettings
from .surface import Surface

_FORMAT = 1  # raise it when the tensors of a Surface change
_DIGEST = hashlib.sha256().digest_size


def default_folder() -> Path:
    """Where surfaces are kept: ``$FIELDCONV_CACHE``, or the user's cache folder."""
    if "FIELDCONV_CACHE" in os.environ:
        return Path(os.environ["FIELDCONV_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fieldconv"


class SurfaceCache:
    """Prepared surfaces on disk.

    Examples
    --------
    >>> import tempfile
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> cache = SurfaceCache(tempfile.mkdtemp())
    >>> surface = cache.surface(square, SurfaceSettings(radius=0.5))
    >>> cache.has(square, SurfaceSettings(radius=0.5)), cache.has(square, SurfaceSettings(radius=0.4))
    (True, False)
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()

    def surface(self, mesh: Mesh, settings: SurfaceSettings) -> Surface:
        """The surface of a mesh: read if it is there and sound, else built and kept."""
        found = self.find(mesh, settings)
        if found is None:
            found = Surface.from_mesh(mesh, **settings.to_dict())
            _write(self.path(mesh, settings), found)
        return found

    def find(self, mesh: Mesh, settings: SurfaceSettings) -> Surface | None:
        """The surface of a mesh, if a sound entry is there."""
        return _read(self.path(mesh, settings))

    def has(self, mesh: Mesh, settings: SurfaceSettings) -> bool:
        """Whether a sound entry is there."""
        return self.find(mesh, settings) is not None

    def path(self, mesh: Mesh, settings: SurfaceSettings) -> Path:
        """Where the entry of this mesh with these settings is, or would be."""
        return self._path(settings.to_dict(), mesh.vertices.tobytes() + mesh.faces.tobytes())

    def load(self, key: object) -> Surface | None:
        """What was kept under ``key``, anything that can be JSON; None if there is nothing sound."""
        return _read(self._path(key))

    def save(self, key: object, surface: Surface) -> None:
        """Keep a surface, with all tensors added to it, under ``key``."""
        _write(self._path(key), surface)

    def _path(self, key: object, content: bytes = b"") -> Path:
        digest = hashlib.sha256()
        digest.update(json.dumps([_FORMAT, SOLVER_VERSION, key], sort_keys=True).encode())
        digest.update(content)
        name = digest.hexdigest()
        return self.folder / name[:2] / f"{name[2:]}.surface"

    def entries(self) -> list[Path]:
        """Prepared surfaces, and distances on templates."""
        return sorted([*self.folder.glob("??/*.surface"), *self.folder.glob("distances/*.npy")])

    def size(self) -> tuple[int, int]:
        """Number of entries, and bytes they take."""
        entries = self.entries()
        return len(entries), sum(_ignoring_absence(lambda e=entry: e.stat().st_size) for entry in entries)  # type: ignore[misc]

    def clear(self) -> tuple[int, int]:
        """Remove every entry; gives what `size` gave before."""
        removed = self.size()
        unfinished = [*self.folder.glob("??/.*.part.surface"), *self.folder.glob("distances/.*.part.npy")]
        for entry in [*self.entries(), *unfinished]:
            entry.unlink(missing_ok=True)
        return removed


def _ignoring_absence(look: Callable[[], int]) -> int:
    try:
        return look()
    except FileNotFoundError:  # another process cleared it meanwhile
        return 0


def _write(path: Path, surface: Surface) -> None:
    content = safetensors.torch.save({key: value.contiguous() for key, value in surface.to_dict().items()})
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)


def _read(path: Path) -> Surface | None:
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    content = memoryview(stored)[_DIGEST:]
    if hashlib.sha256(content).digest() != stored[:_DIGEST]:
        return None
    try:
        return Surface(**safetensors.torch.load(bytes(content)))
    except (SafetensorError, ValueError):
        return None
