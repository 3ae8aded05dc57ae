"""Checks of plain values, as files hold them: known names, right types."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

Plain = dict[str, Any]  # values by name, as JSON and YAML hold them


def checked(kind: type[Any], values: Mapping[str, Any]) -> Plain:
    """Return values for the fields of a dataclass, lists as tuples.

    Raise ValueError for unknown names and wrong types.

    Examples
    --------
    >>> from fieldconv.surface.settings import SurfaceSettings
    >>> checked(SurfaceSettings, {"radius": "far"})
    Traceback (most recent call last):
    ValueError: radius is 'far'; give a number
    """
    types = field_types(kind)
    plain = {}
    for name, value in values.items():
        if name not in types:
            near = difflib.get_close_matches(str(name)[:100], types, 1, 0.75)
            hint = f"did you mean {near[0]}={shown(value)}?" if near else f"choose among {', '.join(types)}"
            raise ValueError(f"unknown setting {shown(name)}; {hint}")
        if not _fits(value, types[name]):
            verb = "choose" if get_origin(types[name]) is Literal else "give"
            raise ValueError(f"{name} is {shown(value)}; {verb} {_expected_type(types[name])}")
        plain[name] = tuple(value) if isinstance(value, list) else value
    return plain


def field_types(kind: type[Any]) -> dict[str, Any]:
    """Return the type of each field of a dataclass, by its name."""
    hints = get_type_hints(kind)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def check_choices(values: object, **choices: tuple[str, ...]) -> None:
    """Raise ValueError if a field of ``values`` is not one of its choices."""
    for name, words in choices.items():
        if getattr(values, name) not in words:
            raise ValueError(f"{name} is {shown(getattr(values, name))}; choose one of {', '.join(words)}")


MAX_FLOAT = 10**300  # larger whole numbers are no floating-point numbers
MAX_COUNT = 1_000_000  # of samples, blocks and the like; more would not fit anywhere


def check_count(name: str, value: object, least: int = 1, most: int = MAX_COUNT) -> None:
    """Raise ValueError if a value is not a whole number from ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {shown(value)}; give a whole number from {least} up")
    if value > most:
        raise ValueError(f"{name} is {shown(value)}; give a whole number up to {most:,}")


def shown(value: object) -> str:
    """Return the ``repr`` of a value, shortened, since files may hold values of any length.

    Examples
    --------
    >>> shown("far"), len(shown("x" * 10**6))
    ("'far'", 80)
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits; thousands of brackets
        text = f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= 80 else f"{text[:78]} …"


def _fits(value: object, kind: Any) -> bool:
    options, origin = get_args(kind), get_origin(kind)
    if origin is Literal:
        return value in options
    if origin in (UnionType, Union):
        return any(_fits(value, option) for option in options)
    if origin is tuple:
        return isinstance(value, list | tuple) and all(_fits(entry, options[0]) for entry in value)
    if kind is float:
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_FLOAT
        return isinstance(value, float) or whole
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _expected_type(kind: Any) -> str:
    options, origin = get_args(kind), get_origin(kind)
    if origin is Literal:
        return f"one of {', '.join(options)}"
    if origin in (UnionType, Union):
        return " or ".join(_expected_type(option) for option in options)
    if origin is tuple:
        return f"a list; each entry is {_expected_type(options[0])}"
    names = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "text",
        NoneType: "nothing",
    }
    return names[kind]
