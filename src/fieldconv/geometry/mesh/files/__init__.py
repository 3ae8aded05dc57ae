"""Mesh files: OBJ, OFF, PLY, STL and GLB, read and written without touching the order of the vertices.

trimesh reads GLB only: it splits OBJ vertices by their texture indices and drops further PLY properties. Each
format holds:

======  ===========================  ==============  ============  =====================
suffix  positions                    vertex colours  face colours  further vertex data
======  ===========================  ==============  ============  =====================
.ply    exact                        yes             yes           yes
.off    exact                        yes             yes           no
.obj    exact                        yes             no            no
.glb    single precision             yes             no            no
.stl    single precision, unordered  no              no            no
======  ===========================  ==============  ============  =====================

STL has no vertices, only loose triangles: equal corners are joined, in order of first appearance.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np

from fieldconv._io import atomic_path
from fieldconv.geometry.mesh.files import glb, obj, off, ply, stl, xyz
from fieldconv.geometry.mesh.files.common import MAX_LETTERS, Contents, MeshError, check_kind

__all__ = ["MESH_SUFFIXES", "Contents", "MeshError", "meshes_below", "read", "write"]

_FORMATS = {".obj": obj, ".off": off, ".ply": ply, ".stl": stl, ".glb": glb}
MESH_SUFFIXES = tuple(_FORMATS)


def meshes_below(folder: Path) -> list[Path]:
    """Return all mesh files in a folder and the folders in it, sorted, without hidden files."""
    if not folder.is_dir():
        raise MeshError(f"{folder} is not a folder; check its name")
    found = (p for p in folder.rglob("*") if p.suffix.lower() in MESH_SUFFIXES)
    meshes = sorted(p for p in found if p.is_file() and not p.name.startswith("."))
    if not meshes:
        raise MeshError(f"{folder} holds no meshes ({', '.join(MESH_SUFFIXES)})")
    return meshes


def read(path: str | Path, *, points: bool = False) -> Contents:
    """Read a mesh file in the format of its suffix; with ``points``, also one without faces.

    Raises
    ------
    MeshError
        If the file cannot be read; the message says why.
    """
    path = Path(path)
    reader = xyz if points and path.suffix.lower() == ".xyz" else _format_of(path)
    try:
        if path.is_dir():
            raise MeshError(f"{path} is a folder; give one of the mesh files in it")
        if path.exists() and not path.is_file():  # reading a FIFO would block
            raise MeshError(f"{path} is not a file; give a mesh file")
        data = path.read_bytes()
    except FileNotFoundError:
        raise MeshError(f"{path} does not exist; check its name and folder") from None
    except MeshError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        raise MeshError(f"{path} cannot be read ({error}); check its permissions") from error
    try:
        if not data.strip():
            raise MeshError("the file is empty; fetch or export it again")
        check_kind(data)
        with np.errstate(all="ignore"):  # the bytes may be any numbers
            contents: Contents = reader.read(data)
        if len(contents.faces) == 0 and not points:
            raise MeshError(
                "the file has no faces; give a triangle mesh, not a point cloud or another kind of file"
            )
        return contents
    except MeshError as error:
        text = str(error)
        short = text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]} …"
        raise MeshError(f"{path}: {short}") from error.__cause__
    except (MemoryError, RecursionError):
        raise MeshError(f"{path}: the file is too large or too deeply nested to be read here") from None


def write(contents: Contents, path: str | Path) -> list[str]:
    """Write a mesh file in the format of its suffix, whole or not at all.

    Returns the parts that the format cannot hold, in words.
    """
    path = Path(path)
    writer = _format_of(path)
    parts = {
        "vertex colours": contents.vertex_colours is not None,
        "face colours": contents.face_colours is not None,
        "vertex data": bool(contents.vertex_data),
    }
    data = writer.write(contents)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
    return [part for part, present in parts.items() if present and part not in writer.KEEPS]


def _format_of(path: Path) -> ModuleType:
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMATS)
        raise MeshError(f"{path}: unknown mesh format {path.suffix!r}; use one of {known}") from None
