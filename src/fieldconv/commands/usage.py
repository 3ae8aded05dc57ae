"""Read a command's arguments, and say in one line what is wrong with them."""

from __future__ import annotations

import difflib
import functools
import io
import itertools
import re
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any

import tyro


class UsageError(ValueError):
    """Arguments that a command does not take; the message says what it takes instead."""


def read_arguments(command: Callable[..., Any], arguments: Sequence[str], program: str) -> Callable[[], Any]:
    """Return the command with its arguments, ready to be called.

    Raises
    ------
    UsageError
        If the arguments are wrong.
    """

    @functools.wraps(command)
    def later(*values: Any, **named: Any) -> Callable[[], Any]:
        return functools.partial(command, *values, **named)

    said = io.StringIO()
    try:
        with redirect_stderr(said):
            ready: Callable[[], Any] = tyro.cli(later, args=list(arguments), prog=program)
    except SystemExit as end:
        if end.code in (0, None) or not said.getvalue():  # help was asked for
            raise
        problem = _misspelt(later, arguments) or one_line(said.getvalue())
        raise UsageError(f"{problem} (`{program} --help` lists all)") from None
    # Some versions of tyro take such a word for a value.
    unknown = [word for word in _before_dashes(arguments) if _is_single(word) and word != "-h"]
    if unknown:
        raise UsageError(f"there is no option {unknown[0]} (`{program} --help` lists all)")
    return ready


def _before_dashes(arguments: Sequence[str]) -> list[str]:
    """Return the arguments up to "--", after which all are values."""
    return list(itertools.takewhile(lambda word: word != "--", arguments))


def _is_single(word: str) -> bool:
    """Return whether a word looks like an option of one letter."""
    return len(word) == 2 and word[0] == "-" and word[1].isalpha()


def _misspelt(command: Callable[..., Any], arguments: Sequence[str]) -> str | None:
    """Return what is wrong with the first option that does not exist, which tyro may leave unsaid."""
    shown = io.StringIO()
    with redirect_stdout(shown), suppress(SystemExit):
        tyro.cli(command, args=["--help"])
    known = {"-h", *re.findall(r"--[a-z][a-z0-9-]*", shown.getvalue())}
    for word in _before_dashes(arguments):
        option = word.split("=")[0].replace("_", "-")
        if (option.startswith("--") or _is_single(word)) and option not in known:
            near = difflib.get_close_matches(option, sorted(known), 1, cutoff=0.7)
            return f"there is no option {option}{f'; did you mean {near[0]}?' if near else ''}"
    return None


def one_line(box: str) -> str:
    """Return the message in a box of tyro's as a line.

    Examples
    --------
    >>> box = "│ Unrecognized options: --epoch, 3 │\\n│ ─── │\\n│ Perhaps you meant: │\\n│  --epochs INT │"
    >>> one_line(box)
    'there is no option --epoch; did you mean --epochs?'
    """
    framed = "│" in box  # else output is plain: a title and a rule, then the message
    inside = [line.strip("│").rstrip() for line in box.splitlines() if line[:1] not in "╭╰"]
    rules = [k for k, line in enumerate(inside) if line.strip() and not line.strip(" ─-")]
    lines = inside if framed else inside[rules[0] + 1 :] if rules else inside
    last = next((k for k, line in enumerate(lines) if line.strip() and not line.strip(" ─-")), len(lines))
    text = " ".join(line.strip() for line in lines[:last]).strip().rstrip(".")
    options = [
        line.split()[0] for line in lines[last:] if line.strip().startswith("--") and line.strip(" ─-")
    ]
    if text.startswith("Unrecognized"):
        unknown = text.split(":", 1)[1].replace(",", " ").split()
        named = [word for word in unknown if word.startswith("-")]
        if not named:
            return f"{unknown[0]} is one argument too many"
        hint = f"; did you mean {options[0]}?" if options else ""
        return f"there is no option {named[0]}{hint}"
    if text.startswith("Missing value for argument"):
        flag = re.search(r"--?[a-z][a-z0-9-]*", text)  # older versions of tyro list all names of the option
        return f"{flag[0] if flag else text.split(chr(39))[1]} needs a value"
    if text.startswith("Missing"):
        wanted = [line.strip() for line in lines[1:last] if line.strip() and "(required)" not in line]
        return f"{', '.join(wanted)} {'is' if len(wanted) == 1 else 'are'} missing"
    if "Expected one of (" in text:
        choices = re.sub(r"['\"(),]", " ", text.split("Expected one of", 1)[1]).split()
        value, option = re.findall(r"'([^']*)'", text)[:2]
        return f"{option} is {value}; it can be {', '.join(sorted(set(choices) - {'None'}))}"
    for kind, needed in (("literal for int", "whole number"), ("convert string to float", "number")):
        if text.startswith("Error parsing") and kind in text:
            words = text.split()
            value = text.split("'")[-2]
            return f"{words[2].rstrip(':')} is {value}; it must be a {needed}"
    return text[:1].lower() + text[1:] if text else "wrong arguments"
