"""The bridge to PyTorch Geometric: surfaces as its ``Data``, and back."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.surface.batches import batch
from fieldconv.surface.parts import row_number_of
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface

try:
    from torch_geometric.data import Batch, Data
except ImportError:
    raise ImportError("torch_geometric is not installed: pip install 'fieldconv[pyg]'") from None

_ROWS = "row_numbers"  # as pairs of names: PyG leaves tuples as they are


class SurfaceData(Data):  # type: ignore[misc]
    """A surface as PyG data, with the fields of `Surface`; PyG's loaders and batches count row numbers on."""

    @property
    def num_vertices(self) -> int:
        """Vertices of the original mesh (of all meshes, in a batch)."""
        return len(self.vertex_sample)

    def interpolate(self, values: Tensor) -> Tensor:
        """Take values at the samples to every vertex of the mesh; see `Surface.interpolate`."""
        return Surface.interpolate(self, values)

    def rows_of(self, name: str) -> str | None:
        """Return the tensor whose rows a tensor numbers; see `Surface.rows_of`."""
        pairs = getattr(self, _ROWS, ())
        return row_number_of(name, dict(pairs[0] if isinstance(pairs, list) else pairs))

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        rows = self.rows_of(key)
        if rows == "sample":
            return self.num_nodes
        if rows is None or rows not in self:  # numbers of what is not there stay
            return 0
        return len(self[rows])

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return -1 if key.endswith("_index") else 0


def to_data(surface: Surface) -> SurfaceData:
    """Return a surface, or a batch of them, as PyG data."""
    if surface.num_graphs > 1:
        whole: SurfaceData = Batch.from_data_list([to_data(one) for one in surface.split()])
        return whole
    pairs = {_ROWS: tuple(surface.row_numbers.items())} if surface.row_numbers else {}
    return SurfaceData(**surface.to_dict(), **pairs)


def from_data(data: Data) -> Surface:
    """Return PyG data, or a batch of it, as a surface; its fields are those of `Surface`."""
    if isinstance(data, Batch):
        return batch([from_data(one) for one in data.to_data_list()])
    fields = data.to_dict()
    fields.pop("num_nodes", None)
    return Surface(dict(fields.pop(_ROWS, ())), **fields)


def prepare_data(data: Data, settings: SurfaceSettings) -> SurfaceData:
    """Return the surface of PyG data with pos and face, with its other fields."""
    surface = Surface.prepare(Mesh(data.pos.numpy(), data.face.numpy().T), settings)
    per_vertex = {key for key in data.keys() if data.is_node_attr(key)}  # noqa: SIM118
    for key, value in data.to_dict().items():
        if key == "x" or (key not in surface and key != "face"):  # one's own features win, not geometry
            surface[key] = value[surface.sample] if key in per_vertex else value
    return to_data(surface)
