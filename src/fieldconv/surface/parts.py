"""The parts of a surface: each is computed only if a network asks for it, and cached under its own key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv._compiled import begin
from fieldconv._memory import available_memory
from fieldconv.geometry.damage.damage import smooth
from fieldconv.geometry.geodesic.charts import set_first_faces
from fieldconv.geometry.geodesic.discs import PAIR_BYTES
from fieldconv.geometry.geodesic.front import is_front_accurate
from fieldconv.geometry.geodesic.geodesic_discs import SOLVER_VERSION, geodesic_discs, tangent_frames
from fieldconv.geometry.mesh.check import surface_vertices
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.numbering import by_position
from fieldconv.geometry.resample.close_holes import close_holes, rim_distances
from fieldconv.geometry.resample.resolution import Resampled, coarsen, subdivide
from fieldconv.geometry.resample.sampling import (
    NearbySamples,
    farthest_point_samples,
    nearby_samples,
    sample_areas,
)
from fieldconv.geometry.spectral.balls import ball_integrals
from fieldconv.geometry.spectral.signatures import (
    SIGNATURE_FUNCTIONS,
    Eigenbasis,
    eigenbasis,
    heat_kernel_signature,
    local_heat,
    vertex_gradients,
    wave_kernel_signature,
)
from fieldconv.surface.settings import SurfaceSettings

Tensors = dict[str, Tensor]

NEIGHBOURS = 4  # samples each original vertex reads from
STORED_FEATURES = {"xyz": "pos", "normals": "normal"}  # features that every surface carries anyway
SIGNATURES = ("hks", "wks", "heat", "rim", "balls")  # computed features: columns of x, not tensors by name
VERTICES_PER_SAMPLE = 8  # more add nothing: denser meshes are made coarser first, …
MIN_COARSE_VERTICES = 8192  # … though not coarser than this, …
MIN_COARSENING = 2.5  # … and only if they have this many times the vertices
VERTICES_PER_SUBDIVIDED_SAMPLE = 2  # so that the samples of a mesh that is subdivided are spread evenly
COARSE_STRIDE = 4  # samples for each sample of the coarse level, whose radius is twice as large
MAX_EXACT_PAIRS = 200_000  # their exact paths take a second; more cost more than they are worth


class Sampling(NamedTuple):
    """Which vertices are samples, the area of each, and how every vertex reads from them.

    Vertices are those of the mesh that is measured; samples are listed in the order of the given mesh.
    """

    chosen: Ints
    area: Floats
    reads: Ints
    weight: Floats
    transport: Floats
    seen: NearbySamples | None = None  # None where every vertex is a sample


class Preparation:
    """A mesh in three states, and what several parts need of it, computed once.

    Of the mesh as ``given``, vertices without a face and specks are dropped (`surface_vertices`). The others,
    numbered by position (`by_position`) and at unit area, are ``unit``. The ``mesh`` that is measured in its
    place is coarser or finer, smoother or closed if the settings ask for it. Samples have the order of the
    given mesh.

    Parameters
    ----------
    mesh : Mesh
    settings : SurfaceSettings
    coarse_vertices : int, optional
        Vertices that a far denser mesh is reduced to; 8 for each sample, but at least 8192, if not given.
    """

    def __init__(self, mesh: Mesh, settings: SurfaceSettings, *, coarse_vertices: int | None = None) -> None:
        self.settings = settings
        self.given = mesh.validate()
        self.kept = surface_vertices(mesh)  # (K,) vertices that are not dropped, ascending
        self.numbered = by_position(_submesh(mesh, self.kept))
        self.unit = self._in_given_frames(self.numbered.mesh.normalised())
        # What is measured has unit area, too. Vertices that close it are at its end.
        self.resampled = _resample(self.unit, settings, coarse_vertices)
        changed = self.unit if self.resampled is None else self.resampled.mesh
        if settings.smoothing:
            changed = smooth(changed, settings.smoothing).mesh
        self.measured_with_holes = changed if changed is self.unit else changed.normalised()
        self.mesh = self.measured_with_holes
        closed = close_holes(self.mesh) if settings.closed else self.mesh
        if closed is not self.mesh:
            self.mesh = closed.normalised()
            if self.resampled is None:
                self._in_given_frames(self.mesh)
        self._bases: dict[int, Eigenbasis] = {}
        self._one_at_a_time = Lock()  # signatures are computed on another thread

    def _in_given_frames(self, mesh: Mesh) -> Mesh:
        """The same mesh, with the tangent frames that its vertices have in the given numbering."""
        more = np.zeros(len(mesh.vertices) - len(self.numbered.first_face), np.int64)
        set_first_faces(mesh, np.concatenate([self.numbered.first_face, more]))
        return mesh

    @cached_property
    def sampling(self) -> Sampling:
        """The samples, and how every vertex of the measured mesh reads from them."""
        samples, count = self.settings.samples, len(self.measured_with_holes.vertices)
        if samples is not None and samples < count:
            return self.farthest_points(samples, NEIGHBOURS)
        every = np.arange(count) if self.resampled is not None else self.numbered.place
        weight = np.zeros((count, NEIGHBOURS))
        weight[:, 0] = 1.0
        index = np.repeat(np.argsort(every)[:, None], NEIGHBOURS, axis=1)
        return Sampling(every, self.mesh.vertex_areas[every], index, weight, np.zeros((count, NEIGHBOURS)))

    def farthest_points(self, count: int, neighbours: int) -> Sampling:
        """Return so many farthest-point samples; every vertex reads from this number of neighbours."""
        # They are measured in the order in which they were found, so that numbering does not matter.
        seed = self.settings.sampling_seed or None
        found = farthest_point_samples(self.measured_with_holes, count, seed=seed)
        place = np.argsort(found if self.resampled is not None else self.numbered.order[found])
        seen = nearby_samples(self.mesh, found, neighbours)
        index, weight, transport = seen.interpolation()
        own = slice(len(self.measured_with_holes.vertices))
        areas = sample_areas(self.mesh, found)[place]
        return Sampling(found[place], areas, np.argsort(place)[index[own]], weight[own], transport[own], seen)

    @cached_property
    def number(self) -> Ints:
        """(V,) which sample each vertex of the measured mesh is; −1 if it is none."""
        number = np.full(len(self.mesh.vertices), -1)
        number[self.sampling.chosen] = np.arange(len(self.sampling.chosen))
        return number

    @cached_property
    def frames(self) -> tuple[Floats, Floats]:
        """Direction θ = 0 and normal at every vertex."""
        return tangent_frames(self.mesh)

    def basis(self, count: int, *, whole: bool = False) -> Eigenbasis:
        """Return the lowest eigenfunctions, so many on a connected mesh (`Eigenbasis.lowest`)."""
        with self._one_at_a_time:
            if count not in self._bases:
                self._bases[count] = eigenbasis(self.mesh, count + 1)
            return self._bases[count].lowest(count, whole=whole)


def _resample(mesh: Mesh, settings: SurfaceSettings, coarse_vertices: int | None) -> Resampled | None:
    """The mesh in place of one that is far denser than its samples, or too sparse; None if it is neither."""
    count, samples, min_vertices = len(mesh.vertices), settings.samples, settings.min_vertices
    if min_vertices is not None and count < min_vertices:
        return subdivide(mesh, VERTICES_PER_SUBDIVIDED_SAMPLE * (samples or min_vertices))
    if samples is None:
        return None
    coarse = coarse_vertices or max(VERTICES_PER_SAMPLE * samples, MIN_COARSE_VERTICES)
    found = coarsen(mesh, coarse) if count > MIN_COARSENING * coarse else None
    return found if found is not None and len(found.mesh.faces) else None


@dataclass(frozen=True)
class Part:
    """Tensors of a surface that are computed together."""

    name: str
    settings: tuple[str, ...]
    """The fields of `SurfaceSettings` on which it depends."""
    make: Callable[[Preparation], Tensors]
    version: int = 1
    """Raise it when the result changes, so that cached results are not used any more."""
    indices: Mapping[str, str] = field(default_factory=dict)
    """Names of tensors that hold row numbers → names of the tensors whose rows they number, so that a batch
    can shift them. Tensors called ``…_index`` number samples if they are not named here."""

    def key(self, settings: SurfaceSettings) -> list[object]:
        """Return what the part depends on besides the mesh, as JSON."""
        own = [getattr(settings, name) for name in self.settings]
        # Only settings that are used are part of the key: older caches know nothing of the others.
        more: list[object] = ["closed"] if settings.closed else []
        if settings.smoothing:
            more.append(["smoothing", settings.smoothing])
        if settings.min_vertices is not None:
            more.append(["fewest", settings.min_vertices])
        if settings.sampling_seed:
            more.append(["sampling", settings.sampling_seed])
        return [self.name, self.version, SOLVER_VERSION, own, *more]


def parts_of(settings: SurfaceSettings) -> list[Part]:
    """Return the parts that a surface with these settings consists of.

    Examples
    --------
    >>> [part.name for part in parts_of(SurfaceSettings(features="hks", operators=()))]
    ['samples', 'hks']
    """
    seen = [name for name in settings.features.split("+") if name not in STORED_FEATURES]
    names = ["samples", *seen, *settings.operators]
    missing = [name for name in names if name not in _PARTS]
    if missing:
        known = ", ".join(name for name in _PARTS if name not in ("samples", *SIGNATURES))
        raise ValueError(f"unknown operator {missing[0]!r} of a surface; choose of {known}")
    return [_PARTS[name] for name in dict.fromkeys(names)]


def register_operator(part: Part) -> Part:
    """Add an operator that networks can ask for, and return it."""
    _PARTS[part.name] = part
    return part


def row_number_of(name: str, more: Mapping[str, str]) -> str | None:
    """Return the tensor whose rows a tensor of that name numbers; None if it holds no row numbers."""
    return more.get(name) or _ROW_NUMBERS.get(name) or ("sample" if name.endswith("_index") else None)


def further_row_numbers(parts: Iterable[Part]) -> dict[str, str]:
    """Return the row numbers of parts that `row_number_of` does not know by itself."""
    found = {name: rows for part in parts for name, rows in part.indices.items()}
    return {name: rows for name, rows in found.items() if _ROW_NUMBERS.get(name) != rows}


def make_parts(preparation: Preparation, parts: list[Part]) -> dict[str, Tensors]:
    """Compute parts of a surface; features take as long as all the rest and run on another thread."""
    later = {part.name: begin(part.make, preparation) for part in parts if part.name in SIGNATURES}
    made = {part.name: part.make(preparation) for part in parts if part.name not in SIGNATURES}
    made |= {name: wait() for name, wait in later.items()}
    return {part.name: made[part.name] for part in parts}


def _submesh(mesh: Mesh, vertices: Ints) -> Mesh:
    """The mesh of some vertices (ascending) with the faces around them; the same mesh if these are all."""
    if len(vertices) == len(mesh.vertices):
        return mesh
    number = np.full(len(mesh.vertices), -1)
    number[vertices] = np.arange(len(vertices))
    faces = number[mesh.faces[np.isin(mesh.faces[:, 0], vertices)]]
    return Mesh(mesh.vertices[vertices], faces, mesh.name)


def _samples(preparation: Preparation) -> Tensors:
    mesh, sampling, other = preparation.mesh, preparation.sampling, preparation.resampled
    numbered, kept = preparation.numbered, preparation.kept
    frames, normals = preparation.frames
    areas = preparation.unit.vertex_areas[numbered.place]
    # The measured vertex at each kept vertex of the given mesh, and the kept vertex at each sample.
    if other is None:
        place, chosen = numbered.place, numbered.order[sampling.chosen]
    else:
        place = _places(preparation.unit, other)[numbered.place]
        chosen = numbered.order[other.origin[sampling.chosen]]
    reads, weight, transport = sampling.reads[place], sampling.weight[place], sampling.transport[place]
    # Only on a coarser mesh do vertices lie beside their places.
    if other is not None and sampling.seen is not None and len(other.mesh.vertices) < len(areas):
        weight = sampling.seen.weights_near(place, _offsets(preparation, other, place))
    # Frames of the measured mesh may differ from those of the given mesh.
    if preparation.measured_with_holes is not preparation.unit or numbered.turned:
        original = _submesh(preparation.given, kept)
        transport = transport + _frame_angles(original, frames[place], numbered.mirrored)[:, None]
    if len(kept) < len(preparation.given.vertices):
        near = _nearest_kept(preparation.given, kept)
        reads, weight, transport, chosen = reads[near], weight[near], transport[near], kept[chosen]
        areas = np.bincount(kept, areas, len(near)).astype(np.float64)
    return {
        "pos": single(mesh.vertices[sampling.chosen]),
        "area": single(sampling.area),
        "frame": single(frames[sampling.chosen]),
        "normal": single(normals[sampling.chosen]),
        "sample": torch.from_numpy(chosen),
        "vertex_sample": torch.from_numpy(reads),
        "vertex_weight": single(weight),
        "vertex_transport": unit_complex(transport),
        "vertex_area": single(areas / areas.sum()),
    }


def _places(mesh: Mesh, other: Resampled) -> Ints:
    """(V,) the vertex of the other mesh of each vertex; for those on no triangle the nearest in space."""
    place = other.vertex_map.copy()
    lost = np.flatnonzero(place < 0)
    if len(lost):
        place[lost] = cKDTree(other.mesh.vertices).query(mesh.vertices[lost])[1]
    return place


def _nearest_kept(mesh: Mesh, kept: Ints) -> Ints:
    """(V,) which kept vertex each vertex is; for those that are dropped the nearest in space."""
    near = np.searchsorted(kept, np.arange(len(mesh.vertices)))
    lost = np.setdiff1d(np.arange(len(near)), kept, assume_unique=True)
    near[lost] = cKDTree(mesh.vertices[kept]).query(mesh.vertices[lost])[1]
    return near


def _offsets(preparation: Preparation, other: Resampled, place: Ints) -> NDArray[np.complex128]:
    """(V,) where each vertex of the given mesh lies as seen from its place on the coarser one."""
    frames, normals = preparation.frames
    across = np.cross(normals, frames)
    offset = preparation.unit.vertices[preparation.numbered.place] - other.mesh.vertices[place]
    offset /= np.sqrt(other.mesh.area)  # what is measured has unit area
    along, aside = (np.einsum("vx,vx->v", offset, way[place]) for way in (frames, across))
    return np.asarray(along + 1j * aside)


def _frame_angles(mesh: Mesh, directions: Floats, mirrored: Bools) -> Floats:
    """(V,) angle of a direction in space in each vertex's own frame, seen from outside.

    ``mirrored`` are the vertices whose faces turn the wrong way, so that their normals point inside.
    """
    frames, normals = tangent_frames(mesh)
    across = np.cross(np.where(mirrored[:, None], -normals, normals), frames)
    return np.asarray(np.arctan2((directions * across).sum(1), (directions * frames).sum(1)))


def _discs(preparation: Preparation) -> Tensors:
    return _disc_edges(preparation, preparation.sampling, preparation.settings.radius)


def _coarse(preparation: Preparation) -> Tensors:
    """Discs of twice the radius between a quarter of the samples, and the nearest of these to each sample."""
    chosen = preparation.sampling.chosen
    # The first farthest-point samples do not depend on how many follow, so these are among the fine ones.
    sampling = preparation.farthest_points(max(1, round(len(chosen) / COARSE_STRIDE)), 1)
    edges = _disc_edges(preparation, sampling, 2 * preparation.settings.radius)
    return {
        "coarse_sample": torch.from_numpy(preparation.number[sampling.chosen]),
        "coarse_parent": torch.from_numpy(sampling.reads[chosen, 0]),
        "coarse_carry": unit_complex(sampling.transport[chosen, 0]),
        "coarse_edge_index": edges["edge_index"],
        "coarse_edge_log": edges["log"],
        "coarse_edge_transport": edges["transport"],
        "coarse_edge_weight": edges["weight"],
        "coarse_radius": edges["radius"],
    }


def _disc_edges(preparation: Preparation, sampling: Sampling, radius: float) -> Tensors:
    """Edges (q → p) sorted by receiver p, from discs around each sample as sender q."""
    mesh, solver, chosen = preparation.mesh, preparation.settings.solver, sampling.chosen
    _check_memory(len(chosen), radius)
    many = len(chosen) * np.pi * radius**2 * len(mesh.vertices) > MAX_EXACT_PAIRS
    front = solver == "local" and many and is_front_accurate(mesh)
    discs = geodesic_discs(mesh, radius, chosen, chosen, solver="front" if front else solver)
    number = np.zeros(int(discs.sources.max(initial=0)) + 1, np.int64)
    number[discs.sources] = np.arange(len(discs.sources))
    sender, receiver = number[discs.centres], number[discs.targets]
    small = np.min_scalar_type(len(chosen))  # numbers of two bytes are sorted far faster
    order = np.argsort(receiver.astype(small), kind="stable")
    order = order[~discs.ambiguous[order]]  # several shortest paths: choosing one would be arbitrary
    sender, receiver = sender[order], receiver[order]
    ball = np.bincount(receiver, sampling.area[sender], minlength=len(chosen))
    # A vertex without faces has no area: it neither sends nor receives anything.
    weight = sampling.area[sender] / np.where(ball > 0, ball, 1.0)[receiver]
    distance, angle = discs.distance[order], discs.angle[order]
    return {
        "edge_index": torch.from_numpy(np.stack([sender, receiver])),
        "log": torch.from_numpy((distance * np.exp(1j * angle)).astype(np.complex64)),
        "transport": unit_complex(discs.transport[order]),
        "weight": single(weight),
        "radius": torch.tensor([radius], dtype=torch.float32),
    }


def _check_memory(samples: int, radius: float) -> None:
    """Raise ValueError if the discs would not fit into free memory."""
    share = min(np.pi * radius**2, 1.0)  # of all samples, in a disc on a surface of unit area
    free, pairs = available_memory(), float(samples**2 * share)
    needed = PAIR_BYTES * pairs
    if free is None or needed <= free:
        return
    fitting = int((free / 2 / PAIR_BYTES / share) ** 0.5)
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


def _columns(values: Floats, count: int) -> Floats:
    """Return so many columns, the last ones zero if there are fewer: batches need equal numbers."""
    return np.pad(values, ((0, 0), (0, max(count - values.shape[1], 0))))[:, :count]


def _signature(name: str, compute: Callable[[Eigenbasis], Floats]) -> Part:
    """The part of a feature that is computed of the lowest eigenfunctions."""

    def make(preparation: Preparation) -> Tensors:
        values = compute(preparation.basis(SIGNATURE_FUNCTIONS, whole=True))
        return {name: single(values[preparation.sampling.chosen])}

    return Part(name, ("samples",), make)


def _rim(preparation: Preparation) -> Tensors:
    """1 at a rim, 0 from a radius away on."""
    opened = preparation.measured_with_holes
    mesh = Mesh(preparation.mesh.vertices[: len(opened.vertices)], opened.faces)  # in the units of the radius
    away = rim_distances(mesh)[preparation.sampling.chosen]
    return {"rim": single(np.maximum(0.0, 1.0 - away / preparation.settings.radius)[:, None])}


def _balls(preparation: Preparation) -> Tensors:
    return {"balls": single(ball_integrals(preparation.mesh, preparation.sampling.chosen))}


def single(values: Floats) -> Tensor:
    """Return an array as a contiguous tensor of single precision."""
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))


def unit_complex(angles: Floats) -> Tensor:
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
        _signature("hks", heat_kernel_signature),
        _signature("wks", partial(wave_kernel_signature, k=SIGNATURE_FUNCTIONS)),
        _signature("heat", local_heat),
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
# Row numbers that surfaces made by hand need not name.
_ROW_NUMBERS = {name: rows for part in _PARTS.values() for name, rows in part.indices.items()}
