"""Orientation of faces: whether neighbours agree, and which side of a closed part is outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.topology import FaceEdges, components_of, repeats_vertex
from fieldconv.geometry.mesh.triangles import BLOCK, cross


@dataclass(frozen=True, eq=False)
class DoubleCover:
    """Faces and their turned-over copies, linked across edges of two faces where they agree.

    A part of the mesh is orientable exactly when its two copies are not connected.
    """

    left: Ints  # (n,) first face of each pair that shares an edge
    right: Ints  # (n,) second face
    differ: Bools  # (n,) whether the two are oriented differently
    as_is: Ints  # (F,) connected part of the cover of each face
    turned: Ints  # (F,) connected part of its turned-over copy

    @staticmethod
    def of(edges: FaceEdges) -> DoubleCover:
        n = len(edges.faces)
        pair = edges.faces_of[edges.edge_of[edges.left]] == 2
        left, right = edges.left[pair], edges.right[pair]
        differ = edges.forward[left] == edges.forward[right]
        left, right = left // 3, right // 3
        _, part = components_of(2 * n, left, right + differ * n, left + n, right + ~differ * n)
        return DoubleCover(left, right, differ, part[:n], part[n:])

    @property
    def orientable(self) -> Bools:
        """(F,) whether the part of each face is orientable."""
        return np.asarray(self.as_is != self.turned)


def fewest_to_turn(cover: DoubleCover) -> Bools:
    """(F,) whether to turn each face over: as few as possible, so that all neighbours agree."""
    turn = _turn_fewer(cover)
    one_sided = np.flatnonzero(~cover.orientable)
    for first in np.unique(cover.as_is[one_sided], return_index=True)[1]:
        turn |= _to_turn_by_path(cover, int(one_sided[first]))
    return np.asarray(turn)


def _turn_fewer(cover: DoubleCover) -> Bools:
    """(F,) whether to turn each face over, in orientable parts."""
    as_is, turned = cover.as_is, cover.turned
    stay = np.bincount(as_is, minlength=int(turned.max()) + 1)  # faces that stay if this copy is chosen
    tie = (stay[as_is] == stay[turned]) & (as_is > turned)  # the part's first face stays
    return np.asarray(cover.orientable & ((stay[as_is] < stay[turned]) | tie))


def faces_to_turn(vertices: Floats, faces: Ints) -> tuple[Bools, int]:
    """(F,) which faces to turn over so that neighbours agree, and the number of faces in one-sided parts.

    Every closed part is turned outward, by the sign of the volume that it encloses. In other parts as few
    faces as possible are turned. One-sided parts stay as they are.
    """
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    ahead, back = start * len(vertices) + end, end * len(vertices) + start
    order, order_back = np.argsort(ahead), np.argsort(back)
    ahead, back = ahead[order], back[order_back]
    if (ahead[1:] != ahead[:-1]).all():  # every directed edge occurs once: all faces agree
        if np.array_equal(ahead, back):
            beyond, here, rim = order // 3, order_back // 3, order[:0]
        else:
            place = np.minimum(np.searchsorted(ahead, back), len(ahead) - 1)
            shared = ahead[place] == back
            beyond, here, rim = order[place[shared]] // 3, order_back[shared] // 3, order_back[~shared] // 3
        return _inward_parts(vertices, faces, here, beyond, rim), 0
    turn = np.zeros(len(faces), dtype=bool)
    usable = np.flatnonzero(~repeats_vertex(faces))
    edges = FaceEdges(faces[usable], len(vertices))
    cover = DoubleCover.of(edges)
    part = np.unique(np.minimum(cover.as_is, cover.turned), return_inverse=True)[1]
    turn[usable] = _turn_fewer(cover)
    closed = np.ones(part.max(initial=-1) + 1, dtype=bool)
    closed[part[np.flatnonzero((edges.faces_of != 2)[edges.edge_of]) // 3]] = False
    closed[part[~cover.orientable]] = False
    turn[usable] ^= (closed & _inward_volumes(vertices, edges.faces, turn[usable], part))[part]
    return turn, int(np.count_nonzero(~cover.orientable))


def faces_inward(vertices: Floats, edges: FaceEdges) -> bool:
    """Return whether a consistently oriented mesh is closed and encloses a negative volume."""
    if not len(edges.faces) or (edges.faces_of != 2).any():
        return False
    share = np.bincount(edges.faces.reshape(-1), minlength=len(vertices)) / edges.faces.size
    points = vertices / max(np.abs(vertices[share > 0]).max(), 1e-300)
    points -= share[share > 0] @ points[share > 0]
    volume = size = 0.0
    for begin in range(0, len(edges.faces), BLOCK):
        a, b, c = points[edges.faces[begin : begin + BLOCK].T]
        volumes = (a * cross(b, c)).sum(axis=1)
        volume, size = volume + volumes.sum(), size + np.abs(volumes).sum()
    return bool(volume < -1e-9 * size)


def _inward_parts(vertices: Floats, faces: Ints, here: Ints, beyond: Ints, rim: Ints) -> Bools:
    """(F,) which faces are in closed parts that face inward.

    Faces ``here`` have the neighbours ``beyond``, in the same order; faces ``rim`` lack a neighbour.
    """
    count = len(faces)
    if len(np.unique(rim)) == count:
        return np.zeros(count, dtype=bool)
    graph = coo_array((np.ones(len(here), dtype=np.int8), (here, beyond)), shape=(count, count)).tocsr()
    # Every link has its opposite, so the strong components are the parts; they take a third of the time.
    parts, part = connected_components(graph, connection="strong")
    closed = np.ones(parts, dtype=bool)
    closed[part[rim]] = False
    if closed.any():
        closed &= _inward_volumes(vertices, faces, np.zeros(count, dtype=bool), part)
    return np.asarray(closed[part])


def _inward_volumes(vertices: Floats, faces: Ints, turn: Bools, part: Ints) -> Bools:
    """(parts,) whether each closed part encloses a negative volume once its faces are turned."""
    count = int(part.max(initial=-1)) + 1
    origin = np.zeros((count, 3))
    origin[part] = vertices[faces[:, 0]]  # a nearby origin keeps the volume exact
    volume, size = np.zeros(count), np.zeros(count)
    for begin in range(0, len(faces), BLOCK):
        block = slice(begin, begin + BLOCK)
        a, b, c = (vertices[corner] - origin[part[block]] for corner in faces[block].T)
        signed = np.where(turn[block], -1.0, 1.0) * (a * cross(b, c)).sum(axis=1)
        volume += np.bincount(part[block], signed, count)
        size += np.bincount(part[block], np.abs(signed), count)
    return np.asarray(volume < -1e-9 * size)  # a flat pillow has no outside


def _to_turn_by_path(cover: DoubleCover, root: int) -> Bools:
    """(F,) whether to turn each face over in the part of face ``root``, which is not orientable.

    Each face follows its neighbour on the way to ``root``, if that leaves fewer disagreements.
    """
    left, right, n = cover.left, cover.right, len(cover.as_is)
    graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(n, n)).tocsr()
    links = zip(left.tolist(), right.tolist(), cover.differ.tolist(), strict=True)
    differ = {frozenset((a, b)): d for a, b, d in links}
    reached, towards = breadth_first_order(graph, root, directed=False)
    turn = np.zeros(n, dtype=bool)
    for face in reached[1:].tolist():
        near = int(towards[face])
        turn[face] = turn[near] ^ differ[frozenset((face, near))]
    if turn.sum() > len(reached) / 2:
        turn[reached] ^= True
    fewer = (turn[left] ^ turn[right] ^ cover.differ)[turn[left] | turn[right]]
    return turn if fewer.sum() < cover.differ[turn[left] | turn[right]].sum() else np.zeros(n, dtype=bool)
