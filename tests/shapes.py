"""Shapes whose geometry is known in closed form: plain functions that return ``(vertices, faces)``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

Shape = tuple[NDArray[np.float64], NDArray[np.int64]]


def icosphere(subdivisions: int = 2) -> Shape:
    """Unit sphere with 10·4ˢ + 2 vertices, oriented outward."""
    golden = (1 + 5**0.5) / 2
    flat = [(-1, golden), (1, golden), (-1, -golden), (1, -golden)]
    vertices = np.array(
        [(a, b, 0) for a, b in flat] + [(0, a, b) for a, b in flat] + [(b, 0, a) for a, b in flat],
        dtype=np.float64,
    )
    # The twenty triples of vertices that are mutually one edge (of length 2) apart, turned outward.
    near = np.isclose(np.linalg.norm(vertices[:, None] - vertices[None], axis=2), 2)
    faces = np.array(
        [
            (i, j, k)
            for i in range(12)
            for j in range(i + 1, 12)
            for k in range(j + 1, 12)
            if near[i, j] and near[j, k] and near[i, k]
        ],
        dtype=np.int64,
    )
    inward = np.linalg.det(vertices[faces]) < 0
    faces[inward] = faces[inward][:, ::-1]
    for _ in range(subdivisions):
        vertices, faces = _subdivide(vertices, faces)
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return vertices / np.linalg.norm(vertices, axis=1, keepdims=True), faces


def _subdivide(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """Cut every triangle into four at its edge midpoints."""
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    unique, which = np.unique(edges, axis=0, return_inverse=True)
    a, b, c = faces.T
    ab, bc, ca = (which.reshape(-1, 3) + len(vertices)).T
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    middles = vertices[unique].mean(axis=1)
    return np.concatenate([vertices, middles]), np.concatenate([np.stack(p, axis=1) for p in parts])


def _delaunay(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Anticlockwise Delaunay triangles of plane points, without the slivers along a straight border."""
    faces = Delaunay(points).simplices.astype(np.int64)
    a, b, c = points[faces].transpose(1, 0, 2)
    doubled = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    faces[doubled < 0] = faces[doubled < 0][:, ::-1]
    return faces[np.abs(doubled) > 1e-12]


def plane(points: int = 300, seed: int = 0) -> Shape:
    """Random Delaunay triangulation of the unit square at z = 0: the four corners come first."""
    rng = np.random.default_rng(seed)
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=np.float64)
    flat = np.concatenate([corners, rng.random((points - 4, 2))])
    return np.column_stack([flat, np.zeros(len(flat))]), _delaunay(flat)


def grid(columns: int = 5, rows: int = 4) -> Shape:
    """Flat rectangle of unit squares, ``columns`` × ``rows`` vertices, x fastest."""
    y, x = np.mgrid[:rows, :columns]
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1).astype(np.float64)
    return vertices, _quads(np.arange(rows * columns).reshape(rows, columns))


def pillow(around: int = 24, rings: int = 4) -> Shape:
    """Two discs of radius 1 on each other, sewn along the rim, where the normals of both sides cancel."""
    turn = np.exp(2j * np.pi * np.arange(around) / around)
    plane = np.concatenate([[0], np.outer(np.arange(1, rings + 1) / rings, turn).ravel()])
    ring = 1 + np.arange(rings * around).reshape(rings, around)
    first, after = ring[0], np.roll(ring[0], -1)
    middle, bands = np.stack([0 * first, first, after], axis=1), _quads(np.c_[ring, ring[:, :1]])
    above = np.concatenate([middle, bands[:, ::-1]])
    inner = len(plane) - around
    below = np.r_[len(plane) + np.arange(inner), np.arange(inner, len(plane))]
    both = np.concatenate([plane, plane[:inner]])
    vertices = np.stack([both.real, both.imag, 0 * both.real], axis=1)
    return vertices, np.concatenate([above, below[above[:, ::-1]]])


