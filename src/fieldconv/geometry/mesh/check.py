"""Report the defects of a mesh: all of them, or those that matter to a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from fieldconv._arrays import Floats, Ints
from fieldconv.geometry.mesh.topology import FaceEdges, number_of_components, repeats_vertex
from fieldconv.geometry.mesh.triangles import degenerate

if TYPE_CHECKING:
    from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.files.common import repeats_row
from fieldconv.geometry.mesh.orientation import DoubleCover, faces_inward


@dataclass(frozen=True, eq=False)
class MeshReport:
    """Result of `Mesh.check`: counts, and the indices of all defects. ``str(report)`` is a readable summary.

    Faces that name a vertex twice do not count where edges are counted.

    Attributes
    ----------
    vertices, faces : int
        Size of the mesh.
    components : int
        Parts that share no vertex. Unreferenced vertices do not count.
    boundary_loops : int
        Connected boundary curves; 0 for a closed mesh.
    boundary_edges : (n, 2) int64
        Edges of one face.
    non_manifold_edges : (n, 2) int64
        Edges of three or more faces.
    non_manifold_vertices : (n,) int64
        Vertices whose faces fall into several fans that touch only there.
    inconsistent_edges : (n, 2) int64
        Edges whose two faces are oriented differently.
    orientable : bool
        Whether all neighbours can agree once some faces are turned over; false for a Möbius strip.
    inside_out : bool
        Whether the mesh is closed and consistent and its normals point inward.
    degenerate_faces : (n,) int64
        Faces that name a vertex twice or have no area.
    duplicate_faces : (n,) int64
        Faces with the same three vertices as an earlier one.
    duplicate_vertices : (n,) int64
        Vertices at exactly the place of an earlier one.
    unreferenced_vertices : (n,) int64
        Vertices of no face.
    nan_vertices : (n,) int64
        Vertices with a coordinate that is NaN or infinite.

    Examples
    --------
    >>> from fieldconv.geometry.mesh.mesh import Mesh
    >>> print(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).check())
    3 vertices, 1 face
    1 component
    1 boundary loop (3 edges)
    no problems found
    """

    vertices: int
    faces: int
    components: int
    boundary_loops: int
    boundary_edges: Ints
    non_manifold_edges: Ints
    non_manifold_vertices: Ints
    inconsistent_edges: Ints
    orientable: bool
    inside_out: bool
    degenerate_faces: Ints
    duplicate_faces: Ints
    duplicate_vertices: Ints
    unreferenced_vertices: Ints
    nan_vertices: Ints

    @property
    def counts(self) -> dict[str, int]:
        """Every attribute as a number, for tables and JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: len(v) if isinstance(v, np.ndarray) else int(v) for k, v in values.items()}

    @property
    def problems(self) -> list[str]:
        """One phrase for each kind of defect; empty for a clean mesh. A boundary is no defect."""
        counts = self.counts
        phrases = []
        for key, (*nouns, after) in _DEFECTS.items():
            if counts[key]:
                phrases.append(counted(counts[key], *nouns) + after)
        if not self.orientable:
            phrases.append("not orientable")
        if self.inside_out:
            phrases.append("inside out (normals point inward)")
        return phrases

    @property
    def lines(self) -> list[str]:
        """The report in words."""
        loops = "closed (no boundary)"
        if self.boundary_loops:
            edges = counted(len(self.boundary_edges), "edge")
            loops = f"{counted(self.boundary_loops, 'boundary loop')} ({edges})"
        size = f"{counted(self.vertices, 'vertex', 'vertices')}, {counted(self.faces, 'face')}"
        return [size, counted(self.components, "component"), loops, *(self.problems or ["no problems found"])]

    def __str__(self) -> str:
        return "\n".join(self.lines)


