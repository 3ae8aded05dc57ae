"""Learned filters as pictures on discs, and what the blocks of a network respond to on a mesh."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv.geometry.mesh import Mesh
from fieldconv.viz import page
from fieldconv.viz import panels as pan
from fieldconv.viz.figures import filter_sheet
from fieldconv.viz.panels import Panel
from fieldconv.viz.viewer import views

_CAPTION = (
    "Each disc is the filter from one input channel (column) to one output channel (row): hue is the phase, "
    "strength the magnitude. The neighbour is at the centre, its own vector points right."
)
_RESPONSES = (
    "Magnitudes of the strongest channels after each block: hue is absolute, value relative magnitude. "
    "Arrows show the vectors."
)
_ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th")


def write_filters(
    out: str | Path,
    *,
    title: str,
    filters: Sequence[tuple[str, NDArray[Any]]],
    responses: Sequence[tuple[str, NDArray[Any]]] = (),
    mesh: Mesh | None = None,
    most: int = 16,
    up: str = "y",
) -> Path:
    """Write a page of a network's filters and, with a mesh, of what its blocks respond to there.

    Parameters
    ----------
    out : path
        Page to write.
    title : str
    filters : sequence of (str, (out, in, S, S) complex)
        Name and filter pictures of each convolution, NaN outside the disc. Row 0 is the top of a picture,
        angle 0 points right and grows anticlockwise.
    responses : sequence of (str, (V, C) complex)
        Name and output of blocks at the vertices of ``mesh``, in its tangent frames.
    mesh : Mesh, optional
    most : int
        At most this many input and output channels of each convolution.
    up : "x", "y" or "z"
        Axis of the mesh that points up at first.

    Examples
    --------
    >>> import tempfile
    >>> pictures = np.ones((2, 3, 5, 5), dtype=complex)
    >>> write_filters(Path(tempfile.mkdtemp()) / "f.html", title="Filters", filters=[("conv", pictures)]).name
    'f.html'
    """
    if responses and mesh is None:
        raise ValueError("responses are values at the vertices of a mesh; give the mesh, too")
    parts = [page.heading(title, _CAPTION)]
    if responses and mesh is not None:
        inside = views(response_panels(mesh, responses), up=up, height="clamp(300px, 48vh, 480px)")
        parts.append(page.section(f"Responses on {mesh.name or 'the mesh'}", inside, _RESPONSES))
    sheets = "".join(_filter_sheet(name, np.asarray(images), most) for name, images in filters)
    parts.append(f'<div class="sheets">{sheets}</div>')
    return page.write(out, page.page(title, "\n".join(parts), viewer=bool(responses)))


def response_panels(
    mesh: Mesh, responses: Sequence[tuple[str, NDArray[Any]]], *, channels: int = 6
) -> list[Panel]:
    """Return one panel per block: the magnitudes of its strongest channels at the vertices, with arrows.

    Parameters
    ----------
    responses : sequence of (str, (V, C) complex)
    channels : int
        At most this many, and at most eight.
    """
    panels = []
    for name, values in responses:
        field = np.asarray(values)
        size = np.abs(field)
        strongest = np.argsort(-size.mean(axis=0), kind="stable")[: min(channels, len(_ORDINALS))]
        colourings = [
            pan.field(
                f"{_ORDINALS[place]} channel",
                field[:, channel],
                largest=float(np.percentile(size[:, channel], 98)),  # a few tips would leave the rest dark
                arrows=pan.field_arrows(mesh, field[:, channel]),
            )
            for place, channel in enumerate(strongest)
        ]
        note = f"channels {', '.join(str(c) for c in strongest)}, strongest first"
        panels.append(Panel(mesh=mesh, title=_capital(name), note=note, colourings=colourings))
    return panels


def _filter_sheet(name: str, images: NDArray[Any], most: int) -> str:
    outputs, inputs = images.shape[:2]
    strength = np.sqrt(np.nanmean(np.abs(images) ** 2, axis=(2, 3)))
    rows = np.argsort(-strength.mean(axis=1), kind="stable")[:most]
    columns = np.argsort(-strength.mean(axis=0), kind="stable")[:most]
    caption = f"{inputs} inputs → and {outputs} outputs ↓"
    if len(rows) < outputs or len(columns) < inputs:
        caption += f"; the strongest {len(columns)} and {len(rows)} of them"
    picture = (
        f'<img class="filters" alt="filters of {escape(name)}" '
        f'src="{_png(filter_sheet(images[np.ix_(rows, columns)]))}" style="max-width:{72 * len(columns)}px">'
    )
    return page.section(_capital(name), picture, caption)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _png(sheet: NDArray[np.uint8]) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(sheet, "RGBA").save(buffer, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
