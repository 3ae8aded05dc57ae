"""The examples run, and do what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_own_network_learns() -> None:
    accuracy = runpy.run_path(str(EXAMPLES / "own_network.py"))["main"]()
    assert accuracy > 0.87  # always saying no: 0.82


def test_a_loop_of_pyg_learns() -> None:
    losses = runpy.run_path(str(EXAMPLES / "pyg_loop.py"))["main"](epochs=4, meshes=4)
    assert losses[-1] < losses[0]
