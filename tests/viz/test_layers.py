"""viz knows arrays and files, and none of the rooms above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import fieldconv.viz

ALLOWED = ("fieldconv.viz", "fieldconv.geometry", "fieldconv._io", "fieldconv._compiled")
FILES = sorted(Path(fieldconv.viz.__file__).parent.glob("*.py"))


def imported(path: Path) -> set[str]:
    """Modules of the package that a file imports anywhere, inside functions and for type checkers too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inside = "fieldconv.viz." if node.level else ""
            found |= {f"{inside}{node.module or ''}"}
    return {name for name in found if name.split(".")[0] == "fieldconv"}


def test_nothing_above_is_imported() -> None:
    assert len(FILES) > 10
    above = {(path.name, name) for path in FILES for name in imported(path) if not name.startswith(ALLOWED)}
    assert above == set()


def test_no_task_is_known_by_name() -> None:
    tasks = ("classification", "segmentation", "correspondence", "matching")
    for path in FILES:
        constants = [n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
        assert not set(tasks) & {value for value in constants if isinstance(value, str)}, path.name


def test_public_names_are_loaded_on_first_use() -> None:
    """Naming a metric must not wait for torch, matplotlib or numba."""
    script = (
        "import sys, fieldconv.viz as viz; viz.Metric('x');"
        "print(sorted({'torch', 'matplotlib', 'numba', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    for name in fieldconv.viz.__all__:
        assert callable(getattr(fieldconv.viz, name))
    assert set(fieldconv.viz.__all__) == set(dir(fieldconv.viz))
