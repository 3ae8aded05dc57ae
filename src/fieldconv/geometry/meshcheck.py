"""What is wrong with a mesh, and how to mend it: plain arrays in, a report or a mended copy out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from .meshfiles.common import first_equal

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# A face is degenerate when its height is below this part of its longest side: no direction in it is known.
_FLAT = 1e-12
_AT_ONCE = 65_536  # faces that are looked at together: more would only take memory


@dataclass(frozen=True, eq=False)
class MeshReport:
    """What `Mesh.check` found: counts, and the indices of all defects. ``str(report)`` is a readable summary.

    Faces that name a vertex twice are ignored wherever edges are counted.

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
        Whether turning some faces over makes all neighbours agree (a Möbius strip cannot).
    inside_out : bool
        A closed, consistent mesh whose normals point inward.
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
    >>> from fieldconv.geometry.mesh import Mesh
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
        """What is odd, one phrase each; empty for a clean mesh. A boundary is no problem."""
        c = self.counts
        found = [
            counted(c["nan_vertices"], "vertex", "vertices") + " with NaN or infinite positions",
            counted(c["duplicate_vertices"], "duplicate vertex", "duplicate vertices"),
            counted(c["unreferenced_vertices"], "unreferenced vertex", "unreferenced vertices"),
            counted(c["degenerate_faces"], "degenerate face"),
            counted(c["duplicate_faces"], "duplicate face"),
            counted(c["non_manifold_edges"], "non-manifold edge") + " (of three or more faces)",
            counted(c["non_manifold_vertices"], "non-manifold vertex", "non-manifold vertices")
            + " (where fans of faces touch)",
            counted(c["inconsistent_edges"], "edge") + " between faces oriented differently",
        ]
        found = [phrase for phrase in found if not phrase.startswith("0 ")]
        if not self.orientable:
            found.append("not orientable")
        if self.inside_out:
            found.append("inside out (normals point inward)")
        return found

    @property
    def lines(self) -> list[str]:
        """The report in words, one finding per line."""
        loops = "closed (no boundary)"
        if self.boundary_loops:
            edges = counted(len(self.boundary_edges), "edge")
            loops = f"{counted(self.boundary_loops, 'boundary loop')} ({edges})"
        size = f"{counted(self.vertices, 'vertex', 'vertices')}, {counted(self.faces, 'face')}"
        return [size, counted(self.components, "component"), loops, *(self.problems or ["no problems found"])]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "vertex", "vertices"), counted(1200, "face")
    ('1 vertex', '1,200 faces')
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def inspect(vertices: Floats, faces: Ints) -> MeshReport:
    """Return all that `MeshReport` lists; (V, 3) positions may hold NaN, (F, 3) indices are in range."""
    n_vertices = len(vertices)
    finite = np.isfinite(vertices).all(axis=1)
    referenced = np.zeros(n_vertices, dtype=bool)
    referenced[faces] = True
    _, part = _components(n_vertices, faces[:, 0], faces[:, 1], faces[:, 0], faces[:, 2])
    repeats = _repeats_vertex(faces)
    edges = _Edges(faces[~repeats] if repeats.any() else faces, n_vertices)
    inconsistent = edges.unique[edges.disagree]
    return MeshReport(
        vertices=n_vertices,
        faces=len(faces),
        components=int(np.count_nonzero(np.bincount(part[referenced]))),
        boundary_loops=edges.boundary_loops(),
        boundary_edges=edges.unique[edges.faces_of == 1],
        non_manifold_edges=edges.unique[edges.faces_of > 2],
        non_manifold_vertices=edges.vertices_of_several_fans(),
        inconsistent_edges=inconsistent,
        orientable=not len(inconsistent) or bool(_DoubleCover.of(edges).orientable.all()),
        inside_out=bool(finite.all()) and not len(inconsistent) and _inward(vertices, edges),
        degenerate_faces=np.flatnonzero(degenerate(vertices, faces)),
        duplicate_faces=np.flatnonzero(~_is_first(np.sort(faces, axis=1))),
        duplicate_vertices=np.flatnonzero(~_is_first(vertices)),
        unreferenced_vertices=np.flatnonzero(~referenced),
        nan_vertices=np.flatnonzero(~finite),
    )


def _is_first(rows: NDArray[np.float64] | Ints) -> Bools:
    """Whether no earlier row equals each one."""
    digest = np.sort(_digests(rows))
    if (digest[1:] != digest[:-1]).all():  # usually all differ, which is much faster to find out
        return np.ones(len(rows), dtype=bool)
    return np.asarray(first_equal(rows) == np.arange(len(rows)))


