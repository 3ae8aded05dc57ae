"""viz knows no task by name."""

from __future__ import annotations

import ast
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
