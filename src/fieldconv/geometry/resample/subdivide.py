"""The same surface with more vertices, and where each vertex of the coarser mesh is on it."""

from __future__ import annotations

import numpy as np

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.resample.coarsen import Resampled

MAX_ROUNDS = 24  # each halves the longest edges
TURN = np.array([0, 1, 2, 0, 1])


def subdivide(mesh: Mesh, vertices: int) -> Resampled:
    """Return the same surface with edges as short as those of an even mesh of ``vertices`` vertices.

    Long edges are split in the middle, repeatedly; the result has at most 1.5 times ``vertices``. A mesh that
    already has so many is returned as it is. The first vertices are those of the given mesh.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> fine = subdivide(square, 100)
    >>> 60 < len(fine.mesh.vertices) <= 150, round(fine.mesh.area, 12), fine.vertex_map.tolist()
    (True, 1.0, [0, 1, 2, 3])
    """
    fine, parents = subdivision(mesh, vertices)
    count = len(mesh.vertices)
    nearest = np.arange(len(fine.vertices))
    for first, ends in parents:
        nearest[first : first + len(ends)] = nearest[ends[:, 0]]
    return Resampled(fine, np.arange(count), nearest)


def subdivision(mesh: Mesh, vertices: int) -> tuple[Mesh, list[tuple[int, Ints]]]:
    """Return the mesh of `subdivide`, and for each round its first new vertex and the split edges (n, 2).

    New vertices are the middles of these edges, whose ends were there before.
    """
    points, faces, count = mesh.vertices, mesh.faces, len(mesh.vertices)
    parents: list[tuple[int, Ints]] = []
    longest = 1.4 * float(np.sqrt(2 / np.sqrt(3) * mesh.area / max(vertices, 1)))
    for _ in range(MAX_ROUNDS):
        room = vertices + vertices // 2 - len(points)
        edges, of_face = _edges(faces, len(points))
        length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
        chosen = np.flatnonzero(length > longest)
        if count >= vertices or room <= 0 or not len(chosen):
            break
        # The longest first; edges of one round differ by less than a factor of two, which avoids slivers.
        chosen = chosen[length[chosen] > 0.5 * length.max()]
        chosen = chosen[np.argsort(-length[chosen], kind="stable")[:room]]
        middle = np.full(len(edges), -1)
        middle[chosen] = len(points) + np.arange(len(chosen))
        faces = _split(points, faces, middle[of_face])
        parents.append((len(points), edges[chosen]))
        points = np.concatenate([points, points[edges[chosen]].mean(axis=1)])
    return (Mesh(points, faces, mesh.name) if parents else mesh), parents


def _edges(faces: Ints, count: int) -> tuple[Ints, Ints]:
    """(E, 2) the edges, once each, and (F, 3) the number of the edge from each corner to the next."""
    ends = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1), axis=-1).reshape(-1, 2)
    key, of_face = np.unique(ends[:, 0] * count + ends[:, 1], return_inverse=True)
    return np.stack(np.divmod(key, count), axis=1), of_face.reshape(-1, 3)


def _split(points: Floats, faces: Ints, middle: Ints) -> Ints:
    """The faces, split at the vertices in the middle (F, 3) of their edges, −1 where an edge has none."""
    number = (middle >= 0).sum(axis=1)
    # Rotate corners: one split edge comes first, and of two split edges the whole one comes last.
    first = np.where(number == 2, (middle < 0).argmax(axis=1) + 1, (middle >= 0).argmax(axis=1)) % 3
    place = TURN[first[:, None] + np.arange(3)]
    a, b, c = np.take_along_axis(faces, place, axis=1).T
    ab, bc, ca = np.take_along_axis(middle, place, axis=1).T
    parts = [np.stack([a, b, c], axis=1)[number == 0]]

    def add(which: Bools, *corners: tuple[Ints, Ints, Ints]) -> None:
        parts.extend(np.stack(triangle, axis=1)[which] for triangle in corners)

    add(number == 1, (a, ab, c), (ab, b, c))
    add(number == 3, (a, ab, ca), (ab, b, bc), (bc, c, ca), (ab, bc, ca))
    two = number == 2
    add(two, (ab, b, bc))
    # The rest is a quadrangle, divided along its shorter diagonal.
    to_a = np.linalg.norm((points[b] + points[c]) / 2 - points[a], axis=1)
    to_c = np.linalg.norm((points[a] + points[b]) / 2 - points[c], axis=1)
    add(two & (to_a < to_c), (a, ab, bc), (a, bc, c))
    add(two & (to_a >= to_c), (a, ab, c), (ab, bc, c))
    return np.concatenate(parts)