def _quads(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two triangles per cell of a rectangular array of vertex numbers."""
    a, b, c, d = (s.ravel() for s in (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]))
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]).astype(np.int64)


def _panels(
    sides: int, points: int, seed: int, taper: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Ring of flat panels, each with its own random triangulation, glued along their straight sides.

    A vertex has coordinates (s, w): ⌊s⌋ is its panel, s − ⌊s⌋ and w its place between the panel's
    left and right, bottom and top sides. ``taper`` is the bottom's width over the top's.
    """
    rng = np.random.default_rng(seed)
    seams = [np.concatenate([[0, 1], rng.random(max(3, round(points**0.5)))]) for _ in range(sides)]
    places = [np.column_stack([np.full(len(w), float(s)), w]) for s, w in enumerate(seams)]
    starts = np.cumsum([0] + [len(w) for w in seams])
    faces, count = [], int(starts[-1])
    for side in range(sides):
        inner = rng.random((points, 2))
        after = (side + 1) % sides
        number = np.concatenate(
            [
                np.arange(starts[side], starts[side + 1]),
                np.arange(starts[after], starts[after + 1]),
                np.arange(count, count + points),
            ]
        )
        local = np.concatenate(
            [
                np.column_stack([np.zeros(len(seams[side])), seams[side]]),
                np.column_stack([np.ones(len(seams[after])), seams[after]]),
                inner,
            ]
        )
        width = taper + (1 - taper) * local[:, 1]
        faces.append(number[_delaunay(np.column_stack([(local[:, 0] - 0.5) * width, local[:, 1]]))])
        places.append(inner + np.array([side, 0]))
        count += points
    return np.concatenate(places), np.concatenate(faces)


def _around(s: NDArray[np.float64], sides: int) -> NDArray[np.float64]:
    """Points of the regular polygon inscribed in the unit circle; its k-th corner is at s = k."""
    corner = np.floor(s)
    part = (s - corner)[:, None]
    low, high = 2 * np.pi * corner / sides, 2 * np.pi * (corner + 1) / sides
    return (1 - part) * np.column_stack([np.cos(low), np.sin(low)]) + part * np.column_stack(
        [np.cos(high), np.sin(high)]
    )


def cylinder(sides: int = 12, height: float = 2.0, points: int = 20, seed: int = 0) -> Shape:
    """Open prism of radius 1: exactly flat inside, however irregular its triangles; see `cylinder_chart`."""
    place, faces = _panels(sides, points, seed, taper=1.0)
    return np.column_stack([_around(place[:, 0], sides), height * place[:, 1]]), faces


def cylinder_chart(
    sides: int = 12, height: float = 2.0, points: int = 20, seed: int = 0
) -> tuple[NDArray[np.float64], float]:
    """Unrolled coordinates (V, 2) of `cylinder` and its circumference, after which the first one repeats."""
    place, _ = _panels(sides, points, seed, taper=1.0)
    side = 2 * np.sin(np.pi / sides)
    return np.column_stack([side * place[:, 0], height * place[:, 1]]), sides * side


def cone(sides: int = 12, height: float = 2.0, inner: float = 0.2, points: int = 20, seed: int = 0) -> Shape:
    """Pyramid of base radius 1 without its tip (cut at radius ``inner``): exactly flat; see `cone_chart`."""
    place, faces = _panels(sides, points, seed, taper=inner)
    scale = inner + (1 - inner) * place[:, 1]
    vertices = np.column_stack([scale[:, None] * _around(place[:, 0], sides), height * (1 - scale)])
    return vertices, faces[:, ::-1].copy()


def cone_chart(
    sides: int = 12, height: float = 2.0, inner: float = 0.2, points: int = 20, seed: int = 0
) -> tuple[NDArray[np.float64], float]:
    """Distance from the tip and angle around it, (V, 2), of `cone` laid flat, and the cone's total angle."""
    place, _ = _panels(sides, points, seed, taper=inner)
    scale = inner + (1 - inner) * place[:, 1]
    slant, half = np.hypot(1, height), np.sin(np.pi / sides)
    wedge = 2 * np.arcsin(half / slant)
    across = (place[:, 0] % 1 - 0.5) * 2 * half
    along = np.sqrt(slant**2 - half**2)
    radius = scale * np.hypot(along, across)
    angle = wedge * (np.floor(place[:, 0]) + 0.5) + np.arctan2(across, along)
    return np.column_stack([radius, angle]), sides * wedge


def torus(major: float = 1.0, minor: float = 0.4, around: int = 60, across: int = 24) -> Shape:
    """Torus about the z axis; vertex i·across + j has the angles 2πi/around and 2πj/across."""
    u, v = np.meshgrid(
        2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(across) / across, indexing="ij"
    )
    ring = major + minor * np.cos(v)
    vertices = np.stack([ring * np.cos(u), ring * np.sin(u), minor * np.sin(v)], axis=2).reshape(-1, 3)
    index = np.arange(around * across).reshape(around, across)
    # Transposed: around first, then across, would face inward.
    return vertices, _quads(np.pad(index, ((0, 1), (0, 1)), mode="wrap").T)


def regular_cylinder(around: int = 20, up: int = 12, height: float = 3.0) -> Shape:
    """Open cylinder of radius 1 of equal cells: many distances on it are equal."""
    u, z = np.meshgrid(2 * np.pi * np.arange(around) / around, np.linspace(0, height, up), indexing="ij")
    vertices = np.stack([np.cos(u), np.sin(u), z], axis=2).reshape(-1, 3)
    index = np.arange(around * up).reshape(around, up)
    return vertices, _quads(np.pad(index, ((0, 1), (0, 0)), mode="wrap").T)


def box(cells: int = 6) -> Shape:
    """Unit cube, each side of cells × cells squares cut in two, oriented outward."""
    side = np.arange(cells + 1)
    u, v = (values.ravel() for values in np.meshgrid(side, side, indexing="ij"))
    index = np.arange(u.size).reshape(cells + 1, cells + 1)
    points, faces = [], []
    for axis in range(3):
        for end in (0, cells):
            sheet = np.empty((u.size, 3), np.int64)
            sheet[:, axis], sheet[:, (axis + 1) % 3], sheet[:, (axis + 2) % 3] = end, u, v
            faces.append(_quads(index.T if end else index) + u.size * len(points))
            points.append(sheet)
    places, number = np.unique(np.concatenate(points), axis=0, return_inverse=True)
    return places / cells, number.ravel()[np.concatenate(faces)]


def renumbered(
    vertices: NDArray[np.float64], faces: NDArray[np.int64], draw: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The same mesh with other numbers, its faces in another order, each begun at any corner.

    Also returned is the new number of each vertex.
    """
    place = draw.permutation(len(vertices))
    moved = np.empty_like(vertices)
    moved[place] = vertices
    mixed = place[faces][draw.permutation(len(faces))]
    begin = draw.integers(3, size=(len(faces), 1))
    return moved, np.take_along_axis(mixed, (begin + np.arange(3)) % 3, axis=1), place


def cube() -> Shape:
    """Cube [0, 1]³: 8 vertices, 12 outward faces; vertex 4x + 2y + z is at (x, y, z)."""
    vertices = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float64)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], dtype=np.int64)


def mobius(around: int = 40, across: int = 5, width: float = 0.6) -> Shape:
    """Möbius strip: one boundary loop, not orientable."""
    u, w = np.meshgrid(2 * np.pi * np.arange(around) / around, np.linspace(-1, 1, across), indexing="ij")
    w = w * width / 2
    ring = 1 + w * np.cos(u / 2)
    vertices = np.stack([ring * np.cos(u), ring * np.sin(u), w * np.sin(u / 2)], axis=2).reshape(-1, 3)
    index = np.arange(around * across).reshape(around, across)
    return vertices, _quads(np.concatenate([index, index[:1, ::-1]]))


def book(pages: int = 3, columns: int = 4, rows: int = 5) -> Shape:
    """Flat pages that share their spine x = y = 0, whose edges are non-manifold from three pages on.

    The first ``rows`` vertices are the spine.
    """
    angles = 2 * np.pi * np.arange(pages) / pages
    z = np.arange(rows, dtype=np.float64)
    vertices, faces = [np.column_stack([0 * z, 0 * z, z])], []
    for page, angle in enumerate(angles):
        x, height = np.meshgrid(np.arange(1, columns, dtype=np.float64), z, indexing="ij")
        vertices.append(
            np.column_stack([x.ravel() * np.cos(angle), x.ravel() * np.sin(angle), height.ravel()])
        )
        index = rows * (1 + page * (columns - 1)) + np.arange(x.size).reshape(columns - 1, rows)
        faces.append(_quads(np.concatenate([np.arange(rows)[None], index])))
    return np.concatenate(vertices), np.concatenate(faces)


def bowtie() -> Shape:
    """Two triangles that share only vertex 0, which is non-manifold."""
    vertices = np.array([(0, 0, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (-1, -1, 0)], dtype=np.float64)
    return vertices, np.array([(0, 1, 2), (0, 3, 4)], dtype=np.int64)


def two_components() -> Shape:
    """Unit sphere (the first 162 vertices) and, 0.05 away from it, a unit cube."""
    ball, ball_faces = icosphere(2)
    box, box_faces = cube()
    vertices = np.concatenate([ball, box + np.array([1.05, -0.5, -0.5])])
    return vertices, np.concatenate([ball_faces, box_faces + len(ball)])
