"""Arrays, files and runs to pictures and pages; nothing here knows a network, a task or a dataset.

- `Panel` is a mesh with ways to colour it (`fieldconv.viz.panels` makes them from arrays);
  `write_page` shows panels on an HTML page that works offline, `write_picture` draws them as PNG.
- `VertexValues` says what an array at the vertices is; `fieldconv.viz.values` colours such arrays
  (`colouring`, `vertex_colours`) and keeps them in files (`write_shape`, `read_shape`).
- `show_panels` and `show_mesh` return a `Display`, which a notebook shows. Meshes, surfaces, predictions and
  evaluations do so when they end a cell, and in their ``show()`` and ``report()``.
- `view` shows mesh files with files of values.
- `write_report` turns run folders into a page; `Metric` says how a number is called and written.
"""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
