"""Report the defects of a mesh: all of them, or those that matter to a prediction; tell it from specks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.files.common import repeats_row
from fieldconv.geometry.mesh.orientation import DoubleCover, faces_inward
from fieldconv.geometry.mesh.topology import FaceEdges, components, number_of_components, repeats_vertex
from fieldconv.geometry.mesh.triangles import degenerate

if TYPE_CHECKING:
    from fieldconv.geometry.mesh.mesh import Mesh

SPECK_SHARES = (1e-4, 1e-5, 1e-6, 1e-7)  # of the area; parts below the first that fits are specks
MAX_SPECKS_SHARE = 0.01  # a share fits if all parts below it together have no more than this


@dataclass(frozen=True, eq=False)
class MeshReport:
    """Result of `Mesh.check`: counts, and the indices of all defects. ``str(report)`` is a readable summary.

    Defects are indices (n,), edges (n, 2) of two vertices each. Faces that name a vertex twice do not count
    where edges are counted.

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
    """Parts that share no vertex; unreferenced vertices do not count."""
    boundary_loops: int
    """Connected boundary curves; 0 for a closed mesh."""
    boundary_edges: Ints
    """Edges of one face."""
    non_manifold_edges: Ints
    """Edges of three or more faces."""
    non_manifold_vertices: Ints
    """Vertices whose faces fall into several fans that touch only there."""
    inconsistent_edges: Ints
    """Edges whose two faces are oriented differently."""
    orientable: bool
    """Whether all neighbours can agree once some faces are turned over; false for a Möbius strip."""
    inside_out: bool
    """Whether the mesh is closed and consistent and its normals point inward."""
    degenerate_faces: Ints
    """Faces that name a vertex twice or have no area."""
    duplicate_faces: Ints
    """Faces with the same three vertices as an earlier one."""
    duplicate_vertices: Ints
    """Vertices at exactly the place of an earlier one."""
    unreferenced_vertices: Ints
    """Vertices of no face."""
    nan_vertices: Ints
    """Vertices with a coordinate that is NaN or infinite."""

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
                phrases.append(count_noun(counts[key], *nouns) + after)
        if not self.orientable:
            phrases.append("not orientable")
        if self.inside_out:
            phrases.append("inside out (normals point inward)")
        return phrases

    def __str__(self) -> str:
        loops = "closed (no boundary)"
        if self.boundary_loops:
            edges = count_noun(len(self.boundary_edges), "edge")
            loops = f"{count_noun(self.boundary_loops, 'boundary loop')} ({edges})"
        size = f"{count_noun(self.vertices, 'vertex', 'vertices')}, {count_noun(self.faces, 'face')}"
        problems = self.problems or ["no problems found"]
        return "\n".join([size, count_noun(self.components, "component"), loops, *problems])


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


def count_noun(count: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_noun(1, "vertex", "vertices"), count_noun(1200, "face")
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
        components=number_of_components(components(len(vertices), faces), faces),
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
        unreferenced_vertices=np.flatnonzero(~_has_face(len(vertices), faces)),
        nan_vertices=np.flatnonzero(~finite),
    )


def _has_face(count: int, faces: Ints) -> Bools:
    has_face = np.zeros(count, dtype=bool)
    has_face[faces] = True
    return has_face


@dataclass(frozen=True)
class Oddities:
    """Counts of what a network cannot see of a mesh, and repairs. ``str`` of it is a sentence, or empty."""

    vertices: int
    faces: int
    without_position: int  # vertices
    without_face: int  # vertices
    components: int
    repairs: tuple[str, ...] = ()  # those that the mesh needed, in words

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can hold."""
        return {**asdict(self), "repairs": list(self.repairs), "repaired": bool(self.repairs)}

    def __str__(self) -> str:
        phrases = []
        if self.without_position:
            phrases.append(f"{count_noun(self.without_position, 'vertex', 'vertices')} without a position")
        if self.without_face:
            phrases.append(f"{count_noun(self.without_face, 'vertex', 'vertices')} on no face")
        if self.components != 1:
            phrases.append(count_noun(self.components, "component"))
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
        without_face=int((~_has_face(count, mesh.faces)).sum()),
        components=number_of_components(components(count, mesh.faces), mesh.faces),
        repairs=tuple(repairs),
    )


def surface_vertices(mesh: Mesh) -> Ints:
    """Return the vertices of the surface of a mesh, ascending: those with a face and not of a speck.

    Scanners and exporters leave specks. One is a part with less than 1/10,000 of the area. If all specks
    together have more than 1/100, only parts with less than 1/100,000 are specks, and so on.

    Examples
    --------
    >>> from fieldconv.geometry import Mesh
    >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> speck = [[9, 9, 9], [9, 9, 9.01], [9, 9.01, 9]]
    >>> surface_vertices(Mesh([*square, *speck, [5, 5, 5]], [[0, 1, 2], [0, 2, 3], [4, 5, 6]]))
    array([0, 1, 2, 3])
    """
    count = len(mesh.vertices)
    part = components(count, mesh.faces)
    included = _has_face(count, mesh.faces)
    if number_of_components(part, mesh.faces) > 1:
        share = np.bincount(part[mesh.faces[:, 0]], mesh.face_areas / mesh.area, part.max() + 1)
        for limit in SPECK_SHARES:
            if share[share < limit].sum() <= MAX_SPECKS_SHARE:
                included &= (share >= limit)[part]
                break
    return np.flatnonzero(included)
