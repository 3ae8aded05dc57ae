"""The parts a surface is made of: each is computed only if it was asked for, and kept under its own key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv._compiled import begin
from fieldconv._memory import available_memory
from fieldconv.geometry.damage.damage import smoothed
from fieldconv.geometry.geodesic.charts import begin_frames
from fieldconv.geometry.geodesic.discs import PAIR_BYTES
from fieldconv.geometry.geodesic.front import suits_front
from fieldconv.geometry.geodesic.geodesic_discs import SOLVER_VERSION, geodesic_discs, tangent_frames
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.numbering import by_position
from fieldconv.geometry.mesh.specks import surface_vertices
from fieldconv.geometry.resample.close_holes import closed_copy, rim_distances
from fieldconv.geometry.resample.coarsen import Resampled, coarsened
from fieldconv.geometry.resample.sampling import (
    SeenSamples,
    farthest_point_samples,
    sample_areas,
    seen_samples,
)
from fieldconv.geometry.resample.subdivide import subdivided
from fieldconv.geometry.spectral.balls import ball_integrals
from fieldconv.geometry.spectral.signatures import (
    RESOLVED,
    Eigenbasis,
    eigenbasis,
    heat_kernel_signature,
    local_heat,
    wave_kernel_signature,
)
from fieldconv.geometry.spectral.vertex_gradients import vertex_gradients
from fieldconv.surface.settings import SurfaceSettings

Tensors = dict[str, Tensor]

NEIGHBOURS = 4  # samples each original vertex reads from
AT_HAND = {"xyz": "pos", "normals": "normal"}  # features that every surface carries anyway
SIGNATURES = ("hks", "wks", "heat", "rim", "balls")  # computed features: columns of x, not tensors by name
FINE = 8  # vertices for each sample are as good as more: denser meshes are made coarser first
LEAST = 8192  # but not coarser than this
DENSE = 2.5  # times as many vertices make it worth while
SPARSE = 2  # vertices for each sample of a mesh that is subdivided, so that samples are spread evenly
COARSER = 4  # samples for each sample of the coarse level, whose radius is twice as large
MANY = 200_000  # pairs whose exact paths take a second; more cost more than they are worth


class Sampling(NamedTuple):
    """Which vertices are samples, the area of each, and how every vertex reads from them.

    Vertices are those of the mesh that is measured; samples are listed in the order of the given mesh.
    """

    chosen: NDArray[np.int64]
    area: NDArray[np.float64]
    reads: NDArray[np.int64]
    weight: NDArray[np.float64]
    transport: NDArray[np.float64]
    seen: SeenSamples | None = None  # None where every vertex is a sample


def _sampled(
    mesh: Mesh, count: int, neighbours: int, among: Mesh, order: NDArray[np.int64] | None, seed: int | None
) -> Sampling:
    """Farthest-point samples of the mesh of which ``mesh`` may be the closed one, sorted by ``order``."""
    # Measured in the order in which they were found, nothing depends on the numbering of vertices.
    found = farthest_point_samples(among, count, seed=seed)
    place = np.argsort(found if order is None else order[found])
    seen = seen_samples(mesh, found, neighbours)
    index, weight, transport = seen.interpolation()
    own = slice(len(among.vertices))
    return Sampling(
        found[place],
        sample_areas(mesh, found)[place],
        np.argsort(place)[index[own]],
        weight[own],
        transport[own],
        seen,
    )


class Preparation:
    """A mesh, scaled to unit area, and what several parts need of it, worked out once.

    Vertices on no face, and specks, are left out (`surface_vertices`). The others are numbered by position
    while they are measured (`by_position`); samples have the order of the mesh as it was given.

    Parameters
    ----------
    mesh : Mesh
    settings : SurfaceSettings

    Attributes
    ----------
    given : Mesh
        The mesh as it was given.
    unit : Mesh
        The part of it that counts, numbered by position, at unit area.
    mesh : Mesh
        The mesh that is measured in its place: coarser, finer, smoother or closed if the settings ask for it.
    opened : Mesh
        The same without what closes it.
    """

    def __init__(self, mesh: Mesh, settings: SurfaceSettings) -> None:
        self.given = mesh.validate()
        self.kept = surface_vertices(mesh)
        self.numbered = by_position(_kept_part(mesh, self.kept))
        self.unit = self._in_given_frames(self.numbered.mesh.normalised())
        self.settings = settings
        self._bases: dict[int, Eigenbasis] = {}
        self._one_at_a_time = Lock()  # signatures are computed on another thread

    @cached_property
    def resampled(self) -> Resampled | None:
        """The mesh that is measured in place of one that is far denser than its samples, or too sparse."""
        count, samples, fewest = len(self.unit.vertices), self.settings.samples, self.settings.fewest
        if fewest is not None and count < fewest:
            return subdivided(self.unit, SPARSE * (samples or fewest))
        if samples is None or count <= DENSE * max(FINE * samples, LEAST):
            return None
        found = coarsened(self.unit, max(FINE * samples, LEAST))
        return found if len(found.mesh.faces) else None

    @cached_property
    def opened(self) -> Mesh:
        """The mesh that is measured, with its holes, at unit area."""
        mesh = self.unit if self.resampled is None else self.resampled.mesh
        if self.settings.smoothing:
            mesh = smoothed(mesh, self.settings.smoothing).mesh
        return mesh if mesh is self.unit else mesh.normalised()

    @cached_property
    def mesh(self) -> Mesh:
        """The mesh that is measured, at unit area; what closes it are vertices at its end."""
        closed = closed_copy(self.opened) if self.settings.closed else self.opened
        if closed is self.opened:
            return closed
        return (
            closed.normalised() if self.resampled is not None else self._in_given_frames(closed.normalised())
        )

    def _in_given_frames(self, mesh: Mesh) -> Mesh:
        """The same mesh, with the tangent frames that its vertices have in the given numbering."""
        more = np.zeros(len(mesh.vertices) - len(self.numbered.first_face), np.int64)
        begin_frames(mesh, np.concatenate([self.numbered.first_face, more]))
        return mesh

    @cached_property
    def sampling(self) -> Sampling:
        mesh, samples = self.mesh, self.settings.samples
        count = len(self.opened.vertices)
        if samples is None or samples >= count:
            every = np.arange(count) if self.resampled is not None else self.numbered.place
            weight = np.zeros((count, NEIGHBOURS))
            weight[:, 0] = 1.0
            index = np.repeat(np.argsort(every)[:, None], NEIGHBOURS, axis=1)
            areas = mesh.vertex_areas[every]
            return Sampling(every, areas, index, weight, np.zeros((count, NEIGHBOURS)))
        seed = self.settings.sampling or None
        return _sampled(mesh, samples, NEIGHBOURS, among=self.opened, order=self.order, seed=seed)

    @cached_property
    def nearest_kept(self) -> NDArray[np.int64]:
        """(V,) the kept vertex at each vertex of the given mesh; for those left out the nearest in space."""
        near = np.searchsorted(self.kept, np.arange(len(self.given.vertices)))
        lost = np.setdiff1d(np.arange(len(near)), self.kept, assume_unique=True)
        kept, others = self.given.vertices[self.kept], self.given.vertices[lost]
        near[lost] = scipy.spatial.cKDTree(kept).query(others)[1]
        return near

    @property
    def order(self) -> NDArray[np.int64] | None:
        """(V,) number in the given mesh of each vertex that is measured; None if these are others."""
        return self.numbered.order if self.resampled is None else None

    @cached_property
    def number(self) -> NDArray[np.int64]:
        """(V,) which sample each vertex of the measured mesh is; −1 if it is none."""
        number = np.full(len(self.mesh.vertices), -1)
        number[self.sampling.chosen] = np.arange(len(self.sampling.chosen))
        return number

    @cached_property
    def frames(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Direction θ = 0 and normal at every vertex."""
        return tangent_frames(self.mesh)

    def basis(self, count: int, *, whole: bool = False) -> Eigenbasis:
        """Return the lowest eigenfunctions, so many on a connected mesh (`Eigenbasis.lowest`)."""
        with self._one_at_a_time:
            if count not in self._bases:
                self._bases[count] = eigenbasis(self.mesh, count + 1)
            return self._bases[count].lowest(count, whole=whole)


