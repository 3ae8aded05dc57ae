"""A folder of prepared surfaces, so that no part of any mesh is computed twice.

Each part of a surface (samples, discs, signatures …) is an entry of its own. Its name is a hash of the mesh,
the part and the settings it depends on; its content is a digest followed by safetensors, which repeat the
name. Entries are written whole or not at all, may be written by several processes at once, and are checked
when read: an entry that is truncated, altered or under another name is computed again, never used.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from fieldconv._io import atomic_path
from fieldconv.geometry.mesh import Mesh
from fieldconv.surface.parts import Part, Preparation, make_parts, parts_of
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface

_FORMAT = 2  # raise it when the tensors of a Surface change
_DIGEST = hashlib.sha256().digest_size
_NAME = "entry"  # under which the safetensors repeat the entry's name


def default_folder() -> Path:
    """Return where surfaces are kept: ``$FIELDCONV_CACHE``, or the user's cache folder."""
    if "FIELDCONV_CACHE" in os.environ:
        return Path(os.environ["FIELDCONV_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fieldconv"


def mesh_digest(mesh: Mesh) -> str:
    """Return a hash of a mesh's vertices and faces."""
    digest = hashlib.sha256(mesh.vertices.tobytes())
    digest.update(mesh.faces.tobytes())
    return digest.hexdigest()


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
        """Return the surface of a mesh: sound parts are read, the others are made and kept."""
        digest, parts = mesh_digest(mesh), parts_of(settings)
        found = {part.name: self._read(digest, part, settings) for part in parts}
        missing = [part for part in parts if found[part.name] is None]
        if missing:
            made = make_parts(Preparation(mesh, settings), missing)
            for part in missing:
                self.save(_part_key(digest, part, settings), made[part.name])
            found |= made
        return Surface.assemble({name: part for name, part in found.items() if part is not None}, settings)

    def find(self, mesh: Mesh | str, settings: SurfaceSettings) -> Surface | None:
        """Return the surface of a mesh (or of its `mesh_digest`), if all its parts are there and sound."""
        digest = mesh if isinstance(mesh, str) else mesh_digest(mesh)
        found = {}
        for part in parts_of(settings):
            tensors = self._read(digest, part, settings)
            if tensors is None:
                return None
            found[part.name] = tensors
        return Surface.assemble(found, settings)

    def has(self, mesh: Mesh, settings: SurfaceSettings) -> bool:
        """Whether all parts of a surface are there and sound."""
        return self.find(mesh, settings) is not None

    def paths(self, mesh: Mesh, settings: SurfaceSettings) -> dict[str, Path]:
        """Return where each part of the surface is, or would be."""
        digest = mesh_digest(mesh)
        return {part.name: self.path(_part_key(digest, part, settings)) for part in parts_of(settings)}

    def load(self, key: object) -> dict[str, Tensor] | None:
        """Return the tensors kept under ``key`` (anything that can be JSON); None if nothing sound is."""
        path = self.path(key)
        try:
            stored = path.read_bytes()
        except OSError:
            return None
        content = memoryview(stored)[_DIGEST:]
        if hashlib.sha256(content).digest() != stored[:_DIGEST]:
            return None
        try:
            if _entry_name(bytes(content)) != _name(key):
                return None
            return safetensors.torch.load(bytes(content))
        except (SafetensorError, ValueError):
            return None

    def save(self, key: object, tensors: dict[str, Tensor]) -> None:
        """Keep tensors under ``key``."""
        plain = {name: value.contiguous() for name, value in tensors.items()}
        content, path = safetensors.torch.save(plain, {_NAME: _name(key)}), self.path(key)
        try:
            with atomic_path(path) as temporary, open(temporary, "wb") as file:
                file.write(hashlib.sha256(content).digest())
                file.write(content)
        except PermissionError:  # Windows replaces no entry while another process reads it
            if self.load(key) is None:
                raise

    def path(self, key: object) -> Path:
        """Return the file of the entry under ``key``."""
        name = _name(key)
        return self.folder / name[:2] / f"{name[2:]}.surface"

    def _read(self, digest: str, part: Part, settings: SurfaceSettings) -> dict[str, Tensor] | None:
        return self.load(_part_key(digest, part, settings))

    def entries(self) -> list[Path]:
        """Return the files of prepared surfaces, and of distances on templates."""
        return sorted([*self.folder.glob("??/*.surface"), *self.folder.glob("distances/*.npy")])

    def size(self) -> tuple[int, int]:
        """Return the number of entries, and the bytes they take."""
        sizes = [_file_size(entry) for entry in self.entries()]
        return len(sizes), sum(sizes)

    def clear(self) -> tuple[int, int]:
        """Remove every entry; return what `size` was before."""
        removed = self.size()
        unfinished = [*self.folder.glob("??/.*.part.surface"), *self.folder.glob("distances/.*.part.npy")]
        for entry in [*self.entries(), *unfinished]:
            entry.unlink(missing_ok=True)
        return removed


def _part_key(digest: str, part: Part, settings: SurfaceSettings) -> list[object]:
    return [digest, *part.key(settings)]


def _name(key: object) -> str:
    return hashlib.sha256(json.dumps([_FORMAT, key], sort_keys=True).encode()).hexdigest()


def _entry_name(content: bytes) -> str | None:
    """The name that safetensors repeat, from their header: a length of eight bytes, then JSON."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    return str(header.get("__metadata__", {}).get(_NAME)) if isinstance(header, dict) else None


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # another process cleared it meanwhile
        return 0
