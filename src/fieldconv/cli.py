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
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from fieldconv import __version__

if TYPE_CHECKING:
    from fieldconv.commands.arguments import Arguments

# Command → where it is, and what it is for. Modules are loaded only for the command that is called.
COMMANDS = {
    "demo": (
        "commands.demo:demo_command",
        "train a part segmenter on embedded creatures and look at the result",
    ),
    "train": ("commands.train:train_command", "train a network for a task"),
    "evaluate": ("commands.evaluate:evaluate_command", "measure a trained network"),
    "predict": ("commands.predict:predict_command", "labels, classes or descriptors for new meshes"),
    "match": ("commands.match:match_command", "dense correspondence between two meshes"),
    "models": ("commands.models:models_command", "the networks that come with the package"),
    "view": ("commands.view:view_command", "a 3-D page of meshes, labels, fields, discs, predictions"),
    "compare": ("commands.compare:compare_command", "several networks on the same data, on one page"),
    "report": ("commands.report:report_command", "one page of curves and pictures from one or several runs"),
    "filters": ("commands.filters:filters_command", "a page of learned filters and what they respond to"),
    "info": ("commands.info:info_command", "what is in a mesh, and what is wrong with it"),
    "precompute": ("commands.precompute:precompute_command", "prepare a folder of meshes ahead of training"),
    "pack": ("commands.pack:pack_command", "put prepared meshes into few large files, for very many of them"),
    "cache": ("commands.cache:cache_command", "size of the kept surfaces and distances, or clear them"),
    "datasets make": (
        "commands.datasets:make_command",
        "write a folder of embedded shapes, to see the layout",
    ),
    "datasets check": ("commands.datasets:check_command", "check a folder of meshes and labels"),
    "bench": ("commands.bench:bench_command", "speed and accuracy tables on this machine"),
}

LONGEST = 4000  # letters of a message
NO_READER = (errno.EPIPE, errno.EINVAL)  # what writing to a pipe fails with; the second on Windows
UNREAD = 141  # exit code when whoever read our output has ended: 128 + SIGPIPE, as shells report it

EXAMPLES = """\
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
        finally:  # here and not when Python ends, where an error could no longer be caught
            sys.stdout.flush()
    except OSError as error:
        unread = _unread_after(error)
        if not unread:
            raise
        for stream in unread:  # Python writes what is left when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return UNREAD
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # newer versions of rich notice it themselves
            return UNREAD
        raise


def _unread_after(error: OSError) -> list[TextIO]:
    """Return which of output and errors nobody reads any more, if that is what the error says."""
    if error.errno not in NO_READER:
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
        return error.errno in NO_READER


def _command(arguments: list[str]) -> int:
    if isinstance(sys.stdout, TextIOWrapper):  # letters that a pipe's encoding lacks become "?"
        sys.stdout.reconfigure(errors="replace")
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_help())
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
        print(f"fieldconv: --print-completion takes one of {', '.join(SHELLS)}", file=sys.stderr)
        return 2
    print(completion(words[0], list(COMMANDS), arguments_of))
    return 0


def arguments_of(name: str, words: Sequence[str]) -> Arguments:
    """Return what a command takes; of some commands, that depends on the words after it."""
    from fieldconv.commands.arguments import Arguments

    module, function = COMMANDS[name][0].split(":")
    home = importlib.import_module(f"fieldconv.{module}")
    program = f"fieldconv {name}"
    if hasattr(home, "arguments_for"):
        made: Arguments = home.arguments_for(words, program)
        return made
    return Arguments(getattr(home, function), program)


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
        print(f"fieldconv: {_one_line(error)}", file=sys.stderr)
        return 2
    try:
        result = ready()
    except KeyboardInterrupt:
        go_on = " Go on with the same line and --resume." if name == "train" else ""
        print(f"\nfieldconv: stopped. What was finished is kept.{go_on}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)  # at once: an ordinary exit waits for all that threads have under way
    except (ValueError, OSError, ImportError, MemoryError, RecursionError, RuntimeError) as error:
        if isinstance(error, OSError) and _unread_after(error):
            raise
        if os.environ.get("FIELDCONV_DEBUG") or not _expected(error):
            raise
        print(f"fieldconv: {_one_line(error)}", file=sys.stderr)
        return 1
    return int(result) if isinstance(result, int) else 0


def _expected(error: Exception) -> bool:
    """Whether an error can be the user's; of RuntimeErrors, only those about memory."""
    known = (ValueError, OSError, ImportError, MemoryError, RecursionError)
    return isinstance(error, known) or "memory" in str(error)


def _one_line(error: Exception) -> str:
    text = _plain(error)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _plain(error: Exception) -> str:
    if isinstance(error, MemoryError | RuntimeError) and not isinstance(error, RecursionError):
        return "there is not enough memory for that; take fewer samples or a smaller network"
    if isinstance(error, RecursionError):
        return "a file is nested too deeply"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename}: no such file or folder"
    if isinstance(error, FileExistsError | NotADirectoryError) and error.filename:
        return f"{error.filename}: a file is in the way; choose another folder"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'writing'}: {error.strerror}"
    # Folders with several problems have a line for each; what other packages say may have any number.
    return str(error) if hasattr(error, "problems") else " ".join(str(error).split("\n"))


def _unknown(arguments: list[str]) -> int:
    tops = sorted({name.split()[0] for name in COMMANDS})
    group = [name for name in COMMANDS if name.startswith(f"{arguments[0]} ")]
    if group:
        if arguments[1:2] in (["-h"], ["--help"]):
            print("\n".join(["commands:", *_rows(group)]))
            return 0
        print(f"fieldconv: say which: {', '.join(group)}", file=sys.stderr)
        return 2
    near = difflib.get_close_matches(arguments[0], tops, 1)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(tops)}"
    print(f"fieldconv: there is no command {arguments[0]!r}; {hint}", file=sys.stderr)
    return 2


def _rows(names: Sequence[str]) -> list[str]:
    return [f"  {name:16}{COMMANDS[name][1]}" for name in names]


def _help() -> str:
    return "\n".join(
        [
            "usage: fieldconv COMMAND [OPTIONS]",
            "",
            "Deep learning on curved surfaces with field convolutions.",
            "",
            "commands:",
            *_rows(list(COMMANDS)),
            "",
            "options:",
            "  --version       print the version",
            "  --print-completion {bash,zsh}",
            "                  print a script by which the shell completes what you type",
            "",
            "`fieldconv COMMAND --help` explains a command.",
            "",
            EXAMPLES,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
