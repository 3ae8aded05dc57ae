"""Surface: what a network sees of a shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from ._compiled import begin
from .geometry.discs import Discs
from .geometry.front import suits_front
from .geometry.geodesics import geodesic_discs, tangent_frames
from .geometry.mesh import Mesh
from .geometry.sampling import farthest_point_samples, interpolation, sample_areas
from .geometry.spectral import heat_kernel_signature, wave_kernel_signature
from .settings import Features, Solver, SurfaceSettings

NEIGHBOURS = 4  # samples each original vertex reads from
MANY = 200_000  # pairs whose exact paths take a second; more cost more than they are worth


class Surface(Data):  # type: ignore[misc]
    """Samples of a surface, their geodesic neighbourhoods, and the way back to the mesh; a PyG ``Data``.

    Every directed edge (q → p) says where the receiver p lies as seen from the sender q. Each sample is
    its own neighbour, the support is symmetric, and edges are sorted by receiver, then sender.

    Attributes
    ----------
    pos : (n, 3) float32
        Positions of the samples, on the shape scaled to unit area and centred.
    x : (n, k) float32
        Input features.
    area : (n,) float32
        Area that each sample stands for.
    normal, frame : (n, 3) float32
        Unit normal, and the direction θ = 0 of the tangent frame, in space.
    edge_index : (2, E) int64
        Senders q, receivers p.
    log : (E,) complex64
        log_q p = r e^{iθ}, in q's frame; 0 for q = p.
    transport : (E,) complex64
        e^{iφ_pq}, which takes tangent vectors at q to p.
    weight : (E,) float32
        w: area of q over the area of the ball around p.
    radius : (1,) float32
        ε.
    sample : (n,) int64
        Vertex of the mesh at each sample.
    vertex_sample, vertex_weight, vertex_transport : (V, 4) int64, float32, complex64
        For every vertex of the mesh the samples it reads from, how much, and how turned.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> surface = Surface.from_mesh(tetrahedron, radius=1.0)
    >>> surface.num_nodes, surface.num_edges
    (4, 16)
    """

    @classmethod
    def from_mesh(
        cls,
        mesh: Mesh,
        radius: float = 0.2,
        samples: int | None = None,
        features: Features | NDArray[Any] = "xyz",
        *,
        solver: Solver = "local",
    ) -> Surface:
        """Prepare a mesh: scale it to unit area, sample it, find the neighbourhoods.

        Parameters
        ----------
        mesh : Mesh
            Any triangle mesh; see `geodesic_discs` for what happens at boundaries and non-manifold parts.
        radius : float
            Geodesic radius ε of the neighbourhoods, at unit area.
        samples : int, optional
            Number of farthest-point samples; all vertices if not given or not fewer.
        features : "xyz", "hks", "wks" or (V, k) array
            Input features: positions, heat or wave kernel signature, or one's own per vertex.
        solver : "local" or "heat"
            Local paths are exact for up to 200,000 pairs of vertices, and nearly exact beyond.
        """
        if isinstance(features, str):
            SurfaceSettings(radius, samples, features, solver)
        mesh = mesh.normalised()
        described = begin(_features, mesh, features)  # eigenfunctions take as long as all the rest
        count = len(mesh.vertices)
        if samples is None or samples >= count:
            chosen = np.arange(count)
            area = mesh.vertex_areas
            index = np.repeat(chosen[:, None], NEIGHBOURS, axis=1)
            read_weight = np.zeros((count, NEIGHBOURS))
            read_weight[:, 0] = 1.0
            read_transport = np.zeros((count, NEIGHBOURS))
        else:
            # In the order in which they were found, what is measured does not depend on the numbering.
            found = farthest_point_samples(mesh, samples)
            place = np.argsort(found)
            chosen, area = found[place], sample_areas(mesh, found)[place]
            index, read_weight, read_transport = interpolation(mesh, found, NEIGHBOURS)
            index = np.argsort(place)[index]
        frames, normals = tangent_frames(mesh)
        many = len(chosen) * np.pi * radius**2 * count > MANY
        front = solver == "local" and many and suits_front(mesh)
        discs = geodesic_discs(mesh, radius, chosen, chosen, solver="front" if front else solver)
        surface = cls._assemble(
            mesh.vertices[chosen],
            described()[chosen],
            area,
            frames[chosen],
            normals[chosen],
            discs,
            radius,
        )
        surface.sample = torch.from_numpy(chosen)
        surface.vertex_sample = torch.from_numpy(index)
        surface.vertex_weight = _single(read_weight)
        surface.vertex_transport = _unit(read_transport)
        return surface

    @classmethod
    def from_points(
        cls,
        points: NDArray[np.float64],
        radius: float = 0.2,
        features: Features | NDArray[Any] = "xyz",
        *,
        samples: int | None = None,
        normals: NDArray[np.float64] | None = None,
    ) -> Surface:
        """Prepare a point cloud (N, 3) as the mesh that `triangulate` makes of it."""
        from .geometry.pointcloud import triangulate

        return cls.from_mesh(triangulate(points, normals), radius, samples, features)

    @classmethod
    def _assemble(
        cls,
        positions: NDArray[np.float64],
        features: NDArray[np.float64],
        area: NDArray[np.float64],
        frames: NDArray[np.float64],
        normals: NDArray[np.float64],
        discs: Discs,
        radius: float,
    ) -> Surface:
        """From discs around each sample, as sender, to edges sorted by receiver."""
        number = np.zeros(int(discs.sources.max(initial=0)) + 1, np.int64)
        number[discs.sources] = np.arange(len(discs.sources))
        sender, receiver = number[discs.centres], number[discs.targets]
        small = np.min_scalar_type(len(positions))  # numbers of two bytes are sorted far faster
        order = np.argsort(receiver.astype(small), kind="stable")
        sender, receiver = sender[order], receiver[order]
        ball = np.bincount(receiver, area[sender], minlength=len(positions))
        # A vertex without faces stands for no area: it hears nothing, and says nothing.
        weight = area[sender] / np.where(ball > 0, ball, 1.0)[receiver]
        distance, angle = discs.distance[order], discs.angle[order]
        return cls(
            pos=_single(positions),
            x=_single(features),
            area=_single(area),
            frame=_single(frames),
            normal=_single(normals),
            edge_index=torch.from_numpy(np.stack([sender, receiver])),
            log=torch.from_numpy((distance * np.exp(1j * angle)).astype(np.complex64)),
            transport=_unit(discs.transport[order]),
            weight=_single(weight),
            radius=torch.tensor([radius], dtype=torch.float32),
        )

    @property
    def num_vertices(self) -> int:
        """Vertices of the original mesh (of all meshes, in a batch)."""
        return len(self.vertex_sample)

    def interpolate(self, values: Tensor) -> Tensor:
        """Take values at the samples, (n,) or (n, …), to every vertex of the mesh, (V,) or (V, …).

        Real values are averaged; complex ones are tangent vectors and are transported to the vertex's frame.

        Examples
        --------
        >>> from fieldconv.geometry.mesh import Mesh
        >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
        >>> surface = Surface.from_mesh(square, samples=2)
        >>> surface.interpolate(torch.ones(2))
        tensor([1., 1., 1., 1.])
        """
        weight = self.vertex_weight
        if values.is_complex():
            weight = weight * self.vertex_transport
        weight = weight.to(values.dtype).reshape(*weight.shape, *[1] * (values.ndim - 1))
        interpolated: Tensor = (weight * values[self.vertex_sample]).sum(1)
        return interpolated

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key in ("edge_index", "vertex_sample"):
            return self.num_nodes
        if key == "sample":
            return self.num_vertices
        return 0

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 1 if key == "edge_index" else 0


class ToSurface(BaseTransform):  # type: ignore[misc]
    """Turn meshes into surfaces, as a PyG ``pre_transform``; takes a `Mesh`, or ``Data`` with pos and face.

    Labels and other fields of the ``Data`` are carried over, those with a row per vertex to the samples.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> ToSurface(radius=0.5)(square).num_nodes
    4
    """

    def __init__(
        self,
        radius: float = 0.2,
        samples: int | None = None,
        features: Features = "xyz",
        *,
        solver: Solver = "local",
    ) -> None:
        self.settings = SurfaceSettings(radius, samples, features, solver)

    def forward(self, data: Mesh | Data) -> Surface:
        if isinstance(data, Mesh):
            return Surface.from_mesh(data, **self.settings.to_dict())
        mesh = Mesh(data.pos.numpy(), data.face.numpy().T)
        surface = Surface.from_mesh(mesh, **self.settings.to_dict())
        per_vertex = {key for key in data.keys() if data.is_node_attr(key)}  # noqa: SIM118
        for key, value in data.to_dict().items():
            if key == "x" or (key not in surface and key != "face"):  # one's own features win, not geometry
                surface[key] = value[surface.sample] if key in per_vertex else value
        return surface

    def __repr__(self) -> str:
        return f"ToSurface({', '.join(f'{k}={v!r}' for k, v in self.settings.to_dict().items())})"


def _features(mesh: Mesh, features: Features | NDArray[Any]) -> NDArray[np.float64]:
    if not isinstance(features, str):
        own = np.asarray(features, np.float64)
        if own.ndim != 2 or len(own) != len(mesh.vertices):
            raise ValueError(
                f"Features must have {len(mesh.vertices)} rows, one for each vertex, not shape {own.shape}."
            )
        if not np.isfinite(own).all():
            raise ValueError("Features must be finite; some are NaN or infinite.")
        return own
    if features == "hks":
        return heat_kernel_signature(mesh)
    if features == "wks":
        return wave_kernel_signature(mesh)
    return mesh.vertices


def _single(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))


def _unit(angles: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.exp(1j * angles).astype(np.complex64))
