"""Named tensors that travel together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

Own = TypeVar("Own", bound="Fields")


class Fields:
    """Named tensors and other values, as attributes and as items.

    Values that are None count as missing. Copies by `copy.copy` share the tensors.

    Examples
    --------
    >>> fields = Fields(x=torch.ones(3), name="ball")
    >>> fields["x"] is fields.x, "y" in fields, list(fields)
    (True, False, ['x', 'name'])
    """

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __getattr__(self, name: str) -> Tensor:  # only of what is missing
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"{type(self).__name__} has no {name}; it has {', '.join(self)}")

    if TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __getitem__(self, name: str) -> Any:
        if name in self:
            return vars(self)[name]
        raise KeyError(name)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __delitem__(self, name: str) -> None:
        del vars(self)[name]

    def __contains__(self, name: str) -> bool:
        return not name.startswith("_") and vars(self).get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """Return the names of all fields."""
        return [name for name, value in vars(self).items() if value is not None and name[0] != "_"]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: vars(self)[name] for name in self.keys()}

    def update(self: Own, fields: Mapping[str, Any]) -> Own:
        """Set several fields, and return the same object."""
        vars(self).update(fields)
        return self

    def to(self: Own, device: torch.device | str | int, *, non_blocking: bool = False) -> Own:
        """Move all tensors to a device, in place, and return the same object."""
        return self._change(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def cpu(self: Own) -> Own:
        """Move all tensors to the CPU, in place."""
        return self.to("cpu")

    def cuda(self: Own) -> Own:
        """Move all tensors to the GPU, in place."""
        return self.to("cuda")

    def pin_memory(self: Own) -> Own:
        """Pin the memory of all tensors, in place."""
        return self._change(Tensor.pin_memory)

    def clone(self: Own) -> Own:
        """Return a copy with tensors of its own."""
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self))
        return copied._change(Tensor.clone)

    def _change(self: Own, change: Callable[[Tensor], Tensor]) -> Own:
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                vars(self)[name] = change(value)
        return self