def _digests(rows: NDArray[np.float64] | Ints) -> NDArray[np.uint64]:
    """(n,) a number for each row; equal rows have equal ones."""
    bits = np.ascontiguousarray(rows + rows.dtype.type(0)).view(np.uint64)  # no negative zeros
    digest = np.zeros(len(rows), np.uint64)
    for column in bits.T:
        digest = (digest ^ column) * np.uint64(0x9E3779B97F4A7C15)
        digest ^= digest >> np.uint64(29)
    return digest


def _repeats_vertex(faces: Ints) -> Bools:
    a, b, c = faces.T
    return np.asarray((a == b) | (b == c) | (c == a))


def degenerate(vertices: Floats, faces: Ints) -> Bools:
    """(F,) whether a face names a vertex twice or has no area; faces with NaN are not judged."""
    judged = np.empty(len(faces), dtype=bool)
    for begin in range(0, len(faces), _AT_ONCE):
        some = faces[begin : begin + _AT_ONCE]
        judged[begin : begin + _AT_ONCE] = _some_degenerate(vertices, some)
    return judged


def all_degenerate(vertices: Floats, faces: Ints) -> bool:
    """Whether no face has an area; looks no further than the first that has."""
    return all(
        _some_degenerate(vertices, faces[begin : begin + _AT_ONCE]).all()
        for begin in range(0, len(faces), _AT_ONCE)
    )


def _some_degenerate(vertices: Floats, faces: Ints) -> Bools:
    sides = _scaled_sides(vertices, faces)
    doubled = np.linalg.norm(cross(sides[:, 0], sides[:, 1]), axis=1)
    flat = doubled <= _FLAT * (sides**2).sum(axis=2).max(axis=1)
    if flat.any():
        flat &= np.isfinite(vertices[faces]).all(axis=(1, 2))
    return np.asarray(_repeats_vertex(faces) | flat)


def cross(a: Floats, b: Floats) -> Floats:
    """Cross products of rows (n, 3), as numpy.cross gives them, in less time and memory."""
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for axis in range(3):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        product[..., axis] = a[..., one] * b[..., other]
        product[..., axis] -= a[..., other] * b[..., one]
    return product


def _scaled_sides(vertices: Floats, faces: Ints) -> Floats:
    """(F, 3, 3) sides from corner i to i + 1, relative to the face's own size: no square overflows."""
    corners = vertices[faces].transpose(2, 1, 0).copy()  # arithmetic on long rows is faster
    corners = np.where(np.isfinite(corners), corners, 0) / 2  # halved: nor does a difference
    sides = np.roll(corners, -1, axis=1) - corners
    size = np.abs(sides).max(axis=(0, 1))
    return np.asarray(sides / np.where(size > 0, size, 1)).transpose(2, 1, 0)


def _inward(vertices: Floats, edges: _Edges) -> bool:
    """Whether the mesh, consistently oriented, is closed and encloses a negative volume."""
    if not len(edges.faces) or (edges.faces_of != 2).any():
        return False
    share = np.bincount(edges.faces.reshape(-1), minlength=len(vertices)) / edges.faces.size
    points = vertices / max(np.abs(vertices[share > 0]).max(), 1e-300)
    points -= share[share > 0] @ points[share > 0]
    volume = size = 0.0
    for begin in range(0, len(edges.faces), _AT_ONCE):
        a, b, c = points[edges.faces[begin : begin + _AT_ONCE].T]
        volumes = (a * cross(b, c)).sum(axis=1)
        volume, size = volume + volumes.sum(), size + np.abs(volumes).sum()
    return bool(volume < -1e-9 * size)


def _components(size: int, *links: Ints) -> tuple[int, Ints]:
    """Connected components of a graph given as pairs of arrays of linked nodes."""
    small = np.int32 if size < 2**31 else np.int64  # half the memory
    rows, columns = (np.concatenate(ends, dtype=small) for ends in (links[0::2], links[1::2]))
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))
    count, label = connected_components(graph, directed=False)
    return int(count), label.astype(np.int64)


