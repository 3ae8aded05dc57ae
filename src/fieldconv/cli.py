"""The command line: finds the command, reads its arguments, turns errors into one line."""

from __future__ import annotations

import atexit
import difflib
import errno
import gc
import importlib
import os
import select
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from fieldconv import __version__

if TYPE_CHECKING:
    from fieldconv.commands.arguments import Arguments

# A command's last word names its function: `train_command`.
COMMANDS = {
    "demo": "train a part segmenter on embedded creatures and look at the result",
    "train": "train a network for a task",
    "evaluate": "measure a trained network",
    "predict": "labels, classes or descriptors for new meshes",
    "match": "dense correspondence between two meshes",
    "models": "the networks that come with the package",
    "view": "a 3-D page of meshes, labels, fields, discs, predictions",
    "compare": "several networks on the same data, on one page",
    "report": "one page of curves and pictures from one or several runs",
    "filters": "a page of learned filters and what they respond to",
    "info": "what is in a mesh, and what is wrong with it",
    "precompute": "prepare a folder of meshes ahead of training",
    "pack": "put prepared meshes into few large files, for very many of them",
    "cache": "size of the kept surfaces and distances, or clear them",
    "datasets make": "write a folder of embedded shapes, to see the layout",
    "datasets check": "check a folder of meshes and labels",
    "bench": "speed and accuracy tables on this machine",
}

# Files in commands/ that are not named after a command's first word
FILES = {"filters": "report", "models": "installed", "cache": "installed", "bench": "installed"}

MAX_MESSAGE = 4000  # characters
CLOSED_PIPE = (errno.EPIPE, errno.EINVAL)  # of writing when the reader closed the pipe; the second on Windows
UNREAD = 141  # exit code when the reader closed the pipe: 128 + SIGPIPE, as shells report it

HELP = """\
usage: fieldconv COMMAND [OPTIONS]

Deep learning on curved surfaces with field convolutions.

commands:
{commands}

options:
  --version       print the version
  --print-completion {{bash,zsh}}
                  print a script by which the shell completes what you type

`fieldconv COMMAND --help` explains a command.

examples:
  fieldconv demo
  fieldconv info shape.obj --radius 0.2
  fieldconv train segmentation --data MESHES --out RUN
  fieldconv predict RUN new.stl --out RESULT
  fieldconv predict bodies scan.ply --out RESULT
  fieldconv view RESULT/new.ply
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code: 0 good, 1 failed, 2 wrong usage, 130 interrupted, 141 unread."""
    try:
        try:
            return _command(list(sys.argv[1:] if arguments is None else arguments))
        finally:  # while an error can still be caught, which it cannot when Python ends
            sys.stdout.flush()
    except OSError as error:
        unread = _unread_after(error)
        if not unread:
            raise
        for stream in unread:  # Python writes the rest when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return UNREAD
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # raised by newer versions of rich
            return UNREAD
        raise


def _unread_after(error: OSError) -> list[TextIO]:
    """Return the streams whose reader closed the pipe, if the error is about that."""
    if error.errno not in CLOSED_PIPE:
        return []
    return [stream for stream in (sys.stdout, sys.stderr) if _unread(stream)]


def _unread(stream: TextIO) -> bool:
    try:
        stream.flush()
        if sys.platform == "win32":  # which has no poll for pipes
            return False
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except OSError as error:
        return error.errno in CLOSED_PIPE


def _command(arguments: list[str]) -> int:
    if isinstance(sys.stdout, TextIOWrapper):  # letters that a pipe's encoding lacks become "?"
        sys.stdout.reconfigure(errors="replace")
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP.format(commands=_rows(COMMANDS)))
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"fieldconv {__version__}")
        return 0
    if arguments[0] == "--print-completion":
        return _print_completion(arguments[1:])
    name = next((" ".join(arguments[:n]) for n in (2, 1) if " ".join(arguments[:n]) in COMMANDS), None)
    if name is None:
        return _unknown(arguments)
    return _run(name, arguments[len(name.split()) :])