@dataclass(frozen=True)
class Part:
    """Some tensors of a surface that are computed together.

    Parameters
    ----------
    name : str
    settings : tuple of str
        The fields of `SurfaceSettings` on which it depends.
    make : callable (Preparation) -> dict of str to Tensor
    version : int
        Raised when the result changes, so that what was kept of it is not used any more.
    indices : dict of str to str
        Which of its tensors hold row numbers, and of which tensor, so that a batch can count on. Those
        called ``…_index`` need not be named if they number samples.
    """

    name: str
    settings: tuple[str, ...]
    make: Callable[[Preparation], Tensors]
    version: int = 1
    indices: Mapping[str, str] = field(default_factory=dict)

    def key(self, settings: SurfaceSettings) -> list[object]:
        """Return what the part depends on besides the mesh, as JSON."""
        own = [getattr(settings, name) for name in self.settings]
        # What is kept of meshes as they are was there before meshes could be closed, smoothed or subdivided.
        more: list[object] = ["closed"] if settings.closed else []
        if settings.smoothing:
            more.append(["smoothing", settings.smoothing])
        if settings.fewest is not None:
            more.append(["fewest", settings.fewest])
        if settings.sampling:
            more.append(["sampling", settings.sampling])
        return [self.name, self.version, SOLVER_VERSION, own, *more]


