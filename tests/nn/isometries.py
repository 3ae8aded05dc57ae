"""Sheets, flat and bent without stretching: the same surface to whoever lives on it.

A sheet has a chart, the plane it was bent from. There a tangent vector is a complex number that does not
depend on tangent frames, which is how vectors on two meshes are compared. Bent meshes are numbered otherwise
than flat ones, so that their frames are other edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, Delaunay
from torch import Tensor

from fieldconv import Mesh, Surface
from fieldconv.geometry.geodesic.charts import frame_vertices
from tests.shapes import cone, cone_chart, cylinder, cylinder_chart, grid, torus

Points = NDArray[np.complex128]
RADIUS = 0.2


@dataclass
class Seen:
    """A surface with its intrinsic features, and how it looks in the chart.

    ``number`` is the number of each of its samples in the chart, ``frame`` the direction of its tangent
    frame there, ``chart`` its place.
    """

    surface: Surface
    number: NDArray[np.int64]
    frame: Tensor
    chart: Tensor

    def to_frames(self, field: Tensor) -> Tensor:
        """A vector field of the chart, (n, C), in the frames of this surface."""
        return field[self.number] * self.frame.conj()[:, None]

    def to_chart(self, values: Tensor) -> Tensor:
        """Values at the samples, in the chart's numbering; vectors as those of the chart."""
        shown = values * self.frame[:, None] if values.is_complex() else values
        ordered = torch.empty_like(shown)
        ordered[self.number] = shown
        return ordered


def seen(mesh: Mesh, chart: Points | None = None, number: NDArray[np.int64] | None = None) -> Seen:
    """A mesh with heat kernel signatures, computed on this very mesh; without a chart, its frames are one."""
    surface = Surface.from_mesh(mesh, radius=RADIUS, features="hks")
    frame, count = np.ones(len(mesh.vertices), complex), len(mesh.vertices)
    if chart is not None:
        edge = chart[frame_vertices(mesh)] - chart
        frame = edge / abs(edge)
    return Seen(
        surface,
        np.arange(count) if number is None else number,
        torch.from_numpy(frame).to(torch.complex64),
        torch.from_numpy(np.zeros(count, complex) if chart is None else chart).to(torch.complex64),
    )


def flat(chart: Points, faces: NDArray[np.int64]) -> Mesh:
    return Mesh(np.column_stack([chart.real, chart.imag, np.zeros(len(chart))]), faces)


