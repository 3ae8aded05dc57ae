"""Small odd meshes, drawn from a seed, that a solver must survive, and quickly.

Each is a small sound shape to which one or several of these things happen: it is stretched or flattened by
many powers of ten, repeated at far smaller scales, a few vertices are moved very far away or onto others,
faces are joined at random or turned over.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

import shapes

Draw = np.random.Generator
Shape = tuple[NDArray[np.float64], NDArray[np.int64]]


def odd_mesh(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64], float]:
    """Return vertices (V, 3), a few hundred at most, faces (F, 3), and a radius for the mesh at unit area."""
    draw = np.random.default_rng(seed)
    shape = _pick(draw, SHAPES)(draw)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        shape = _pick(draw, MISHAPS)(draw, *shape)
    return *shape, _power(draw, -2, 1)


def _pick(draw: Draw, options: list[Callable[..., Shape]]) -> Callable[..., Shape]:
    return options[draw.integers(len(options))]


def _power(draw: Draw, low: float, high: float) -> float:
    """A factor of 10ˣ, x between low and high."""
    return float(10 ** draw.uniform(low, high))


def _plane(draw: Draw) -> Shape:
    return shapes.plane(int(draw.integers(5, 140)), int(draw.integers(1 << 30)))


def _grid(draw: Draw) -> Shape:
    return shapes.grid(int(draw.integers(2, 13)), int(draw.integers(2, 13)))


def _ball(draw: Draw) -> Shape:
    """Hull of random points: irregular triangles, closed."""
    points = draw.normal(size=(int(draw.integers(5, 140)), 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, ConvexHull(points).simplices.astype(np.int64)


def _crumpled_ball(draw: Draw) -> Shape:
    points, faces = _ball(draw)
    return points * (1 + _power(draw, -3, 0) * draw.uniform(-1, 1, (len(points), 1))), faces


def _torus(draw: Draw) -> Shape:
    return shapes.torus(1.0, draw.uniform(0.05, 0.9), int(draw.integers(3, 15)), int(draw.integers(3, 10)))


def _regular(draw: Draw) -> Shape:
    options = [shapes.cube, shapes.mobius, shapes.book, shapes.bowtie, lambda: shapes.icosphere(1)]
    return options[draw.integers(len(options))]()


def _wheel(draw: Draw) -> Shape:
    """Many triangles around one vertex, of any total angle."""
    spokes = int(draw.integers(3, 120))
    around = np.linspace(0, 2 * np.pi, spokes, endpoint=False)
    wave = draw.uniform(0, 3) * np.sin(draw.integers(1, 9) * around)
    rim = np.stack([np.cos(around), np.sin(around), wave], 1)
    other = np.roll(np.arange(spokes), -1)
    faces = np.stack([np.zeros(spokes, np.int64), 1 + np.arange(spokes), 1 + other], 1)
    return np.concatenate([np.zeros((1, 3)), rim]), faces


def _soup(draw: Draw) -> Shape:
    """Faces between any three vertices: edges of many sheets."""
    count = int(draw.integers(4, 25))
    faces = np.array([draw.choice(count, 3, replace=False) for _ in range(int(draw.integers(2, 60)))])
    return draw.normal(size=(count, 3)), faces


def _fan_strip(draw: Draw) -> Shape:
    """A long strip of triangles."""
    count = int(draw.integers(4, 140))
    along = np.arange(count, dtype=float)
    vertices = np.stack([along, along % 2, 0.1 * draw.normal(size=count)], 1)
    first = np.arange(count - 2)
    return vertices, np.stack([first, first + 1, first + 2], 1)


def _stretched(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """Stretched strongly in one direction, any one."""
    turn = np.linalg.qr(draw.normal(size=(3, 3)))[0] if draw.random() < 0.5 else np.eye(3)
    return vertices @ turn * [_power(draw, 0, 12), 1, 1] @ turn.T, faces


def _squeezed(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """Nearly in a line, or in a plane, with a little noise."""
    scales = 10.0 ** -draw.uniform(0, 14, 3)
    return vertices * scales + _power(draw, -17, -8) * draw.normal(size=vertices.shape), faces


def _with_specks(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """Components of scales that are far apart."""
    kept_vertices, kept_faces = [vertices], [faces]
    for _ in range(int(draw.integers(1, 4))):
        more, more_faces = _pick(draw, SHAPES)(draw)
        kept_faces.append(more_faces + sum(map(len, kept_vertices)))
        kept_vertices.append(_power(draw, -16, 3) * more + draw.normal(size=3) * (draw.random() < 0.7))
    return np.concatenate(kept_vertices), np.concatenate(kept_faces)


def _far_vertices(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """One or two vertices very far away."""
    vertices = vertices.copy()
    far = draw.choice(len(vertices), min(2, int(draw.integers(1, 4))), replace=False)
    vertices[far] += _power(draw, 1, 14) * draw.normal(size=(len(far), 3))
    return vertices, faces


def _near_duplicates(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """Vertices moved onto others, exactly or nearly."""
    vertices = vertices.copy()
    count = int(draw.integers(1, max(2, len(vertices) // 2)))
    moved, there = draw.integers(len(vertices), size=(2, count))
    vertices[moved] = vertices[there] + (draw.random() < 0.7) * _power(draw, -17, -6) * draw.normal(
        size=(count, 3)
    )
    return vertices, faces


def _rounded(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """Positions on a coarse lattice: degenerate and coplanar faces, equal lengths."""
    step = draw.choice([0.05, 0.2, 0.5])
    return np.round(vertices / step) * step, faces


def _turned_over(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    return vertices, np.where(draw.random((len(faces), 1)) < draw.uniform(0, 1), faces[:, ::-1], faces)


def _joined(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """A few faces between any vertices."""
    more = np.array([draw.choice(len(vertices), 3, replace=False) for _ in range(int(draw.integers(1, 12)))])
    return vertices, np.concatenate([faces, more])


def _spiky(draw: Draw, vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Shape:
    """Noise of any strength, which makes spikes and saddles."""
    return vertices + _power(draw, -16, 1) * draw.normal(size=vertices.shape), faces


SHAPES = [_plane, _grid, _ball, _crumpled_ball, _torus, _regular, _wheel, _soup, _fan_strip]
MISHAPS = [
    _stretched,
    _squeezed,
    _with_specks,
    _far_vertices,
    _near_duplicates,
    _rounded,
    _turned_over,
    _joined,
    _spiky,
]
