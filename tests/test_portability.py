"""Nothing is left to what a system happens to use: encodings, flushing, line ends, separators."""

from __future__ import annotations

import ast
import io
import os
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

import pytest

import shapes
from fieldconv._io import atomic_path, read_text, write_csv, write_json, write_text
from fieldconv.cli import main
from fieldconv.geometry import Mesh
from fieldconv.labels.collection import natural_order

ROOT = Path(__file__).parents[1]
FILES = [
    path for folder in ("src", "tests", "benchmarks", "examples", "docs", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
]  # fmt: skip
TEXT_METHODS = ("read_text", "write_text")
TEXT_FUNCTIONS = ("loadtxt", "savetxt", "genfromtxt")


def unnamed_encodings(tree: ast.AST) -> list[int]:
    """Return the lines at which text is read, written or piped without saying in which encoding."""
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_unnamed(node)]


def _is_unnamed(call: ast.Call) -> bool:
    options = {word.arg: word.value for word in call.keywords}
    if "encoding" in options:
        return False
    if isinstance(call.func, ast.Name):  # open(path, mode); read_text and write_text of _io say it themselves
        return call.func.id == "open" and not _is_binary(call.args[1:2], options)
    if not isinstance(call.func, ast.Attribute):
        return False
    module = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
    match call.func.attr:
        case "open" if module not in ("os", "Image", "webbrowser", "browser"):
            named = isinstance(options.get("mode"), ast.Constant) or _is_mode(call.args[:1])
            return named and not _is_binary(call.args[:1], options)
        case "run" | "Popen" | "check_output" if module == "subprocess":
            return "text" in options
        case name if name in TEXT_FUNCTIONS:
            return True
        case name if name in TEXT_METHODS:
            return len(call.args) < (1 if name == "read_text" else 2)
    return False


def _is_mode(found: list[ast.expr]) -> bool:
    return any(isinstance(node, ast.Constant) and set(str(node.value)) <= set("rwxabt+") for node in found)


def _is_binary(found: list[ast.expr], options: dict[str | None, ast.expr]) -> bool:
    modes = [*found, options["mode"]] if "mode" in options else found
    return any(isinstance(node, ast.Constant) and "b" in str(node.value) for node in modes)


def test_text_names_its_encoding() -> None:
    assert len(FILES) > 200
    found = {str(path): unnamed_encodings(ast.parse(read_text(path))) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("open(path)", True),
        ("open(path, 'w', newline='')", True),
        ("open(path, 'rb')", False),
        ("open(path, mode='wb')", False),
        ("open(path, encoding='utf-8')", False),
        ("path.open('w')", True),
        ("path.open('r+b')", False),
        ("benchmark.open(root, split=split)", False),
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.write_text(words)", True),
        ("path.write_text(words, encoding='utf-8')", False),
        ("read_text(path)", False),
        ("np.loadtxt(path, dtype=int)", True),
        ("subprocess.run(words, text=True)", True),
        ("subprocess.run(words, capture_output=True)", False),
    ],
)
def test_unnamed_encodings_are_found(code: str, missing: bool) -> None:
    assert unnamed_encodings(ast.parse(code)) == ([1] if missing else [])


def test_files_are_flushed_through_a_handle_open_for_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to flush any other handle; and what is renamed must have been flushed before."""
    happened: list[str] = []
    fsync, replace = os.fsync, os.replace

    def spy_fsync(handle: int) -> None:
        os.write(handle, b"")  # raises if the handle is not open for writing
        assert os.fstat(handle).st_size == 6
        fsync(handle)
        happened.append("flushed")

    def spy_replace(source: Path, target: Path) -> None:
        happened.append("renamed")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "replace", spy_replace)
    with atomic_path(tmp_path / "a.bin") as temporary:
        temporary.write_bytes(b"123456")
    write_text(tmp_path / "b.txt", "Übung")  # six bytes
    assert happened == ["flushed", "renamed"] * 2
    assert (tmp_path / "a.bin").read_bytes() == b"123456"


def test_text_files_are_the_same_bytes_on_every_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text opened without `newline` gets the line ends of Windows there, as here in its stead."""

    def windows_open(
        path: Path, mode: str = "r", encoding: str | None = None, newline: str | None = None
    ) -> IO[Any]:
        if "b" not in mode and newline is None:
            newline = "\r\n"
        return open(path, mode, encoding=encoding, newline=newline)

    monkeypatch.setattr("fieldconv._io.open", windows_open, raising=False)
    write_text(tmp_path / "a.txt", "Übung\n形\n")
    assert (tmp_path / "a.txt").read_bytes() == "Übung\n形\n".encode()
    write_json(tmp_path / "a.json", {"形": [1]})
    assert (tmp_path / "a.json").read_bytes() == '{\n  "形": [\n    1\n  ]\n}\n'.encode()
    write_csv(tmp_path / "a.csv", ["x"], [["ü"]])
    assert (tmp_path / "a.csv").read_bytes() == "x\r\nü\r\n".encode()  # as the csv module ends its lines


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfcat\r\n")
    assert read_text(tmp_path / "a.txt") == "cat\n"


def test_paths_are_in_the_same_order_on_every_system() -> None:
    names = ["a-b/2.obj", "a/10.obj", "a/9.obj", "a b/1.obj", "B/1.obj"]
    posix = sorted(map(PurePosixPath, names), key=natural_order)
    windows = sorted(map(PureWindowsPath, names), key=natural_order)
    assert [path.as_posix() for path in windows] == [str(path) for path in posix]
    assert names.index("a/9.obj") > 0
    assert [path.name for path in posix if path.parent.name == "a"] == ["9.obj", "10.obj"]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_output_that_cannot_show_a_letter_is_no_reason_to_stop(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output that goes to a file or a pipe has an old encoding on many Windows systems."""
    mesh, output = tmp_path / "Übung 形.ply", io.BytesIO()
    Mesh(*shapes.icosphere(1)).save(mesh)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding=encoding))
    assert main(["info", str(mesh)]) == 0
    sys.stdout.flush()
    shown = output.getvalue().decode(encoding)
    assert ("Übung 形" if encoding == "utf-8" else "bung ?") in shown
    assert "42" in shown