def numbered_otherwise(
    vertices: NDArray[np.float64], faces: NDArray[np.int64], seed: int = 0
) -> tuple[Mesh, NDArray[np.int64]]:
    """The same mesh with vertices, faces and corners in another order; the old number of each vertex."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(vertices))
    mixed = np.argsort(order)[rng.permutation(faces)]
    first = rng.integers(3, size=(len(mixed), 1))
    return Mesh(vertices[order], np.take_along_axis(mixed, (np.arange(3) + first) % 3, 1)), order


# ---- Exactly isometric: the same triangles, bent at their edges ----


def _open(
    vertices: NDArray[np.float64], faces: NDArray[np.int64], chart: Points, whole: NDArray[np.bool_]
) -> tuple[Seen, Seen]:
    """Flat and bent, with the triangles that are whole in the chart."""
    used, renumbered = np.unique(faces[whole], return_inverse=True)
    kept, chart = renumbered.reshape(-1, 3), chart[used]
    bent, order = numbered_otherwise(vertices[used], kept)
    return seen(flat(chart, kept), chart), seen(bent, chart[order], order)


def prism() -> tuple[Seen, Seen]:
    """An irregularly triangulated sheet, flat, and rolled around a prism until its ends almost meet."""
    (vertices, faces), (chart, around) = cylinder(sides=8), cylinder_chart(sides=8)
    # Without the last panel, no triangle crosses the seam at which the chart repeats.
    whole = chart[faces, 0].max(axis=1) < around * 7 / 8 - 1e-9
    return _open(vertices, faces, chart[:, 0] + 1j * chart[:, 1], whole)


def pyramid() -> tuple[Seen, Seen]:
    """A sector of a ring, flat, and rolled to a pyramid without its tip."""
    (vertices, faces), (chart, around) = cone(), cone_chart()
    whole = chart[faces, 1].max(axis=1) < around * 11 / 12 - 1e-9
    return _open(vertices, faces, chart[:, 0] * np.exp(1j * chart[:, 1]), whole)


def folded_strip() -> tuple[Seen, Seen]:
    """A strip of squares, flat, and folded by another angle at every column."""
    vertices, faces = grid(30, 6)
    angles = np.cumsum(np.random.default_rng(0).uniform(-0.6, 0.6, 29))
    steps = np.column_stack([np.cos(angles), np.sin(angles)])
    profile = np.concatenate([[[0, 0]], np.cumsum(steps, axis=0)])
    column = vertices[:, 0].astype(int)
    folded = np.column_stack([profile[column, 0], vertices[:, 1], profile[column, 1]])
    return _open(folded, faces, vertices[:, 0] + 1j * vertices[:, 1], np.ones(len(faces), bool))


def moved_torus() -> tuple[Seen, Seen]:
    """A torus elsewhere in space; uneven, for mirror symmetry leaves a choice of equally short paths."""
    rng = np.random.default_rng(0)
    vertices, faces = torus(around=24, across=10)
    vertices += 0.03 * rng.normal(size=vertices.shape)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation[:, 0] *= np.linalg.det(rotation)
    return seen(Mesh(vertices, faces)), seen(Mesh(vertices @ rotation.T + [5, -3, 2], faces))


# ---- Triangulated anew ----

OUTLINE: Points = np.array([0, 1.5, 1.2 + 0.9j, 0.1 + 0.7j])
PROBES: Points = np.array(
    [
        *(0.3 + 0.25j, 0.45 + 0.5j, 0.6 + 0.2j, 0.7 + 0.45j, 0.85 + 0.65j, 0.95 + 0.3j),
        *(1.1 + 0.5j, 0.5 + 0.35j, 0.35 + 0.4j, 0.8 + 0.3j, 1.15 + 0.25j, 0.65 + 0.6j),
    ]
)
"""Points that are vertices of every sheet and listed first."""


def sheet(count: int, seed: int) -> tuple[Points, NDArray[np.int64]]:
    """A lopsided quadrangle with about ``count`` vertices: outline and probes are given, the rest random."""
    rng = np.random.default_rng(seed)
    step = count**-0.5
    sides = np.roll(OUTLINE, -1) - OUTLINE
    border = [
        start + side * np.arange(parts) / parts
        for start, side in zip(OUTLINE, sides, strict=True)
        for parts in [round(abs(side) / step)]
    ]
    given = np.concatenate([PROBES, *border])
    y, x = np.mgrid[: 2 / step, : 2 / step]
    hexagons = step * (x + 0.5 * (y % 2) + 1j * np.sqrt(0.75) * y).ravel() * np.exp(1j * rng.uniform(0, 6))
    spread = hexagons - hexagons.mean() + OUTLINE.mean()
    spread += 0.15 * step * (rng.normal(size=len(spread)) + 1j * rng.normal(size=len(spread)))
    height = ((spread - OUTLINE[:, None]) * np.conj(sides / abs(sides))[:, None]).imag  # above each side
    clear = abs(spread[:, None] - given).min(axis=1) > 0.6 * step
    chart = np.concatenate([given, spread[clear & (height.min(axis=0) > 0)]])
    faces = Delaunay(np.column_stack([chart.real, chart.imag])).simplices.astype(np.int64)
    a, b, c = chart[faces].T
    doubled = ((b - a).conj() * (c - a)).imag
    faces[doubled < 0] = faces[doubled < 0][:, ::-1]
    return chart, faces[abs(doubled) > 1e-9]


def rolled_to_a_cone(chart: Points, slope: float = 0.35) -> NDArray[np.float64]:
    """Points of a cone whose radius is ``slope`` times the distance from its tip, which is off the sheet."""
    tip = chart + 0.4 + 0.3j
    far, around = abs(tip), np.angle(tip) / slope
    return np.column_stack(
        [slope * far * np.cos(around), slope * far * np.sin(around), np.sqrt(1 - slope**2) * far]
    )


def flat_and_rolled(count: int) -> tuple[Seen, Seen]:
    """The sheet lying flat, and another triangulation of it rolled to a cone."""
    (one, one_faces), (other, other_faces) = sheet(count, 1), sheet(count, 2)
    return (
        seen(flat(one, one_faces), one),
        seen(Mesh(rolled_to_a_cone(other), other_faces), other),
    )


def egg(probes: NDArray[np.float64], count: int, seed: int) -> Mesh:
    """A lopsided egg: its first vertices are the probes (of the unit sphere), the others spread evenly."""
    rng = np.random.default_rng(seed)
    i = np.arange(count) + 0.5
    z, around = 1 - 2 * i / count, np.pi * (1 + 5**0.5) * i
    spread = np.column_stack([np.sqrt(1 - z**2) * np.cos(around), np.sqrt(1 - z**2) * np.sin(around), z])
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    spread = spread @ rotation.T + rng.normal(scale=0.4 * count**-0.5, size=spread.shape)
    spread /= np.linalg.norm(spread, axis=1, keepdims=True)
    clear = np.linalg.norm(spread[:, None] - probes[None], axis=2).min(axis=1) > count**-0.5
    ball = np.concatenate([probes, spread[clear]])
    faces = ConvexHull(ball).simplices.astype(np.int64)
    inward = np.linalg.det(ball[faces]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Mesh(ball * [1.5, 1, 0.8] * (1 + 0.2 * ball @ [[0.5], [0.6], [0.8]]), faces)


Pair = Callable[[], tuple[Seen, Seen]]
PAIRS: tuple[Pair, ...] = (moved_torus, prism, pyramid, folded_strip)
