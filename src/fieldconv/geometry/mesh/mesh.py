"""Triangle meshes: load, check, repair, normalise, save."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Array, Bytes, Floats, Ints
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.geometry.mesh import files as meshfiles
from fieldconv.geometry.mesh.check import MeshReport, inspect
from fieldconv.geometry.mesh.files.common import MeshError, colours, fan
from fieldconv.geometry.mesh.repair import mend
from fieldconv.geometry.mesh.triangles import degenerate_blocks, doubled_normals, sum_at_vertices

if TYPE_CHECKING:
    from fieldconv.viz.notebook import Display

__all__ = ["Mesh", "MeshError", "MeshReport", "Repair"]

# Outside these sizes, squares of squares of lengths overflow or vanish.
_MIN_SIZE, _MAX_SIZE = 1e-60, 1e60


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh; its arrays are copies, and not to be changed in place.

    Any faces with valid indices make a mesh, so that `check` can describe it and `repair` can mend it. Areas,
    normals, `normalised` and discs first call `validate`, which raises `MeshError` if positions are NaN or
    every face is degenerate.

    Parameters
    ----------
    vertices : (V, 3) float64
        Positions.
    faces : (F, 3) int64
        Vertex indices. Larger polygons, also of mixed sizes (a list of lists), are cut into triangles
        around their first corner.
    name : str
        Name used in messages.
    vertex_colours, face_colours : (V, 4) and (F, 4) uint8, optional
        Red, green, blue, alpha; three columns mean opaque, floats are fractions of one.
    vertex_data : dict of str to (V, …) arrays
        Further properties of the vertices, such as labels. Single numbers per vertex survive a save as PLY.
    cloud : bool
        Whether the vertices are points joined to a mesh, to which those without a face belong, too.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], [[0, 1, 2, 3]])
    >>> square.faces.tolist()
    [[0, 1, 2], [0, 2, 3]]
    >>> square.area, square.normalised().area
    (4.0, 1.0)
    """

    vertices: Floats
    faces: Ints
    name: str = ""
    vertex_colours: Bytes | None = None
    face_colours: Bytes | None = None
    vertex_data: dict[str, Array] = field(default_factory=dict)
    cloud: bool = False

    def __init__(
        self,
        vertices: ArrayLike,
        faces: ArrayLike | Sequence[Sequence[int]] = (),
        name: str = "",
        vertex_colours: ArrayLike | None = None,
        face_colours: ArrayLike | None = None,
        vertex_data: dict[str, Any] | None = None,
        cloud: bool = False,
    ) -> None:
        if isinstance(vertices, str | Path):
            raise TypeError(
                f"a mesh is made of positions and faces; read a file with Mesh.load({str(vertices)!r})"
            )
        try:
            positions = np.array(vertices, dtype=np.float64, order="C")
            sizes, corners = _polygons(faces)
            if positions.ndim != 2 or positions.shape[1] != 3:
                raise MeshError(f"vertices have shape {positions.shape}; give (V, 3)")
            if len(corners) and (corners.min() < 0 or corners.max() >= len(positions)):
                worst = int(corners.min() if corners.min() < 0 else corners.max())
                raise MeshError(f"a face names vertex {worst}; indices run from 0 to {len(positions) - 1}")
            triangles, polygon = fan(sizes, corners.astype(np.int64))
            if not len(triangles):
                raise MeshError("no faces; give at least one triangle")
            per_vertex = _colours("vertex", vertex_colours, len(positions))
            per_face = _colours("face", face_colours, len(sizes))
            data = {key: np.array(column) for key, column in (vertex_data or {}).items()}
            for key, column in data.items():
                if column.shape[:1] != (len(positions),):
                    raise MeshError(f"vertex data {key!r} has shape {column.shape}; give one row per vertex")
        except (MeshError, TypeError, ValueError) as error:
            raise MeshError(f"{name or 'mesh'}: {error}") from None
        per_triangle = None if per_face is None else per_face[polygon]
        values = (positions, triangles, name, per_vertex, per_triangle, data, cloud)
        for each, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, each.name, value)

    @classmethod
    def load(cls, path: str | Path) -> Mesh:
        """Read a mesh from an OBJ, OFF, PLY (text or binary), STL or GLB file.

        The order of the vertices is that of the file; STL has none, and equal corners are joined. Polygons
        are cut into triangles. Positions may be NaN: see `check` and `repair`.
        `fieldconv.geometry.mesh.files` lists what each format holds.

        Raises
        ------
        MeshError
            If the file cannot be read or has no faces.
        """
        return mesh_of(meshfiles.read(path), Path(path).stem)

    def save(self, path: str | Path) -> None:
        """Write the mesh in the format of the suffix, whole or not at all.

        PLY (binary) keeps everything exactly. A warning says if another format had to drop colours or data.
        """
        contents = meshfiles.Contents(
            self.vertices, self.faces, self.vertex_colours, self.face_colours, self.vertex_data
        )
        dropped = meshfiles.write(contents, path)
        if dropped:
            warnings.warn(
                f"{path}: {Path(path).suffix} keeps no {' and '.join(dropped)}; save as .ply to keep them",
                stacklevel=2,
            )

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Mesh({name}{len(self.vertices)} vertices, {len(self.faces)} faces)"

    def _repr_html_(self) -> str:
        from fieldconv.viz.notebook import mesh_html

        return mesh_html(self)

    def show(
        self,
        labels: ArrayLike | None = None,
        field: ArrayLike | None = None,
        disc: int | None = None,
        *,
        scalar: ArrayLike | dict[str, ArrayLike] | None = None,
        names: Sequence[str] = (),
        radius: float = RADIUS,
        up: str | None = None,
        height: int = 460,
    ) -> Display:
        """Show the mesh in a notebook, in 3-D and offline; a click on a vertex shows its values.

        Parameters
        ----------
        labels : (V,) int, optional
            A class per vertex; negative means none.
        field : (V,) complex or (V, 3) float, optional
            Vectors at the vertices, in the frames of `tangent_frames` or in space.
        disc : int, optional
            Show the geodesic disc of this vertex, on the mesh scaled to unit area.
        scalar : (V,) float, or dict of str to (V,) float, optional
            Numbers at the vertices, perhaps several with their names.
        names : sequence of str
            Names of the classes.
        radius : float
            Radius of the disc.
        up : "x", "y" or "z", optional
            Axis that points up; guessed if not given.
        height : int
            Height in pixels.

        Returns
        -------
        Display
            Shown if it ends a cell; ``.save("page.html")`` writes it.

        Examples
        --------
        >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]])
        >>> square.show(labels=[0, 0, 1, 1], names=["left", "right"])
        Display(0.1 MB, for a notebook; .save('page.html') writes it)
        """
        from fieldconv.viz.notebook import show_mesh

        return show_mesh(
            self,
            labels=labels,
            names=names,
            scalar=scalar,
            field=field,
            disc=disc,
            radius=radius,
            up=up,
            height=height,
        )

    def check(self) -> MeshReport:
        """Return a report on components, boundary and defects, to print and to read as data.

        Examples
        --------
        >>> report = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 9]], [[0, 1, 2]]).check()
        >>> report.unreferenced_vertices.tolist(), report.problems
        ([3], ['1 unreferenced vertex'])
        """
        return inspect(self.vertices, self.faces)

    def repair(self) -> Repair:
        """Return a repaired mesh, and the repairs.

        In this order: drop vertices with NaN and their faces; merge boundary vertices at exactly the same
        place, which closes seams, and the ends of edges of no length; swap the longest edge of flat faces;
        drop faces without area, pairs of faces folded onto each other that stick out, and second copies of
        faces; turn as few faces over as possible so that neighbours agree, and a closed mesh outward; drop
        unreferenced vertices. Non-manifold edges and vertices stay: everything in fieldconv accepts them.

        Raises
        ------
        MeshError
            If no face is left.

        Examples
        --------
        >>> repair = Mesh([[9, 9, 9], [0, 0, 0], [1, 0, 0], [0, 1, 0]], [[1, 2, 3]]).repair()
        >>> repair.vertex_map.tolist(), repair.actions
        ([1, 2, 3], ['dropped 1 unreferenced vertex'])
        """
        mended = mend(self.vertices, self.faces)
        if not len(mended.faces):
            raise MeshError(
                f"{self.name or 'mesh'}: every face is degenerate or has NaN corners; export it again"
            )
        rows = mended.vertex_map
        mesh = Mesh(
            self.vertices[rows],
            mended.faces,
            self.name,
            None if self.vertex_colours is None else self.vertex_colours[rows],
            None if self.face_colours is None else self.face_colours[mended.face_map],
            {key: data[rows] for key, data in self.vertex_data.items()},
        )
        return Repair(mesh, rows, mended.actions, mended.new_vertex)

    def validate(self) -> Mesh:
        """Return the mesh itself if it can be measured.

        Raises
        ------
        MeshError
            If a position is not finite, all faces are degenerate, or the mesh is too large or too small to
            compute with.
        """
        if self.problem is None:
            return self
        raise MeshError(f"{self.name or 'mesh'}: {self.problem}")

    @cached_property
    def problem(self) -> str | None:
        """The reason why the mesh cannot be measured, in words; None if it can.

        Examples
        --------
        >>> Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).problem
        >>> Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]).problem
        'every face is degenerate (no area); check the positions'
        """
        finite = np.isfinite(self.vertices).all(axis=1)
        if not finite.all():
            bad = int(np.argmin(finite))
            return f"the position of vertex {bad} is not finite; drop it, as Mesh.repair() does"
        size = np.abs(self.vertices).max()
        if size < _MAX_SIZE:
            size = np.abs(self.vertices - self.vertices[0]).max()
        if size >= _MAX_SIZE or 0 < size < _MIN_SIZE:
            return f"its size, {size:.1e}, is beyond what numbers can square; rescale its vertices"
        if all(block.all() for block in degenerate_blocks(self.vertices, self.faces)):
            return "every face is degenerate (no area); check the positions"
        return None

    @cached_property
    def _doubled_normals(self) -> Floats:
        self.validate()
        return doubled_normals(self.vertices, self.faces)

    @cached_property
    def face_areas(self) -> Floats:
        """(F,) area of each face."""
        areas: Floats = 0.5 * np.linalg.norm(self._doubled_normals, axis=1)
        return areas

    @cached_property
    def vertex_areas(self) -> Floats:
        """(V,) one third of the area of the faces around each vertex; 0 for unreferenced ones."""
        return sum_at_vertices(len(self.vertices), self.faces, self.face_areas / 3)

    @property
    def area(self) -> float:
        """Total area."""
        return float(self.face_areas.sum())

    @cached_property
    def vertex_normals(self) -> Floats:
        """(V, 3) unit normals: the mean over the faces around, weighted by area.

        Where there is no face, or they cancel, it is (0, 0, 1).
        """
        normals = sum_at_vertices(len(self.vertices), self.faces, self._doubled_normals)
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        unit: Floats = np.where(length > 0, normals / np.where(length > 0, length, 1), [0.0, 0.0, 1.0])
        return unit

    def normalised(self) -> Mesh:
        """Return the same mesh with unit area and its area-weighted centroid at the origin."""
        centroid = self.vertex_areas @ self.vertices / self.area
        return replace(self, vertices=(self.vertices - centroid) / self.area**0.5)


