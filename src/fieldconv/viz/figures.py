"""Figures for print: arrays in, a matplotlib figure out, saved as PNG and PDF.

Widths are those of a paper's column (3.3 inches) or page (6.9), letters 8 points, colours distinguishable
for everybody, fonts embedded as outlines that journals accept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldconv._io import atomic_path
from fieldconv.runs.run import epochs_of
from fieldconv.tasks.base.metric import Metric, metric_of
from fieldconv.viz.colours import categorical

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.3, 6.9  # inches

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "lines.linewidth": 1.4,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "pdf.fonttype": 42,  # outlines, which publishers ask for
    "figure.constrained_layout.use": True,
    "savefig.dpi": 300,
}
_CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
CROWD = 5  # with more curves there is no room for a legend among them
_DASHES: list[Any] = ["-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5))]


def save_figure(figure: Figure, path: str | Path) -> tuple[Path, Path]:
    """Write ``<path>.png`` and ``<path>.pdf``, each whole or not at all; any suffix given is replaced.

    Examples
    --------
    >>> import tempfile
    >>> png, pdf = save_figure(lines({"a": ([0, 1], [0, 1])}), Path(tempfile.mkdtemp()) / "plot")
    >>> png.name, pdf.name
    ('plot.png', 'plot.pdf')
    """
    path = Path(path)
    base = path.with_suffix("") if path.suffix in (".png", ".pdf") else path
    written = []
    for suffix in ("png", "pdf"):
        target = base.with_name(f"{base.name}.{suffix}")
        with atomic_path(target) as temporary, _style():
            # Without a date the same figure gives the same file.
            figure.savefig(
                temporary, format=suffix, metadata={"CreationDate": None} if suffix == "pdf" else {}
            )
        written.append(target)
    return written[0], written[1]


def lines(
    curves: Mapping[str, tuple[ArrayLike, ...]],
    *,
    x: str = "",
    y: str = "",
    title: str = "",
    width: float = COLUMN,
    limits: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None),
    percent: bool = False,
    percent_x: bool = False,
    diagonal: str = "",
    log: bool = False,
) -> Figure:
    """Return a plot of curves, with a band where a spread is given.

    Parameters
    ----------
    curves : dict
        Name to ``(x, y)`` or ``(x, y, spread)``; NaN leaves a gap.
    x, y, title : str
        Texts of the axes and above.
    limits : pair of pairs
        Ranges of x and y; None fits the data.
    percent, percent_x : bool
        Whether y, and x, is a share, to be shown in percent.
    diagonal : str
        What the diagonal from (0, 0) to (1, 1) is called, if it is to be drawn.
    log : bool
        Whether y is logarithmic.
    """
    with _figure(width, 0.72 * width) as (figure, axes):
        colours = categorical(len(curves)) / 255
        for k, (name, curve) in enumerate(curves.items()):
            at, height = (np.asarray(values, dtype=np.float64) for values in curve[:2])
            dashes = _DASHES[k % len(_DASHES)] if len(curves) > 1 else "-"
            mark = "o" if np.isfinite(height).sum() == 1 else None
            axes.plot(
                at, height, color=colours[k], linestyle=dashes, marker=mark, markersize=3, label=_text(name)
            )
            if len(curve) > 2:
                spread = np.asarray(curve[2], dtype=np.float64)
                axes.fill_between(
                    at, height - spread, height + spread, color=colours[k], alpha=0.18, linewidth=0
                )
        if diagonal:
            axes.plot([0, 1], [0, 1], color="#808a96", linewidth=0.8, linestyle=":", label=_text(diagonal))
        axes.set(xlabel=_text(x), ylabel=_text(y), title=_text(title))
        if limits[0] is not None:
            axes.set_xlim(*limits[0])
        if limits[1] is not None:
            axes.set_ylim(*limits[1])
        if log:
            axes.set_yscale("log")
        if percent:
            _percent_ticks(axes.yaxis)
        if percent_x:
            _percent_ticks(axes.xaxis)
        if len(curves) > CROWD:
            figure.legend(loc="outside right upper")
        elif len(curves) > 1 or diagonal:
            axes.legend(loc="best")
        return figure


def training_curves(
    history: Mapping[str, ArrayLike], known: Mapping[str, Metric] = {}, *, width: float = PAGE
) -> Figure:
    """Return plots over epochs, side by side: losses, shares in percent, and other scores, as far as logged.

    Parameters
    ----------
    history : dict
        Columns of the log; ``epoch`` counts from 1 if left out.
    known : dict of str to Metric
        Metrics of some columns; others are guessed from their names.
    """
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in history.items()}
    epoch = epochs_of(columns)
    parts = [
        (names, label)
        for names, label in zip(split_history(columns, known), ("loss", "share", "score"), strict=True)
        if names
    ] or [([], "loss")]
    with _figure(width, 0.36 * width, columns=len(parts)) as (figure, axes):
        for axis, (names, label) in zip(np.ravel(axes), parts, strict=True):
            colours = categorical(len(names)) / 255
            for k, name in enumerate(names):
                axis.plot(
                    epoch,
                    columns[name],
                    color=colours[k],
                    linestyle=_DASHES[k % 4],
                    marker="o" if len(epoch) == 1 else None,
                    label=_text(metric_of(name, known).label),
                )
            axis.set(xlabel="epoch", ylabel=label)
            axis.xaxis.get_major_locator().set_params(integer=True)
            if names:
                axis.legend(loc="best")
            if label == "share":
                _percent_ticks(axis.yaxis)
        return figure


def split_history(
    columns: Mapping[str, NDArray[Any]], known: Mapping[str, Metric] = {}
) -> tuple[list[str], list[str], list[str]]:
    """Return the names of the columns of a log that are losses, shares in percent, and other scores.

    Examples
    --------
    >>> log = {"epoch": [1], "loss": [0.5], "accuracy": [0.9], "validation_mean_error": [2.5]}
    >>> split_history({name: np.array(values) for name, values in log.items()})
    (['loss'], ['accuracy'], ['validation_mean_error'])
    """
    losses: list[str] = []
    shares: list[str] = []
    others: list[str] = []
    for name, values in columns.items():
        metric = metric_of(name, known)
        if metric.better is None or name == "step" or not np.isfinite(values).any():
            continue
        if name.endswith("loss"):
            losses.append(name)
        elif metric.style == "percent" and np.nanmin(values) >= 0 and np.nanmax(values) <= 1:
            shares.append(name)
        else:
            others.append(name)
    return losses, shares, others


def confusion_matrix(
    counts: ArrayLike,
    true: Sequence[str],
    predicted: Sequence[str] | None = None,
    *,
    width: float | None = None,
) -> Figure:
    """Return a picture of the share of each true class (rows) that was predicted as each class (columns).

    Parameters
    ----------
    counts : (R, C) numbers
    true, predicted : sequence of str
        Names of the R rows and of the C columns; the same if the latter is left out.
    """
    counts = np.asarray(counts, dtype=np.float64)
    predicted = true if predicted is None else predicted
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    rows, columns = counts.shape
    width = width or min(PAGE, max(COLUMN, 0.21 * columns + 1.3))
    with _figure(width, min(width, width * (rows + 3) / (columns + 3)), grid=False) as (figure, axes):
        axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
        size = min(7.0, 72 * 0.6 * width / columns / 2.6)
        if columns <= 16:
            for i, j in np.argwhere(share > 0.004):
                ink = "white" if share[i, j] > 0.55 else "#1a2230"
                text = f"{100 * share[i, j]:.0f}"
                axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
        letters = min(7.5, 72 * 0.62 * width / columns / 1.25)
        turned = 90 if columns > 4 else 0
        axes.set_xticks(
            range(columns), [_text(name) for name in predicted], rotation=turned, fontsize=letters
        )
        axes.set_yticks(range(rows), [_text(name) for name in true], fontsize=letters)
        axes.set(xlabel="predicted", ylabel="true")
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return figure


def iou_bars(
    values: ArrayLike,
    names: Sequence[str],
    classes: Sequence[int] | None = None,
    *,
    width: float = COLUMN,
) -> Figure:
    """Return bars of the intersection over union of each part, with the mean as a line.

    Parameters
    ----------
    values : (n,) shares
        NaN where there is no such part.
    names : sequence of n str
    classes : sequence of n int, optional
        Number of each part, by which it is coloured; 0, 1, … if left out.
    """
    values = np.asarray(values, dtype=np.float64)
    numbers = list(range(len(values)) if classes is None else classes)
    colours = categorical(max(numbers, default=0) + 1)[numbers] / 255
    place = np.arange(len(values))[::-1]
    with _figure(width, 0.19 * len(values) + 0.62) as (figure, axes):
        axes.barh(place, np.nan_to_num(values), color=colours, height=0.72)
        for at, value in zip(place, values, strict=True):
            text = "none" if np.isnan(value) else f"{100 * value:.1f}"
            axes.text(np.nan_to_num(value) + 0.012, at, text, va="center", fontsize=7, zorder=3, bbox=_CLEAR)
        if np.isfinite(values).any():
            mean = float(np.nanmean(values))
            axes.axvline(mean, color="#1a2230", linewidth=0.8, linestyle=(0, (4, 2)))
            axes.set_title(f"mean {100 * mean:.1f} %")
        axes.set_yticks(place, [_text(name) for name in names])
        axes.set(xlim=(0, 1.12), xlabel="intersection over union")
        axes.set_xticks(np.linspace(0, 1, 6), [f"{t:.0f} %" for t in np.linspace(0, 100, 6)])
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        return figure


def scatter(points: ArrayLike, labels: ArrayLike, names: Sequence[str], *, width: float = COLUMN) -> Figure:
    """Return points in the plane coloured by class, such as t-SNE of descriptors.

    Parameters
    ----------
    points : (n, 2) numbers
    labels : (n,) classes
    """
    points, labels = np.asarray(points, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    present = np.unique(labels[labels >= 0])
    across = 2 if width < 5 else 4
    with _figure(width, width * 0.92 + 0.14 * -(-len(present) // across), grid=False) as (figure, axes):
        palette = categorical(max(len(names), int(present.max(initial=-1)) + 1)) / 255
        order = np.random.default_rng(0).permutation(len(points))  # no class lies on top of the others
        known = order[labels[order] >= 0]
        axes.scatter(
            *points[known].T,
            c=palette[labels[known]],
            s=np.clip(6000 / max(len(points), 1), 1.5, 14),
            linewidths=0,
        )
        for k in present:
            axes.scatter([], [], color=palette[k], s=16, label=_text(names[k] if k < len(names) else str(k)))
        axes.set_aspect("equal", adjustable="datalim")
        axes.axis("off")
        figure.legend(loc="outside lower center", ncols=across, handletextpad=0.1, columnspacing=1.0)
        return figure


def _text(text: str) -> str:
    """matplotlib reads $…$ as mathematics and leaves out labels that begin with an underscore."""
    text = str(text).replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def _percent_ticks(axis: Any) -> None:
    """Write the shares at the ticks in percent, with as many digits as they need."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.6g} %"))


@contextmanager
def _style() -> Iterator[None]:
    from matplotlib import rc_context

    with rc_context(_STYLE):
        yield


@contextmanager
def _figure(
    width: float, height: float, *, columns: int = 1, grid: bool = True
) -> Iterator[tuple[Figure, Any]]:
    """A figure with axes, in our style, without a screen."""
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(figsize=(width, height), facecolor="white")
        axes: Any = figure.subplots(1, columns)
        if not grid:
            for part in np.ravel(axes):
                part.grid(visible=False)
        yield figure, axes
