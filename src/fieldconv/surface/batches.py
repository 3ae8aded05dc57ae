"""Several surfaces as one, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import torch
from torch import Tensor

from fieldconv.surface.surface import Surface


class _Joined(NamedTuple):
    """How the tensors of a field were joined: the rows of each, and the number added to its row numbers."""

    dimension: int
    sizes: list[int]
    added: list[int]


class SurfaceBatch(Surface):
    """Several surfaces as one, returned by `batch`.

    Tensors are concatenated and row numbers are shifted. Numbers become a tensor, other values lists.

    Attributes
    ----------
    batch : (n,) int64
        Which surface each sample is on.
    ptr : (shapes + 1,) int64
        The first sample of each surface, then the number of all samples.
    """

    ptr: Tensor
    _joined: dict[str, _Joined]

    @property
    def num_graphs(self) -> int:
        """Number of surfaces."""
        return len(self.ptr) - 1

    @overload
    def __getitem__(self, name: int) -> Surface: ...
    @overload
    def __getitem__(self, name: str) -> Any: ...
    def __getitem__(self, name: int | str) -> Any:
        return super().__getitem__(name) if isinstance(name, str) else self.split()[name]

    def split(self) -> list[Surface]:
        """Return the single surfaces, without fields that were attached to the batch."""
        count = self.num_graphs
        fields: list[dict[str, Any]] = [{} for _ in range(count)]
        for name, joined in self._joined.items():
            if name not in self:
                continue
            values: Any = self[name]
            if isinstance(values, Tensor):
                values = torch.split(values, joined.sizes, joined.dimension)
                if joined.added:
                    values = [piece - more for piece, more in zip(values, joined.added, strict=True)]
            for own, value in zip(fields, values, strict=True):
                own[name] = value
        return [Surface(self.row_numbers, **own) for own in fields]


def batch(surfaces: Sequence[Surface]) -> Surface:
    """Return a batch of surfaces; a single surface is returned as it is, with what kernels cached for it.

    Parameters
    ----------
    surfaces : sequence of Surface
        Each has the fields that the first one has. Batches among them are taken apart first.

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> both = batch([Surface.from_mesh(square), Surface.from_mesh(square)])
    >>> both.num_nodes, both.num_graphs, both.batch
    (8, 2, tensor([0, 0, 0, 0, 1, 1, 1, 1]))

    Use it with torch's loader:

    >>> from torch.utils.data import DataLoader
    >>> loader = DataLoader([Surface.from_mesh(square)] * 6, batch_size=2, collate_fn=batch)
    >>> len(list(loader))
    3
    """
    if len(surfaces) == 1:
        return surfaces[0]
    if not surfaces:
        raise ValueError("a batch needs at least one surface")
    surfaces = [single for one in surfaces for single in one.split()]
    first = surfaces[0]
    result, joined = SurfaceBatch(first.row_numbers), {}
    for name in first:
        values = [_field(surfaces, place, name) for place in range(len(surfaces))]
        if isinstance(values[0], Tensor):
            result[name], joined[name] = _join(surfaces, name, values)
        else:
            numbers = isinstance(values[0], int | float)
            result[name] = torch.tensor(values) if numbers else values
            joined[name] = _Joined(0, [1] * len(values), [])
    device = next((result[name].device for name in joined if isinstance(result[name], Tensor)), None)
    counts = torch.tensor([one.num_nodes for one in surfaces])
    result.batch = torch.repeat_interleave(counts).to(device)
    result.ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).to(device)
    result._joined = joined
    return result


def _field(surfaces: Sequence[Surface], place: int, name: str) -> Any:
    if name not in surfaces[place]:
        raise ValueError(f"surface {place} of the batch has no {name}, which the first one has")
    return surfaces[place][name]


def _join(surfaces: Sequence[Surface], name: str, values: list[Tensor]) -> tuple[Tensor, _Joined]:
    dimension = values[0].ndim - 1 if name.endswith("_index") else 0
    if values[0].ndim == 0:
        dimension, values = 0, [value[None] for value in values]
    rows, added, first = surfaces[0].rows_of(name), [], 0
    if rows == "sample" or (rows is not None and rows in surfaces[0]):  # numbers of what is not there stay
        for one in surfaces:
            added.append(first)
            first += one.num_nodes if rows == "sample" else len(one[rows])
        values = [value + more for value, more in zip(values, added, strict=True)]
    return torch.cat(values, dimension), _Joined(dimension, [v.shape[dimension] for v in values], added)
