"""Read a command's arguments: what its function takes, and the fields of settings, as options of argparse."""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import inspect
import itertools
import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from fieldconv._checked import Plain, field_types

Meshes = Annotated[tuple[Path, ...], "MESH"]
Run = Annotated[Path, "RUN|NAME"]
Also = Literal["obj", "glb", "off"]

METAVARS = {int: "INT", float: "FLOAT", Path: "PATH"}
OPTIONS = "[OPTIONS]"
REQUIRED = inspect.Parameter.empty


class UsageError(ValueError):
    """Arguments that a command does not take."""


class Arguments:
    """The arguments of a command: parameters before "/" by their place, all others as options.

    A command's signature and docstring say what it takes. The second argument of ``Annotated`` names a value
    in the help. Fields of settings come in its ``**`` parameter.

    Examples
    --------
    >>> def show(mesh: Meshes, /, radius: float = 0.2, samples: int | None = None) -> None:
    ...     "Show meshes."
    >>> ready = Arguments(show, "show").read(["a.obj", "--radius", "0.1"])
    >>> [path.name for path in ready.args[0]], ready.keywords
    (['a.obj'], {'radius': 0.1})
    >>> Arguments(show, "show").read(["a.obj", "--radius", "far"])
    Traceback (most recent call last):
    fieldconv.commands.arguments.UsageError: --radius is far; it must be a number (`show --help` lists all)
    """

    def __init__(
        self,
        command: Callable[..., object],
        program: str,  # how the command is called
        choices: Mapping[str, Sequence[str]] | None = None,  # where the type of a parameter lists none
        needed: Collection[str] = (),  # options that must be given, although the function has a default
    ) -> None:
        about, examples, texts = command_texts(command)
        parameters = inspect.signature(command).parameters.values()
        self.command = command
        self.choices: dict[str, tuple[str, ...]] = {"-h": (), "--help": ()}
        """Every option, and the values that it can have if they are few; "" for those without an option."""
        self._positions = [own.name for own in parameters if own.kind is own.POSITIONAL_ONLY]
        self._parser = _Parser(
            prog=program,
            description="\n\n".join(map(_wrap, about)),
            epilog="\n  ".join(["examples:", *examples]) if examples else None,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=28),
            argument_default=argparse.SUPPRESS,  # what is not given is left to the command
            allow_abbrev=False,
            exit_on_error=False,
        )
        hints = get_type_hints(command, include_extras=True)
        usage = []
        for own in parameters:
            if own.kind is own.VAR_KEYWORD:
                usage.append(OPTIONS)
                continue
            default = REQUIRED if own.name in needed else own.default
            text = texts.get(own.name, "") + ("" if default in (None, ()) else _default(default))
            values = (choices or {}).get(own.name, ())
            usage.append(self._add(self._parser, own.name, hints[own.name], text, default, values))
        self._parser.usage = " ".join([program, *sorted(dict.fromkeys(usage), key=OPTIONS.__eq__)])

    def add_settings(
        self,
        title: str,
        about: str,
        kind: type[object],
        values: Mapping[str, object] | None = None,
        others: Mapping[str, Mapping[str, object]] | None = None,
        *,
        without: Sequence[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        """Add the fields of a dataclass of settings, as a group of options.

        The help shows default values, and those of other presets where they differ. Fields ``without`` are no
        options. ``texts`` is help instead of what the docstrings of ``kind`` say.
        """
        group = self._parser.add_argument_group(f"{title} options", _wrap(about))
        texts = {**field_texts(kind), **(texts or {})}
        for name, hint in field_types(kind).items():
            if name in without:
                continue
            default, text = (values or {}).get(name), texts.get(name, "")
            elsewhere = {preset: own[name] for preset, own in (others or {}).items() if own[name] != default}
            differing = [f"{preset} {_shown(value)}" for preset, value in elsewhere.items()]
            text += f" [{', '.join(differing)}]" if differing else ""
            text += _default(default) if default is not None or differing else ""
            self._add(group, name, hint, text, default)

    def read(self, words: Sequence[str]) -> functools.partial[object]:
        """Return the command with its arguments, ready to be called; raise UsageError if they are wrong."""
        options = [_with_hyphens(word) for word in itertools.takewhile(lambda word: word != "--", words)]
        for word in options:
            option = word.split("=")[0]
            if re.match("--?[A-Za-z]", option) and option not in self.choices:
                near = difflib.get_close_matches(option, sorted(self.choices), 1, cutoff=0.7)
                hint = f"; did you mean {near[0]}?" if near else ""
                self._parser.error(f"there is no option {option}{hint}")
        try:
            known, unknown = self._parser.parse_known_args([*options, *words[len(options) :]])
        except argparse.ArgumentError as error:
            self._parser.error(" ".join(filter(None, [error.argument_name, error.message])))
        if surplus := [word for word in unknown if word != "--"]:
            self._parser.error(f"{surplus[0]} is one argument too many")
        values = {name: _whole(value) for name, value in vars(known).items()}
        positional = [values.pop(name) for name in self._positions if name in values]
        return functools.partial(self.command, *positional, **values)

    def _add(
        self, group: Any, name: str, hint: Any, text: str, default: object, choices: Sequence[str] = ()
    ) -> str:
        """Add an argument of any type; return how the usage names it."""
        hint, *named = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        kind, *_ = (kind for kind in kinds if kind is not NoneType)
        positional = group is self._parser and name in self._positions
        optional, required = NoneType in kinds, default is REQUIRED
        option = f"--{name.replace('_', '-')}"
        if kind is bool:
            self.choices |= {option: (), f"--no-{option[2:]}": ()}
            group.add_argument(option, action=argparse.BooleanOptionalAction, help=_escape(text))
            return OPTIONS
        nargs: str | int | None = "?" if positional and not required else None
        if get_origin(kind) is tuple:
            kind, *others = get_args(kind)
            nargs = ("+" if required else "*") if others == [...] else 1 + len(others)
        choices = tuple(choices or (get_args(kind) if get_origin(kind) is Literal else ()))
        if named:
            metavar = str(named[0])
            text += f" One of {', '.join(choices)}." if choices else ""
        elif choices:
            metavar = f"{{{','.join(choices)}}}"
        else:
            metavar = name.upper().replace("_", "-")
            metavar = metavar if positional else METAVARS.get(kind, metavar)
        if optional and not required and default is not None:  # leaving it out is something else
            metavar += "|None"
        options: Plain = {"nargs": nargs, "metavar": metavar}
        options["type"] = functools.partial(_read, kind, choices, optional)
        if positional:
            self.choices[""] = (*self.choices.get("", ()), *choices)
            left_out = argparse.SUPPRESS if required else default
            group.add_argument(name, default=left_out, help=_escape(text), **options)
            several = {"+": f"{metavar} [{metavar} ...]", "*": f"[{metavar} ...]", "?": f"[{metavar}]"}
            return several.get(str(nargs), metavar)
        self.choices[option] = choices
        text += " (required)" if required else ""
        group.add_argument(option, required=required, help=_escape(text), **options)
        return f"{option} {metavar}" if required else OPTIONS


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (`{self.prog} --help` lists all)")

    def print_help(self, file: Any = None) -> None:
        print(self.format_help(), end="", file=file)  # argparse's own hides a closed pipe


def _read(kind: Callable[[str], object], choices: tuple[str, ...], optional: bool, word: str) -> object:
    """Return a word as a value of a type; raise argparse's error if it is none."""
    if optional and word == "None":
        return None
    if choices:
        if word in choices:
            return word
        raise argparse.ArgumentTypeError(f"is {word}; it can be {', '.join(sorted(choices))}")
    try:
        return kind(word)
    except ValueError:
        expected = "whole number" if kind is int else "number"
        raise argparse.ArgumentTypeError(f"is {word}; it must be a {expected}") from None


def _whole(value: object) -> object:
    """Return a list as a tuple, or as None if that is its only word."""
    return value if not isinstance(value, list) else None if value == [None] else tuple(value)


def _with_hyphens(word: str) -> str:
    """Return an option, or one with its value after "=", with hyphens in its name."""
    option, equals, value = word.partition("=")
    return option.replace("_", "-") + equals + value if word.startswith("--") else word


def _wrap(text: str) -> str:
    width = shutil.get_terminal_size().columns - 4  # argparse keeps two free, and indents groups by two
    return textwrap.fill(text, width)


def _escape(text: str) -> str:
    return text.strip().replace("%", "%%")  # argparse formats help texts


def _default(value: object) -> str:
    return "" if value is REQUIRED else f" (default: {_shown(value)})"


def _shown(value: object) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return str(float(f"{value:.4g}") if isinstance(value, float) else value)


def command_texts(command: Callable[..., object]) -> tuple[list[str], list[str], dict[str, str]]:
    """Return a command's description by paragraphs, its examples, and what ``Args:`` says of each parameter.

    Examples
    --------
    >>> def show(mesh):
    ...     '''Show a mesh.
    ...
    ...     $ fieldconv show MESH
    ...
    ...     Args:
    ...         mesh: File of a mesh,
    ...             or of points.
    ...     '''
    >>> about, examples, texts = command_texts(show)
    >>> about, examples, texts["mesh"]
    (['Show a mesh.'], ['fieldconv show MESH'], 'File of a mesh, or of points.')
    """
    body, _, parameters = (inspect.getdoc(command) or "").partition("\nArgs:\n")
    lines = body.splitlines()
    examples = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    about = "\n".join(line for line in lines if not line.startswith("$ "))
    paragraphs = [" ".join(paragraph.split()) for paragraph in about.split("\n\n")]
    return [text for text in paragraphs if text], examples, _entries(textwrap.dedent(parameters), ": ")


def field_texts(kind: type[object]) -> dict[str, str]:
    """Return the text of each field of a dataclass and its bases.

    It is the docstring below a field, or is in the section "Parameters" of the class.

    Examples
    --------
    >>> from fieldconv.surface.settings import SurfaceSettings
    >>> field_texts(SurfaceSettings)["eigenfunctions"]
    'Number of eigenfunctions in an eigenbasis.'
    """
    texts: dict[str, str] = {}
    for part in reversed(kind.__mro__[:-1]):
        sections = re.split(r"^(\w+)\n-{3,}$", inspect.cleandoc(part.__doc__ or ""), flags=re.MULTILINE)
        named = dict(zip(sections[1::2], sections[2::2], strict=True))
        texts |= _entries(named.get("Parameters", ""), " : ") | _below_fields(part)
    return texts


def _entries(section: str, separator: str) -> dict[str, str]:
    """Return the texts of a section by name. A line that begins with names is followed by indented text."""
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line[0].isspace():
            head, _, line = line.partition(separator)
            names = head.split(", ")
            texts |= dict.fromkeys(names, "")
            if separator == " : ":  # what follows is the type
                continue
        texts |= {name: f"{texts[name]} {line.strip()}".strip() for name in names}
    return texts


def _below_fields(kind: type[object]) -> dict[str, str]:
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):  # it has no source file
        return {}
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(getattr(tree, "body", []))
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }
