"""Static pictures of panels, without a screen: a small software renderer, and matplotlib for the text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fieldconv._arrays import Bytes, Floats, Ints
from fieldconv._compiled import kernel
from fieldconv._io import atomic_path
from fieldconv.viz import colours as col
from fieldconv.viz.camera import EYE, Camera, frame
from fieldconv.viz.panels import Arrows, Colouring, Colours, Labels, Panel, Polar, Scalar
from fieldconv.viz.plot import plain_text

_SAMPLES = 2  # per pixel along each axis, for smooth edges

# A flat arrow of length one, as (along, sideways), and its wider dark border.
_SHAFT = [[0, -0.05], [0.6, -0.05], [0.6, 0.05], [0, -0.05], [0.6, 0.05], [0, 0.05]]
_ARROW = np.array([*_SHAFT, [0.55, -0.2], [1, 0], [0.55, 0.2]])
_BORDER = 0.035 * np.array(
    [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1], [-1, -1.6], [2.2, 0], [-1, 1.6]]
)


def write_picture(
    panels: Sequence[Panel],
    path: str | Path,
    *,
    title: str = "",
    up: str | None = None,
    columns: int = 4,
    size: float = 4.0,
    dpi: int = 200,
) -> Path:
    """Write a PNG of the panels side by side, with legends and colour bars.

    Parameters
    ----------
    up : "x", "y" or "z", optional
        Axis that points up; guessed from the first mesh if left out.
    size : float
        Width of one panel in inches.

    Examples
    --------
    >>> import tempfile
    >>> from fieldconv.geometry.mesh.mesh import Mesh
    >>> triangle = Panel(mesh=Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    >>> write_picture([triangle], Path(tempfile.mkdtemp()) / "triangle.png").name
    'triangle.png'
    """
    if not panels:
        raise ValueError("nothing to draw; give at least one panel")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    colourings = [next(iter(panel.colourings), None) for panel in panels]
    legend = _legend(colourings)
    entries_per_row = max(1, int(columns * size / 1.25))
    below = 0.28 * -(-len(legend) // entries_per_row) + 0.15 if legend else 0.0
    bars = 0.62 if any(isinstance(colouring, Scalar | Polar) for colouring in colourings) else 0.1
    head = 0.45 if title else 0.1
    width, height = columns * size, head + rows * (size + 0.35 + bars) + below
    figure = Figure(figsize=(width, height), dpi=dpi, facecolor="white")
    centred: dict[str, Any] = {"ha": "center", "va": "center", "parse_math": False}
    if title:
        figure.text(0.5, 1 - 0.25 / height, title, fontsize=13, weight="bold", **centred)
    camera = Camera.home(panels[0], up=up)
    pixels = round(size * dpi)
    for k, (panel, colouring) in enumerate(zip(panels, colourings, strict=True)):
        left = (k % columns) * size
        top = height - head - (k // columns) * (size + 0.35 + bars)
        axes = figure.add_axes((left / width, (top - 0.35 - size) / height, size / width, size / height))
        axes.imshow(render(panel, pixels, pixels, camera=camera), interpolation="none")
        axes.axis("off")
        name = shorten(panel.title, int(size / 0.095))
        figure.text((left + size / 2) / width, (top - 0.2) / height, name, fontsize=11, **centred)
        box = (left / width, (top - 0.35 - size - bars) / height, size / width, bars / height)
        _scale(figure, colouring, box)
    if legend:
        figure.legend(
            handles=legend,
            loc="lower center",
            ncols=min(len(legend), entries_per_row),
            frameon=False,
            fontsize=10,
            handlelength=1.0,
            handleheight=1.0,
            columnspacing=1.2,
        )
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=dpi, format="png")
    return Path(path)


def render(panel: Panel, width: int, height: int, *, camera: Camera | None = None) -> Bytes:
    """Return a (height, width, 4) picture of a panel's surface, in its first colouring, without background.

    The camera is in front if left out.
    """
    mesh = panel.mesh
    colouring = next(iter(panel.colourings), None)
    centre, scale = frame(mesh, panel.focus)
    points = (mesh.vertices - centre) / scale
    wide, high = _SAMPLES * width, _SAMPLES * height
    camera = (camera or Camera.home(panel)).fitted(points, wide, high)

    drawn, faces = points, mesh.faces
    if isinstance(colouring, Scalar) and colouring.arrows is not None and colouring.arrows.shown:
        arrows = _arrow_points(points, mesh.vertex_normals, colouring.arrows, scale)
        drawn = np.concatenate([points, arrows])
        faces = np.concatenate([faces, len(points) + np.arange(len(arrows)).reshape(-1, 3)])
    at, distance = camera.project(drawn, wide, high)
    face, weights = _rasterise(at, 1 / distance, faces, wide, high)
    row, column = np.nonzero(face >= 0)
    hit, weight = face[row, column], weights[row, column]
    surface = hit < len(mesh.faces)
    corners, part = faces[hit[surface]], weight[surface]
    light = _light(corners, part, points @ camera.turn.T, mesh.vertex_normals @ camera.turn.T)

    colour = np.empty((len(hit), 3))
    paint = _paint(colouring, corners, part, 4 / (camera.zoom * min(wide, high)))
    colour[surface] = np.clip(paint * light[:, :1] + light[:, 1:], 0, 1)
    colour[~surface] = np.where((hit[~surface] - len(mesh.faces)) % 2 == 0, 0.07, 1.0)[:, None]
    picture = np.zeros((high, wide, 4))
    picture[row, column, :3] = colour
    picture[row, column, 3] = 1
    return _shrink(picture)


def _arrow_points(points: Floats, normals: Floats, arrows: Arrows, scale: float) -> Floats:
    """Return the (18 k, 3) corners of triangles, alternately of a border and of the arrow on top of it."""
    along = arrows.vectors / scale
    up = normals[arrows.vertices]
    side = np.cross(up, along)
    length = np.linalg.norm(along, axis=1, keepdims=True)
    layers = []
    for shape, lift in ((_ARROW + _BORDER, 0.11), (_ARROW, 0.12)):
        start = points[arrows.vertices] + up * length * lift
        layer = start[:, None] + shape[None, :, :1] * along[:, None] + shape[None, :, 1:] * side[:, None]
        layers.append(layer.reshape(len(along), 3, 3, 3))
    return np.stack(layers, axis=2).reshape(-1, 3)


def _paint(colouring: Colouring | None, corners: Ints, weights: Floats, line: float) -> Floats:
    """Return (n, 3) colours in [0, 1] of surface points, as corners of their faces and weights."""
    plain = np.broadcast_to(np.array(col.PLAIN) / 255, (len(corners), 3))
    nearest = np.take_along_axis(corners, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    match colouring:
        case None:
            return plain
        case Labels():
            label = colouring.values[nearest]
            colour = colouring.colours[np.maximum(label, 0)] / 255
            painted: Floats = np.where(label[:, None] >= 0, colour, plain)
            return painted
        case Scalar():
            values = colouring.values[corners]
            part = weights * ~np.isnan(values)
            total = part.sum(axis=1)
            value = (np.nan_to_num(values) * part).sum(axis=1) / np.where(total > 0, total, 1)
            return colouring.colours_at(np.where(total > 0.5, value, np.nan)) / 255
        case Colours():
            mixed: Floats = np.einsum("nk,nkc->nc", weights, colouring.values[corners] / 255)
            return mixed
        case Polar():
            x, y = np.einsum("nk,nkc->cn", weights, colouring.values[corners]) / colouring.radius
            return np.where(np.isnan(x)[:, None], plain, polar_colours(x, y, line))


def polar_colours(x: Floats, y: Floats, line: float) -> Floats:
    """Return (…, 3) colours in [0, 1] of points of the unit disc: hue by angle, rings, a line at angle 0."""
    angle = np.mod(np.arctan2(y, x) / (2 * np.pi), 1)
    ring = 2.5 * np.hypot(x, y)
    bright = np.where(np.abs(ring % 1 - 0.5) > 0.25, 1.06, 0.74)
    paint = col.look_up(col.ramp("angle"), angle) / 255 * bright[..., None]
    zero = (x > 0) & (np.abs(y) < line)
    clipped: Floats = np.clip(np.where(zero[..., None], 0.15, paint), 0, 1)
    return clipped


def _shrink(picture: Floats) -> Bytes:
    """Average the samples of each pixel, weighting colours by their opacity."""
    high, wide, _ = picture.shape
    picture[..., :3] *= picture[..., 3:]
    blocks = picture.reshape(high // _SAMPLES, _SAMPLES, wide // _SAMPLES, _SAMPLES, 4).mean(axis=(1, 3))
    blocks[..., :3] /= np.where(blocks[..., 3:] > 0, blocks[..., 3:], 1)
    rounded: Bytes = np.rint(255 * blocks).astype(np.uint8)
    return rounded


@kernel
def _rasterise(at, inverse, faces, width, height):  # type: ignore[no-untyped-def]
    """Face (-1 if none) seen in each pixel and the weights of its corners there.

    ``inverse`` is 1 / distance, which is linear in the picture, unlike the distance.
    """
    seen = np.full((height, width), -1, np.int64)
    weights = np.zeros((height, width, 3), np.float64)
    nearest = np.zeros((height, width), np.float64)
    for f in range(len(faces)):
        a, b, c = faces[f]
        ax, ay = at[a]
        bx, by = at[b]
        cx, cy = at[c]
        doubled = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if doubled == 0:
            continue
        for row in range(max(0, int(min(ay, by, cy))), min(height - 1, int(max(ay, by, cy))) + 1):
            for column in range(max(0, int(min(ax, bx, cx))), min(width - 1, int(max(ax, bx, cx))) + 1):
                x, y = column + 0.5, row + 0.5
                v = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / doubled
                w = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / doubled
                u = 1 - v - w
                if u < 0 or v < 0 or w < 0:
                    continue
                near = u * inverse[a] + v * inverse[b] + w * inverse[c]
                if near > nearest[row, column]:
                    nearest[row, column] = near
                    seen[row, column] = f
                    weights[row, column, 0] = u * inverse[a] / near
                    weights[row, column, 1] = v * inverse[b] / near
                    weights[row, column, 2] = w * inverse[c] / near
    return seen, weights


@kernel
def _light(corners, weights, points, normals):  # type: ignore[no-untyped-def]
    """(n, 2) factor and highlight of the surface points, lit as in the viewer; all seen from the eye."""
    length = np.sqrt(0.35**2 + 0.55**2 + 0.75**2)
    lx, ly, lz = -0.35 / length, 0.55 / length, 0.75 / length
    light = np.empty((len(corners), 2), np.float64)
    for i in range(len(corners)):
        a, b, c = corners[i]
        n = weights[i, 0] * normals[a] + weights[i, 1] * normals[b] + weights[i, 2] * normals[c]
        p = weights[i, 0] * points[a] + weights[i, 1] * points[b] + weights[i, 2] * points[c]
        tx, ty, tz = -p[0], -p[1], EYE - p[2]  # toward the eye
        far = np.sqrt(tx * tx + ty * ty + tz * tz)
        tx, ty, tz = tx / far, ty / far, tz / far
        u, v = points[b] - points[a], points[c] - points[a]
        fx, fy, fz = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
        # The normal on the side we look at, whichever way round the face is.
        flip = (fx * tx + fy * ty + fz * tz) * (fx * n[0] + fy * n[1] + fz * n[2]) < 0
        n *= (-1.0 if flip else 1.0) / max(np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), 1e-12)
        key = max(n[0] * lx + n[1] * ly + n[2] * lz, 0.0)
        front = max(n[0] * tx + n[1] * ty + n[2] * tz, 0.0)
        half = np.sqrt((lx + tx) ** 2 + (ly + ty) ** 2 + (lz + tz) ** 2)
        mirror = max((n[0] * (lx + tx) + n[1] * (ly + ty) + n[2] * (lz + tz)) / half, 0.0)
        light[i, 0] = 0.46 + 0.42 * key + 0.06 * (1 + n[1]) + 0.12 * front
        light[i, 1] = 0.07 * mirror**40
    return light


def _legend(colourings: Sequence[Colouring | None]) -> list[Patch]:
    """Return handles for the classes that occur, each once."""
    entries: dict[tuple[int, str], Patch] = {}
    for colouring in colourings:
        if isinstance(colouring, Labels):
            for k in np.unique(colouring.values[colouring.values >= 0]):
                name = plain_text(colouring.names[k])
                entries[int(k), name] = Patch(facecolor=colouring.colours[k] / 255, label=name)
    return [entries[key] for key in sorted(entries)]


def shorten(text: str, length: int) -> str:
    """Return text of at most ``length`` characters, cut in the middle."""
    left = length // 2
    return text if len(text) <= length else f"{text[:left]}…{text[len(text) - (length - left - 1) :]}"


def _scale(figure: Figure, colouring: Colouring | None, box: tuple[float, float, float, float]) -> None:
    """Draw the colour bar of a scalar, or the wheel of polar coordinates, in a box of the figure."""
    left, bottom, width, height = box
    if isinstance(colouring, Scalar):
        axes = figure.add_axes((left + 0.2 * width, bottom + 0.68 * height, 0.6 * width, 0.2 * height))
        low, high = colouring.limits
        axes.imshow(colouring.ramp[None], aspect="auto", extent=(low, high if high > low else low + 1, 0, 1))
        axes.set_yticks([])
        axes.tick_params(labelsize=8, length=2, pad=2)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel(plain_text(colouring.name), fontsize=9, labelpad=1)
        for spine in axes.spines.values():
            spine.set_linewidth(0.4)
    elif isinstance(colouring, Polar):
        inches = figure.get_size_inches()
        start, side = left + 0.22 * width, height * inches[1] / inches[0]
        axes = figure.add_axes((start, bottom, side, height))
        y, x = np.mgrid[1:-1:200j, -1:1:200j]
        wheel = np.dstack([polar_colours(x, y, 0.02), np.hypot(x, y) <= 1])
        axes.imshow(wheel, extent=(-1, 1, -1, 1))
        axes.axis("off")
        text = f"hue: angle, line at 0\nrings: distance, edge {colouring.radius:g}"
        figure.text(start + 1.15 * side, bottom + height / 2, text, fontsize=8, va="center")
