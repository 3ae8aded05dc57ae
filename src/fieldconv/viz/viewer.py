"""The 3-D viewer: panels to one HTML page that works offline, on any device with WebGL 2.

On slow computers viewer.js draws fewer faces while things move; `benchmarks/viewer.py` measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.viz import colours as col
from fieldconv.viz import page
from fieldconv.viz.camera import AXES, Camera, frame, guess_up
from fieldconv.viz.page import Json
from fieldconv.viz.panels import Colouring, Colours, Labels, Panel, Polar, Scalar

MAX_COLUMNS = 3

_numbers = count()


def write_page(
    panels: Sequence[Panel],
    path: str | Path,
    *,
    title: str = "",
    caption: str = "",
    up: str | None = None,
    columns: int | None = None,
) -> Path:
    """Write one self-contained page with the panels side by side; their views turn together.

    Parameters
    ----------
    title, caption : str
        Plain text above the views; the title of the first panel if left out.
    up : "x", "y" or "z", optional
        Axis that points up at first; if left out, it is guessed, and the page says so.
    columns : int, optional
        Views beside each other on a wide screen.

    Examples
    --------
    >>> import tempfile
    >>> from fieldconv.viz.panels import scalar
    >>> mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], name="triangle")
    >>> panel = Panel(mesh=mesh, colourings=[scalar("Height", mesh.vertices[:, 1])])
    >>> write_page([panel], Path(tempfile.mkdtemp()) / "triangle.html").name
    'triangle.html'
    """
    shapes = views(panels, up=up, columns=columns)
    title = title or panels[0].title
    one_row = len(panels) <= (columns or MAX_COLUMNS)
    return page.write(path, page.page(title, page.heading(title, caption) + shapes, fill=one_row))


def views(
    panels: Sequence[Panel], *, up: str | None = None, columns: int | None = None, height: str | None = None
) -> str:
    """Return the HTML of views that turn together, for a page with ``viewer=True``."""
    if not panels:
        raise ValueError("nothing to show; give at least one panel")
    identifier = f"fieldconv-{next(_numbers)}"
    panel_of = {id(panel.mesh): panel for panel in panels}  # the last panel of each mesh
    meshes = list(panel_of)
    upward = up or guess_up(panels[0].mesh)
    homes = {axis: Camera.home(panels[0], up=axis) for axis in dict.fromkeys((upward, *AXES))}
    camera = homes[upward]
    data = {
        "meshes": [_mesh(panel.mesh, panel.focus) for panel in panel_of.values()],
        "panels": [_panel(panel, meshes.index(id(panel.mesh))) for panel in panels],
        "plain": list(col.PLAIN),
        "columns": columns or min(len(panels), MAX_COLUMNS),
        "camera": {
            "turns": {axis: home.turn.ravel().tolist() for axis, home in homes.items()},
            "up": upward,
            "guessed": up is None,
            "zoom": camera.zoom,
            "fit": camera.fit,
        },
    }
    style = f' style="--stage:{height}"' if height else ""
    return f'<section data-fieldconv="{identifier}"{style}></section>{page.data_block(identifier, data)}'


def _panel(panel: Panel, mesh: int) -> Json:
    size = f"{len(panel.mesh.vertices):,} vertices, {len(panel.mesh.faces):,} faces"
    return {
        "mesh": mesh,
        "title": panel.title,
        "note": panel.note or size,
        "colourings": [_colouring(colouring) for colouring in panel.colourings],
    }


def _mesh(mesh: Mesh, focus: tuple[int, float] | None) -> Json:
    low = mesh.vertices.min(axis=0)
    size = np.ptp(mesh.vertices, axis=0)
    steps = np.rint((mesh.vertices - low) / np.where(size > 0, size, 1) * 65535)
    centre, scale = frame(mesh, focus)
    return {
        "points": page.pack(steps, "u2"),
        "faces": page.pack(mesh.faces, "u4"),
        "low": low.tolist(),
        "size": size.tolist(),
        "centre": centre.tolist(),
        "scale": scale,
    }


def _colouring(colouring: Colouring) -> Json:
    more: Json
    match colouring:
        case Labels():
            kind, values = "labels", page.pack(colouring.values, "i4")
            more = {"names": list(colouring.names), "ramp": page.pack(colouring.colours, "u1")}
        case Scalar():
            kind, values = "scalar", page.pack(colouring.values, "f4")
            more = {"limits": list(colouring.limits), "ramp": page.pack(colouring.ramp, "u1")}
            if (arrows := colouring.arrows) is not None:
                more["arrows"] = {
                    "vertices": page.pack(arrows.vertices, "u4"),
                    "vectors": page.pack(arrows.vectors, "f4"),
                    "shown": arrows.shown,
                }
        case Colours():
            kind, values = "colours", page.pack(colouring.values, "u1")
            more = {} if colouring.match is None else {"match": page.pack(colouring.match, "i4")}
        case Polar():
            kind, values = "polar", page.pack(colouring.values, "f4")
            more = {"radius": colouring.radius, "ramp": page.pack(col.ramp("angle"), "u1")}
    return {"kind": kind, "name": colouring.name, "values": values, **more}
