"""Arrays and files to pictures and pages; nothing here knows a network, a task or a dataset.

- `Panel` is a mesh with ways to colour it (`fieldconv.viz.panels` makes them from arrays);
  `write_page` shows panels on an HTML page that works offline, `write_picture` draws them as PNG.
- `VertexValues` says what an array at the vertices is; `fieldconv.viz.values` colours such arrays
  (`colouring`, `vertex_colours`) and keeps them in files (`write_shape`, `read_shape`).
- `show_panels` and `show_mesh` return a `Display`, which a notebook shows. Meshes, surfaces, predictions and
  evaluations do so when they end a cell, and in their ``show()`` and ``report()``.
- `view` shows mesh files with files of values.
- `write_report` and `compare` turn run folders into pages; `Metric` says how a number is called and written.

All names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Name → module.
_PUBLIC = {
    "Display": "notebook",
    "Metric": "metric",
    "Panel": "panels",
    "VertexValues": "values",
    "compare": "report",
    "show_mesh": "notebook",
    "show_panels": "notebook",
    "view": "view_meshes",
    "write_page": "viewer",
    "write_picture": "picture",
    "write_report": "report",
}

__all__ = [
    "Display",
    "Metric",
    "Panel",
    "VertexValues",
    "compare",
    "show_mesh",
    "show_panels",
    "view",
    "write_page",
    "write_picture",
    "write_report",
]

if TYPE_CHECKING:
    from .metric import Metric
    from .notebook import Display, show_mesh, show_panels
    from .panels import Panel
    from .picture import write_picture
    from .report import compare, write_report
    from .values import VertexValues
    from .view_meshes import view
    from .viewer import write_page


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
