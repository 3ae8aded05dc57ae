"""Interactive plots of the report, as Plotly's JSON; plots.js draws them in one style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldconv.tasks.base.metric import Metric
from fieldconv.viz import page
from fieldconv.viz.colours import categorical

_DASHES = ("solid", "dash", "dot", "dashdot")
_HALVES = [0.0, 50.0, 100.0]
_numbers = count()


def plot(
    data: Sequence[dict[str, Any]],
    layout: dict[str, Any],
    *,
    height: int = 330,
    width: int | None = None,
    label: str = "",
) -> str:
    """Return the HTML of a plot; needs a page with ``plotly=True``."""
    identifier = f"plot-{next(_numbers)}"
    block = page.data_block(identifier, {"data": list(data), "layout": layout})
    style = f"height:{height}px" + (f";max-width:{width}px" if width else "")
    return (
        f'<div class="plot" data-plot="{identifier}" style="{style}" role="img" '
        f'aria-label="{escape(label)}"></div>{block}'
    )


def lines(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    x: str,
    y: str,
    percent: bool = False,
    percent_x: bool = False,
    whole: bool = False,
    log: bool = False,
    limits: tuple[float, float] | None = None,
    diagonal: str = "",
    colours: Sequence[int] | None = None,
) -> str:
    """Return a plot of curves by name.

    Parameters
    ----------
    curves : dict
        Name to (x, y); NaN leaves a gap.
    x, y : str
        Titles of the axes.
    percent, percent_x : bool
        Whether y, and x, is a share between 0 and 1, to be shown in percent.
    whole : bool
        Whether x counts something, such as epochs: ticks are whole numbers.
    log : bool
        Whether y is logarithmic.
    limits : (float, float), optional
        Range of y.
    diagonal : str
        What the diagonal from (0, 0) to (1, 1) is called, if it is to be drawn.
    colours : sequence of int, optional
        Number of the colour of each curve; curves of one colour have different dashes. Each curve has its own
        if left out.
    """
    numbers = range(len(curves)) if colours is None else colours
    shown = categorical(max(numbers, default=0) + 1)
    factor, factor_x = 100 if percent else 1, 100 if percent_x else 1
    data = []
    reach = 1.0
    for k, (name, (at, height)) in enumerate(curves.items()):
        at, height = np.asarray(at, dtype=np.float64), np.asarray(height, dtype=np.float64)
        reach = max(reach, float(np.nanmax(at, initial=0)))
        dash = k // 8 if colours is None else list(numbers[:k]).count(numbers[k])
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if np.isfinite(height).sum() < 3 else "lines",
                "name": _safe(name),
                "x": _numbers_of(factor_x * at),
                "y": _numbers_of(factor * height),
                "line": {"color": _css(shown[numbers[k]]), "width": 2, "dash": _DASHES[dash % 4]},
                "hovertemplate": "%{y:.1f} %" if percent else "%{y:.4g}",
            }
        )
    if diagonal:
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": _safe(diagonal),
                "x": [0, factor_x],
                "y": [0, factor],
                "line": {"color": "rgb(128,138,150)", "width": 1, "dash": "dot"},
                "hoverinfo": "skip",
            }
        )
    across: dict[str, Any] = {"title": {"text": _safe(x)}}
    if percent_x:
        across |= {"ticksuffix": " %", "range": [0, 102]}
    if whole:
        across |= {"tick0": 0, "dtick": _whole_step(reach)}
    upright: dict[str, Any] = {"title": {"text": _safe(y)}}
    if percent:
        upright["ticksuffix"] = " %"
    if log:
        upright |= {"type": "log", "dtick": 1}
    if limits:
        upright["range"] = [factor * end for end in limits]
    layout = {"xaxis": across, "yaxis": upright, "hovermode": "x unified", "showlegend": True}
    ends = [_ends(name, height, percent) for name, (_, height) in curves.items()]
    return plot(data, layout, label=f"{y} over {x}: {', '.join(filter(None, ends))}")


def bars(
    groups: Mapping[str, ArrayLike],
    names: Sequence[str],
    *,
    x: str,
    colours: Sequence[int] | None = None,
) -> str:
    """Return horizontal bars of shares for each name; one group is coloured by class, several by group.

    Parameters
    ----------
    groups : dict of str to (n,) shares
    names : sequence of n str
    x : str
        Title of the axis.
    colours : sequence of n int, optional
        Number of the class of each name, by which it is coloured elsewhere; 0, 1, … if left out.
    """
    single = len(groups) == 1
    classes = list(range(len(names)) if colours is None else colours)
    by_class, by_group = categorical(max(classes, default=0) + 1)[classes], categorical(len(groups))
    data = []
    for k, (group, values) in enumerate(groups.items()):
        values = 100 * np.asarray(values, dtype=np.float64)
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": _safe(group),
                "x": _numbers_of(values),
                "y": [_safe(name) for name in names],
                "text": ["" if np.isnan(v) else f"{v:.1f} %" for v in values] if single else None,
                "textposition": "outside",
                "cliponaxis": False,
                "marker": {"color": [_css(c) for c in by_class] if single else _css(by_group[k])},
                "hovertemplate": "%{y}: %{x:.1f} %",
            }
        )
    layout = {
        "xaxis": {"title": {"text": _safe(x)}, "range": [0, 116], **_percent_ticks(_HALVES)},
        "yaxis": {"autorange": "reversed", "showgrid": False, "type": "category"},
        "showlegend": not single,
        "bargap": 0.25,
    }
    rows = len(names) * max(1.0, 0.6 * len(groups))
    told = []
    for group, values in groups.items():
        each = zip(names, np.asarray(values, dtype=np.float64), strict=True)
        shares = ", ".join(f"{name} {100 * value:.1f} %" for name, value in each if not np.isnan(value))
        told.append(shares if single else f"{group}: {shares}")
    return plot(data, layout, height=int(90 + 26 * rows), label=f"{x}: {'; '.join(told)}")


def ranking(rows: Sequence[tuple[str, float]], own: str, metric: Metric) -> str:
    """Return results of methods as dots, best first (the axis need not start at zero), one's own marked."""
    rows = sorted(rows, key=lambda row: metric.goodness(row[1]), reverse=True)
    percent = metric.style == "percent" and all(0 <= value <= 1 for _, value in rows)
    values = [(100 if percent else 1) * value for _, value in rows]
    data = {
        "type": "scatter",
        "mode": "markers+text",
        "x": values,
        "y": [_safe(name) for name, _ in rows],
        "text": [f"  {metric.text(value)}" for _, value in rows],
        "textposition": "middle right",
        "cliponaxis": False,
        "marker": {
            "size": 12,
            "color": ["rgb(11,99,165)" if name == own else "rgb(163,174,187)" for name, _ in rows],
        },
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }
    low, high = min(values), max(values)
    room = max(high - low, 0.1 * abs(high)) or 1.0
    first, last = low - 0.4 * room, high + 0.4 * room
    first = max(0.0, first) if low >= 0 else first
    axis: dict[str, Any] = {"title": {"text": _safe(metric.label)}, "range": [first, last]}
    if percent:
        ticks = [tick for tick in _nice_ticks(first, last) if tick <= 100]
        axis |= _percent_ticks(ticks)
    layout = {"xaxis": axis, "yaxis": {"autorange": "reversed", "type": "category"}}
    told = ", ".join(f"{name} {metric.text(value)}" for name, value in rows)
    label = f"{metric.label} beside published results: {told}"
    return plot([data], layout, height=90 + 27 * len(rows), width=860, label=label)


