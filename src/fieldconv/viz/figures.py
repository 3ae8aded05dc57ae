"""Plots of numbers, for the pages of runs and for print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from fieldconv._arrays import Floats
from fieldconv._process import one_blas_thread, process_unchanged
from fieldconv.runs.run import epochs_of
from fieldconv.tasks.base.metric import Metric, metric_of
from fieldconv.viz.colours import categorical
from fieldconv.viz.plot import (
    CARD,
    COLUMN,
    INK,
    PAGE,
    RIM,
    SCREEN,
    Key,
    Plot,
    Spot,
    css,
    new_figure,
    plain_text,
)

CurvesByName = Mapping[str, tuple[ArrayLike, ...]]

MAX_LEGEND_INSIDE = 5  # curves; a longer legend stands outside the axes
_MAX_SPOTS = 100  # places along x where the pointer shows values
_NAN = float("nan")
_DASHES: list[tuple[float, ...]] = [(), (5, 1.5), (1.5, 1.2), (6, 1.5, 1.5, 1.5)]
_BLUE, _PALE, _MIDDLE = "#0b63a5", "#a3aebb", "#808a96"
_CLEAR = {"facecolor": CARD, "edgecolor": "none", "pad": 0.6}


def lines(
    curves: CurvesByName,
    *,
    x: str = "",
    y: str = "",
    width: float = COLUMN,
    y_limits: tuple[float, float] | None = None,
    percent: bool = False,
    percent_x: bool = False,
    whole: bool = False,
    diagonal: str = "",
    colours: Sequence[int] | None = None,
) -> Plot:
    """Return a plot of curves, with a band where a spread is given.

    Parameters
    ----------
    curves : dict
        Name to ``(x, y)`` or ``(x, y, spread)``; NaN leaves a gap.
    percent, percent_x : bool
        Whether y, and x, is a share, to be shown in percent.
    whole : bool
        Whether x counts something, such as epochs: ticks are whole numbers.
    diagonal : str
        Name of the diagonal from (0, 0) to (1, 1); without one it is not drawn.
    colours : sequence of int, optional
        Number of the colour of each curve, its own if left out; curves of one colour have different dashes.

    Examples
    --------
    >>> lines({"loss": ([1, 2], [3.0, 1.5])}, x="epoch", y="loss").label
    'loss over epoch: loss from 3 to 1.5'
    """
    with new_figure(width, 0.72 * width) as (figure, [axes]):
        keys = _draw_curves(axes, curves, colours)
        if diagonal:
            axes.plot([0, 1], [0, 1], color=_MIDDLE, linewidth=0.8, linestyle=":", label=plain_text(diagonal))
            keys.append(Key(diagonal, _MIDDLE, (1, 1.6)))
        axes.set(xlabel=plain_text(x), ylabel=plain_text(y))
        if y_limits is not None:
            axes.set_ylim(*y_limits)
        if percent:
            _percent_ticks(axes.yaxis)
        if percent_x:
            _percent_ticks(axes.xaxis)
        if whole:
            _whole_ticks(axes.xaxis)
        if len(curves) > MAX_LEGEND_INSIDE:
            figure.legend(loc="outside right upper")
        elif len(curves) > 1 or diagonal:
            axes.legend(loc="best")
        ends = [_ends(name, curve[1], percent) for name, curve in curves.items()]
        label = f"{y} over {x}: {', '.join(filter(None, ends))}"
        spots = _curve_spots(axes, curves, x, percent=percent, percent_x=percent_x)
        return Plot(figure, label, keys if len(keys) > 1 else (), spots)


def training_curves(history: Mapping[str, ArrayLike], known: Mapping[str, Metric] = {}) -> Plot:
    """Return plots over epochs side by side: of the losses, shares in percent, and other scores in a log.

    ``known`` are the metrics of some columns; those of the others follow from their names.
    """
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in history.items()}
    epoch = epochs_of(columns)
    kinds = {kind: names for kind, names in split_history(columns, known).items() if names} or {"loss": []}
    with new_figure(PAGE, 0.36 * PAGE, columns=len(kinds)) as (figure, axes):
        for axis, (kind, names) in zip(axes, kinds.items(), strict=True):
            _draw_curves(axis, {metric_of(name, known).label: (epoch, columns[name]) for name in names})
            axis.set(xlabel="epoch", ylabel=kind)
            _whole_ticks(axis.xaxis)
            if names:
                axis.legend(loc="best")
            if kind == "share":
                _percent_ticks(axis.yaxis)
        return Plot(figure)


def split_history(columns: Mapping[str, Floats], known: Mapping[str, Metric] = {}) -> dict[str, list[str]]:
    """Return the columns of a log that are losses, shares in percent, and other scores.

    Examples
    --------
    >>> log = {"epoch": [1], "loss": [0.5], "accuracy": [0.9], "validation_mean_error": [2.5]}
    >>> split_history({name: np.array(values) for name, values in log.items()})
    {'loss': ['loss'], 'share': ['accuracy'], 'score': ['validation_mean_error']}
    """
    kinds: dict[str, list[str]] = {"loss": [], "share": [], "score": []}
    for name, values in columns.items():
        metric = metric_of(name, known)
        if metric.better is None or name == "step" or not np.isfinite(values).any():
            continue
        if name.endswith("loss"):
            kinds["loss"].append(name)
        elif metric.style == "percent" and np.nanmin(values) >= 0 and np.nanmax(values) <= 1:
            kinds["share"].append(name)
        else:
            kinds["score"].append(name)
    return kinds


def confusion_matrix(counts: ArrayLike, true: Sequence[str], predicted: Sequence[str] | None = None) -> Plot:
    """Return a picture of the share of each true class (R rows) that was predicted as each of C columns.

    ``counts`` are (R, C) numbers; the columns are the same classes if ``predicted`` is left out.
    """
    counts = np.asarray(counts, dtype=np.float64)
    predicted = true if predicted is None else predicted
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    rows, columns = counts.shape
    width = min(PAGE, max(COLUMN, 0.21 * columns + 1.3))
    with new_figure(width, min(width, width * (rows + 3) / (columns + 3)), grid=False) as (figure, [axes]):
        # Empty cells are transparent, for light and dark pages.
        clear_to_blue = np.column_stack([np.tile(to_rgb(_BLUE), (256, 1)), np.linspace(0, 1, 256)])
        axes.imshow(share, cmap=ListedColormap(clear_to_blue), vmin=0, vmax=1, interpolation="nearest")
        size = min(7.0, 72 * 0.6 * width / columns / 2.6)
        if columns <= 16:
            for i, j in np.argwhere(share > 0.004):
                ink = "white" if share[i, j] > 0.55 else INK
                text = f"{100 * share[i, j]:.0f}"
                axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
        letters = min(7.5, 72 * 0.62 * width / columns / 1.25)
        turned = 90 if columns * max(map(len, predicted)) > 30 else 0
        across, upright = [plain_text(name) for name in predicted], [plain_text(name) for name in true]
        axes.set_xticks(range(columns), across, rotation=turned, fontsize=letters)
        axes.set_yticks(range(rows), upright, fontsize=letters)
        axes.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        axes.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        axes.grid(which="minor", linewidth=0.4)
        axes.set(xlabel="predicted", ylabel="true")
        axes.tick_params(which="both", length=0)
        for spine in axes.spines.values():
            spine.set(visible=True, linewidth=0.4)
        spots = []
        for i, j in np.argwhere(share > 0).tolist():
            tip = f"true {true[i]}\npredicted {predicted[j]}: {100 * share[i, j]:.1f} %"
            spots.append(Spot(axes, tip, [(j - 0.5, j + 0.5, i - 0.5, i + 0.5)]))
        at = {name: column for column, name in enumerate(predicted)}
        right = [f"{name} {100 * share[k, at[name]]:.0f} %" for k, name in enumerate(true) if name in at]
        label = f"confusion matrix of {len(true)} classes; answered right: {', '.join(right)}"
        return Plot(figure, label, spots=spots)


def bars(
    groups: Mapping[str, ArrayLike],
    names: Sequence[str],
    *,
    classes: Sequence[int] | None = None,
    width: float = COLUMN,
) -> Plot:
    """Return bars of intersection over union for each of n names.

    Groups are (n,) shares, NaN where there is no such part. A single group is coloured by class (0, 1, … if
    left out), with its mean; several are coloured by group.
    """
    values = {group: np.asarray(own, dtype=np.float64) for group, own in groups.items()}
    single = len(values) == 1
    numbers = list(range(len(names)) if classes is None else classes)
    by_class = [css(categorical(max(numbers, default=0) + 1)[number]) for number in numbers]
    by_group = [css(colour) for colour in categorical(len(values))]
    rows = len(names) * max(1.0, 0.6 * len(values))
    thick = 0.72 / len(values)
    spots, summaries = [], []
    with new_figure(width, 0.19 * rows + 0.62) as (figure, [axes]):
        for k, (group, own) in enumerate(values.items()):
            place = np.arange(len(names)) + (k - (len(values) - 1) / 2) * thick
            colour = by_class if single else by_group[k]
            lengths = np.nan_to_num(own)
            axes.barh(place, lengths, thick, color=colour, edgecolor=RIM, linewidth=0.3, label=group)
            texts = ["none" if np.isnan(value) else f"{100 * value:.1f} %" for value in own]
            if single:
                for at, value, text in zip(place, own, texts, strict=True):
                    right, number = np.nan_to_num(value) + 0.012, text.removesuffix(" %")
                    axes.text(right, at, number, va="center", fontsize=7, zorder=3, bbox=_CLEAR)
            known = [f"{name} {text}" for name, text in zip(names, texts, strict=True) if text != "none"]
            summaries.append(("" if single else f"{group}: ") + ", ".join(known))
            for name, text, at in zip(names, texts, place.tolist(), strict=True):
                tip = f"{name}: {text}" if single else f"{name}\n{group}: {text}"
                spots.append(Spot(axes, tip, [(_NAN, _NAN, at - thick / 2, at + thick / 2)]))
            if single and np.isfinite(own).any():
                mean = float(np.nanmean(own))
                axes.axvline(mean, color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
                axes.set_title(f"mean of these {100 * mean:.1f} %")
        axes.set_yticks(np.arange(len(names)), [plain_text(name) for name in names])
        axes.set(xlim=(0, 1.12), ylim=(len(names) - 0.4, -0.6), xlabel="intersection over union")
        axes.set_xticks(np.linspace(0, 1, 6), [f"{t:.0f} %" for t in np.linspace(0, 100, 6)])
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        if not single:
            figure.legend(loc="outside upper left")
        keys = [] if single else [Key(g, colour) for g, colour in zip(values, by_group, strict=True)]
        return Plot(figure, f"intersection over union: {'; '.join(summaries)}", keys, spots)


def ranking(rows: Sequence[tuple[str, float]], own: str, metric: Metric) -> Plot:
    """Return a plot of the results of methods as dots, best first; ``own`` is the one to mark."""
    rows = sorted(rows, key=lambda row: metric.goodness(row[1]), reverse=True)
    values = [value for _, value in rows]
    percent = metric.style == "percent" and all(0 <= value <= 1 for value in values)
    low, high = min(values), max(values)
    room = max(high - low, 0.1 * abs(high)) or 1.0
    first, last = low - 0.4 * room, high + 0.6 * room
    with new_figure(SCREEN, 0.2 * len(rows) + 0.55) as (figure, [axes]):
        colours = [_BLUE if name == own else _PALE for name, _ in rows]
        axes.scatter(values, range(len(rows)), c=colours, s=36, zorder=3)
        for place, value in enumerate(values):
            axes.annotate(metric.text(value), (value, place), (7, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(rows)), [plain_text(name) for name, _ in rows])
        axes.set(xlim=(max(0.0, first) if low >= 0 else first, last), ylim=(len(rows) - 0.4, -0.6))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.set_xlabel(plain_text(metric.label))
        axes.tick_params(axis="y", length=0)
        if percent:
            axes.set_xticks([tick for tick in axes.get_xticks() if first <= tick <= min(1, last)])
            _percent_ticks(axes.xaxis)
        spots = [
            Spot(axes, f"{name}: {metric.text(value)}", [(_NAN, _NAN, place - 0.5, place + 0.5)])
            for place, (name, value) in enumerate(rows)
        ]
        results = ", ".join(f"{name} {metric.text(value)}" for name, value in rows)
        return Plot(figure, f"{metric.label} beside published results: {results}", spots=spots)


def scatter(points: ArrayLike, labels: ArrayLike, names: Sequence[str], *, width: float = COLUMN) -> Plot:
    """Return a plot of (n, 2) points, coloured by class, such as t-SNE of descriptors.

    Points of negative classes are left out.
    """
    points, labels = np.asarray(points, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    present = np.unique(labels[labels >= 0]).tolist()
    across = 2 if width < 5 else 4
    with new_figure(width, width * 0.92 + 0.14 * -(-len(present) // across), grid=False) as (figure, [axes]):
        palette = categorical(max(len(names), max(present, default=-1) + 1))
        order = np.random.default_rng(0).permutation(len(points))  # so that no class covers the others
        known = order[labels[order] >= 0]
        size = np.clip(6000 / max(len(points), 1), 1.5, 14)
        x, y, colours = points[known, 0], points[known, 1], palette[labels[known]] / 255
        axes.scatter(x, y, size, colours, edgecolors=RIM, linewidths=0.2, clip_on=False)
        keys, spots = [], []
        for k in present:
            name, colour = names[k] if k < len(names) else str(k), css(palette[k])
            axes.scatter([], [], color=colour, s=16, label=plain_text(name))
            keys.append(Key(name, colour))
            own = points[labels == k].tolist()
            spots.append(Spot(axes, name, [(left, left, low, low) for left, low in own]))
        axes.set_aspect("equal", adjustable="datalim")
        axes.axis("off")
        figure.legend(loc="outside lower center", ncols=across, handletextpad=0.1, columnspacing=1.0)
        return Plot(figure, "t-SNE of descriptors", keys, spots)


@process_unchanged()  # importing scikit-learn sets environment variables
def arrange(descriptors: ArrayLike, labels: ArrayLike) -> NDArray[np.float32] | None:
    """Arrange (n, d) descriptors in the plane by t-SNE: similar ones lie close together.

    Return (n, 2) points, or None if scikit-learn is missing, no descriptor has a class (the labels are
    negative), or fewer than ten differ.
    """
    rows, classes = np.asarray(descriptors, dtype=np.float64), np.asarray(labels)
    if len(rows) != len(classes):
        raise ValueError(f"{len(rows)} descriptors and {len(classes)} labels; give one label for each")
    rounded = np.round(rows / max(np.abs(rows).max(initial=0), 1e-30), 5)
    # t-SNE crashes on the descriptors of a collapsed network.
    if not (classes >= 0).any() or len(np.unique(rounded, axis=0)) < 10:
        return None
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        return None
    # Thirty principal components are much faster and nearly as good; threads would only compete.
    centred = rows - rows.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    with one_blas_thread():
        tsne = TSNE(perplexity=min(30.0, (len(rows) - 1) / 3), init="pca", max_iter=500, random_state=0)
        arranged: NDArray[np.float32] = tsne.fit_transform(centred @ axes[:, -30:]).astype(np.float32)
    return arranged


def _draw_curves(axes: Axes, curves: CurvesByName, colours: Sequence[int] | None = None) -> list[Key]:
    """Draw curves, and bands where there is a spread; return their legend."""
    numbers = list(range(len(curves)) if colours is None else colours)
    palette = categorical(max(numbers, default=0) + 1)
    keys = []
    for k, (name, (at, height, *spread)) in enumerate(curves.items()):
        at, height = np.asarray(at, dtype=np.float64), np.asarray(height, dtype=np.float64)
        colour = css(palette[numbers[k]])
        turn = k if colours is None else numbers[:k].count(numbers[k])
        dashes = _DASHES[turn % len(_DASHES)]
        mark = "o" if np.isfinite(height).sum() < 3 else None
        line = (0, dashes) if dashes else "-"
        axes.plot(at, height, color=colour, linestyle=line, marker=mark, markersize=3, label=plain_text(name))
        for half in map(np.asarray, spread):
            axes.fill_between(at, height - half, height + half, color=colour, alpha=0.18, linewidth=0)
        keys.append(Key(name, colour, dashes))
    return keys


def _curve_spots(axes: Axes, curves: CurvesByName, x: str, *, percent: bool, percent_x: bool) -> list[Spot]:
    """Return at most `_MAX_SPOTS` upright bands, each with the values of all curves there."""
    known = {
        name: (np.asarray(at, dtype=np.float64), np.asarray(height, dtype=np.float64))
        for name, (at, height, *_) in curves.items()
        if np.size(at)
    }
    if not known:
        return []
    every = np.unique(np.concatenate([at for at, _ in known.values()]))
    every = every[:: -(-len(every) // _MAX_SPOTS)]
    between = [_NAN, *((every[1:] + every[:-1]) / 2).tolist(), _NAN]
    spots = []
    for place, low, high in zip(every.tolist(), between[:-1], between[1:], strict=True):
        texts = [f"{x} {100 * place:.3g} %" if percent_x else f"{x} {place:.4g}"]
        for name, (at, height) in known.items():
            nearest = int(np.argmin(np.abs(at - place)))
            outside = at[nearest] < low or at[nearest] > high
            if not outside and np.isfinite(height[nearest]):
                texts.append(f"{name}: {_value(height[nearest], percent)}")
        spots.append(Spot(axes, "\n".join(texts), [(low, high, _NAN, _NAN)]))
    return spots


def _value(value: float, percent: bool) -> str:
    return f"{100 * value:.1f} %" if percent else f"{value:.4g}"


def _ends(name: str, values: ArrayLike, percent: bool) -> str:
    """Return the first and last value of a curve in words; empty if it has no points.

    Examples
    --------
    >>> _ends("accuracy", [np.nan, 0.25, 0.5], True)
    'accuracy from 25.0 % to 50.0 %'
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    return f"{name} from {_value(known[0], percent)} to {_value(known[-1], percent)}" if len(known) else ""


def _whole_ticks(axis: Axis) -> None:
    axis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))


def _percent_ticks(axis: Axis) -> None:
    """Write the shares at the ticks in percent, with as many digits as they need."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.6g} %"))