def parts_of(settings: SurfaceSettings) -> list[Part]:
    """Return the parts that a surface with these settings consists of.

    Examples
    --------
    >>> [part.name for part in parts_of(SurfaceSettings(features="hks", operators=()))]
    ['samples', 'hks']
    """
    seen = [name for name in settings.features.split("+") if name not in AT_HAND]
    names = ["samples", *seen, *settings.operators]
    missing = [name for name in names if name not in _PARTS]
    if missing:
        known = ", ".join(name for name in _PARTS if name not in ("samples", *SIGNATURES))
        raise ValueError(f"unknown operator {missing[0]!r} of a surface; choose of {known}")
    return [_PARTS[name] for name in dict.fromkeys(names)]


def register_operator(part: Part) -> Part:
    """Add an operator, so that networks can ask surfaces to carry it."""
    _PARTS[part.name] = part
    return part


def row_number_of(name: str, more: Mapping[str, str]) -> str | None:
    """Return the tensor whose rows a tensor of that name numbers; None if it holds no row numbers.

    Examples
    --------
    >>> row_number_of("coarse_edge_index", {}), row_number_of("pos", {})
    ('coarse_sample', None)
    """
    return more.get(name) or _ROW_NUMBERS.get(name) or ("sample" if name.endswith("_index") else None)


def further_row_numbers(parts: Iterable[Part]) -> dict[str, str]:
    """Return the row numbers of parts that `row_number_of` does not know by itself."""
    found = {name: rows for part in parts for name, rows in part.indices.items()}
    return {name: rows for name, rows in found.items() if _ROW_NUMBERS.get(name) != rows}


def make_parts(preparation: Preparation, parts: list[Part]) -> dict[str, Tensors]:
    """Compute parts of a surface; features, which take as long as all the rest, on another thread."""
    later = {part.name: begin(part.make, preparation) for part in parts if part.name in SIGNATURES}
    made = {part.name: part.make(preparation) for part in parts if part.name not in SIGNATURES}
    made |= {name: wait() for name, wait in later.items()}
    return {part.name: made[part.name] for part in parts}


