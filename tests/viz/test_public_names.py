"""What viz offers, and what it must not know."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import fieldconv.viz

FILES = sorted(Path(fieldconv.viz.__file__).parent.glob("*.py"))


def test_no_task_is_known_by_name() -> None:
    tasks = ("classification", "segmentation", "correspondence", "matching")
    assert len(FILES) > 10
    for path in FILES:
        constants = [
            n.value
            for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(n, ast.Constant)
        ]
        assert not set(tasks) & {value for value in constants if isinstance(value, str)}, path.name


def test_public_names_are_loaded_on_first_use() -> None:
    """Naming a metric must not wait for torch, matplotlib or numba."""
    script = (
        "import sys, fieldconv.viz as viz; viz.Metric('x');"
        "print(sorted({'torch', 'matplotlib', 'numba', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"
    for name in fieldconv.viz.__all__:
        assert callable(getattr(fieldconv.viz, name))
    assert set(fieldconv.viz.__all__) == set(dir(fieldconv.viz))
