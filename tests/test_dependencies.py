"""Every package that is imported is declared in pyproject.toml, and every declared one is imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
OWN = {
    "fieldconv",
    "tests",
    "recipes",
    *(path.stem for path in [*ROOT.glob("tests/*"), *ROOT.glob("benchmarks/*.py")]),
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def plain(name: str) -> str:
    """Return a package's name as indexes compare it: small letters, hyphens."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {plain(re.split(r"[\[<>=;~! ]", line)[0]) for line in requirements} - {"fieldconv"}


DEPENDENCIES = names(PROJECT["project"]["dependencies"])
EXTRAS = names([*chain(*PROJECT["project"]["optional-dependencies"].values())])
DEVELOPMENT = names(PROJECT["dependency-groups"]["dev"])


def imported(tree: ast.AST, needed: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield each module a file imports, and whether the file cannot be imported without it."""
    for node in ast.iter_child_nodes(tree):
        deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        guarded = isinstance(node, ast.Try) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        )
        if isinstance(node, ast.Import):
            yield from ((alias.name, needed) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module), needed
        yield from imported(node, needed and not deferred and not guarded)


@cache
def packages(folder: str, *, needed: bool = False) -> dict[str, str]:
    """Return the packages from elsewhere that a folder's files import, each with one file that does."""
    homes, found = packages_distributions(), {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for module, must in imported(ast.parse(path.read_text(encoding="utf-8"))):
            top = module.split(".")[0]
            if top in sys.stdlib_module_names or top in OWN or path.with_name(f"{top}.py").is_file():
                continue
            home = plain(homes.get(top, [top])[0])
            if must or not needed:
                found[home] = path.relative_to(ROOT).as_posix()
    return found


def test_what_the_package_imports_is_declared() -> None:
    found = packages("src")
    assert len(found) > 10
    assert {name: path for name, path in found.items() if name not in DEPENDENCIES | EXTRAS} == {}


def test_extras_are_imported_where_they_may_be_missing() -> None:
    found = packages("src", needed=True)
    assert {name: path for name, path in found.items() if name not in DEPENDENCIES} == {}


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("examples", DEPENDENCIES | {"torch-geometric"}),  # one shows the bridge to it
        ("benchmarks", DEPENDENCIES | EXTRAS | DEVELOPMENT | {"browser"}),  # of the tests of pages
        ("tests", DEPENDENCIES | EXTRAS | DEVELOPMENT | {"zoo"}),  # a package that a test makes
        ("recipes", DEPENDENCIES | DEVELOPMENT | names(PROJECT["dependency-groups"]["bodies"])),
        ("tools", {"pip"}),
    ],
)
def test_what_other_files_import_is_declared(folder: str, allowed: set[str]) -> None:
    assert {name: path for name, path in packages(folder).items() if name not in allowed} == {}


def test_what_is_declared_is_imported() -> None:
    assert DEPENDENCIES - set(packages("src")) == set()
    assert EXTRAS - {*packages("src"), *packages("benchmarks")} == set()


def test_imports_are_told_apart() -> None:
    code = """
import a.b
from c import d
if TYPE_CHECKING:
    import e
try:
    import f
except ImportError:
    pass
def g():
    from h import i
class J:
    import k
    def l(self):
        import m
from . import n
"""
    found = dict(imported(ast.parse(code)))
    assert {name for name, must in found.items() if must} == {"a.b", "c", "k"}
    assert {name for name, must in found.items() if not must} == {"e", "f", "h", "m"}