def _kept_part(mesh: Mesh, vertices: NDArray[np.int64]) -> Mesh:
    """The mesh of some vertices, ascending, with the faces around them; the same mesh if these are all."""
    if len(vertices) == len(mesh.vertices):
        return mesh
    number = np.full(len(mesh.vertices), -1)
    number[vertices] = np.arange(len(vertices))
    faces = number[mesh.faces[np.isin(mesh.faces[:, 0], vertices)]]
    return Mesh(mesh.vertices[vertices], faces, mesh.name)


def _samples(preparation: Preparation) -> Tensors:
    mesh, sampling, other = preparation.mesh, preparation.sampling, preparation.resampled
    numbered = preparation.numbered
    frames, normals = preparation.frames
    areas = preparation.unit.vertex_areas[numbered.place]
    # Where each vertex of the given mesh is measured, and which vertex of it each sample is.
    if other is None:
        place, chosen = numbered.place, numbered.order[sampling.chosen]
    else:
        place = _places(preparation.unit, other)[numbered.place]
        chosen = numbered.order[other.origin[sampling.chosen]]
    reads, transport = sampling.reads[place], sampling.transport[place]
    # On a coarser mesh vertices lie beside their places, elsewhere at them.
    if other is not None and sampling.seen is not None and len(other.mesh.vertices) < len(areas):
        weight = sampling.seen.weights_near(place, _offsets(preparation, other, place))
    else:
        weight = sampling.weight[place]
    # The frames are those of the measured mesh, which may be other ones than those of the given mesh.
    if preparation.opened is not preparation.unit or numbered.turned:
        original = _kept_part(preparation.given, preparation.kept)
        transport = transport + _turns(original, frames[place], numbered.mirrored)[:, None]
    if len(preparation.kept) < len(preparation.given.vertices):
        near = preparation.nearest_kept
        reads, weight, transport, chosen = (
            reads[near],
            weight[near],
            transport[near],
            preparation.kept[chosen],
        )
        areas = np.bincount(preparation.kept, areas, len(near)).astype(np.float64)
    return {
        "pos": single(mesh.vertices[sampling.chosen]),
        "area": single(sampling.area),
        "frame": single(frames[sampling.chosen]),
        "normal": single(normals[sampling.chosen]),
        "sample": torch.from_numpy(chosen),
        "vertex_sample": torch.from_numpy(reads),
        "vertex_weight": single(weight),
        "vertex_transport": unit(transport),
        "vertex_area": single(areas / areas.sum()),
    }


def _places(mesh: Mesh, other: Resampled) -> NDArray[np.int64]:
    """(V,) the vertex of the other mesh of each vertex; for those on no triangle the nearest in space."""
    place = other.vertex_map.copy()
    lost = np.flatnonzero(place < 0)
    if len(lost):
        place[lost] = scipy.spatial.cKDTree(other.mesh.vertices).query(mesh.vertices[lost])[1]
    return place


def _offsets(preparation: Preparation, other: Resampled, place: NDArray[np.int64]) -> NDArray[np.complex128]:
    """(V,) where each vertex of the given mesh lies as seen from its place on the coarser one."""
    frames, normals = preparation.frames
    across = np.cross(normals, frames)
    offset = preparation.unit.vertices[preparation.numbered.place] - other.mesh.vertices[place]
    offset /= np.sqrt(other.mesh.area)  # what is measured has unit area
    along, aside = (np.einsum("vx,vx->v", offset, way[place]) for way in (frames, across))
    return np.asarray(along + 1j * aside)


