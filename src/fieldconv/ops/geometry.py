"""The tensors of a surface that the operations read, and values derived from them once."""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Callable, Hashable, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

if TYPE_CHECKING:
    from fieldconv.surface import Surface

Value = TypeVar("Value")


class Geometry(NamedTuple):
    """The tensors of a surface (or batch) that the operations read; see `fieldconv.Surface`."""

    edge_index: Tensor
    log: Tensor
    transport: Tensor
    weight: Tensor
    radius: Tensor
    batch: Tensor | None = None

    @classmethod
    def of(cls, surface: Surface | Geometry) -> Geometry:
        """Return the geometry of anything that has these attributes.

        Raise ValueError if there are several radii and no attribute ``batch`` to tell which point has which.
        """
        radius = surface.radius.reshape(-1)
        batch = None
        if radius.numel() > 1:
            batch = getattr(surface, "batch", None)
            if batch is None:
                raise ValueError("A surface with several radii needs the attribute batch, as batches have.")
        return cls(surface.edge_index, surface.log, surface.transport, surface.weight, surface.radius, batch)

    def wants_gradients(self) -> bool:
        """Return whether derivatives by the geometry itself are asked for."""
        return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in self)

    def distance(self) -> Tensor:
        """Return r/ε of every edge."""
        radius = self.radius.reshape(-1)
        if self.batch is not None:
            radius = radius[self.batch[self.edge_index[1]]]
        return self.log.abs() / radius

    def direction(self) -> Tensor:
        """Return e^{iθ} of every edge, and 0 on self edges, which have no direction."""
        distance = self.log.abs()
        return self.log / torch.where(distance > 0, distance, 1)

    def check_points(self, points: int) -> None:
        """Raise ValueError if an edge begins or ends at a point that has no features."""
        if self.edge_index.numel():
            first, last = int(self.edge_index.min()), int(self.edge_index.max())
            if not 0 <= first <= last < points:
                raise ValueError(
                    f"edge_index joins points {first} to {last}, but there are features for {points}; "
                    "give one row of features per point of the surface."
                )


def _stamp(tensor: Tensor | None) -> int | None:
    """Return a number that changes whenever the tensor does."""
    if tensor is None:
        return None
    if tensor.is_inference():  # these do not count their changes
        return zlib.adler32(tensor.contiguous().view(torch.uint8).cpu().numpy().data)
    return tensor._version


class _Entry(NamedTuple):
    tensors: tuple[weakref.ref[Tensor] | None, ...]
    stamps: tuple[int | None, ...]
    values: dict[Hashable, Any]


# Keyed by the log tensor, not by the surface: an entry dies with the tensor, copies of a surface share it, it
# is not pickled, and a surface whose tensors were replaced or changed in place never gets an old one.
_entries: MutableMapping[Tensor, _Entry] = WeakIdKeyDictionary()


def cached(geometry: Geometry, key: Hashable, make: Callable[[], Value]) -> Value:
    """Return ``make()``, called again only when the geometry has changed.

    The value must not hold the tensors of the geometry themselves, or they would never be freed.
    """
    stamps = tuple(_stamp(tensor) for tensor in geometry)
    entry = _entries.get(geometry.log)
    if (
        entry is None
        or entry.stamps != stamps
        or any((ref and ref()) is not tensor for ref, tensor in zip(entry.tensors, geometry, strict=True))
    ):
        refs = tuple(None if tensor is None else weakref.ref(tensor) for tensor in geometry)
        entry = _entries[geometry.log] = _Entry(refs, stamps, {})
    if key not in entry.values:
        with torch.no_grad():
            entry.values[key] = make()
    value: Value = entry.values[key]
    return value
