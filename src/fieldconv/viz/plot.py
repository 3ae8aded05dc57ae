"""A plot: one matplotlib figure, shown on a page as SVG with values under the pointer, or saved for print."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fieldconv._arrays import Bytes
from fieldconv._io import atomic_path

COLUMN, PAGE = 3.3, 6.9  # inches: a column and a page of a paper
SCREEN = 4.1  # inches, on a page for the screen: text is legible on a phone
MAX_PIXELS_PER_POINT = 1.7  # of a figure on a page; at least one, which is still legible

INK, GRID, AXIS, CARD, RIM = "#1a2230", "#e6e9ed", "#9aa4b1", "#fefefe", "#fdfdfd"
# On a page, these colours change with its theme.
_PAGE_COLOURS = {
    colour: f"var(--{name})"
    for name, colour in {"ink": INK, "grid": GRID, "axis": AXIS, "card": CARD, "rim": RIM}.items()
}
_STYLE: dict[Any, Any] = {  # for columns of papers
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.edgecolor": AXIS,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "lines.linewidth": 1.4,
    "xtick.color": AXIS,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.color": AXIS,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 7.5,
    "ytick.major.width": 0.6,
    "ytick.major.size": 2.5,
    "pdf.fonttype": 42,  # outlines, as publishers ask
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "fieldconv",  # the same figure gives the same file
    "figure.constrained_layout.use": True,
    "savefig.dpi": 300,
}


@dataclass(frozen=True)
class Key:
    """A line of a legend; without dashes a block of colour."""

    name: str
    colour: str
    dashes: Sequence[float] | None = None


@dataclass(frozen=True)
class Spot:
    """Boxes ``(left, right, low, high)`` in data where the pointer shows a text; NaN is an axes' edge."""

    axes: Axes
    text: str
    boxes: Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True)
class Plot:
    """A figure and what a page adds to it."""

    figure: Figure
    label: str = ""  # description in words
    keys: Sequence[Key] = ()  # the legend on a page, above the figure
    spots: Sequence[Spot] = field(default=(), repr=False)

    def save(self, path: str | Path) -> tuple[Path, Path]:
        """Write ``<path>.png`` and ``<path>.pdf``, each whole or not at all; any such suffix is replaced.

        Examples
        --------
        >>> import tempfile
        >>> from fieldconv.viz.figures import lines
        >>> png, pdf = lines({"a": ([0, 1], [0, 1])}).save(Path(tempfile.mkdtemp()) / "plot")
        >>> png.name, pdf.name
        ('plot.png', 'plot.pdf')
        """
        path = Path(path)
        name = path.stem if path.suffix in (".png", ".pdf") else path.name
        png, pdf = path.with_name(f"{name}.png"), path.with_name(f"{name}.pdf")
        # Without a date the same figure gives the same file.
        for target, metadata in ((png, {}), (pdf, {"CreationDate": None})):
            with atomic_path(target) as temporary, rc_context(_STYLE):
                self.figure.savefig(temporary, format=target.suffix[1:], metadata=metadata)
        return png, pdf

    def html(self) -> str:
        """Return the plot as HTML, for a page: legend, figure as SVG, texts for the pointer."""
        for legend in (*self.figure.legends, *(axes.get_legend() for axes in self.figure.axes)):
            if legend is not None:
                legend.remove()
        file = io.StringIO()
        unknown = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        self.figure.set_dpi(72)  # SVG counts in points
        with rc_context(_STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # the reader's browser has more letters
            self.figure.savefig(file, format="svg", transparent=True, metadata=unknown)
        width, height = 72 * self.figure.get_size_inches()
        content = _for_page(file.getvalue())
        spots = "".join(self._spot(spot, height) for spot in self.spots)
        keys = "".join(f"<span>{_swatch(key)}{escape(key.name)}</span>" for key in self.keys)
        return (
            f'<div class="plot" style="max-width:{MAX_PIXELS_PER_POINT * width:.0f}px">'
            + (f'<div class="keys">{keys}</div>' if keys else "")
            + f'<svg viewBox="0 0 {width:.1f} {height:.1f}" style="min-width:{width:.0f}px" role="img" '
            f'aria-label="{escape(self.label)}">{content}{spots}</svg></div>'
        )

    def _spot(self, spot: Spot, height: float) -> str:
        """Return the boxes of a spot as one path; each is at least five points wide and high."""
        boxes = np.array(spot.boxes, dtype=np.float64)
        edges = np.array([spot.axes.get_xlim(), spot.axes.get_ylim()])
        filled = np.where(np.isnan(boxes), edges.ravel(), boxes)
        low, high = (spot.axes.transData.transform(filled[:, side::2]) for side in (0, 1))
        first, last = np.minimum(low, high), np.maximum(low, high)
        missing = np.maximum(5 - (last - first), 0) / 2
        first, last = first - missing, last + missing
        path = "".join(
            f"M{x:.1f} {height - y:.1f}h{w:.1f}v{-h:.1f}h{-w:.1f}z"
            for (x, y), (w, h) in zip(first.tolist(), (last - first).tolist(), strict=True)
        )
        return f'<path class="spot" data-tip="{escape(spot.text)}" d="{path}"/>'


@contextmanager
def new_figure(
    width: float, height: float, *, columns: int = 1, grid: bool = True
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Give a figure with axes side by side, in our style, without a screen."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), facecolor="white")
        axes = list(figure.subplots(1, columns, squeeze=False)[0])
        for each in axes:
            each.grid(visible=grid)
        yield figure, axes


def plain_text(text: str) -> str:
    """Return a text for matplotlib, which reads $…$ as mathematics and drops labels such as "_a"."""
    text = str(text).replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def css(colour: Bytes) -> str:
    """Return a colour as CSS and matplotlib write it: ``"#e69f00"``."""
    return "#" + bytes(colour).hex()


def _for_page(svg: str) -> str:
    """Return the content of an SVG file in the colours of the page, with few digits."""
    inside = svg[svg.index(">", svg.index("<svg")) + 1 : svg.rindex("</svg>")]
    inside = re.sub(r"<style.*?</style>", "", inside, flags=re.DOTALL)  # it would apply to the whole page
    inside = re.sub(r"<[^>]*>", lambda tag: _smaller(tag[0]), inside)
    return re.sub(r">\s+<", "><", inside)


def _smaller(tag: str) -> str:
    tag = re.sub(r'(<g) id="[^"]*"', r"\1", tag)  # would occur in each plot of a page
    tag = re.sub(r"(\.\d\d)\d+", r"\1", re.sub(r"\s+", " ", tag))
    return re.sub(
        r"(stroke|fill): (#[0-9a-f]{6})", lambda style: f"{style[1]}: {_on_page(*style.groups())}", tag
    )


def _on_page(use: str, colour: str) -> str:
    """Return a colour for a page: that of its theme, if any; dark lines are lighter in the dark theme."""
    if colour in _PAGE_COLOURS:
        return _PAGE_COLOURS[colour]
    red, green, blue = bytes.fromhex(colour[1:])
    dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.3 * 255
    return f"color-mix(in oklab, {colour}, white var(--lift))" if dark and use == "stroke" else colour


def _swatch(key: Key) -> str:
    """Return a short piece of a line, or a block of colour with a rim."""
    if key.dashes is None:
        return f'<i class="block" style="background:{key.colour}"></i>'
    dashes = " ".join(f"{2 * length:g}" for length in key.dashes)
    line = f'style="stroke:{_on_page("stroke", key.colour)}" stroke-dasharray="{dashes}"'
    return f'<svg class="line" viewBox="0 0 22 8"><path d="M0 4h22" {line}/></svg>'