@dataclass(frozen=True, eq=False)
class Repair:
    """Result of `Mesh.repair`.

    Attributes
    ----------
    mesh : Mesh
    vertex_map : (V_new,) int64
        Old index of each new vertex: ``labels[repair.vertex_map]`` are the labels of the new vertices.
    actions : list of str
        The repairs in words; empty if none was needed.
    new_vertex : (V_old,) int64
        New index of each old vertex, that of its twin if it was merged, −1 if it was dropped.
    """

    mesh: Mesh
    vertex_map: Ints
    actions: list[str]
    new_vertex: Ints


def mesh_of(read: meshfiles.Contents, name: str) -> Mesh:
    """Return the mesh that a file holds."""
    return Mesh(read.vertices, read.faces, name, read.vertex_colours, read.face_colours, read.vertex_data)


def _polygons(faces: Any) -> tuple[Ints, Array]:
    """Number of corners of each polygon, and all corners, of an array or a list of lists."""
    try:
        table = np.asarray(faces)
    except ValueError:  # polygons of unequal size
        rows = [np.asarray(polygon) for polygon in faces]
        sizes = np.array([len(row) for row in rows], dtype=np.int64)
        corners = np.concatenate(rows)
    else:
        if table.size == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        if table.ndim != 2 or table.shape[1] < 3:
            raise MeshError(f"faces have shape {table.shape}; give (F, 3)")
        sizes = np.full(len(table), table.shape[1], dtype=np.int64)
        corners = table.reshape(-1)
    if corners.dtype.kind not in "iu":
        raise MeshError(f"faces are of type {corners.dtype}; give integer vertex indices")
    return sizes, corners


def _colours(of: str, values: ArrayLike | None, rows: int) -> Bytes | None:
    if values is None:
        return None
    table = np.asarray(values)
    if table.shape not in ((rows, 3), (rows, 4)) or table.dtype.kind not in "iuf":
        raise MeshError(f"{of} colours have shape {table.shape}; give ({rows}, 4) bytes")
    return colours(table, fractions=table.dtype.kind == "f")
