"""Public namespaces: every name they list is there, and is loaded on first use."""

from __future__ import annotations

import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

import fieldconv

ROOT = Path(fieldconv.__file__).parent
NAMESPACES = [
    ".".join(path.parent.relative_to(ROOT.parent).parts) for path in sorted(ROOT.rglob("__init__.pyi"))
]


@pytest.mark.parametrize("name", NAMESPACES)
def test_every_name_is_there(name: str) -> None:
    namespace = import_module(name)
    assert dir(namespace)
    for shown in dir(namespace):
        getattr(namespace, shown)
    with pytest.raises(AttributeError, match="has no attribute 'nothing_like_it'"):
        namespace.nothing_like_it  # noqa: B018


def test_the_package_shows_what_a_person_uses() -> None:
    """At most 24 names besides modules, each with an example."""
    names = {name: getattr(fieldconv, name) for name in dir(fieldconv) if not name.startswith("__")}
    names = {name: thing for name, thing in names.items() if not isinstance(thing, types.ModuleType)}
    assert 0 < len(names) <= 24
    assert [name for name, thing in names.items() if ">>>" not in (thing.__doc__ or "")] == []
    assert "__version__" in dir(fieldconv)


def test_there_are_such_namespaces() -> None:
    assert {"fieldconv", "fieldconv.geometry", "fieldconv.networks", "fieldconv.datasets"} <= set(NAMESPACES)


@pytest.mark.parametrize(
    ("first_use", "unwanted"),
    [
        ("fieldconv.Mesh", {"torch", "matplotlib", "trimesh"}),
        ("fieldconv.geometry.Mesh", {"torch", "matplotlib", "trimesh"}),
        ("fieldconv.viz.Metric('x')", {"torch", "matplotlib", "numba", "numpy"}),
        ("fieldconv.labels.Collection", {"torch", "matplotlib"}),
        ("fieldconv.viz.VertexValues", {"torch", "matplotlib"}),
        ("fieldconv.runs.read_run", {"torch", "matplotlib", "numba"}),
    ],
)
def test_names_are_loaded_on_first_use(first_use: str, unwanted: set[str]) -> None:
    home = first_use.rpartition(".")[0]
    script = f"import sys, {home}; {first_use}; print(sorted({unwanted} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"