def _turns(mesh: Mesh, directions: NDArray[np.float64], mirrored: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(V,) angle of a direction in space in each vertex's own frame, seen from outside.

    ``mirrored`` are the vertices whose faces turn the wrong way, so that their normals point inside.
    """
    frames, normals = tangent_frames(mesh)
    across = np.cross(np.where(mirrored[:, None], -normals, normals), frames)
    return np.asarray(np.arctan2((directions * across).sum(1), (directions * frames).sum(1)))


def _discs(preparation: Preparation) -> Tensors:
    sampling = preparation.sampling
    return _disc_edges(preparation, sampling.chosen, sampling.area, preparation.settings.radius)


def _coarse(preparation: Preparation) -> Tensors:
    """Discs of twice the radius between a quarter of the samples, and the nearest of these to each sample."""
    mesh, chosen = preparation.mesh, preparation.sampling.chosen
    # The first farthest-point samples of a mesh are the same, however many follow: these are among the fine.
    count = max(1, round(len(chosen) / COARSER))
    seed = preparation.settings.sampling or None
    sampling = _sampled(mesh, count, 1, among=preparation.opened, order=preparation.order, seed=seed)
    edges = _disc_edges(preparation, sampling.chosen, sampling.area, 2 * preparation.settings.radius)
    return {
        "coarse_sample": torch.from_numpy(preparation.number[sampling.chosen]),
        "coarse_parent": torch.from_numpy(sampling.reads[chosen, 0]),
        "coarse_carry": unit(sampling.transport[chosen, 0]),
        "coarse_edge_index": edges["edge_index"],
        "coarse_edge_log": edges["log"],
        "coarse_edge_transport": edges["transport"],
        "coarse_edge_weight": edges["weight"],
        "coarse_radius": edges["radius"],
    }


def _disc_edges(
    preparation: Preparation, chosen: NDArray[np.int64], area: NDArray[np.float64], radius: float
) -> Tensors:
    """Edges (q → p) sorted by receiver p, from discs around each sample as sender q."""
    mesh, settings = preparation.mesh, preparation.settings
    _check_room(len(chosen), radius)
    many = len(chosen) * np.pi * radius**2 * len(mesh.vertices) > MANY
    front = settings.solver == "local" and many and suits_front(mesh)
    discs = geodesic_discs(mesh, radius, chosen, chosen, solver="front" if front else settings.solver)
    number = np.zeros(int(discs.sources.max(initial=0)) + 1, np.int64)
    number[discs.sources] = np.arange(len(discs.sources))
    sender, receiver = number[discs.centres], number[discs.targets]
    small = np.min_scalar_type(len(chosen))  # numbers of two bytes are sorted far faster
    order = np.argsort(receiver.astype(small), kind="stable")
    order = order[~discs.ambiguous[order]]  # which of its paths counts would be decided by chance
    sender, receiver = sender[order], receiver[order]
    ball = np.bincount(receiver, area[sender], minlength=len(chosen))
    # A vertex without faces stands for no area: it neither sends nor receives anything.
    weight = area[sender] / np.where(ball > 0, ball, 1.0)[receiver]
    distance, angle = discs.distance[order], discs.angle[order]
    return {
        "edge_index": torch.from_numpy(np.stack([sender, receiver])),
        "log": torch.from_numpy((distance * np.exp(1j * angle)).astype(np.complex64)),
        "transport": unit(discs.transport[order]),
        "weight": single(weight),
        "radius": torch.tensor([radius], dtype=torch.float32),
    }


def expected_pairs(samples: int, radius: float) -> float:
    """Return about how many pairs of neighbours so many samples of a surface of unit area have."""
    return float(samples**2 * min(np.pi * radius**2, 1.0))


def _check_room(samples: int, radius: float) -> None:
    """Raise ValueError if the discs would not fit into the memory that is free."""
    free, pairs = available_memory(), expected_pairs(samples, radius)
    needed = PAIR_BYTES * pairs
    if free is None or needed <= free:
        return
    fitting = int((free / 2 / PAIR_BYTES / min(np.pi * radius**2, 1.0)) ** 0.5)
    raise ValueError(
        f"{samples:,} samples with radius {radius:g} have about {pairs / 1e6:,.0f} million pairs of "
        f"neighbours, which take {needed / 1e9:.0f} GB where {free / 1e9:.0f} GB are free; take fewer "
        f"samples (--samples {fitting}) or a smaller radius"
    )


def _eigenbasis(preparation: Preparation) -> Tensors:
    count, sampling = preparation.settings.eigenfunctions, preparation.sampling
    basis = preparation.basis(count)
    every = len(sampling.chosen) == len(basis.areas)
    return {
        "eigenvalues": single(_columns(basis.values[None], count)),
        "eigenfunctions": single(_columns(basis.functions[sampling.chosen], count)),
        "mass": single(basis.areas[sampling.chosen] if every else sampling.area),
    }


def _eigengradients(preparation: Preparation) -> Tensors:
    count = preparation.settings.eigenfunctions
    functions = _columns(preparation.basis(count).functions, count)
    gradients = vertex_gradients(preparation.mesh, functions)[preparation.sampling.chosen]
    return {"eigengradients": torch.from_numpy(gradients.astype(np.complex64))}


def _columns(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return so many columns, the last ones zero if there are fewer: batches need equal numbers."""
    return np.pad(values, ((0, 0), (0, max(count - values.shape[1], 0))))[:, :count]


def _hks(preparation: Preparation) -> Tensors:
    signature = heat_kernel_signature(preparation.basis(RESOLVED, whole=True))
    return {"hks": single(signature[preparation.sampling.chosen])}


def _wks(preparation: Preparation) -> Tensors:
    signature = wave_kernel_signature(preparation.basis(RESOLVED, whole=True), k=RESOLVED)
    return {"wks": single(signature[preparation.sampling.chosen])}


def _heat(preparation: Preparation) -> Tensors:
    heat = local_heat(preparation.basis(RESOLVED, whole=True))
    return {"heat": single(heat[preparation.sampling.chosen])}


def _rim(preparation: Preparation) -> Tensors:
    """1 at a rim, 0 from a radius away on."""
    opened = preparation.opened
    mesh = Mesh(preparation.mesh.vertices[: len(opened.vertices)], opened.faces)  # in the units of the radius
    away = rim_distances(mesh)[preparation.sampling.chosen]
    return {"rim": single(np.maximum(0.0, 1.0 - away / preparation.settings.radius)[:, None])}


def _balls(preparation: Preparation) -> Tensors:
    return {"balls": single(ball_integrals(preparation.mesh, preparation.sampling.chosen))}


def single(values: NDArray[np.float64]) -> Tensor:
    """Return an array as a contiguous tensor of single precision."""
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))


