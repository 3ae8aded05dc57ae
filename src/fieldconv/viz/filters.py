"""Learned filters as pictures on discs, and what the blocks of a network respond to on a mesh."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fieldconv.geometry.mesh import Mesh
from fieldconv.viz import page
from fieldconv.viz import panels as pan
from fieldconv.viz.figures import filter_sheet
from fieldconv.viz.panels import Panel
from fieldconv.viz.viewer import views

if TYPE_CHECKING:
    from fieldconv.models.fcnet import FCNet
    from fieldconv.nn.field_conv import FieldConv

_CAPTION = (
    "Each disc is the filter from one input channel (column) to one output channel (row): hue is the phase, "
    "strength the magnitude. The neighbour is at the centre, its own vector points right."
)
_RESPONSES = (
    "Magnitudes of the strongest channels after each block: hue is absolute, value relative magnitude. "
    "Arrows show the vectors."
)
ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th")


def filter_images(conv: FieldConv, *, size: int = 49) -> NDArray[np.complex128]:
    """(out, in, size, size) the filters f(r, θ) = Σₘ e^{iβ_|m|} fₘ(r) e^{imθ} on the disc, NaN outside.

    Row 0 is the top of the picture, θ = 0 points right and grows anticlockwise.

    Examples
    --------
    >>> from fieldconv.nn.field_conv import FieldConv
    >>> filter_images(FieldConv(2, 3), size=5).shape
    (3, 2, 5, 5)
    """
    import torch

    from fieldconv.ops.rings import ring_weights

    real, imaginary = (part.detach().double().cpu().numpy() for part in conv.coefficients())
    coefficients = real + 1j * imaginary  # (2B+1, N, in, out)
    y, x = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    inside = radius <= 1
    lower, fraction = ring_weights(torch.from_numpy(radius[inside]), conv.rings, conv.spacing)
    low, part = lower.numpy(), fraction.numpy()[:, None, None]
    high = np.minimum(low + 1, conv.rings - 1)
    images = np.full((conv.out_channels, conv.in_channels, size, size), np.nan + 0j)
    values = np.zeros((int(inside.sum()), conv.in_channels, conv.out_channels), dtype=np.complex128)
    for k, m in enumerate(range(-conv.band_limit, conv.band_limit + 1)):
        profile = coefficients[k, low] * (1 - part) + coefficients[k, high] * part
        values += profile * np.exp(1j * m * angle[inside])[:, None, None]
    images[:, :, inside] = values.transpose(2, 1, 0)
    return images


def write_filters(
    run: str | Path,
    out: str | Path | None = None,
    *,
    mesh: str | Path | None = None,
    most: int = 16,
    up: str = "y",
) -> Path:
    """Write a page of a network's filters and, with a mesh, of what each block responds to on it.

    Parameters
    ----------
    run : path
        Run or checkpoint folder.
    out : path, optional
        ``filters.html`` in the run folder if left out.
    mesh : path, optional
        Mesh to apply the network to.
    most : int
        At most this many input and output channels of each convolution.
    """
    from fieldconv.training.checkpoint import load_pretrained

    model = load_pretrained(run)
    title = f"Filters of {Path(run).resolve().name}"
    parts = [page.heading(title, _CAPTION)]
    if mesh is not None:
        loaded = Mesh.load(mesh)
        inside = views(response_panels(model, loaded), up=up, height="clamp(300px, 48vh, 480px)")
        parts.append(page.section(f"Responses on {loaded.name or 'the mesh'}", inside, _RESPONSES))
    sheets = "".join(_filter_sheet(name, conv, most) for name, conv in convolutions(model))
    parts.append(f'<div class="sheets">{sheets}</div>')
    html = page.page("Learned filters", "\n".join(parts), viewer=mesh is not None)
    return page.write(out or Path(run) / "filters.html", html)


def convolutions(model: FCNet) -> list[tuple[str, FieldConv]]:
    """The field convolutions of a network by name, in the order in which they are applied."""
    from fieldconv.nn.field_conv import FieldConv

    spoken = {
        "blocks": "block",
        "conv1": "first convolution",
        "conv2": "second convolution",
        "head": "",
        "block": "ECHO block,",
        "conv": "last convolution",
    }
    found = []
    for path, module in model.named_modules():
        if isinstance(module, FieldConv):
            words = [str(int(w) + 1) if w.isdecimal() else spoken.get(w, w) for w in path.split(".")]
            found.append((" ".join(filter(None, words)), module))
    return found


def response_panels(model: FCNet, mesh: Mesh, *, channels: int = 6) -> list[Panel]:
    """One panel per block: the magnitudes of its strongest channels at the vertices, with arrows."""
    import torch

    from fieldconv.surface import Surface

    caught = []
    hooks = [
        block.register_forward_hook(lambda _, __, output: caught.append(output)) for block in model.blocks
    ]
    surface = Surface.from_mesh(mesh.validate(), **model.config.surface_settings.to_dict())
    before = model.training
    model.eval()
    try:
        with torch.no_grad():
            model.features(surface)
    finally:
        model.train(before)
        for hook in hooks:
            hook.remove()
    panels = []
    for k, output in enumerate(caught):
        field = surface.interpolate(output).numpy()
        size = np.abs(field)
        strongest = np.argsort(-size.mean(axis=0), kind="stable")[:channels]
        colourings = [
            pan.field(
                f"{ORDINALS[rank]} channel",
                field[:, channel],
                largest=float(np.percentile(size[:, channel], 98)),  # a few tips would leave the rest dark
                arrows=pan.field_arrows(mesh, field[:, channel]),
            )
            for rank, channel in enumerate(strongest)
        ]
        note = f"channels {', '.join(str(c) for c in strongest)}, strongest first"
        panels.append(Panel(mesh=mesh, title=f"Block {k + 1}", note=note, colourings=colourings))
    return panels


def _filter_sheet(name: str, conv: FieldConv, most: int) -> str:
    images = filter_images(conv)
    strength = np.sqrt(np.nanmean(np.abs(images) ** 2, axis=(2, 3)))
    rows = np.argsort(-strength.mean(axis=1), kind="stable")[:most]
    columns = np.argsort(-strength.mean(axis=0), kind="stable")[:most]
    caption = f"{conv.in_channels} inputs → and {conv.out_channels} outputs ↓"
    if len(rows) < conv.out_channels or len(columns) < conv.in_channels:
        caption += f"; the strongest {len(columns)} and {len(rows)} of them"
    picture = (
        f'<img class="filters" alt="filters of {escape(name)}" '
        f'src="{_png(filter_sheet(images[np.ix_(rows, columns)]))}" style="max-width:{72 * len(columns)}px">'
    )
    return page.section(name[0].upper() + name[1:], picture, caption)


def _png(sheet: NDArray[np.uint8]) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(sheet, "RGBA").save(buffer, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
