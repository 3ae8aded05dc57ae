"""Triangle meshes: load, check, repair, normalise, save."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv._io import atomic_path

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class MeshError(ValueError):
    """A mesh, or a mesh file, that cannot be used; the message says why and what to do."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangle mesh.

    Parameters
    ----------
    vertices : (V, 3) float64
        Positions, in the order of the file.
    faces : (F, 3) int64
        Vertex indices.
    name : str
        Used in messages.
    vertex_colours, face_colours : (V, 4) and (F, 4) uint8, optional
        Red, green, blue, alpha.
    vertex_data : dict of str to (V,) arrays
        Further properties of the vertices, such as labels.

    Examples
    --------
    >>> Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).area
    0.5
    """

    vertices: Floats
    faces: Ints
    name: str = ""
    vertex_colours: NDArray[np.uint8] | None = None
    face_colours: NDArray[np.uint8] | None = None
    vertex_data: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        vertices = np.ascontiguousarray(self.vertices, dtype=np.float64)
        faces = np.ascontiguousarray(self.faces, dtype=np.int64)
        if vertices.ndim != 2 or vertices.shape[1] != 3:
            raise MeshError(f"{self._label}: vertices have shape {vertices.shape}; give (V, 3)")
        if len(faces) == 0:
            raise MeshError(f"{self._label}: no faces; give a mesh with at least one triangle")
        if faces.ndim != 2 or faces.shape[1] != 3:
            raise MeshError(f"{self._label}: faces have shape {faces.shape}; give (F, 3)")
        if faces.min() < 0 or faces.max() >= len(vertices):
            raise MeshError(f"{self._label}: a face names a vertex outside 0…{len(vertices) - 1}")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)

    @property
    def _label(self) -> str:
        return self.name or "mesh"

    @classmethod
    def load(cls, path: str | Path) -> Mesh:
        """Read OBJ, OFF, PLY, STL or GLB."""
        import trimesh

        loaded = trimesh.load(path, process=False, force="mesh")
        return cls(loaded.vertices, loaded.faces, name=Path(path).stem)

    def save(self, path: str | Path) -> None:
        """Write the mesh in the format of the suffix, whole or not at all."""
        import trimesh

        with atomic_path(path) as temporary:
            trimesh.Trimesh(self.vertices, self.faces, process=False).export(temporary)

    @cached_property
    def face_areas(self) -> Floats:
        """(F,) area of each face."""
        a, b, c = self.vertices[self.faces].transpose(1, 0, 2)
        areas: Floats = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
        return areas

    @cached_property
    def vertex_areas(self) -> Floats:
        """(V,) one third of the area of the faces around each vertex."""
        return np.bincount(
            self.faces.ravel(), np.repeat(self.face_areas / 3, 3), minlength=len(self.vertices)
        )

    @property
    def area(self) -> float:
        """Total area."""
        return float(self.face_areas.sum())

    @cached_property
    def vertex_normals(self) -> Floats:
        """(V, 3) unit normals, weighted by area; (0, 0, 1) where there is none."""
        a, b, c = self.vertices[self.faces].transpose(1, 0, 2)
        weighted = np.repeat(np.cross(b - a, c - a), 3, axis=0)
        corners = self.faces.ravel()
        count = len(self.vertices)
        normals = np.stack([np.bincount(corners, w, minlength=count) for w in weighted.T], axis=1)
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        unit: Floats = np.where(length > 0, normals / np.where(length > 0, length, 1), [0.0, 0.0, 1.0])
        return unit

    def normalised(self) -> Mesh:
        """The same mesh with unit area and its area-weighted centroid at the origin."""
        weights = self.vertex_areas / self.area
        return replace(self, vertices=(self.vertices - weights @ self.vertices) / self.area**0.5)