def unit(angles: NDArray[np.float64]) -> Tensor:
    """Return e^{iφ} of angles φ, in single precision."""
    return torch.from_numpy(np.exp(1j * angles).astype(np.complex64))


_PARTS = {
    part.name: part
    for part in (
        Part(
            "samples",
            ("samples",),
            _samples,
            version=2,
            indices={"sample": "vertex_sample", "vertex_sample": "sample"},
        ),
        Part("hks", ("samples",), _hks),
        Part("wks", ("samples",), _wks),
        Part("heat", ("samples",), _heat),
        Part("rim", ("samples", "radius"), _rim),
        Part("balls", ("samples",), _balls),
        Part("discs", ("samples", "radius", "solver"), _discs),
        Part(
            "coarse",
            ("samples", "radius", "solver"),
            _coarse,
            indices={
                "coarse_sample": "sample",
                "coarse_parent": "coarse_sample",
                "coarse_edge_index": "coarse_sample",
            },
        ),
        Part("eigenbasis", ("samples", "eigenfunctions"), _eigenbasis, version=2),
        Part("eigengradients", ("samples", "eigenfunctions"), _eigengradients, version=2),
    )
}
# Those that surfaces made by hand need not say.
_ROW_NUMBERS = {name: rows for part in _PARTS.values() for name, rows in part.indices.items()}
