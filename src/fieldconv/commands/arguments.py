"""Read a command's arguments: what its function takes, and the fields of settings, as options of argparse."""

from __future__ import annotations

import argparse
import difflib
import functools
import inspect
import itertools
import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from fieldconv._checked import field_types
from fieldconv.commands.docstrings import command_texts, field_texts

Meshes = Annotated[tuple[Path, ...], "MESH"]
Run = Annotated[Path, "RUN|NAME"]
Also = Literal["obj", "glb", "off"]

METAVARS = {int: "INT", float: "FLOAT", Path: "PATH"}
OPTIONS = "[OPTIONS]"
NEEDED = {int: "whole number", float: "number"}


class UsageError(ValueError):
    """Arguments that a command does not take; the message says what it takes instead."""


class Arguments:
    """The arguments of a command: parameters before "/" by their place, all others as options.

    Parameters
    ----------
    command : callable
        Function whose signature and docstring say what it takes. The second argument of ``Annotated`` is the
        name of a value in the help. Fields of settings come in its ``**`` parameter.
    program : str
        How the command is called.
    choices : mapping of str to sequence of str
        Values that a parameter can have, where its type does not say so.
    needed : collection of str
        Options that must be given, although the command could be called without.

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
        command: Callable[..., Any],
        program: str,
        choices: Mapping[str, Sequence[str]] | None = None,
        needed: Collection[str] = (),
    ) -> None:
        about, examples, texts = command_texts(command)
        self.command = command
        self.choices: dict[str, tuple[str, ...]] = {"-h": (), "--help": ()}
        """Every option, and the values that it can have if they are few; "" for those without an option."""
        self._positions: list[str] = []
        self._parser = _Parser(
            prog=program,
            description="\n\n".join(map(_wrapped, about)),
            epilog="\n  ".join(["examples:", *examples]) if examples else None,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=28),
            argument_default=argparse.SUPPRESS,  # what is not given is left to the command
            allow_abbrev=False,
            exit_on_error=False,
        )
        hints = get_type_hints(command, include_extras=True)
        usage = []
        for name, parameter in inspect.signature(command).parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                usage.append(OPTIONS)
                continue
            default = inspect.Parameter.empty if name in needed else parameter.default
            text = texts.get(name, "")
            text += _default(default) if default not in (None, ()) else ""
            here, names = parameter.kind is parameter.POSITIONAL_ONLY, (choices or {}).get(name, ())
            usage.append(self._add(self._parser, name, hints[name], text, default, here, names))
        self._parser.usage = " ".join([program, *sorted(dict.fromkeys(usage), key=OPTIONS.__eq__)])

    def add_settings(
        self,
        title: str,
        about: str,
        kind: type[Any],
        values: Mapping[str, Any] | None = None,
        others: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        without: Sequence[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        """Add the fields of a dataclass of settings, as a group of options.

        Parameters
        ----------
        title, about : str
            Name of the group, and a line about it.
        kind : type
            The dataclass of the settings.
        values : mapping
            Their values if nothing is given, which the help shows.
        others : mapping of str to mapping
            Their values in other presets, which the help shows where they differ.
        without : sequence of str
            Fields that are no options.
        texts : mapping of str to str
            Help that is better than what the docstrings of ``kind`` say.
        """
        group = self._parser.add_argument_group(f"{title} options", _wrapped(about))
        texts = {**field_texts(kind), **(texts or {})}
        for name, hint in field_types(kind).items():
            if name in without:
                continue
            default, text = (values or {}).get(name), texts.get(name, "")
            differing = [f"{preset} {_shown(own[name])}" for preset, own in (others or {}).items()
                         if own[name] != default]  # fmt: skip
            text += f" [{', '.join(differing)}]" if differing else ""
            text += _default(default) if default is not None or differing else ""
            self._add(group, name, hint, text, default)

    def read(self, words: Sequence[str]) -> functools.partial[Any]:
        """Return the command with its arguments, ready to be called; raise UsageError if they are wrong."""
        options = [_with_hyphens(word) for word in itertools.takewhile(lambda word: word != "--", words)]
        for word in options:
            option = word.split("=")[0]
            if re.match("--?[A-Za-z]", option) and option not in self.choices:
                near = difflib.get_close_matches(option, sorted(self.choices), 1, cutoff=0.7)
                hint = f"; did you mean {near[0]}?" if near else ""
                self._parser.error(f"there is no option {option}{hint}")
        try:
            found, left = self._parser.parse_known_args([*options, *words[len(options) :]])
        except argparse.ArgumentError as error:
            self._parser.error(" ".join(filter(None, [error.argument_name, error.message])))
        if surplus := [word for word in left if word != "--"]:
            self._parser.error(f"{surplus[0]} is one argument too many")
        values = {name: _whole(value) for name, value in vars(found).items()}
        positional = [values.pop(name) for name in self._positions if name in values]
        return functools.partial(self.command, *positional, **values)

    def _add(
        self,
        group: Any,
        name: str,
        hint: Any,
        text: str,
        default: Any,
        positional: bool = False,
        choices: Sequence[str] = (),
    ) -> str:
        """Add an argument of any type; return how the usage names it."""
        hint, *named = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        kind, *_ = (kind for kind in kinds if kind is not NoneType)
        optional, required = NoneType in kinds, default is inspect.Parameter.empty
        option = f"--{name.replace('_', '-')}"
        if kind is bool:
            self.choices |= {option: (), f"--no-{option[2:]}": ()}
            group.add_argument(option, action=argparse.BooleanOptionalAction, help=_escaped(text))
            return OPTIONS
        nargs: str | int | None = "?" if positional and not required else None
        if get_origin(kind) is tuple:
            kind, *others = get_args(kind)
            nargs = ("+" if required else "*") if others == [...] else 1 + len(others)
        choices = choices or (get_args(kind) if get_origin(kind) is Literal else ())
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
        read = functools.partial(_read, kind, tuple(choices), optional)
        if positional:
            self._positions.append(name)
            self.choices[""] = (*self.choices.get("", ()), *choices)
            left_out = argparse.SUPPRESS if required else default
            group.add_argument(
                name, nargs=nargs, default=left_out, type=read, metavar=metavar, help=_escaped(text)
            )
            several = {"+": f"{metavar} [{metavar} ...]", "*": f"[{metavar} ...]", "?": f"[{metavar}]"}
            return several.get(str(nargs), metavar)
        self.choices[option] = tuple(choices)
        text += " (required)" if required else ""
        group.add_argument(
            option, nargs=nargs, type=read, metavar=metavar, required=required, help=_escaped(text)
        )
        return f"{option} {metavar}" if required else OPTIONS


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (`{self.prog} --help` lists all)")

    def print_help(self, file: Any = None) -> None:
        print(self.format_help(), end="", file=file)  # unlike argparse, which hides that nobody reads it


def _read(kind: Any, choices: tuple[str, ...], optional: bool, word: str) -> Any:
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
        raise argparse.ArgumentTypeError(f"is {word}; it must be a {NEEDED[kind]}") from None


def _whole(value: Any) -> Any:
    """Return a list as the tuple it stands for, or None if the only word was that."""
    return value if not isinstance(value, list) else None if value == [None] else tuple(value)


def _with_hyphens(word: str) -> str:
    """Return an option, or one with its value after "=", with hyphens in its name."""
    option, equals, value = word.partition("=")
    return option.replace("_", "-") + equals + value if word.startswith("--") else word


def _wrapped(text: str) -> str:
    width = shutil.get_terminal_size().columns - 4  # argparse keeps two free, and indents groups by two
    return textwrap.fill(text, width)


def _escaped(text: str) -> str:
    return text.strip().replace("%", "%%")  # which argparse would fill in


def _default(value: Any) -> str:
    return "" if value is inspect.Parameter.empty else f" (default: {_shown(value)})"


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return str(float(f"{value:.4g}") if isinstance(value, float) else value)
