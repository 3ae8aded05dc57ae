"""A page of learned filters, as pictures on discs, and of the responses of a network's blocks on a mesh."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
from matplotlib.image import imsave

from fieldconv._arrays import Array, Bytes
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.viz import page
from fieldconv.viz import panels as pan
from fieldconv.viz.colours import complex_colours
from fieldconv.viz.panels import Panel
from fieldconv.viz.viewer import views

# In the words of the paper: f is the filter of its field convolution, X the vector field, ε its radius.
_CAPTION = (
    "Each disc is one learned filter f, from one input channel (column) to one output channel (row): at z it "
    "shows the weight f(z) that the vector X(q) of a neighbour q gets in the sum at p, if q sees p at "
    "log_q p = z in its own frame, in which X(q) points right; the rim is at distance ε."
)
_LEGEND = (
    "Hue is the phase of f(z), by which the vector is turned; strength is its magnitude, from none (grey) to "
    "the number given with each convolution, or more."
)
_RESPONSES = (
    "Length of the vectors of the strongest channels after each block, by colour; switch on the arrows for "
    "their directions."
)
_ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th")


def write_filters(
    out: str | Path,
    *,
    title: str,
    filters: Sequence[tuple[str, Array]],
    responses: Sequence[tuple[str, Array]] = (),
    mesh: Mesh | None = None,
    most: int = 16,
    up: str | None = None,
) -> Path:
    """Write a page of a network's filters and, with a mesh, of the responses of its blocks.

    Parameters
    ----------
    filters : sequence of (str, (out, in, S, S) complex)
        Name and filter pictures of each convolution, NaN outside the disc. Row 0 is the top of a picture,
        angle 0 points right and grows anticlockwise.
    responses : sequence of (str, (V, C) complex)
        Name and output of blocks at the vertices of ``mesh``, in its tangent frames.
    most : int
        Number of input and output channels of each convolution to show.
    up : "x", "y" or "z", optional
        Axis of the mesh that points up at first; guessed if left out.
    """
    parts = [page.heading(title, _CAPTION), _legend()]
    if responses:
        if mesh is None:
            raise ValueError("responses are values at the vertices of a mesh; give the mesh as well")
        inside = views(response_panels(mesh, responses), up=up, height="clamp(300px, 48vh, 480px)")
        parts.append(page.section(f"Responses on {mesh.name or 'the mesh'}", inside, _RESPONSES))
    sheets = "".join(_filter_sheet(name, np.asarray(images), most) for name, images in filters)
    parts.append(f'<div class="sheets">{sheets}</div>')
    return page.write(out, page.page(title, "\n".join(parts), viewer=bool(responses)))


def response_panels(mesh: Mesh, responses: Sequence[tuple[str, Array]], *, channels: int = 6) -> list[Panel]:
    """Return one panel per block: the magnitudes of its strongest channels at the vertices, with arrows.

    Responses are names and (V, C) complex outputs; at most ``channels`` of each are shown, and at most eight.
    """
    panels = []
    for name, values in responses:
        field = np.asarray(values)
        size = np.abs(field)
        strongest = np.argsort(-size.mean(axis=0), kind="stable")[: min(channels, len(_ORDINALS))]
        colourings = []
        for ordinal, channel in zip(_ORDINALS, strongest, strict=False):
            # A few extreme values would leave the rest dark.
            limits = (0.0, float(np.percentile(size[:, channel], 98)) or 1.0)
            colouring = pan.scalar(f"{ordinal} channel", size[:, channel], limits=limits)
            colourings.append(replace(colouring, arrows=pan.field_arrows(mesh, field[:, channel])))
        note = f"channels {', '.join(str(c) for c in strongest)}, strongest first"
        panels.append(Panel(mesh=mesh, title=_capital(name), note=note, colourings=colourings))
    return panels


def _filter_sheet(name: str, images: Array, most: int) -> str:
    outputs, inputs = images.shape[:2]
    strength = np.sqrt(np.nanmean(np.abs(images) ** 2, axis=(2, 3)))
    rows = np.argsort(-strength.mean(axis=1), kind="stable")[:most]
    columns = np.argsort(-strength.mean(axis=0), kind="stable")[:most]
    strongest = images[np.ix_(rows, columns)]
    largest = float(np.nanpercentile(np.abs(strongest), 97))  # a few peaks would make the rest pale
    caption = f"{inputs} inputs → and {outputs} outputs ↓"
    if len(rows) < outputs or len(columns) < inputs:
        caption += f", the strongest {len(columns)} and {len(rows)} of them"
    picture = (
        f'<img class="filters" alt="{len(rows)} by {len(columns)} filters of {escape(name)}" '
        f'src="{_png(filter_sheet(strongest, largest))}" style="max-width:{72 * len(columns)}px">'
    )
    return page.section(_capital(name), picture, f"{caption}; strongest colours at |f| = {largest:.2g}.")


def filter_sheet(images: Array, largest: float) -> Bytes:
    """Return a (rows, columns, 4) sheet of filter pictures: outputs downward, inputs rightward.

    Pictures are (out, in, S, S) complex, NaN outside the disc; ``largest`` gets the strongest colours.
    """
    outs, ins, size, _ = images.shape
    known = ~np.isnan(images)
    colours = complex_colours(np.where(known, images, 0), largest)
    tiles = np.concatenate([colours, np.where(known, np.uint8(255), np.uint8(0))[..., None]], axis=-1)
    pad = max(1, size // 12)
    tiles = np.pad(tiles, ((0, 0), (0, 0), (pad, pad), (pad, pad), (0, 0)))
    sheet: Bytes = tiles.transpose(0, 2, 1, 3, 4)
    return sheet.reshape(outs * (size + 2 * pad), ins * (size + 2 * pad), 4)


def _legend() -> str:
    """Return a disc of all phases and magnitudes, and what they mean."""
    y, x = np.mgrid[1:-1:160j, -1:1:160j]
    disc = np.where(np.hypot(x, y) <= 1, x + 1j * y, np.nan)[None, None]
    alt = "phases 0, π/2, π and −π/2 to the right, up, left and down"
    picture = f'<img alt="{alt}" src="{_png(filter_sheet(disc, 1.0))}">'
    marks = "".join(f"<span>{mark}</span>" for mark in ("0", "π/2", "π", "−π/2"))
    return f'<div class="wheel"><div class="dial">{picture}{marks}</div><p>{escape(_LEGEND)}</p></div>'


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _png(sheet: Bytes) -> str:
    buffer = io.BytesIO()
    imsave(buffer, sheet, format="png")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
