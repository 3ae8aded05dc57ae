"""A mesh and the ways to colour it, which the viewer and the pictures draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Bytes, Floats, Ints
from fieldconv.geometry.geodesic.geodesic_discs import geodesic_discs, tangent_frames
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.viz import colours as col

MAX_ARROWS = 500


@dataclass(frozen=True, eq=False, kw_only=True)
class Arrows:
    """(K, 3) vectors at (K,) vertices, in the units of the mesh; ``shown`` at once, or on demand."""

    vertices: Ints
    vectors: Floats
    shown: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Labels:
    """A (V,) class per vertex, negative for none, and the name of each class."""

    name: str
    values: Ints
    names: Sequence[str]

    @cached_property
    def colours(self) -> Bytes:
        """(K, 3) colour of each class; at least one, even if no vertex has a class."""
        return col.categorical(max(len(self.names), 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class Scalar:
    """A (V,) number per vertex, NaN for none, shown through a colour ramp with a colour bar."""

    name: str
    values: Floats
    limits: tuple[float, float]  # numbers at the ends of the ramp
    ramp: Bytes  # (K, 3)
    arrows: Arrows | None = None  # vectors whose magnitudes the numbers are

    def colours_at(self, numbers: Floats) -> Bytes:
        """Return the (…, 3) colours of numbers; `PLAIN` for NaN."""
        low, high = self.limits
        place = (numbers - low) / (high - low) if high > low else np.where(np.isnan(numbers), np.nan, 0.5)
        return col.look_up(self.ramp, place)


@dataclass(frozen=True, eq=False, kw_only=True)
class Colours:
    """A (V, 3) colour per vertex, e.g. carried over from a source mesh."""

    name: str
    values: Bytes
    match: Ints | None = None  # (V,) corresponding vertex of the first panel's mesh; negative means none


@dataclass(frozen=True, eq=False, kw_only=True)
class Polar:
    """Polar coordinates around a vertex: hue is the angle, rings mark the distance.

    Values are (V, 2) positions in the tangent plane of the centre, NaN outside the disc of that radius.
    """

    name: str
    values: Floats
    radius: float


Colouring = Labels | Scalar | Colours | Polar


@dataclass(frozen=True, eq=False, kw_only=True)
class Panel:
    """One view of a mesh.

    Parameters
    ----------
    title, note : str
        Plain text above the view; the mesh's name and size if left out.
    colourings : sequence
        Ways to colour it; the first is shown first, the others on demand.
    focus : (int, float), optional
        Vertex to look at, and the radius around it that fills the view.

    Examples
    --------
    >>> mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], name="triangle")
    >>> Panel(mesh=mesh, colourings=[scalar("Height", mesh.vertices[:, 1])]).title
    'triangle'
    """

    mesh: Mesh
    title: str = ""
    note: str = ""
    colourings: Sequence[Colouring] = ()
    focus: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.mesh.name or "mesh")
        count = len(self.mesh.vertices)
        for colouring in self.colourings:
            if len(colouring.values) != count:
                raise ValueError(
                    f"{self.title}: {colouring.name!r} has {len(colouring.values):,} values "
                    f"but the mesh has {count:,} vertices; give one per vertex"
                )


def labels(name: str, values: ArrayLike, names: Sequence[str] | None = None) -> Labels:
    """Return a colouring by class; the name of a class defaults to its number.

    Examples
    --------
    >>> labels("Part", [0, 2, 2]).names
    ['0', '1', '2']
    """
    classes = np.asarray(values, dtype=np.int64)
    needed = int(classes.max(initial=-1)) + 1
    given = [str(n) for n in names or ()]
    return Labels(name=name, values=classes, names=given + [str(k) for k in range(len(given), needed)])


def scalar(
    name: str, values: ArrayLike, *, limits: tuple[float, float] | None = None, ramp: str | None = None
) -> Scalar:
    """Return a colouring by a number; numbers of both signs get a diverging ramp around zero.

    Examples
    --------
    >>> scalar("Height", [-1.0, 3.0]).limits
    (-3.0, 3.0)
    """
    numbers = np.asarray(values, dtype=np.float64)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    known = numbers[~np.isnan(numbers)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if limits is None:
        limits = (-max(-low, high), max(-low, high)) if low < 0 < high else (low, high)
    signed = limits[0] < 0 < limits[1]
    table = col.ramp(ramp or ("diverging" if signed else "viridis"))
    return Scalar(name=name, values=numbers, limits=limits, ramp=table)


def error(name: str, values: ArrayLike, *, largest: float | None = None) -> Scalar:
    """Return a colouring by an error, from grey where there is none to red."""
    numbers = np.asarray(values, dtype=np.float64)
    top = float(np.nanmax(numbers, initial=0)) if largest is None else largest
    return scalar(name, numbers, limits=(0.0, top or 1.0), ramp="error")


def field(
    name: str,
    vectors: ArrayLike,
    *,
    largest: float | None = None,
    largest_of_all: float | None = None,
    arrows: Arrows | None = None,
) -> Scalar:
    """Return a colouring by the magnitude of a vector field (see `colours.field_ramp`).

    Parameters
    ----------
    vectors : (V,) complex or magnitudes, or (V, 2) or (V, 3) real
    largest, largest_of_all : float, optional
        Magnitude at the end of the scale, and the largest over all surfaces that are to be compared; the
        largest that occurs here if left out.
    arrows : Arrows, optional
        The same vectors as arrows, see `field_arrows`.
    """
    size = magnitude(vectors)
    largest = float(np.nanmax(size, initial=0)) if largest is None else largest
    table = col.field_ramp(largest, largest if largest_of_all is None else largest_of_all)
    return Scalar(name=name, values=size, limits=(0.0, largest or 1.0), ramp=table, arrows=arrows)


def magnitude(vectors: ArrayLike) -> Floats:
    """Return the (V,) length of each vector of a field."""
    vectors = np.asarray(vectors)
    size: Floats = np.abs(vectors) if vectors.ndim == 1 else np.linalg.norm(vectors, axis=1)
    return size.astype(np.float64)


def match_colours(name: str, source: Mesh, match: ArrayLike) -> Colours:
    """Return a colouring of a mesh by the positions on the source mesh to which a vertex map leads.

    Parameters
    ----------
    match : (V,) int
        For each vertex of the other mesh its vertex of ``source``; negative means none.
    """
    match = np.asarray(match, dtype=np.int64)
    if len(match) and match.max() >= len(source.vertices):
        raise ValueError(
            f"{name}: the map names vertex {match.max()} but {source.name or 'the source mesh'} has "
            f"{len(source.vertices):,} vertices, numbered from 0"
        )
    colours = col.position_colours(source.vertices)[match]
    colours[match < 0] = col.PLAIN
    return Colours(name=name, values=colours, match=match)


def field_arrows(mesh: Mesh, vectors: ArrayLike, *, shown: bool = False) -> Arrows:
    """Return arrows of a vector field at evenly spread vertices, scaled so that neighbours do not overlap.

    Lengths follow the square root of the magnitudes, so that the direction of small vectors can be seen.
    Vectors are those of `vectors_in_space`.
    """
    space = vectors_in_space(mesh, vectors)
    size = np.linalg.norm(space, axis=1)
    largest = size.max(initial=0) or 1.0
    picked = spread_points(mesh.vertices, MAX_ARROWS)
    picked = picked[size[picked] > 1e-3 * largest]
    gap = (mesh.area / max(min(MAX_ARROWS, len(mesh.vertices)), 1)) ** 0.5
    scale = 1.2 * gap / np.sqrt(size[picked] * largest)
    return Arrows(vertices=picked, vectors=space[picked] * scale[:, None], shown=shown)


def vectors_in_space(mesh: Mesh, vectors: ArrayLike) -> Floats:
    """Return (V, 3) vectors, from (V,) complex or (V, 2) in the tangent frames, or (V, 3) in space."""
    vectors = np.asarray(vectors)
    if vectors.ndim == 2 and vectors.shape[1] == 2:
        vectors = vectors[:, 0] + 1j * vectors[:, 1]
    if vectors.ndim == 2:
        return vectors.astype(np.float64)
    frame, normal = tangent_frames(mesh)
    in_space: Floats = vectors.real[:, None] * frame + vectors.imag[:, None] * np.cross(normal, frame)
    return in_space


def spread_points(points: Floats, max_points: int) -> Ints:
    """Return the indices of at most ``max_points`` evenly spread points: one in each cell of a grid."""
    if len(points) <= max_points:
        return np.arange(len(points))
    size = np.ptp(points, axis=0).max() or 1.0
    low, high = 1.0, 4096.0  # cells along the longest side; a finer grid keeps more points
    indices = np.arange(1)
    while high - low > 1:
        middle = (low + high) / 2
        cells = np.floor((points - points.min(axis=0)) / size * middle).astype(np.int64)
        _, first = np.unique(cells @ np.array([1, 1 << 20, 1 << 40]), return_index=True)
        if len(first) <= max_points:
            low, indices = middle, first
        else:
            high = middle
    return np.sort(indices)


def disc_panels(mesh: Mesh, vertex: int, radius: float) -> list[Panel]:
    """Return panels of the geodesic disc of a vertex: polar coordinates, and vectors transported over it.

    The radius is in the units of the mesh. The first panel shows the logarithm (hue = angle, rings =
    distance), the second the centre's zero direction, parallel-transported to the points of the disc.
    """
    count = len(mesh.vertices)
    if not 0 <= vertex < count:
        raise ValueError(f"{mesh.name or 'mesh'} has no vertex {vertex}; choose one of 0…{count - 1}")
    disc = geodesic_discs(mesh, radius, [vertex])
    logarithm = np.full((count, 2), np.nan)
    logarithm[disc.targets] = (disc.distance * np.stack([np.cos(disc.angle), np.sin(disc.angle)])).T
    distance = np.full(count, np.nan)
    distance[disc.targets] = disc.distance
    transported = np.zeros(count, dtype=np.complex128)
    transported[disc.targets] = np.exp(1j * disc.transport)

    picked = disc.targets[spread_points(mesh.vertices[disc.targets], MAX_ARROWS // 2)]
    gap = (np.pi * radius**2 / len(picked)) ** 0.5
    vectors = 0.8 * gap * vectors_in_space(mesh, transported)[picked]
    arrows = Arrows(vertices=picked, vectors=vectors, shown=True)
    polar = Polar(name="Polar coordinates", values=logarithm, radius=radius)
    far = scalar("Geodesic distance", distance, limits=(0.0, radius))
    size = f"disc of vertex {vertex}, radius {radius:g}, {len(disc.targets):,} vertices"
    direction = "the centre's zero direction, carried along geodesics"
    first = Panel(mesh=mesh, note=size, colourings=[polar, far], focus=(vertex, radius))
    ways: list[Colouring] = [replace(far, arrows=arrows), polar]
    return [first, replace(first, title="Transported vectors", note=direction, colourings=ways)]