_DEFECTS = {  # singular, perhaps plural, and what follows
    "nan_vertices": ("vertex", "vertices", " with NaN or infinite positions"),
    "duplicate_vertices": ("duplicate vertex", "duplicate vertices", ""),
    "unreferenced_vertices": ("unreferenced vertex", "unreferenced vertices", ""),
    "degenerate_faces": ("degenerate face", ""),
    "duplicate_faces": ("duplicate face", ""),
    "non_manifold_edges": ("non-manifold edge", " (of three or more faces)"),
    "non_manifold_vertices": ("non-manifold vertex", "non-manifold vertices", " (where fans of faces touch)"),
    "inconsistent_edges": ("edge", " between faces oriented differently"),
}


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "vertex", "vertices"), counted(1200, "face")
    ('1 vertex', '1,200 faces')
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def inspect(vertices: Floats, faces: Ints) -> MeshReport:
    """Return the report of a mesh; positions (V, 3) may hold NaN, face indices (F, 3) are in range."""
    finite = np.isfinite(vertices).all(axis=1)
    repeats = repeats_vertex(faces)
    edges = FaceEdges(faces[~repeats] if repeats.any() else faces, len(vertices))
    inconsistent = edges.unique[edges.disagree]
    return MeshReport(
        vertices=len(vertices),
        faces=len(faces),
        components=number_of_components(len(vertices), faces),
        boundary_loops=edges.boundary_loops(),
        boundary_edges=edges.unique[edges.faces_of == 1],
        non_manifold_edges=edges.unique[edges.faces_of > 2],
        non_manifold_vertices=edges.vertices_of_several_fans(),
        inconsistent_edges=inconsistent,
        orientable=not len(inconsistent) or bool(DoubleCover.of(edges).orientable.all()),
        inside_out=bool(finite.all()) and not len(inconsistent) and faces_inward(vertices, edges),
        degenerate_faces=np.flatnonzero(degenerate(vertices, faces)),
        duplicate_faces=np.flatnonzero(repeats_row(np.sort(faces, axis=1))),
        duplicate_vertices=np.flatnonzero(repeats_row(vertices)),
        unreferenced_vertices=_unreferenced(len(vertices), faces),
        nan_vertices=np.flatnonzero(~finite),
    )


def _unreferenced(count: int, faces: Ints) -> Ints:
    unreferenced = np.ones(count, dtype=bool)
    unreferenced[faces] = False
    return np.flatnonzero(unreferenced)


@dataclass(frozen=True)
class Oddities:
    """Parts of a mesh that a network cannot see, and repairs. ``str`` of it is a sentence, or empty.

    Attributes
    ----------
    vertices, faces : int
        Size of the mesh.
    without_position : int
        Vertices with a coordinate that is NaN or infinite.
    without_face : int
        Vertices without a face.
    components : int
        Parts of the mesh that share no vertex.
    repairs : tuple of str
        Repairs that the mesh needed, in words.
    """

    vertices: int
    faces: int
    without_position: int
    without_face: int
    components: int
    repairs: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can hold."""
        return {**asdict(self), "repairs": list(self.repairs), "repaired": bool(self.repairs)}

    def __str__(self) -> str:
        phrases = []
        if self.without_position:
            phrases.append(f"{counted(self.without_position, 'vertex', 'vertices')} without a position")
        if self.without_face:
            phrases.append(f"{counted(self.without_face, 'vertex', 'vertices')} on no face")
        if self.components != 1:
            phrases.append(counted(self.components, "component"))
        if self.repairs:
            phrases.append(f"repaired: {', '.join(self.repairs)}")
        return "; ".join(phrases)


def oddities(mesh: Mesh, repairs: Sequence[str] = ()) -> Oddities:
    """Return what is odd about a mesh that needed these repairs.

    Examples
    --------
    >>> from fieldconv.geometry import Mesh
    >>> str(oddities(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 9]], [[0, 1, 2]])))
    '1 vertex on no face'
    """
    count = len(mesh.vertices)
    return Oddities(
        vertices=count,
        faces=len(mesh.faces),
        without_position=int((~np.isfinite(mesh.vertices).all(axis=1)).sum()),
        without_face=len(_unreferenced(count, mesh.faces)),
        components=number_of_components(count, mesh.faces),
        repairs=tuple(repairs),
    )