class _Edges:
    """Edges of faces that name three different vertices each.

    Half-edge 3f + i of face f runs from its corner i to corner i + 1.
    """

    def __init__(self, faces: Ints, n_vertices: int) -> None:
        self.faces, self.n_vertices = faces, n_vertices
        start, end = faces.reshape(-1), np.roll(faces, -1, axis=1).reshape(-1)
        self.forward = start < end
        key = np.minimum(start, end)
        key *= n_vertices
        key += np.maximum(start, end, out=end)
        small = np.int32 if len(key) < 2**31 else np.int64  # half the memory
        self.order: Ints = np.argsort(key, kind="stable").astype(small)
        ordered = key[self.order]
        # Neighbours in this order share an edge where `linked`.
        linked = ordered[1:] == ordered[:-1]
        self.left, self.right = self.order[:-1][linked], self.order[1:][linked]
        begins = np.flatnonzero(np.r_[np.ones(min(len(key), 1), dtype=bool), ~linked])
        unique = ordered[begins]
        self.faces_of: Ints = np.diff(begins, append=len(key))
        self.edge_of = np.empty(len(key), small)
        self.edge_of[self.order] = np.repeat(np.arange(len(unique), dtype=small), self.faces_of)
        self.unique: Ints = np.stack([unique // n_vertices, unique % n_vertices], axis=1).reshape(-1, 2)
        forward_count = np.bincount(self.edge_of, self.forward, minlength=len(unique))
        self.disagree = (self.faces_of == 2) & (forward_count != 1)
        self._fan: Ints | None = None

    def fans(self) -> Ints:
        """(3F,) number of the fan each corner belongs to: faces around a vertex joined by edges."""
        if self._fan is None:
            here = np.arange(len(self.edge_of), dtype=self.order.dtype)
            after = here - here % 3 + (here + 1) % 3
            # The corner of each half-edge at the edge's smaller and at its larger vertex.
            low, high = np.where(self.forward, here, after), np.where(self.forward, after, here)
            left, right = self.left, self.right
            _, self._fan = _components(len(here), low[left], low[right], high[left], high[right])
        return self._fan

    def vertices_of_several_fans(self) -> Ints:
        fans = self.fans()
        vertex = np.empty(fans.max(initial=-1) + 1, np.int64)
        vertex[fans] = self.faces.reshape(-1)
        count = np.bincount(vertex, minlength=self.n_vertices)
        return np.flatnonzero(count > 1)

    def boundary_loops(self) -> int:
        """Connected curves of boundary edges; curves that meet in one vertex but different fans are two."""
        boundary = np.flatnonzero(self.faces_of[self.edge_of] == 1)
        if not len(boundary):
            return 0
        after = boundary - boundary % 3 + (boundary + 1) % 3
        _, ends = np.unique(self.fans()[np.concatenate([boundary, after])], return_inverse=True)
        start, end = ends[: len(boundary)], ends[len(boundary) :]
        return _components(int(ends.max()) + 1, start, end)[0]


@dataclass(frozen=True, eq=False)
class _DoubleCover:
    """Faces and their turned-over copies, linked across edges of two faces where they agree.

    A part of the mesh is orientable exactly when its two copies are not connected.
    """

    left: Ints  # faces that share an edge with
    right: Ints  # these,
    differ: Bools  # and whether the two are oriented differently
    as_is: Ints  # (F,) the connected part of the cover that each face is in,
    turned: Ints  # (F,) and that of its turned-over copy

    @staticmethod
    def of(edges: _Edges) -> _DoubleCover:
        n = len(edges.faces)
        pair = edges.faces_of[edges.edge_of[edges.left]] == 2
        left, right = edges.left[pair], edges.right[pair]
        differ = edges.forward[left] == edges.forward[right]
        left, right = left // 3, right // 3
        _, part = _components(2 * n, left, right + differ * n, left + n, right + ~differ * n)
        return _DoubleCover(left, right, differ, part[:n], part[n:])

    @property
    def orientable(self) -> Bools:
        """(F,) whether the part of each face is."""
        return np.asarray(self.as_is != self.turned)


def _to_turn(cover: _DoubleCover) -> Bools:
    """(F,) whether to turn each face over, of as few as possible, so that all neighbours agree."""
    as_is = cover.as_is
    turn = _fewer_turned(cover)
    for root in _first_faces(as_is, np.flatnonzero(~cover.orientable)):
        turn |= _to_turn_by_path(cover, root)
    return np.asarray(turn)


def _fewer_turned(cover: _DoubleCover) -> Bools:
    """(F,) whether to turn each face over, in parts that can be oriented."""
    as_is, turned = cover.as_is, cover.turned
    stay = np.bincount(as_is, minlength=int(turned.max()) + 1)  # faces that stay if this copy is chosen
    tie = (stay[as_is] == stay[turned]) & (as_is > turned)  # the part's first face stays
    return np.asarray(cover.orientable & ((stay[as_is] < stay[turned]) | tie))


def faces_to_turn(vertices: Floats, faces: Ints) -> tuple[Bools, int]:
    """(F,) which faces to turn over so that neighbours agree, and how many faces cannot agree.

    Every closed part is turned outward, by the sign of the volume that it encloses. Of other parts as few
    faces as possible are turned. Parts that cannot be oriented stay as they are.
    """
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    ahead, back = start * len(vertices) + end, end * len(vertices) + start
    order, order_back = np.argsort(ahead), np.argsort(back)
    ahead, back = ahead[order], back[order_back]
    if (ahead[1:] != ahead[:-1]).all():  # no edge is run along twice in one direction: all faces agree
        if np.array_equal(ahead, back):
            beyond, here, rim = order // 3, order_back // 3, order[:0]
        else:
            place = np.minimum(np.searchsorted(ahead, back), len(ahead) - 1)
            shared = ahead[place] == back
            beyond, here, rim = order[place[shared]] // 3, order_back[shared] // 3, order_back[~shared] // 3
        return _inward_parts(vertices, faces, here, beyond, rim), 0
    turn = np.zeros(len(faces), dtype=bool)
    usable = np.flatnonzero(~_repeats_vertex(faces))
    edges = _Edges(faces[usable], len(vertices))
    cover = _DoubleCover.of(edges)
    part = np.unique(np.minimum(cover.as_is, cover.turned), return_inverse=True)[1]
    turn[usable] = _fewer_turned(cover)
    closed = np.ones(part.max(initial=-1) + 1, dtype=bool)
    closed[part[np.flatnonzero((edges.faces_of != 2)[edges.edge_of]) // 3]] = False
    closed[part[~cover.orientable]] = False
    turn[usable] ^= (closed & _inward_volumes(vertices, edges.faces, turn[usable], part))[part]
    return turn, _count(~cover.orientable)


def _inward_parts(vertices: Floats, faces: Ints, here: Ints, beyond: Ints, rim: Ints) -> Bools:
    """(F,) which faces are in closed parts that face inward.

    Faces ``here`` agree with the faces ``beyond`` one of their edges; those of ``rim`` have an edge without.
    """
    count = len(faces)
    if len(np.unique(rim)) == count:
        return np.zeros(count, dtype=bool)
    graph = coo_array((np.ones(len(here), dtype=np.int8), (here, beyond)), shape=(count, count)).tocsr()
    # Every link has its opposite, so that strong components are the parts, in a third of the time.
    parts, part = connected_components(graph, connection="strong")
    closed = np.ones(parts, dtype=bool)
    closed[part[rim]] = False
    if closed.any():
        closed &= _inward_volumes(vertices, faces, np.zeros(count, dtype=bool), part)
    return np.asarray(closed[part])


def _inward_volumes(vertices: Floats, faces: Ints, turn: Bools, part: Ints) -> Bools:
    """(parts,) whether each closed part encloses a negative volume, once its faces are turned."""
    count = int(part.max(initial=-1)) + 1
    origin = np.zeros((count, 3))
    origin[part] = vertices[faces[:, 0]]  # any point will do; one nearby is exact enough
    volume, size = np.zeros(count), np.zeros(count)
    for begin in range(0, len(faces), _AT_ONCE):
        block = slice(begin, begin + _AT_ONCE)
        a, b, c = (vertices[corner] - origin[part[block]] for corner in faces[block].T)
        signed = np.where(turn[block], -1.0, 1.0) * (a * cross(b, c)).sum(axis=1)
        volume += np.bincount(part[block], signed, count)
        size += np.bincount(part[block], np.abs(signed), count)
    return np.asarray(volume < -1e-9 * size)  # nothing decides which side of a flat pillow is outside


def _first_faces(part: Ints, faces: Ints) -> list[int]:
    return [int(face) for face in faces[np.unique(part[faces], return_index=True)[1]]]


def _to_turn_by_path(cover: _DoubleCover, root: int) -> Bools:
    """The same for the part of face ``root``, which is not orientable: some neighbours always disagree.

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


@dataclass(frozen=True, eq=False)
class Mended:
    """A mended mesh in terms of the old one."""

    faces: Ints
    vertex_map: Ints
    new_vertex: Ints
    face_map: Ints
    actions: list[str]


def mend(vertices: Floats, faces: Ints) -> Mended:
    """Mend what can be mended; the steps are those of `Mesh.repair`."""
    n_vertices = len(vertices)
    face_map = np.arange(len(faces))
    first = np.arange(n_vertices)  # the vertex that each one is merged into
    done: Counter[str] = Counter()

    def keep(good: Bools) -> int:
        nonlocal faces, face_map
        faces, face_map = faces[good], face_map[good]
        return _count(~good)

    finite = np.asarray(np.isfinite(vertices).all(axis=1))
    done["dropped {} with NaN or infinite positions|vertex|vertices"] = _count(~finite)
    done["dropped {} of such vertices|face"] = keep(np.asarray(finite[faces].all(axis=1)))

    for _ in range(20):  # dropping a face may expose another seam to close
        before = done.total()
        twin = _twins(vertices, faces)
        done["merged {}|duplicate vertex|duplicate vertices"] += _count(twin != np.arange(n_vertices))
        first = twin[first]
        faces, swapped = _flip_flat_faces(vertices, twin[faces])
        done["swapped the longest edge of {} of no area|face"] += swapped
        done["dropped {}|degenerate face"] += keep(~degenerate(vertices, faces))
        pairs = keep(~_folded(faces, n_vertices)) // 2
        done["dropped {} folded onto each other|pair of faces|pairs of faces"] += pairs
        done["dropped {}|duplicate face"] += keep(_is_first(np.sort(faces, axis=1)))
        if done.total() == before:
            break

    if len(faces):
        cover = _DoubleCover.of(_Edges(faces, n_vertices))
        turn = _to_turn(cover)
        faces[turn] = faces[turn][:, ::-1]
        done["turned over {} to agree with neighbours|face"] = _count(turn)
        if cover.orientable.all() and _inward(vertices, _Edges(faces, n_vertices)):
            faces = faces[:, ::-1]
            done["turned the whole mesh outward|mesh"] = 1

    vertex_map = np.unique(faces)
    new_vertex = np.full(n_vertices, -1)
    new_vertex[vertex_map] = np.arange(len(vertex_map))
    new_vertex = np.where(finite, new_vertex[first], -1)
    gone = _count(finite & (first == np.arange(n_vertices))) - len(vertex_map)
    done["dropped {}|unreferenced vertex|unreferenced vertices"] = gone
    actions = [_plural_text(text, count) for text, count in done.items() if count]
    return Mended(new_vertex[faces], vertex_map, new_vertex, face_map, actions)


def _count(mask: Bools) -> int:
    return int(np.count_nonzero(mask))


def _plural_text(text: str, count: int) -> str:
    sentence, *nouns = text.split("|")
    return sentence.format(counted(count, *nouns))


def _twins(vertices: Floats, faces: Ints) -> Ints:
    """(V,) the first of the vertices at the same place to merge each one with, itself if none.

    Vertices on boundaries are merged, which closes seams, and so are the ends of an edge of no length. Two
    inner vertices at the same place are not: there a surface merely touches itself, and merging them would
    make it non-manifold.
    """
    group = first_equal(vertices)
    edges = _Edges(faces[~_repeats_vertex(faces)], len(vertices))
    a, b = edges.unique[group[edges.unique[:, 0]] == group[edges.unique[:, 1]]].T
    rim = np.unique(edges.unique[edges.faces_of == 1])
    rim = rim[np.argsort(group[rim], kind="stable")]
    together = group[rim[1:]] == group[rim[:-1]]
    count, label = _components(len(vertices), a, b, rim[:-1][together], rim[1:][together])
    first = np.full(count, len(vertices))
    np.minimum.at(first, label, np.arange(len(vertices)))
    return first[label]


def _folded(faces: Ints, n_vertices: int) -> Bools:
    """(F,) whether a face and its only copy stick out of a surface which is whole without them."""
    first = first_equal(np.sort(faces, axis=1))
    copies = np.bincount(first, minlength=len(faces))[first]
    edges = _Edges(faces, n_vertices)
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
        flat = np.flatnonzero(degenerate(vertices, faces) & ~_repeats_vertex(faces))
        if not len(flat):
            break
        row = np.flatnonzero(~_repeats_vertex(faces))
        edges = _Edges(faces[row], len(vertices))
        begins = np.cumsum(edges.faces_of) - edges.faces_of
        touched: set[int] = set()
        longest_sides = np.linalg.norm(_scaled_sides(vertices, faces[flat]), axis=2).argmax(axis=1)
        for place, longest in zip(np.searchsorted(row, flat), longest_sides, strict=True):
            edge = edges.edge_of[3 * place + longest]
            if edges.faces_of[edge] != 2 or edges.disagree[edge]:
                continue
            pair = edges.order[begins[edge] : begins[edge] + 2]
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
