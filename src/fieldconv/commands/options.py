"""Options of the command line that are the fields of settings: with their help, and each preset's value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import docstring_parser
import tyro

from fieldconv._checked import field_types

Meshes = Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="MESH [MESH ...]")]
Also = Literal["obj", "glb", "off"]
Run = Annotated[Path, tyro.conf.arg(metavar="RUN|NAME"), tyro.conf.Positional]


def options_of(
    title: str,
    kind: type[Any],
    values: Mapping[str, Any],
    others: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    without: Sequence[str] = (),
    texts: Mapping[str, str] | None = None,
) -> type[Any]:
    """Return a dataclass with a field for each setting, for tyro to make options of.

    Parameters
    ----------
    title : str
        Name of the group of options.
    kind : type
        The dataclass of the settings.
    values : mapping
        Their values if nothing is said.
    others : mapping of str to mapping
        Their values in other presets, shown where they differ.
    without : sequence of str
        Fields that are no options.
    texts : mapping of str to str
        Help that is better than what the docstring of ``kind`` says.
    """
    texts = {**help_texts(kind), **(texts or {})}
    made: list[tuple[str, Any, Any]] = []
    for name, type_ in field_types(kind).items():
        if name in without:
            continue
        differing = [f"{preset} {_shown(own[name])}" for preset, own in (others or {}).items()
                     if own[name] != values[name]]  # fmt: skip
        text = texts.get(name, "") + (f" [{', '.join(differing)}]" if differing else "")
        default = field(default=_rounded(values[name]))  # for the help alone, see `given`
        made.append((name, Annotated[type_, tyro.conf.arg(help=text)], default))
    return make_dataclass(title, made, frozen=True, kw_only=True)


def group_of(options: type[Any], title: str) -> Any:
    """Return the type of an argument whose fields are options of their own, in a group of that title."""
    return tyro.conf.OmitArgPrefixes[Annotated[options, tyro.conf.arg(name=title)]]  # type: ignore[valid-type,misc]


def help_texts(kind: type[Any]) -> dict[str, str]:
    """Return what the docstrings of a dataclass, and of those it is made of, say about each field."""
    return {
        name: " ".join((entry.description or "").split())
        for part in reversed(kind.__mro__[:-1])
        for entry in docstring_parser.parse_from_object(part).params
        for name in entry.arg_name.split(", ")
    }


def given(arguments: Sequence[str], options: Any) -> dict[str, Any]:
    """Return those fields of parsed options that were named on the command line.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> given(["--epochs", "3", "--no-rotate"], SimpleNamespace(epochs=3, rotate=False, seed=0))
    {'epochs': 3, 'rotate': False}
    """
    named = {word[2:].split("=")[0].replace("-", "_") for word in arguments if word.startswith("--")}
    return {name: value for name, value in vars(options).items() if name in named or f"no_{name}" in named}


def value_of(arguments: Sequence[str], option: str, otherwise: str) -> str:
    """Return the value of an option before the line is parsed as a whole.

    Examples
    --------
    >>> value_of(["--preset=paper"], "--preset", "default"), value_of([], "--preset", "default")
    ('paper', 'default')
    """
    for place, word in enumerate(arguments):
        if word.startswith(f"{option}="):
            return word.split("=", 1)[1]
        if word == option and place + 1 < len(arguments):
            return arguments[place + 1]
    return otherwise


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple | list) else str(_rounded(value))