def confusion(counts: NDArray[np.float64], true: Sequence[str], predicted: Sequence[str]) -> str:
    """Return a confusion matrix in shares of its rows.

    Parameters
    ----------
    counts : (R, C) numbers
    true, predicted : sequence of str
        Names of the R rows and of the C columns.
    """
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    texts = [["" if v < 0.005 else f"{100 * v:.0f}" for v in row] for row in share]
    size = len(predicted)
    data = {
        "type": "heatmap",
        "z": share.tolist(),
        "customdata": [[f"{100 * v:.1f} %" for v in row] for row in share],
        "x": [_safe(name) for name in predicted],
        "y": [_safe(name) for name in true],
        "text": texts if size <= 16 else None,
        "texttemplate": "%{text}" if size <= 16 else None,
        "zmin": 0,
        "zmax": 1,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "true %{y}<br>predicted %{x}: %{customdata}<extra></extra>",
    }
    every = {
        "type": "category",
        "showgrid": False,
        "tickmode": "array",
        "tickfont": {"size": 11 if size > 12 else 12},
    }
    layout = {
        "xaxis": {
            **every,
            "tickvals": data["x"],
            "title": {"text": "predicted"},
            "tickangle": -90 if size > 4 else 0,
        },
        "yaxis": {**every, "tickvals": data["y"], "title": {"text": "true"}, "autorange": "reversed"},
    }
    height = min(720, 190 + 34 * min(size, 9) + 16 * max(0, size - 9))
    right = [
        f"{name} {100 * share[k, predicted.index(name)]:.0f} %"
        for k, name in enumerate(true)
        if name in predicted
    ]
    label = f"confusion matrix of {len(true)} classes; answered right: {', '.join(right)}"
    return plot([data], layout, height=height, width=round(1.25 * height), label=label)


