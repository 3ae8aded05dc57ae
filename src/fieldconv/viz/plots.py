"""Interactive plots of the report, as Plotly's JSON; plots.js draws them in one style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldconv.tasks.wording import words
from fieldconv.viz import page
from fieldconv.viz.colours import categorical

_DASHES = ("solid", "dash", "dot", "dashdot")
_numbers = count()


def plot(
    data: Sequence[dict[str, Any]],
    layout: dict[str, Any],
    *,
    height: int = 330,
    width: int | None = None,
    label: str = "",
) -> str:
    """HTML of a plot; needs a page with ``plotly=True``."""
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
    log: bool = False,
    limits: tuple[float, float] | None = None,
) -> str:
    """Curves by name."""
    shown = categorical(len(curves))
    data = []
    for k, (name, (at, height)) in enumerate(curves.items()):
        at, height = np.asarray(at, dtype=np.float64), np.asarray(height, dtype=np.float64)
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if np.isfinite(height).sum() < 3 else "lines",
                "name": _safe(name),
                "x": _numbers_of(at),
                "y": _numbers_of(height),
                "line": {"color": _css(shown[k]), "width": 2, "dash": _DASHES[k // 8 % 4]},
                "hovertemplate": f"%{{y{':.1%' if percent else ':.4g'}}}",
            }
        )
    vertical: dict[str, Any] = {"title": {"text": y}}
    if percent:
        vertical["tickformat"] = ".0%"
    if log:
        vertical |= {"type": "log", "dtick": 1}
    if limits:
        vertical["range"] = list(limits)
    layout = {
        "xaxis": {"title": {"text": x}},
        "yaxis": vertical,
        "hovermode": "x unified",
        "showlegend": True,
    }
    return plot(data, layout, label=f"{y} over {x}")


def bars(groups: Mapping[str, ArrayLike], names: Sequence[str], *, x: str) -> str:
    """Horizontal bars for each name; a single group is coloured by class, several by group."""
    single = len(groups) == 1
    by_class, by_group = categorical(len(names)), categorical(len(groups))
    data = []
    for k, (group, values) in enumerate(groups.items()):
        values = np.asarray(values, dtype=np.float64)
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": _safe(group),
                "x": _numbers_of(values),
                "y": [_safe(name) for name in names],
                "text": ["" if np.isnan(v) else f"{100 * v:.1f} %" for v in values] if single else None,
                "textposition": "outside",
                "cliponaxis": False,
                "marker": {"color": [_css(c) for c in by_class] if single else _css(by_group[k])},
                "hovertemplate": "%{y}: %{x:.1%}",
            }
        )
    layout = {
        "xaxis": {"title": {"text": x}, "tickformat": ".0%", "range": [0, 1.08]},
        "yaxis": {"autorange": "reversed", "showgrid": False, "type": "category"},
        "showlegend": not single,
        "bargap": 0.25,
    }
    rows = len(names) * max(1.0, 0.6 * len(groups))
    return plot(data, layout, height=int(90 + 26 * rows), label=x)


def ranking(rows: Sequence[tuple[str, float]], own: str, *, x: str) -> str:
    """Shares of methods as dots (the axis need not start at zero), one's own standing out."""
    data = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [share for _, share in rows],
        "y": [_safe(name) for name, _ in rows],
        "text": [f"  {100 * share:.1f} %" for _, share in rows],
        "textposition": "middle right",
        "cliponaxis": False,
        "marker": {"size": 12, "color": ["#0b63a5" if name == own else "#a3aebb" for name, _ in rows]},
        "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
    }
    lowest = min(share for _, share in rows)
    layout = {
        "xaxis": {"title": {"text": x}, "tickformat": ".0%", "range": [max(0.0, lowest - 0.04), 1.03]},
        "yaxis": {"autorange": "reversed", "type": "category"},
    }
    return plot([data], layout, height=90 + 27 * len(rows), width=860, label=f"{x} beside published results")


def confusion(counts: NDArray[np.float64], names: Sequence[str]) -> str:
    """Confusion matrix: rows are true classes, in shares."""
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    texts = [["" if v < 0.005 else f"{100 * v:.0f}" for v in row] for row in share]
    spoken = [_safe(name) for name in names]
    size = len(names)
    data = {
        "type": "heatmap",
        "z": share.tolist(),
        "x": spoken,
        "y": spoken,
        "text": texts if size <= 16 else None,
        "texttemplate": "%{text}" if size <= 16 else None,
        "colorscale": [[0, "#f5f8fb"], [0.5, "#6baed6"], [1, "#08306b"]],
        "zmin": 0,
        "zmax": 1,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "true %{y}<br>predicted %{x}: %{z:.1%}<extra></extra>",
    }
    every = {
        "type": "category",
        "showgrid": False,
        "tickmode": "array",
        "tickvals": spoken,
        "tickfont": {"size": 11 if size > 12 else 12},
    }
    layout = {
        "xaxis": {**every, "title": {"text": "predicted"}, "tickangle": -90 if size > 4 else 0},
        "yaxis": {**every, "title": {"text": "true"}, "autorange": "reversed"},
    }
    height = min(720, 190 + 34 * min(size, 9) + 16 * max(0, size - 9))
    return plot([data], layout, height=height, width=round(1.25 * height), label="confusion matrix")


def scatter(points: NDArray[np.float64], labels: NDArray[np.int64], names: Sequence[str]) -> str:
    """Points in the plane by class; a click on the legend hides a class."""
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


def history(columns: Mapping[str, NDArray[np.float64]], names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Curves over epochs of some columns of a log."""
    epoch = columns.get("epoch", np.arange(1, 1 + max(map(len, columns.values()), default=0)))
    return {words(name): (epoch, columns[name]) for name in names}


def _numbers_of(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in values]


def _safe(text: str) -> str:
    """Plotly reads a little HTML in texts."""
    return escape(str(text), quote=False)


def _css(colour: NDArray[np.uint8]) -> str:
    return f"rgb({','.join(str(int(c)) for c in colour)})"
