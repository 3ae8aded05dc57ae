"""Mistakes of ``benchmarks/mutations.py`` can still be made: their source text and their tests are there."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
MISTAKES = runpy.run_path(str(ROOT / "benchmarks" / "mutations.py"))["MISTAKES"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_source_text_stands_once_and_tests_are_there(mistake: Any) -> None:
    source = (ROOT / "src" / "fieldconv" / mistake.file).read_text(encoding="utf-8")
    assert source.count(mistake.before) == 1
    assert mistake.before != mistake.after
    for test in mistake.tests.split():
        file, *names = test.split("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert all(name.split("[")[0] in text for name in names)
