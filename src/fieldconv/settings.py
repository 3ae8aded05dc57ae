"""How a mesh becomes a `Surface`: plain data that travels with caches, runs and checkpoints; its check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

Features = Literal["xyz", "hks", "wks"]
Solver = Literal["local", "heat"]


@dataclass(frozen=True)
class SurfaceSettings:
    """Preprocessing of a mesh, which is first scaled to unit area and centred.

    Examples
    --------
    >>> SurfaceSettings(radius=0.1, samples=2048)
    SurfaceSettings(radius=0.1, samples=2048, features='xyz', solver='local')
    """

    radius: float = 0.2
    """Geodesic radius ε of the filters' support, at unit area."""
    samples: int | None = None
    """Farthest-point samples the network works on; every vertex if not given."""
    features: Features = "xyz"
    """What the network sees at a point: its position, or the intrinsic heat or wave kernel signature."""
    solver: Solver = "local"
    """Unfolding of triangles (nearly exact for very many), or the vector heat method (as the paper did)."""

    def __post_init__(self) -> None:
        if not 0 < self.radius < float("inf"):
            raise ValueError(f"radius must be a positive number, not {self.radius}.")
        if self.samples is not None and self.samples < 1:
            raise ValueError(f"samples must be at least 1, not {self.samples}.")
        if self.features not in ("xyz", "hks", "wks"):
            raise ValueError(f"features must be xyz, hks or wks, not {self.features!r}.")
        if self.solver not in ("local", "heat"):
            raise ValueError(f"solver must be local or heat, not {self.solver!r}.")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def checked(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for the fields of a dataclass of plain data, as a file may hold them: known names, right types.

    Examples
    --------
    >>> checked(SurfaceSettings, {"radius": "far"})
    Traceback (most recent call last):
    ValueError: radius is 'far'; give a number
    """
    types = get_type_hints(kind)
    for name, value in values.items():
        if name not in types:
            raise ValueError(f"unknown setting {name!r}; choose among {', '.join(types)}")
        if not _fits(value, types[name]):
            verb = "choose" if get_origin(types[name]) is Literal else "give"
            raise ValueError(f"{name} is {value!r}; {verb} {_in_words(types[name])}")
    return dict(values)


def _fits(value: Any, kind: Any) -> bool:
    options, origin = get_args(kind), get_origin(kind)
    if origin is Literal:
        return value in options
    if origin is UnionType:
        return any(_fits(value, option) for option in options)
    if origin is tuple:
        return isinstance(value, list | tuple) and all(_fits(entry, options[0]) for entry in value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _in_words(kind: Any) -> str:
    options, origin = get_args(kind), get_origin(kind)
    if origin is Literal:
        return f"one of {', '.join(options)}"
    if origin is UnionType:
        return " or ".join(_in_words(option) for option in options)
    if origin is tuple:
        return f"a list, of which each is {_in_words(options[0])}"
    names = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "text",
        NoneType: "nothing",
    }
    return names[kind]
