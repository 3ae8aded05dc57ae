"""What commands take: made from signatures and dataclasses, read once, explained."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from fieldconv._checked import field_types
from fieldconv.cli import COMMANDS, arguments_of, main
from fieldconv.commands.arguments import Arguments, UsageError, command_texts, field_texts
from fieldconv.datasets.source import DataSource
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.tasks import all_tasks
from fieldconv.training.run_settings import Machine


@dataclass
class Parts:
    """Settings of this test.

    Parameters
    ----------
    low, high : float
        Ends of
        the range.
    """

    low: float = 0.5
    high: float | None = 2.0
    sizes: tuple[int, int] = (3, 4)
    names: tuple[str, ...] | None = None
    """Names, of which 10% are drawn."""
    closed: bool = False
    kind: Literal["near", "far"] = "near"
    blocks_of_many: int = 4


@dataclass
class MoreParts(Parts):
    blocks_of_many: int = 4
    """How many
    blocks."""


def draw(
    run: Annotated[Path, "RUN|NAME"],
    meshes: Annotated[tuple[Path, ...], "MESH"],
    /,
    *,
    out: Path,
    samples: int | None = None,
    up: Literal["x", "y"] = "x",
    also: tuple[str, ...] = (),
    open: bool = True,
    **settings: Any,
) -> None:
    """Draw meshes.

    A second paragraph that says
    more.

    $ fieldconv draw RUN a.obj --out RESULT

    Args:
        run: Where it was learnt.
        meshes: Files of meshes,
            in any format.
        out: Folder.
        samples: How many.
    """


def show(what: Literal["size", "all"] = "size", /, folder: str | None = None) -> None:
    """Show."""


@pytest.fixture
def arguments() -> Arguments:
    made = Arguments(draw, "fieldconv draw")
    made.add_settings("parts", "What it is made of.", MoreParts)
    return made


def read(arguments: Arguments, line: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    ready = arguments.read(["RUN", "a.obj", "--out", "X", *line.split()])
    assert ready.func is draw
    assert ready.args == (Path("RUN"), (Path("a.obj"),))
    return ready.args, {name: value for name, value in ready.keywords.items() if name != "out"}


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("", {}),  # what is not given is left to the command
        ("--samples 3", {"samples": 3}),
        ("--samples=3", {"samples": 3}),
        ("--samples None", {"samples": None}),
        ("--up y", {"up": "y"}),
        ("--also glb obj", {"also": ("glb", "obj")}),
        ("--also", {"also": ()}),
        ("--no-open", {"open": False}),
        ("--open", {"open": True}),
        ("--low 1e-3", {"low": 0.001}),
        ("--low -2", {"low": -2.0}),
        ("--high None", {"high": None}),
        ("--sizes 5 6", {"sizes": (5, 6)}),
        ("--names a b", {"names": ("a", "b")}),
        ("--names None", {"names": None}),
        ("--no-closed", {"closed": False}),
        ("--kind far", {"kind": "far"}),
        ("--blocks-of-many 2", {"blocks_of_many": 2}),
        ("--blocks_of_many 2", {"blocks_of_many": 2}),
        ("--blocks_of_many=2 --blocks-of-many 3", {"blocks_of_many": 3}),  # the last one counts
    ],
)
def test_values_have_their_types(arguments: Arguments, line: str, given: dict[str, Any]) -> None:
    _, found = read(arguments, line)
    assert found == given
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in given.items()
    }


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("RUN a.obj --out X --sample 3", "there is no option --sample; did you mean --samples?"),
        (
            "RUN a.obj --out X --block_of_many 3",
            "there is no option --block-of-many; did you mean --blocks-of",
        ),
        ("RUN a.obj --out X --elephant 3", "there is no option --elephant "),
        ("RUN a.obj --elephant 3", "there is no option --elephant "),  # before what is missing
        ("RUN a.obj --out X -s 3", "there is no option -s "),
        ("RUN a.obj --ou X", "there is no option --ou; did you mean --out?"),  # nothing is abbreviated
        ("RUN a.obj --out X --samples 2.5", "--samples is 2.5; it must be a whole number"),
        ("RUN a.obj --out X --low None", "--low is None; it must be a number"),
        ("RUN a.obj --out X --kind none", "--kind is none; it can be far, near"),
        ("RUN a.obj --out X --samples", "--samples expected one argument"),
        ("RUN a.obj --out X --sizes 1", "--sizes expected 2 arguments"),
        ("RUN a.obj --out X b.obj", "b.obj is one argument too many"),
        ("RUN", "the following arguments are required: MESH, --out"),
        ("", r"the following arguments are required: RUN\|NAME, MESH, --out"),
    ],
)
def test_mistakes_are_one_line(arguments: Arguments, line: str, says: str) -> None:
    with pytest.raises(UsageError, match=f"^{says}") as caught:
        arguments.read(line.split())
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(" (`fieldconv draw --help` lists all)")


def test_words_after_two_dashes_are_values(arguments: Arguments) -> None:
    ready = arguments.read(["--out", "X", "--", "RUN", "-a.obj", "--out_b"])
    assert ready.args == (Path("RUN"), (Path("-a.obj"), Path("--out_b")))
    assert arguments.read(["RUN", "a.obj", "--out", "X", "--"]).args[1] == (Path("a.obj"),)


def test_arguments_may_be_left_out() -> None:
    arguments = Arguments(show, "fieldconv show")
    assert arguments.read([])() is None
    assert arguments.read([]).args == ("size",)
    assert arguments.read(["--folder", "X", "all"]).args == ("all",)
    assert arguments.read(["all", "--folder", "X"]).keywords == {"folder": "X"}
    with pytest.raises(UsageError, match="is al; it can be all, size"):
        arguments.read(["al"])


def help_of(arguments: Arguments, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        arguments.read(["--help"])
    assert not stop.value.code
    return capsys.readouterr().out


def test_help_comes_from_docstrings(arguments: Arguments, capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_of(arguments, capsys)
    assert shown.startswith("usage: fieldconv draw RUN|NAME MESH [MESH ...] --out PATH [OPTIONS]\n")
    assert "\n\nA second paragraph that says more.\n\n" in shown
    assert shown.endswith("\nexamples:\n  fieldconv draw RUN a.obj --out RESULT\n")
    assert "\nparts options:\n  What it is made of.\n" in shown
    plain = " ".join(shown.split())
    for text in (
        "RUN|NAME Where it was learnt. ",
        "MESH Files of meshes, in any format. ",
        "--out PATH Folder. (required)",
        "--samples INT How many. ",
        "--up {x,y} (default: x) ",
        "--open, --no-open (default: True) ",
        "--low FLOAT Ends of the range. ",
        "--high FLOAT Ends of the range. ",
        "--sizes INT INT ",
        "--names [NAMES ...] Names, of which 10% are drawn. ",
        "--blocks-of-many INT How many blocks. ",
    ):
        assert text in plain, text


def test_help_shows_the_values_of_presets(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = Arguments(draw, "fieldconv draw")
    own, other = vars(Parts()), vars(Parts(low=1 / 3, high=None, sizes=(1, 2)))
    arguments.add_settings(
        "parts", "", Parts, own, {"other": other}, without=["closed"], texts={"kind": "Which."}
    )
    plain = " ".join(help_of(arguments, capsys).split())
    assert "--low FLOAT Ends of the range. [other 0.3333] (default: 0.5) " in plain
    assert "--high FLOAT|None Ends of the range. [other None] (default: 2.0) " in plain
    assert "--sizes INT INT [other 1 2] (default: 3 4) " in plain
    assert "--kind {near,far} Which. (default: near) " in plain
    assert "--closed" not in plain
    arguments = Arguments(draw, "fieldconv draw")
    arguments.add_settings("parts", "", Parts, other, {"own": own})
    assert "[own 2.0] (default: None) " in " ".join(help_of(arguments, capsys).split())


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("command", ["predict", "precompute", "view"])
def test_help_is_as_wide_as_the_terminal(
    columns: int, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = help_of(arguments_of(command, []), capsys).split("\nexamples:")[0].splitlines()[2:]
    assert columns - 15 < max(map(len, shown)) < columns


def test_docstrings_of_classes_without_a_file_are_not_needed() -> None:
    space: dict[str, Any] = {}
    exec("from dataclasses import dataclass\n@dataclass\nclass Made:\n    a: int = 3\n    'Text.'\n", space)
    assert field_texts(space["Made"]) == {}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_of_a_command_is_explained(name: str) -> None:
    command = arguments_of(name, ["segmentation"]).command
    _, _, texts = command_texts(command)
    named = {
        key for key, value in signature(command).parameters.items() if value.kind is not value.VAR_KEYWORD
    }
    assert set(texts) == named
    assert all(texts.values())


@pytest.mark.parametrize(
    "kind", [DataSource, SurfaceSettings, Machine, *(task.Config for task in all_tasks())]
)
def test_every_setting_is_explained(kind: type[Any]) -> None:
    texts = field_texts(kind)
    assert not [name for name in field_types(kind) if not texts.get(name)]


def complete(script: Path, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _fieldconv"
    code = f'source {script}; {asked}; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, encoding="utf-8", check=True, timeout=60)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_bash_completes_commands_options_and_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--print-completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    assert complete(script, "fieldconv", "") == list(dict.fromkeys(name.split()[0] for name in COMMANDS))
    assert complete(script, "fieldconv", "pre") == ["predict", "precompute"]
    assert complete(script, "fieldconv", "datasets", "") == ["make", "check"]
    assert complete(script, "fieldconv", "datasets", "make", "--d") == ["--difficulty"]
    assert complete(script, "fieldconv", "train", "seg") == ["segmentation"]
    assert complete(script, "fieldconv", "train", "segmentation", "--preset", "re") == ["reproduce"]
    assert complete(script, "fieldconv", "train", "matching", "--marg") == ["--margin"]  # of this task alone
    assert complete(script, "fieldconv", "predict", "RUN", "") == []  # files
    assert complete(script, "fieldconv", "train", "--out", "") == []


def test_zsh_understands_the_script_of_bash(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-completion", "zsh"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("autoload -U +X bashcompinit && bashcompinit\n")
    assert "complete -o default -F _fieldconv fieldconv" in shown


def test_an_option_may_be_needed_although_the_command_has_a_default() -> None:
    def store(*, out: Path | None = None) -> None:
        """Store."""

    assert Arguments(store, "store").read([]).keywords == {}
    with pytest.raises(UsageError, match="required: --out"):
        Arguments(store, "store", needed=["out"]).read([])
    assert Arguments(store, "store", needed=["out"]).read(["--out", "here"]).keywords == {"out": Path("here")}
