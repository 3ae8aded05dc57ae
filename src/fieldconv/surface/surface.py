"""Surface: what a network sees of a shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from torch import Tensor

from fieldconv._arrays import Array, Floats
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.surface.fields import Fields
from fieldconv.surface.parts import (
    SIGNATURES,
    STORED_FEATURES,
    Preparation,
    further_row_numbers,
    make_parts,
    parts_of,
    row_number_of,
    single,
)
from fieldconv.surface.settings import SurfaceSettings

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from fieldconv.surface.pyg import SurfaceData
    from fieldconv.viz.notebook import Display

_NONE_IF_MISSING = frozenset(["x", "y", "pos", "edge_index", "batch"])


class Surface(Fields):
    """Samples of a surface, the operators that were asked for, and the way back to the mesh.

    A plain container: attach further tensors as attributes (``surface.y = …``) or items. ``x``, ``y``,
    ``pos``, ``edge_index`` and ``batch`` are None where missing. `fieldconv.surface.batch` joins surfaces;
    `to_data` converts them to PyTorch Geometric data.

    With the operator "discs", a directed edge (q → p) holds where the receiver p lies as seen from the sender
    q. Each sample is its own neighbour, the support is symmetric, and edges are sorted by receiver, then
    sender.

    Parameters
    ----------
    row_numbers : mapping of str to str, optional
        Names of tensors that hold row numbers → the tensors whose rows they number, see `rows_of`.
    **fields
        Tensors and other values, by name.

    Attributes
    ----------
    pos : (n, 3) float32
        Positions of the samples, on the shape scaled to unit area and centred.
    x : (n, k) float32
        Input features.
    area : (n,) float32
        Area represented by each sample.
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
        Vertex of the mesh at each sample, or near it where the mesh was subdivided or made coarser inside.
    vertex_sample, vertex_weight, vertex_transport : (V, 4) int64, float32, complex64
        For every vertex of the mesh the samples it reads from, how much, and how turned.
    vertex_area : (V,) float32
        Share of the mesh's area at each vertex.
    coarse_sample, coarse_parent : (m,), (n,) int64
        With the operator "coarse": a quarter of the samples, and for every sample the nearest of these.
    coarse_carry : (n,) complex64
        e^{iφ}, which takes tangent vectors from the nearest of them to each sample.
    coarse_edge_index, coarse_edge_log, coarse_edge_transport, coarse_edge_weight, coarse_radius
        Discs of twice the radius between them, numbered as in ``coarse_sample``; see `coarse_level`.
    eigenvalues, eigenfunctions : (1, k), (n, k) float32
        With the operator "eigenbasis": those of the Laplacian, at unit area, lowest first. A mesh that has
        fewer is filled up with zeros.
    mass : (n,) float32
        With the operator "eigenbasis": the areas in which eigenfunctions are orthonormal, if every vertex is
        a sample; else the area of each sample, in which they nearly are.
    eigengradients : (n, k) complex64
        With the operator "eigengradients": gradients of the eigenfunctions in the tangent frames.
    NAME_index : (2, E) int64
        Further lists of edges that operators may add: senders and receivers, numbers of samples. What
        belongs to the edges is named ``NAME_…``; of complex values ``NAME_log`` are tangent vectors at the
        sender, ``NAME_transport`` takes vectors from sender to receiver, others are vectors at the receiver.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> surface = Surface.from_mesh(tetrahedron, radius=1.0)
    >>> surface.num_nodes, surface.num_edges
    (4, 16)
    """

    name: str
    batch: Tensor | None

    def __init__(self, row_numbers: Mapping[str, str] | None = None, /, **fields: Any) -> None:
        super().__init__(**fields)
        self._row_numbers = dict(row_numbers or {})

    def __getattr__(self, name: str) -> Tensor:
        if name in _NONE_IF_MISSING:
            return None  # type: ignore[return-value]
        return super().__getattr__(name)

    @classmethod
    def from_mesh(
        cls,
        mesh: Mesh,
        radius: float = RADIUS,
        samples: int | None = None,
        features: str | Array = "xyz",
        **settings: Any,
    ) -> Surface:
        """Prepare a mesh: scale it to unit area, sample it, and compute features and operators.

        Parameters
        ----------
        mesh : Mesh
            Any triangle mesh; see `geodesic_discs` for what happens at boundaries and non-manifold parts.
        radius, samples, **settings
            The fields of `SurfaceSettings`.
        features : str or (V, k) array
            As in `SurfaceSettings`, or your own values per vertex.
        """
        if isinstance(features, str):
            fields = {"radius": radius, "samples": samples, "features": features, **settings}
            return cls.prepare(mesh, SurfaceSettings.from_dict(fields))
        _check_mesh(mesh)
        own = _own_features(mesh, features)
        surface = cls.from_mesh(mesh, radius, samples, **settings)
        surface.x = single(own)[surface.sample]
        return surface

    @classmethod
    def prepare(cls, mesh: Mesh, settings: SurfaceSettings) -> Surface:
        """Prepare a mesh as `from_mesh` does, with all settings in one."""
        _check_mesh(mesh)
        return cls.assemble(make_parts(Preparation(mesh, settings), parts_of(settings)), settings)

    @classmethod
    def from_points(
        cls,
        points: Floats,
        radius: float = RADIUS,
        features: str | Array = "xyz",
        *,
        samples: int | None = None,
        normals: Floats | None = None,
    ) -> Surface:
        """Prepare a point cloud (N, 3) as the mesh that `triangulate` makes of it."""
        from fieldconv.geometry.resample.pointcloud import triangulate

        return cls.from_mesh(triangulate(points, normals), radius, samples, features)

    @classmethod
    def assemble(cls, parts: Mapping[str, Mapping[str, Tensor]], settings: SurfaceSettings) -> Surface:
        """Put a surface together of its parts (see `fieldconv.surface.parts`)."""
        tensors = {name: tensor for part in parts.values() for name, tensor in part.items()}
        seen = [tensors[STORED_FEATURES.get(name, name)] for name in settings.features.split("+")]
        tensors["x"] = seen[0] if len(seen) == 1 else torch.cat(seen, 1)
        for name in SIGNATURES:
            tensors.pop(name, None)
        return cls(further_row_numbers(parts_of(settings)), **tensors)

    @classmethod
    def from_data(cls, data: Data) -> Surface:
        """Return what `to_data` returned, or a PyG batch of such data, as a surface or batch again."""
        from fieldconv.surface.pyg import from_data

        return from_data(data)

    def to_data(self) -> SurfaceData:
        """Return the surface as PyTorch Geometric data with the same fields.

        Loaders of PyG make batches of it that all layers and networks take. It needs the extra "pyg".

        Examples
        --------
        >>> from torch_geometric.loader import DataLoader
        >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
        >>> surfaces = [Surface.from_mesh(square), Surface.from_mesh(square)]
        >>> next(iter(DataLoader([surface.to_data() for surface in surfaces], batch_size=2))).num_nodes
        8
        """
        from fieldconv.surface.pyg import to_data

        return to_data(self)

    @property
    def row_numbers(self) -> dict[str, str]:
        """Names of tensors that hold row numbers → names of the tensors whose rows they number."""
        return self._row_numbers

    def rows_of(self, name: str) -> str | None:
        """Return the tensor whose rows a tensor of that name numbers; None if it holds no row numbers.

        Tensors called ``NAME_index`` number samples unless ``row_numbers`` says otherwise.

        Examples
        --------
        >>> surface = Surface({"patch_centre": "patch"})
        >>> surface.rows_of("patch_centre"), surface.rows_of("edge_index"), surface.rows_of("pos")
        ('patch', 'sample', None)
        """
        return row_number_of(name, self._row_numbers)

    @property
    def num_nodes(self) -> int:
        """Number of samples."""
        for name in ("pos", "x", "area", "sample"):
            if name in self:
                return len(self[name])
        return int(self.edge_index.max()) + 1 if "edge_index" in self else 0

    @property
    def num_edges(self) -> int:
        """Number of pairs of neighbours; 0 without discs."""
        return self.edge_index.shape[1] if "edge_index" in self else 0

    @property
    def num_graphs(self) -> int:
        """Number of surfaces: 1, or as many as are in a batch."""
        return 1

    def split(self) -> list[Surface]:
        """Return the single surfaces of a batch; of a single surface itself."""
        return [self]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size()})"

    @property
    def num_vertices(self) -> int:
        """Vertices of the original mesh (of all meshes, in a batch)."""
        return len(self.vertex_sample)

    def interpolate(self, values: Tensor) -> Tensor:
        """Interpolate values (n, …) at the samples at every vertex of the mesh, (V, …).

        Complex values are tangent vectors and are transported to the frames of the vertices.

        Examples
        --------
        >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
        >>> surface = Surface.from_mesh(square, samples=2)
        >>> surface.interpolate(torch.ones(2))
        tensor([1., 1., 1., 1.])
        """
        weight = self.vertex_weight
        if values.is_complex():
            weight = weight * self.vertex_transport
        weight = weight.to(values.dtype).reshape(*weight.shape, *[1] * (values.ndim - 1))
        # One neighbour after the other: all at once would take several times the memory of the result.
        interpolated: Tensor = weight[:, 0] * values[self.vertex_sample[:, 0]]
        for k in range(1, weight.shape[1]):
            interpolated += weight[:, k] * values[self.vertex_sample[:, k]]
        return interpolated

    def show(
        self,
        field: Tensor | None = None,
        disc: int | None = None,
        *,
        scalar: Tensor | dict[str, Tensor] | None = None,
        up: str | None = None,
        height: int = 460,
    ) -> Display:
        """Show the samples in a notebook as a mesh.

        Parameters
        ----------
        field : (n,) complex tensor, optional
            Tangent vectors at the samples, such as a channel of a layer's output.
        disc : int, optional
            Show the disc around this sample: where it sees its neighbours.
        scalar : (n,) tensor, or dict of str to (n,) tensor, optional
            Numbers at the samples; the first input features if neither these nor a field is given.
        up : "x", "y" or "z", optional
            Axis that points up; guessed if not given.
        height : int
            In pixels.

        Raises
        ------
        ValueError
            If there are fewer than 32 samples, or the surface is a batch.
        """
        from fieldconv.viz.notebook import show_samples

        if "ptr" in self or self.num_nodes < 32:
            what = "a batch of surfaces" if "ptr" in self else f"a surface of {self.num_nodes} samples"
            raise ValueError(f"{what} cannot be shown; show the mesh, or one surface of 32 samples or more")
        numbers = scalar if isinstance(scalar, dict) else {} if scalar is None else {"Value": scalar}
        if not numbers and field is None and self.x is not None:
            numbers = {f"Feature {k}": self.x[:, k] for k in range(min(self.x.shape[1], 4))}
        seen = None
        if disc is not None:
            seen = np.full(self.num_nodes, np.nan + 1j * np.nan)
            sender, receiver = self.edge_index.numpy()
            own = sender == disc
            seen[receiver[own]] = self.log.numpy()[own]
        return show_samples(
            self.pos.numpy(),
            self.normal.numpy(),
            self.frame.numpy(),
            scalar={name: values.detach().numpy() for name, values in numbers.items()},
            field=None if field is None else field.detach().numpy(),
            disc=seen,
            radius=float(self.radius) if disc is not None else 0.0,
            note=self._size(),
            up=up,
            height=height,
        )

    def _size(self) -> str:
        shapes = f"{self.num_graphs:,} surfaces, " if self.num_graphs > 1 else ""
        vertices = f" of {self.num_vertices:,} vertices" if "vertex_sample" in self else ""
        edges = f", {self.num_edges:,} edges" if "edge_index" in self else ""
        return f"{shapes}{self.num_nodes:,} samples{vertices}{edges}"

    def _repr_html_(self) -> str:
        from fieldconv.viz.notebook import MAX_INLINE_VERTICES, table

        rows = {name: tuple(value.shape) for name, value in self.to_dict().items() if torch.is_tensor(value)}
        text = table(rows, caption=self._size())
        whole = "ptr" not in self and 32 <= self.num_nodes <= MAX_INLINE_VERTICES
        return (self.show()._repr_html_() if whole else "") + text


class ToSurface:
    """Convert meshes to surfaces; a ``pre_transform`` of datasets, also of PyTorch Geometric's.

    A `Mesh` becomes a `Surface`. PyG data with pos and face becomes PyG data (see `Surface.to_data`) with its
    labels and other fields; of those with a row per vertex, it keeps the rows of the samples.

    Parameters
    ----------
    radius, samples, features, **settings
        The fields of `SurfaceSettings`.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> ToSurface(radius=0.5)(square).num_nodes
    4
    """

    def __init__(
        self, radius: float = RADIUS, samples: int | None = None, features: str = "xyz", **settings: Any
    ) -> None:
        fields = {"radius": radius, "samples": samples, "features": features, **settings}
        self.settings = SurfaceSettings.from_dict(fields)

    @classmethod
    def of(cls, settings: SurfaceSettings) -> ToSurface:
        """Return the transform with these settings."""
        return cls(**settings.to_dict())

    @overload
    def __call__(self, data: Mesh) -> Surface: ...
    @overload
    def __call__(self, data: Data) -> SurfaceData: ...
    def __call__(self, data: Mesh | Data) -> Surface | SurfaceData:
        if isinstance(data, Mesh) or not (hasattr(data, "pos") and hasattr(data, "face")):
            return Surface.prepare(data, self.settings)
        from fieldconv.surface.pyg import prepare_data

        return prepare_data(data, self.settings)

    def __repr__(self) -> str:
        settings = self.settings
        given = {"radius": settings.radius, "samples": settings.samples, **settings.changed()}
        return f"ToSurface({', '.join(f'{k}={v!r}' for k, v in given.items())})"


def settings_of(prepare: Callable[[Mesh], Surface]) -> SurfaceSettings | None:
    """Return the settings of a `ToSurface`; None for any other callable, also for its subclasses."""
    return prepare.settings if type(prepare) is ToSurface else None


def _check_mesh(mesh: object) -> None:
    """Raise TypeError for anything but a mesh."""
    if isinstance(mesh, Mesh):
        return
    way = (
        f"call Surface.from_mesh(Mesh.load({str(mesh)[:60]!r}))"
        if isinstance(mesh, str | PathLike)
        else "build one with Mesh(vertices, faces)"
    )
    raise TypeError(f"a surface is made of a Mesh, not of {type(mesh).__name__}; {way}")


def _own_features(mesh: Mesh, own: Array) -> Floats:
    """Return one's own features per vertex; raise ValueError if they do not fit the mesh."""
    own = np.asarray(own, np.float64)
    if own.ndim != 2 or len(own) != len(mesh.vertices):
        raise ValueError(
            f"Features must have {len(mesh.vertices)} rows, one for each vertex, not shape {own.shape}."
        )
    if not np.isfinite(own).all():
        raise ValueError("Features must be finite; some are NaN or infinite.")
    return own
