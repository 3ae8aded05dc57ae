"""Mend a mesh: merge vertices, drop, flip and turn faces."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.check import count_noun
from fieldconv.geometry.mesh.files.common import first_equal, repeats_row
from fieldconv.geometry.mesh.orientation import DoubleCover, faces_inward, fewest_to_turn
from fieldconv.geometry.mesh.topology import FaceEdges, components_of, repeats_vertex
from fieldconv.geometry.mesh.triangles import degenerate, scaled_sides


@dataclass(frozen=True, eq=False)
class Mended:
    """Faces of a mended mesh, and where its vertices and faces come from; see `Repair`."""

    faces: Ints
    vertex_map: Ints
    new_vertex: Ints
    face_map: Ints  # (F_new,) old index of each face
    actions: list[str]


def mend(vertices: Floats, faces: Ints) -> Mended:
    """Mend a mesh by the steps of `Mesh.repair`."""
    n_vertices = len(vertices)
    face_map = np.arange(len(faces))
    first: Ints = np.arange(n_vertices)  # the vertex that each one is merged into
    tally: Counter[str] = Counter()

    def keep(good: Bools) -> int:
        nonlocal faces, face_map
        faces, face_map = faces[good], face_map[good]
        return _count(~good)

    finite = np.asarray(np.isfinite(vertices).all(axis=1))
    tally["dropped {} with NaN or infinite positions|vertex|vertices"] = _count(~finite)
    tally["dropped {} of such vertices|face"] = keep(np.asarray(finite[faces].all(axis=1)))

    for _ in range(20):  # dropping a face may expose another seam to close
        before = tally.total()
        twin = _twins(vertices, faces)
        tally["merged {}|duplicate vertex|duplicate vertices"] += _count(twin != np.arange(n_vertices))
        first = twin[first]
        faces, swapped = _flip_flat_faces(vertices, twin[faces])
        tally["swapped the longest edge of {} of no area|face"] += swapped
        tally["dropped {}|degenerate face"] += keep(~degenerate(vertices, faces))
        pairs = keep(~_fold(faces, n_vertices)) // 2
        tally["dropped {} folded onto each other|pair of faces|pairs of faces"] += pairs
        tally["dropped {}|duplicate face"] += keep(~repeats_row(np.sort(faces, axis=1)))
        if tally.total() == before:
            break

    if len(faces):
        cover = DoubleCover.of(FaceEdges(faces, n_vertices))
        turn = fewest_to_turn(cover)
        faces[turn] = faces[turn][:, ::-1]
        tally["turned over {} to agree with neighbours|face"] = _count(turn)
        if cover.orientable.all() and faces_inward(vertices, FaceEdges(faces, n_vertices)):
            faces = faces[:, ::-1]
            tally["turned the whole mesh outward|mesh"] = 1

    vertex_map = np.flatnonzero(np.bincount(faces.ravel()))  # faster than np.unique
    new_vertex = np.full(n_vertices, -1)
    new_vertex[vertex_map] = np.arange(len(vertex_map))
    new_vertex = np.where(finite, new_vertex[first], -1)
    gone = _count(finite & (first == np.arange(n_vertices))) - len(vertex_map)
    tally["dropped {}|unreferenced vertex|unreferenced vertices"] = gone
    actions = [_plural_text(text, count) for text, count in tally.items() if count]
    return Mended(new_vertex[faces], vertex_map, new_vertex, face_map, actions)


def _count(mask: Bools) -> int:
    return int(np.count_nonzero(mask))


def _plural_text(text: str, count: int) -> str:
    sentence, *nouns = text.split("|")
    return sentence.format(count_noun(count, *nouns))


def _twins(vertices: Floats, faces: Ints) -> Ints:
    """(V,) the vertex to merge each one with: the first at the same place, or itself.

    Vertices on boundaries are merged, which closes seams, and so are the ends of an edge of no length. Two
    inner vertices at the same place are not: there a surface touches itself, and merging them would make it
    non-manifold.
    """
    group = first_equal(vertices)
    edges = FaceEdges(faces[~repeats_vertex(faces)], len(vertices))
    a, b = edges.unique[group[edges.unique[:, 0]] == group[edges.unique[:, 1]]].T
    rim = np.unique(edges.unique[edges.faces_of == 1])
    rim = rim[np.argsort(group[rim], kind="stable")]
    together = group[rim[1:]] == group[rim[:-1]]
    count, label = components_of(len(vertices), a, b, rim[:-1][together], rim[1:][together])
    first = np.full(count, len(vertices))
    np.minimum.at(first, label, np.arange(len(vertices)))
    return first[label]


def _fold(faces: Ints, n_vertices: int) -> Bools:
    """(F,) whether a face and its only copy stick out of a surface that is whole without them."""
    first = first_equal(np.sort(faces, axis=1))
    copies = np.bincount(first, minlength=len(faces))[first]
    edges = FaceEdges(faces, n_vertices)
    others = np.bincount(edges.edge_of, np.repeat(copies == 1, 3), len(edges.unique))
    stuck = ((edges.faces_of == 4) & (others == 2))[edges.edge_of].reshape(-1, 3)
    loose = (edges.faces_of == 2)[edges.edge_of].reshape(-1, 3)
    return np.asarray((copies == 2) & (stuck | loose).all(axis=1) & stuck.any(axis=1))


def _flip_flat_faces(vertices: Floats, faces: Ints) -> tuple[Ints, int]:
    """Give the middle corner of faces without area to their neighbour across the longest edge.

    Dropping such a face would tear a slit: its neighbours touch along it, but share no edge.
    """
    faces = faces.copy()
    flipped = 0
    for _ in range(20):  # chains of such faces take a round each
        flat = np.flatnonzero(degenerate(vertices, faces) & ~repeats_vertex(faces))
        if not len(flat):
            break
        row = np.flatnonzero(~repeats_vertex(faces))
        edges = FaceEdges(faces[row], len(vertices))
        touched: set[int] = set()
        longest_sides = np.linalg.norm(scaled_sides(vertices, faces[flat]), axis=2).argmax(axis=1)
        for place, longest in zip(np.searchsorted(row, flat), longest_sides, strict=True):
            edge = edges.edge_of[3 * place + longest]
            if edges.faces_of[edge] != 2 or edges.disagree[edge]:
                continue
            pair = edges.order[edges.begins[edge] : edges.begins[edge] + 2]
            other = int(pair[0] if pair[1] == 3 * place + longest else pair[1])
            f, g = int(row[place]), int(row[other // 3])
            if f in touched or g in touched:
                continue
            c, a, b = np.roll(faces[f], -longest)  # the longest edge runs from c to a; b lies between
            d = edges.faces[other // 3][(other + 2) % 3]
            if d == b:
                continue
            faces[f], faces[g] = (a, b, d), (b, c, d)
            touched |= {f, g}
            flipped += 1
        if not touched:
            break
    return faces, flipped
