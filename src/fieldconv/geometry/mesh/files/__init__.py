"""Mesh files: OBJ, OFF, PLY, STL and GLB, read and written without touching the order of the vertices.

The text formats, PLY and STL are parsed here rather than by trimesh, which splits OBJ vertices by their
texture indices and keeps no further PLY properties. What each format can hold:

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
from fieldconv.geometry.mesh.files.common import LONGEST, Contents, MeshError, check_kind

__all__ = ["MESH_SUFFIXES", "Contents", "MeshError", "meshes_below", "read", "write"]

_FORMATS = {".obj": obj, ".off": off, ".ply": ply, ".stl": stl, ".glb": glb}
MESH_SUFFIXES = tuple(_FORMATS)


def meshes_below(folder: Path) -> list[Path]:
    """Return all mesh files in a folder and the folders in it, sorted; hidden files are skipped."""
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
        if path.exists() and not path.is_file():  # reading a pipe could wait forever
            raise MeshError(f"{path} is no file; give a mesh file")
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
        with np.errstate(all="ignore"):  # whatever numbers the bytes happen to be
            contents: Contents = reader.read(data)
        if len(contents.faces) == 0 and not points:
            raise MeshError(
                "the file has no faces; give a triangle mesh, not a point cloud or another kind of file"
            )
        return contents
    except MeshError as error:
        text = str(error)
        short = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
        raise MeshError(f"{path}: {short}") from error.__cause__
    except (MemoryError, RecursionError):
        raise MeshError(f"{path}: the file is too large or too deeply nested to be read here") from None


def write(contents: Contents, path: str | Path) -> list[str]:
    """Write a mesh file in the format of its suffix, whole or not at all.

    Returns what the format could not hold, in words.
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
    return [part for part, given in parts.items() if given and part not in writer.KEEPS]


def _format_of(path: Path) -> ModuleType:
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMATS)
        raise MeshError(f"{path}: unknown mesh format {path.suffix!r}; use one of {known}") from None