def scatter(points: NDArray[np.float64], labels: NDArray[np.int64], names: Sequence[str]) -> str:
    """Return points in the plane by class; a click on the legend hides a class."""
    present = [int(k) for k in np.unique(labels[labels >= 0])]
    palette = categorical(max([len(names), *(k + 1 for k in present)], default=1))
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": _safe(names[k] if k < len(names) else str(k)),
            "x": _numbers_of(points[labels == k, 0].round(3)),
            "y": _numbers_of(points[labels == k, 1].round(3)),
            "marker": {"color": _css(palette[k]), "size": 5, "opacity": 0.85},
            "hoverinfo": "name",
        }
        for k in present
    ]
    blank = {"visible": False}
    layout = {
        "xaxis": blank,
        "yaxis": {**blank, "scaleanchor": "x"},
        "margin": {"l": 6, "r": 6, "t": 10, "b": 6},
    }
    return plot(data, layout, height=460, label="t-SNE of descriptors")


def _ends(name: str, values: ArrayLike, percent: bool) -> str:
    """Return in words where a curve begins and ends; empty if it has no points.

    Examples
    --------
    >>> _ends("accuracy", [np.nan, 0.25, 0.5], True)
    'accuracy from 25.0 % to 50.0 %'
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return ""
    first, last = (f"{100 * v:.1f} %" if percent else f"{v:.4g}" for v in (known[0], known[-1]))
    return f"{name} from {first} to {last}"


def _whole_step(largest: float, most: int = 8) -> int:
    """Return the distance of at most so many ticks at whole numbers.

    Examples
    --------
    >>> _whole_step(3), _whole_step(60), _whole_step(100)
    (1, 10, 20)
    """
    wanted = max(largest / most, 1.0)
    power = 10 ** int(np.floor(np.log10(wanted)))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= wanted))


def _percent_ticks(at: Sequence[float]) -> dict[str, Any]:
    """Return ticks of an axis in percent at given places."""
    return {"tickvals": list(at), "ticktext": [f"{tick:g} %" for tick in at]}


def _nice_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Return round numbers in a range."""
    wanted = (high - low) / most
    power = 10.0 ** np.floor(np.log10(wanted))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= wanted)
    return [float(f"{k * step:.6g}") for k in range(int(np.ceil(low / step)), int(high / step) + 1)]


def _numbers_of(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in values]


def _safe(text: str) -> str:
    """Plotly reads a little HTML in texts."""
    return escape(str(text), quote=False)


def _css(colour: NDArray[np.uint8]) -> str:
    return f"rgb({','.join(str(int(c)) for c in colour)})"
