"""The parts a surface is made of: each is computed only if it was asked for, and kept under its own key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv._compiled import begin
from fieldconv.geometry.front import suits_front
from fieldconv.geometry.geodesics import SOLVER_VERSION, geodesic_discs, tangent_frames
from fieldconv.geometry.gradient import vertex_gradients
from fieldconv.geometry.mesh import Mesh
from fieldconv.geometry.sampling import farthest_point_samples, interpolation, sample_areas
from fieldconv.geometry.spectral import (
    Eigenbasis,
    eigenbasis,
    heat_kernel_signature,
    wave_kernel_signature,
)
from fieldconv.surface.settings import SurfaceSettings

Tensors = dict[str, Tensor]

NEIGHBOURS = 4  # samples each original vertex reads from
AT_HAND = {"xyz": "pos", "normals": "normal"}  # features that every surface carries anyway
SIGNATURES = ("hks", "wks")
SIGNATURE_BASIS = 128  # eigenfunctions of which signatures are made
MANY = 200_000  # pairs whose exact paths take a second; more cost more than they are worth


class Sampling(NamedTuple):
    """Which vertices are samples, the area of each, and how every vertex reads from them."""

    chosen: NDArray[np.int64]
    area: NDArray[np.float64]
    reads: NDArray[np.int64]
    weight: NDArray[np.float64]
    transport: NDArray[np.float64]


class Preparation:
    """A mesh, scaled to unit area, and what several parts need of it, worked out once.

    Parameters
    ----------
    mesh : Mesh
    settings : SurfaceSettings
    """

    def __init__(self, mesh: Mesh, settings: SurfaceSettings) -> None:
        self.mesh = mesh.normalised()
        self.settings = settings
        self._bases: dict[int, Eigenbasis] = {}
        self._one_at_a_time = Lock()  # signatures are computed on another thread

    @cached_property
    def sampling(self) -> Sampling:
        mesh, samples = self.mesh, self.settings.samples
        count = len(mesh.vertices)
        if samples is None or samples >= count:
            every = np.arange(count)
            weight = np.zeros((count, NEIGHBOURS))
            weight[:, 0] = 1.0
            index = np.repeat(every[:, None], NEIGHBOURS, axis=1)
            return Sampling(every, mesh.vertex_areas, index, weight, np.zeros((count, NEIGHBOURS)))
        # Measured in the order in which they were found, nothing depends on the numbering of vertices.
        found = farthest_point_samples(mesh, samples)
        place = np.argsort(found)
        index, weight, transport = interpolation(mesh, found, NEIGHBOURS)
        return Sampling(
            found[place], sample_areas(mesh, found)[place], np.argsort(place)[index], weight, transport
        )

    @cached_property
    def frames(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Direction θ = 0 and normal at every vertex."""
        return tangent_frames(self.mesh)

    def basis(self, count: int) -> Eigenbasis:
        """Return the lowest eigenfunctions, so many on a connected mesh."""
        with self._one_at_a_time:
            if count not in self._bases:
                self._bases[count] = eigenbasis(self.mesh, count)
            return self._bases[count]


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
    """

    name: str
    settings: tuple[str, ...]
    make: Callable[[Preparation], Tensors]
    version: int = 1

    def key(self, settings: SurfaceSettings) -> list[object]:
        """Return what the part depends on besides the mesh, as JSON."""
        return [self.name, self.version, SOLVER_VERSION, [getattr(settings, s) for s in self.settings]]


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


def make_parts(preparation: Preparation, parts: list[Part]) -> dict[str, Tensors]:
    """Compute parts of a surface; features, which take as long as all the rest, on another thread."""
    later = {part.name: begin(part.make, preparation) for part in parts if part.name in SIGNATURES}
    made = {part.name: part.make(preparation) for part in parts if part.name not in SIGNATURES}
    made |= {name: wait() for name, wait in later.items()}
    return {part.name: made[part.name] for part in parts}


def _samples(preparation: Preparation) -> Tensors:
    mesh, sampling = preparation.mesh, preparation.sampling
    frames, normals = preparation.frames
    areas = mesh.vertex_areas
    return {
        "pos": single(mesh.vertices[sampling.chosen]),
        "area": single(sampling.area),
        "frame": single(frames[sampling.chosen]),
        "normal": single(normals[sampling.chosen]),
        "sample": torch.from_numpy(sampling.chosen),
        "vertex_sample": torch.from_numpy(sampling.reads),
        "vertex_weight": single(sampling.weight),
        "vertex_transport": unit(sampling.transport),
        "vertex_area": single(areas / areas.sum()),
    }


def _discs(preparation: Preparation) -> Tensors:
    """Edges (q → p) sorted by receiver p, from discs around each sample as sender q."""
    mesh, settings, sampling = preparation.mesh, preparation.settings, preparation.sampling
    chosen, area, radius = sampling.chosen, sampling.area, settings.radius
    many = len(chosen) * np.pi * radius**2 * len(mesh.vertices) > MANY
    front = settings.solver == "local" and many and suits_front(mesh)
    discs = geodesic_discs(mesh, radius, chosen, chosen, solver="front" if front else settings.solver)
    number = np.zeros(int(discs.sources.max(initial=0)) + 1, np.int64)
    number[discs.sources] = np.arange(len(discs.sources))
    sender, receiver = number[discs.centres], number[discs.targets]
    small = np.min_scalar_type(len(chosen))  # numbers of two bytes are sorted far faster
    order = np.argsort(receiver.astype(small), kind="stable")
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


def _eigenbasis(preparation: Preparation) -> Tensors:
    count, sampling = preparation.settings.eigenfunctions, preparation.sampling
    basis = preparation.basis(count)
    every = len(sampling.chosen) == len(basis.areas)
    return {
        "eigenvalues": single(_columns(basis.values[None], count)),
        "eigenfunctions": single(_columns(basis.functions[sampling.chosen], count)),
        "mass": single(basis.areas if every else sampling.area),
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
    signature = heat_kernel_signature(preparation.basis(SIGNATURE_BASIS))
    return {"hks": single(signature[preparation.sampling.chosen])}


def _wks(preparation: Preparation) -> Tensors:
    signature = wave_kernel_signature(preparation.basis(SIGNATURE_BASIS), k=SIGNATURE_BASIS)
    return {"wks": single(signature[preparation.sampling.chosen])}


def single(values: NDArray[np.float64]) -> Tensor:
    """Return an array as a contiguous tensor of single precision."""
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))


def unit(angles: NDArray[np.float64]) -> Tensor:
    """Return e^{iφ} of angles φ, in single precision."""
    return torch.from_numpy(np.exp(1j * angles).astype(np.complex64))


_PARTS = {
    part.name: part
    for part in (
        Part("samples", ("samples",), _samples),
        Part("hks", ("samples",), _hks),
        Part("wks", ("samples",), _wks),
        Part("discs", ("samples", "radius", "solver"), _discs),
        Part("eigenbasis", ("samples", "eigenfunctions"), _eigenbasis, version=2),
        Part("eigengradients", ("samples", "eigenfunctions"), _eigengradients, version=2),
    )
}
