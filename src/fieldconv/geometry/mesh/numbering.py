"""Number vertices by position and make faces agree, so that nothing depends on how a file lists them.

Regular meshes are full of ties: equal distances, equally long paths, several farthest points. Vertex numbers
break them. Numbers by position do so alike however the file orders vertices, faces and their corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.orientation import faces_to_turn

Codes = NDArray[np.uint64]

CELLS = 2**21 - 1  # along each axis: three numbers of 21 bits make one of 63
NEIGHBOUR_ROUNDS = 3  # how many rings of neighbours distinguish vertices at the same place
MIN_VERTICES, MAX_MEAN_GAP = 100_000, 0.1  # when `with_near_numbers` acts; the gap as a share of the vertices
MAX_KEY_VERTICES = 1_600_000  # three numbers and a bit fit into one key of 63 bits

_numbered: WeakSet[Mesh] = WeakSet()  # meshes that are numbered by position already


@dataclass(frozen=True, eq=False)
class Numbered:
    """The same mesh, renumbered by `by_position`, its faces turned over where neighbours disagreed."""

    mesh: Mesh
    order: Ints  # (V,) old number of each vertex
    place: Ints  # (V,) new number of each old vertex
    first_face: Ints  # (V,) first face of each vertex in the old mesh, from which its angles were measured
    turned: int  # number of faces turned over
    mirrored: Bools  # (V,) whether most faces around each old vertex were turned over: its outer side swaps
    one_sided: int  # number of faces in parts that cannot be oriented

    @property
    def actions(self) -> list[str]:
        """What was done about faces that disagree, in words."""
        actions = []
        if self.turned:
            many = f"{self.turned:,} face{'s' * (self.turned > 1)}"
            actions.append(f"turned over {many} to agree with neighbours, closed parts outward")
        if self.one_sided:
            actions.append(f"left {self.one_sided:,} faces of one-sided parts as they are")
        return actions


def by_position(mesh: Mesh) -> Numbered:
    """Return a mesh with its vertices numbered by position, and with neighbouring faces that agree.

    Neighbours decide the order of vertices at the same place. Every closed part is turned outward. Elsewhere
    as few faces as possible are turned over. A part that cannot be oriented, such as a Möbius strip, is left
    as it is.

    Examples
    --------
    >>> square = Mesh([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> numbered = by_position(square)
    >>> numbered.order.tolist(), numbered.mesh.faces.tolist()
    ([2, 3, 1, 0], [[0, 1, 3], [0, 3, 2]])
    """
    if mesh in _numbered:
        every = np.arange(len(mesh.vertices))
        first_face = _first_faces(every, mesh.faces, np.arange(len(mesh.faces)))
        return Numbered(mesh, every, every, first_face, 0, np.zeros(len(every), bool), 0)
    order = position_order(mesh.validate().vertices, mesh.faces)
    place = _inverse(order)
    faces, sorting = _sort_faces(place[mesh.faces], len(order))
    first_face = _first_faces(place, mesh.faces, _inverse(sorting))
    vertices = mesh.vertices[order]
    turn, one_sided = faces_to_turn(vertices, faces)
    turned = int(np.count_nonzero(turn))
    mirrored = np.zeros(len(order), bool)
    if turned:
        sides = np.bincount(faces.ravel(), np.repeat(np.where(turn, 1, -1), 3), len(order))
        mirrored = sides[place] > 0
        faces[turn] = faces[turn][:, [0, 2, 1]]
    renumbered = Mesh(vertices, faces, mesh.name)
    _numbered.add(renumbered)
    return Numbered(renumbered, order, place, first_face, turned, mirrored, one_sided)


def _inverse(order: Ints) -> Ints:
    """Return the place of each number in a permutation."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _first_faces(place: Ints, faces: Ints, number: Ints) -> Ints:
    """(V,) the new number of the first face of each vertex, vertices in their new order; 0 without a face."""
    first = np.zeros(len(place), np.int64)
    first[place[faces[::-1]].ravel()] = np.repeat(number[::-1], 3)  # the last of several assignments counts
    return first


def with_near_numbers(mesh: Mesh) -> Mesh:
    """Return the same mesh, renumbered if it is large and neighbours have numbers far apart.

    Loops over the faces of such a mesh take twice as long. Faces are not turned over.

    Examples
    --------
    >>> square = Mesh([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> with_near_numbers(square) is square
    True
    """
    count = len(mesh.vertices)
    if count < MIN_VERTICES or not np.isfinite(mesh.vertices).all():
        return mesh
    if np.abs(mesh.faces[:, 0] - mesh.faces[:, 1]).mean() < MAX_MEAN_GAP * count:
        return mesh
    order = position_order(mesh.vertices)
    faces = _inverse(order)[mesh.faces]
    return Mesh(mesh.vertices[order], faces[np.argsort(faces[:, 0], kind="stable")], mesh.name)


def position_order(points: Floats, faces: Ints | None = None) -> Ints:
    """Return the numbers of points in an order that depends on their positions only.

    Neighbours in space are mostly neighbours in it. Faces, if given, decide between points at the same place.

    Examples
    --------
    >>> position_order(np.array([[5.0, 0, 0], [0, 0, 0], [1, 0, 0]])).tolist()
    [1, 2, 0]
    """
    points = points + 0.0  # no negative zeros
    code = _codes(points)
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    tied = np.zeros(len(order), bool)
    tied[1:] = ordered[1:] == ordered[:-1]
    tied[:-1] |= tied[1:]
    if tied.any():
        some = order[tied]
        keys = [*points[some].T[::-1], code[some]]
        within = some[np.lexsort(keys)]
        if faces is not None and (points[within[1:]] == points[within[:-1]]).all(1).any():
            within = some[np.lexsort([_surroundings(points, faces)[some], *keys])]
        order[tied] = within
    return order


def _codes(points: Floats) -> Codes:
    """(n,) the cell of each point in a fine grid, as one number: bits of x, y and z in turn."""
    low = points.min(0)
    size = float((points.max(0) - low).max()) or 1.0
    cells = ((points - low) / size * CELLS).astype(np.uint64)
    code = np.zeros(len(points), np.uint64)
    for axis in range(3):
        spread = cells[:, axis]
        for shift, mask in (
            (32, 0x1F00000000FFFF),
            (16, 0x1F0000FF0000FF),
            (8, 0x100F00F00F00F00F),
            (4, 0x10C30C30C30C30C3),
            (2, 0x1249249249249249),
        ):
            spread = (spread | (spread << np.uint64(shift))) & np.uint64(mask)
        code |= spread << np.uint64(axis)
    return code


def _surroundings(points: Floats, faces: Ints) -> Codes:
    """(n,) a hash of the positions of each point's neighbours, of their neighbours, and so on."""
    bits = np.ascontiguousarray(points).view(np.uint64)
    label = _mix_bits(bits[:, 0] ^ _mix_bits(bits[:, 1] ^ _mix_bits(bits[:, 2])))
    for _ in range(NEIGHBOUR_ROUNDS):
        hashed = _mix_bits(label)
        around = np.zeros_like(label)
        for corner in range(3):  # sums of whole numbers do not depend on their order
            pair = hashed[faces[:, (corner + 1) % 3]] + hashed[faces[:, (corner + 2) % 3]]
            np.add.at(around, faces[:, corner], _mix_bits(pair))
        label = _mix_bits(label + around)
    return label


def _mix_bits(values: Codes) -> Codes:
    """Return a hash of each number: the final step of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Codes = values ^ (values >> np.uint64(31))
    return mixed


def _sort_faces(faces: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the faces, each from its lowest vertex on, sorted by their vertices, and the old number of each.

    Their orientation does not change their order.
    """
    first = faces.argmin(1)
    faces = np.take_along_axis(faces, (first[:, None] + np.arange(3)) % 3, 1)
    low, one, other = faces.T
    middle, high = np.minimum(one, other), np.maximum(one, other)
    last = 2 * high + (one > other)
    if count < MAX_KEY_VERTICES:
        sorting = np.argsort((low * count + middle) * (2 * count) + last, kind="stable")
    else:
        sorting = np.lexsort([last, low * count + middle])
    return faces[sorting], sorting
