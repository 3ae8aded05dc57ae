"""Show shapes and pages in Jupyter: each page is in a frame, and needs no network and no extension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Array
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.resample.pointcloud import triangulate
from fieldconv.geometry.resample.resolution import coarsen
from fieldconv.runs.files import read_run
from fieldconv.runs.run import Run, metric_context, remarks
from fieldconv.tasks.base.evaluation import Evaluation
from fieldconv.tasks.base.vertex_values import VertexValues
from fieldconv.viz import page
from fieldconv.viz import panels as pan
from fieldconv.viz.panels import Panel
from fieldconv.viz.values import colourings, template_panels
from fieldconv.viz.viewer import MAX_COLUMNS, views

MAX_INLINE_VERTICES = 20_000  # of a mesh that ends a cell; keeps notebooks small


@dataclass(frozen=True)
class Display:
    """A page that a notebook shows at the end of a cell, and that can be saved.

    Examples
    --------
    >>> Display("<p>Hello</p>", height=80)._repr_html_()[:7]
    '<iframe'
    """

    html: str
    height: int = 460  # of the frame, in pixels

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        return page.write(path, self.html)

    def _repr_html_(self) -> str:
        # The sandbox keeps the page's scripts away from the notebook and the network.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" loading="lazy" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        size = len(self.html.encode())
        return f"Display({size / 1e6:.1f} MB, for a notebook; .save('page.html') writes it)"


def show_panels(
    panels: Sequence[Panel], *, title: str = "", up: str | None = None, height: int = 460
) -> Display:
    """Show panels side by side in a notebook; their views turn together.

    Examples
    --------
    >>> mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], name="triangle")
    >>> "triangle" in show_panels([Panel(mesh=mesh)]).html
    True
    """
    fill = len(panels) <= MAX_COLUMNS
    return Display(page.page(title or panels[0].title, views(panels, up=up), fill=fill), height)


def show_mesh(
    mesh: Mesh,
    *,
    labels: ArrayLike | None = None,
    names: Sequence[str] = (),
    scalar: ArrayLike | Mapping[str, ArrayLike] | None = None,
    field: ArrayLike | None = None,
    disc: int | None = None,
    radius: float = RADIUS,
    up: str | None = None,
    height: int = 460,
) -> Display:
    """Show a mesh and values at its vertices in a notebook; see `Mesh.show`."""
    if disc is not None:
        return show_panels(pan.disc_panels(mesh.normalised(), disc, radius), up=up, height=height)
    ways: list[pan.Colouring] = []
    if labels is not None:
        ways.append(pan.labels("Label", labels, names))
    if field is not None:
        vectors = np.asarray(field)
        ways.append(pan.field("Field", vectors, arrows=pan.field_arrows(mesh, vectors, shown=True)))
    if scalar is not None:
        numbers = scalar if isinstance(scalar, Mapping) else {"Value": scalar}
        ways += [pan.scalar(name, values) for name, values in numbers.items()]
    return show_panels([Panel(mesh=mesh, colourings=ways)], up=up, height=height)


def show_values(
    mesh: Mesh,
    values: Sequence[VertexValues],
    *,
    note: str = "",
    template: Mesh | None = None,
    height: int = 460,
) -> Display:
    """Show a mesh and described values, such as a prediction, in a notebook."""
    panel = Panel(mesh=mesh, note=note, colourings=colourings(values, mesh, template))
    return show_panels([*template_panels(template, values), panel], height=height)


def show_samples(
    positions: Array,
    normals: Array,
    frames: Array,
    *,
    scalar: Mapping[str, ArrayLike],
    field: ArrayLike | None = None,
    disc: Array | None = None,
    radius: float = 0.0,
    note: str = "",
    up: str | None = None,
    height: int = 460,
) -> Display:
    """Show samples of a surface, joined to a mesh, in a notebook; see `Surface.show`.

    Frames are (n, 3) directions θ = 0; the field is (n,) complex in them. ``disc`` is (n,) complex logarithms
    of the samples at one of them, NaN outside its disc of that radius.
    """
    mesh = triangulate(np.asarray(positions, np.float64), np.asarray(normals, np.float64))
    mesh = Mesh(mesh.vertices, mesh.faces, "surface")
    ways: list[pan.Colouring] = []
    if disc is not None:
        places = np.stack([disc.real, disc.imag], axis=1)
        ways.append(pan.Polar(name="Disc", values=places, radius=radius))
        ways.append(pan.scalar("Geodesic distance", np.abs(disc), limits=(0.0, radius)))
    if field is not None:
        vectors = np.asarray(field)
        space = vectors.real[:, None] * frames + vectors.imag[:, None] * np.cross(normals, frames)
        ways.append(pan.field("Field", vectors, arrows=pan.field_arrows(mesh, space, shown=True)))
    ways += [pan.scalar(name, values) for name, values in scalar.items()]
    return show_panels([Panel(mesh=mesh, note=note, colourings=ways)], up=up, height=height)


def mesh_html(mesh: Mesh) -> str:
    """Return the HTML of a mesh: in 3-D, coarser if it is large; its problem if it cannot be used."""
    if mesh.problem is not None:
        return table({"mesh": mesh.name, "vertices": len(mesh.vertices), "problem": mesh.problem})
    count = len(mesh.vertices)
    if count <= MAX_INLINE_VERTICES:
        return show_panels([Panel(mesh=mesh)])._repr_html_()
    small = coarsen(mesh, MAX_INLINE_VERTICES).mesh
    note = f"{count:,} vertices, drawn with {len(small.vertices):,}; .show() draws all"
    return show_panels([Panel(mesh=small, title=mesh.name, note=note)])._repr_html_()


def show_report(evaluation: Evaluation, *, height: int = 900) -> Display:
    """Show the report of an evaluation: that of its run folder, or one of the numbers alone."""
    from fieldconv.viz.report_page import report

    folder = evaluation.folder
    run = Run(evaluation=evaluation) if folder is None else read_run(folder)
    return Display(report(run), height)


def evaluation_table(evaluation: Evaluation) -> str:
    """Return the numbers of an evaluation with their intervals, and remarks on them."""
    run = Run(evaluation=evaluation)
    rows = {}
    for key, value in evaluation.metrics.items():
        metric, context = run.metric(key), metric_context(run, key)
        rows[metric.label] = f"{metric.text(value)} ({context})" if context else metric.text(value)
    notes = " ".join((evaluation.measured_on(), *remarks(run)))
    return table(rows, caption=f"{evaluation.task.capitalize()}: {notes[:1].lower()}{notes[1:]}")


def table(rows: Mapping[str, object], caption: str = "") -> str:
    """Return a small table of names and values.

    Examples
    --------
    >>> table({"a & b": 1})
    '<table><tr><th style="text-align:left">a &amp; b</th><td>1</td></tr></table>'
    """
    cells = ""
    for name, value in rows.items():
        text = f"{value:,}" if isinstance(value, int) else str(value)
        cells += f'<tr><th style="text-align:left">{escape(name)}</th><td>{escape(text)}</td></tr>'
    return (f"<p>{escape(caption)}</p>" if caption else "") + f"<table>{cells}</table>"