def _print_completion(words: list[str]) -> int:
    from fieldconv.commands.completion import SHELLS, completion

    if len(words) != 1 or words[0] not in SHELLS:
        return _wrong(f"--print-completion takes one of {', '.join(SHELLS)}")
    print(completion(words[0], list(COMMANDS), arguments_of))
    return 0


def arguments_of(name: str, words: Sequence[str]) -> Arguments:
    """Return the arguments of a command; of some commands, they depend on the words after it."""
    from fieldconv.commands.arguments import Arguments

    first, last = name.split()[0], name.split()[-1]
    home = importlib.import_module(f"fieldconv.commands.{FILES.get(first, first)}")
    program = f"fieldconv {name}"
    if hasattr(home, "arguments_for"):
        made: Arguments = home.arguments_for(words, program)
        return made
    made = Arguments(getattr(home, f"{last}_command"), program)
    if hasattr(home, "SETTINGS"):
        made.add_settings(*home.SETTINGS)
    return made


def _run(name: str, words: list[str]) -> int:
    # Imports make many objects and no garbage, and Python looks for garbage several times as it ends. Both
    # together take a third of the time of `predict`.
    gc.set_threshold(20_000, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
    # torch's idle threads would keep their cores for a while, where the kernels' threads could work.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        ready = arguments_of(name, words).read(words)
    except ValueError as error:
        return _wrong(_message(error))
    try:
        result = ready()
    except KeyboardInterrupt:
        go_on = " Go on with the same line and --resume." if name == "train" else ""
        print(f"\nfieldconv: stopped. What was finished is kept.{go_on}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)  # at once: an ordinary exit waits for what threads are doing
    except (ValueError, OSError, ImportError, MemoryError, RecursionError, RuntimeError) as error:
        if isinstance(error, OSError) and _unread_after(error):
            raise
        if os.environ.get("FIELDCONV_DEBUG") or not _expected(error):
            raise
        return _wrong(_message(error), 1)
    return int(result) if isinstance(result, int) else 0


def _wrong(message: str, code: int = 2) -> int:
    print(f"fieldconv: {message}", file=sys.stderr)
    return code


def _expected(error: Exception) -> bool:
    """Return whether an error can be the user's; of RuntimeErrors, only those about memory."""
    known = (ValueError, OSError, ImportError, MemoryError, RecursionError)
    return isinstance(error, known) or "memory" in str(error)


def _message(error: Exception) -> str:
    """Return what went wrong in one line, or one for each problem that the error lists."""
    if isinstance(error, RecursionError):
        text = "a file is nested too deeply"
    elif isinstance(error, MemoryError | RuntimeError):
        text = "there is not enough memory for that; take fewer samples or a smaller network"
    elif isinstance(error, FileNotFoundError) and error.filename:
        text = f"{error.filename}: no such file or folder"
    elif isinstance(error, FileExistsError | NotADirectoryError) and error.filename:
        text = f"{error.filename}: a file is in the way; choose another folder"
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename or 'writing'}: {error.strerror}"
    else:
        text = str(error) if hasattr(error, "problems") else " ".join(str(error).split("\n"))
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} …"


def _unknown(arguments: list[str]) -> int:
    group = [name for name in COMMANDS if name.startswith(f"{arguments[0]} ")]
    if group and arguments[1:2] in (["-h"], ["--help"]):
        print(f"commands:\n{_rows(group)}")
        return 0
    if group:
        return _wrong(f"say which: {', '.join(group)}")
    names = sorted({name.split()[0] for name in COMMANDS})
    near = difflib.get_close_matches(arguments[0], names, 1)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"
    return _wrong(f"there is no command {arguments[0]!r}; {hint}")


def _rows(names: Iterable[str]) -> str:
    return "\n".join(f"  {name:16}{COMMANDS[name]}" for name in names)


if __name__ == "__main__":
    sys.exit(main())
