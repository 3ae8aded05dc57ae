"""The page about one run or several, and their plots for print; `fieldconv.runs.run` lists their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import count as count_from
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Array
from fieldconv._duration import duration
from fieldconv.runs.files import read_run
from fieldconv.runs.groups import Difference, RunGroup, group_by_seed
from fieldconv.runs.run import Run, RunError, epochs_of, remarks
from fieldconv.tasks.base.evaluation import Curves
from fieldconv.tasks.base.metric import Metric, count
from fieldconv.viz import figures, page
from fieldconv.viz.figures import CurvesByName
from fieldconv.viz.page import note, section, table
from fieldconv.viz.plot import COLUMN, SCREEN, Plot
from fieldconv.viz.run_shapes import shape_panels, write_shape_pictures
from fieldconv.viz.viewer import views

RunFolder = str | Path | Run

MAX_CHANCE = 0.05  # of a difference that is marked
_MAX_NAMED_RUNS = 4  # of runs that tested different shapes, to name each
_TEST = (
    "Mean over the test shapes that both were tested on, each averaged over seeds, and the chance of a "
    "difference at least as large if the two did equally well: paired randomisation test (random signs of "
    "the shapes' differences, two-sided), with Holm's correction for all pairs. Bold: below 0.05."
)
# Keys of shape records that are not columns of the table.
_NO_COLUMNS = ("name", "note", "order")


def write_report(runs: RunFolder | Sequence[RunFolder], out: str | Path | None = None) -> Path:
    """Write a page that works offline about one run, or about several side by side.

    Of one run it has results, curves, shapes in 3-D and settings; of several their results and curves
    together, and the settings that differ. Runs that differ in their seed only are taken together. Raise
    RunError if a folder is no run, or a file in it cannot be read.

    Parameters
    ----------
    runs : path, Run or a sequence of them
        Run folders, or what `read_run` returns.
    out : path, optional
        Page to write; if left out ``report.html`` in the folder of a single run, ``compare.html`` here for
        several.

    Returns
    -------
    Path
        The page.
    """
    groups = _read_groups(runs)
    run = _single_run(groups)
    if run is not None:
        if out is None:
            if run.folder is None:
                raise ValueError("this evaluation has no run folder; say where its report goes")
            out = run.folder / "report.html"
        return page.write(out, report(run))
    names = [name for group in groups for name in group.named_runs]
    heading = f"Comparison of {len(names)} runs"
    html = groups_page(groups, title="Comparison of runs", heading=heading, caption=", ".join(names))
    return page.write(out or "compare.html", html)


def report(run: Run) -> str:
    """Return the page of a run."""
    about = run.benchmark.name if run.benchmark else run.data
    task = (run.task or "run").replace("_", " ").capitalize()
    title = f"{run.name}: {run.task or 'run'}"
    return groups_page(group_by_seed([run]), title=title, heading=f"{task}: {run.name}", caption=about)


def groups_page(
    groups: Sequence[RunGroup],
    *,
    title: str,
    heading: str = "",
    caption: str = "",
    differences: Sequence[Difference] = (),
    failed: Mapping[str, str] | None = None,
) -> str:
    """Return the page about groups of runs, the best first; ``failed`` names unfinished runs, and the reason.

    The heading is the title if left out.
    """
    run = _single_run(groups)
    parts = [
        page.heading(heading or title, caption),
        _side_by_side_results(groups) if run is None else _headline(run),
        *(note(f"{name} was not finished: {why}") for name, why in (failed or {}).items()),
        _differences(groups, differences),
        _training(groups),
        _parts(groups),
        *(section(about.title, plot.html(), about.caption) for about, plot in _curve_plots(groups, SCREEN)),
    ]
    if run is None:
        parts.append(_settings_that_differ(groups))
    else:
        parts += [_descriptors(run), _shapes(run), _every_shape(run), _settings(run)]
    return page.page(title, "\n".join(filter(None, parts)), viewer=run is not None)


def write_figures(runs: RunFolder | Sequence[RunFolder], folder: str | Path) -> list[Path]:
    """Write the plots of one run, or of several over each other, as PNG and PDF for print; return the files.

    Of a single run also pictures of its worst and best test shapes, as PNG.
    """
    return write_group_figures(_read_groups(runs), folder)


def write_group_figures(groups: Sequence[RunGroup], folder: str | Path) -> list[Path]:
    """Write the plots of groups of runs as PNG and PDF for print, with a band of one deviation over seeds."""
    plots: dict[str, Plot] = {}
    run = _single_run(groups)
    if run is not None:
        if run.history:
            plots["training"] = figures.training_curves(run.history, run.known_metrics)
        if (matrix := run.confusion()) is not None:
            plots["confusion"] = figures.confusion_matrix(*matrix)
        if (parts := run.parts()) is not None:
            plots["iou"] = figures.bars({"IoU": parts[0]}, parts[1], classes=parts[2])
        if run.descriptors is not None:
            plots["descriptors"] = figures.scatter(*run.descriptors, run.class_names)
    else:
        for key, (y, percent) in _shared_columns(groups).items():
            logged = [group for group in groups if any(key in run.history for run in group.runs.values())]
            curves = {group.name: _with_band(group.over_epochs(key)) for group in logged}
            plots[f"training_{key}"] = figures.lines(curves, x="epoch", y=y, percent=percent, whole=True)
    for place, (_, plot) in enumerate(_curve_plots(groups, COLUMN)):
        plots[f"curves_{place + 1}" if place else "curves"] = plot
    written = [path for name, plot in plots.items() for path in plot.save(Path(folder) / name)]
    return written if run is None else written + write_shape_pictures(run, folder)


def _read_groups(runs: RunFolder | Sequence[RunFolder]) -> list[RunGroup]:
    """Read run folders and group the runs by seed."""
    folders = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    if not folders:
        raise RunError("no run to report; name at least one run folder")
    return group_by_seed([run if isinstance(run, Run) else read_run(run) for run in folders])


def _single_run(groups: Sequence[RunGroup]) -> Run | None:
    """Return the run, if there is only one."""
    return groups[0].first if len(groups) == 1 and len(groups[0].runs) == 1 else None


# --- results


def _headline(run: Run) -> str:
    """Return the section of the metrics, with published results."""
    if not run.metrics:
        return note("This run has not been evaluated: there are no results on test shapes yet.")
    main, *_ = run.metrics
    cards = "".join(_card(run, key, main=key == main) for key in run.metrics)
    notes = "".join(note(text) for text in remarks(run))
    return section(
        "Results", f'<div class="cards">{cards}</div>{notes}{_published_results(run)}', _measured_on(run)
    )


def _card(run: Run, key: str, *, main: bool) -> str:
    """Return a metric with its interval and the result of guessing."""
    metric, value = run.metric(key), run.metrics[key]
    interval, guess = run.interval(key), run.guess(key)
    below = [] if interval is None else [f"{metric.text(interval[0])} to {metric.text(interval[1])}"]
    below += [] if guess is None else [f"{guess[0]}: {metric.text(guess[1])}"]
    lines = "".join(f"<small>{escape(line)}</small>" for line in below)
    return (
        f'<div class="card{" main" if main else ""}"><span>{escape(metric.label)}</span>'
        f"<strong>{metric.text(value)}</strong>{lines}</div>"
    )


def _measured_on(run: Run) -> str:
    """Return the number of tested shapes, and what the small numbers are."""
    amount = run.evaluation.measured_on()
    below = []
    if any(run.interval(key) is not None for key in run.metrics):
        below.append("its 95 % interval over shapes like these")
    if any(run.guess(key) is not None for key in run.metrics):
        below.append("what guessing reaches")
    return f"{amount} Below a number: {' and '.join(below)}." if amount and below else amount


def _published_results(run: Run) -> str:
    benchmark = run.benchmark
    if benchmark is None:
        return ""
    caption = page.caption(f"{benchmark.name}: {benchmark.source}.")
    if not benchmark.results:
        return caption
    own = run.metrics.get(benchmark.metric)
    rows = [*benchmark.results, *([] if own is None else [("This run", own)])]
    plot = figures.ranking(rows, "This run", run.metric(benchmark.metric))
    return f"<h3>Beside published results</h3>{plot.html()}{caption}"


def _side_by_side_results(groups: Sequence[RunGroup]) -> str:
    """Return tables of results, best first: of groups over their seeds, and of each run."""
    runs = _named_runs(groups)
    metrics = {key: run.metric(key) for run in runs.values() for key in run.metrics}
    if not metrics:
        return note("None of these runs has been evaluated.")
    notes = "".join(note(text) for text in _notes(runs, groups))
    over_seeds = _results_table(groups, metrics)
    if all(len(group.runs) == 1 for group in groups):
        return section("Results", over_seeds + notes, "Best first; the best of each column is bold.")
    tasks = list(dict.fromkeys(run.task for run in runs.values()))
    each = [RunGroup(name, {0: run}) for name, run in runs.items()]
    each.sort(key=lambda group: (tasks.index(group.first.task), -group.goodness))
    caption = "Mean ± standard deviation over runs that differ in their seed only; best first."
    return section("Results", f"{over_seeds}{notes}<h3>Each run</h3>{_results_table(each, metrics)}", caption)


def _named_runs(groups: Sequence[RunGroup]) -> dict[str, Run]:
    return {name: run for group in groups for name, run in group.named_runs.items()}


def _results_table(groups: Sequence[RunGroup], metrics: Mapping[str, Metric]) -> str:
    """Return a table of metrics, with mean and standard deviation if a row has several runs."""
    columns = [("run", [group.name for group in groups])]
    if len({group.first.task for group in groups}) > 1:
        columns.append(("task", [group.first.task for group in groups]))
    if any(len(group.runs) > 1 for group in groups):
        columns.append(("runs", [str(len(group.runs)) for group in groups]))
    marked = set()
    for key, metric in metrics.items():
        goodness = [metric.goodness(group.mean(key)) for group in groups]
        if metric.better is not None and len(set(goodness)) > 1:
            marked |= {(row, len(columns)) for row, good in enumerate(goodness) if good == max(goodness)}
        columns.append((metric.label, [group.text(key) for group in groups]))
    for fact in dict.fromkeys(fact for group in groups for fact in group.facts):
        columns.append((fact, [group.facts.get(fact, "–") for group in groups]))
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    return f'<div class="scroll results">{table([name for name, _ in columns], rows, marked=marked)}</div>'


def _notes(runs: Mapping[str, Run], groups: Sequence[RunGroup]) -> list[str]:
    """Return the numbers of tested shapes and remarks on the runs, each once."""
    amounts = {name: run.evaluation.measured_on() for name, run in runs.items() if run.shapes}
    notes = []
    if len(set(amounts.values())) == 1:
        first, *_ = amounts.values()
        notes.append(first.replace("Measured on", "Each measured on", 1))
    elif len(amounts) <= _MAX_NAMED_RUNS:
        notes += [f"{name}: {text[0].lower()}{text[1:]}" for name, text in amounts.items()]
    tested = {
        frozenset(run.evaluation.amount() for run in group.runs.values() if run.shapes) for group in groups
    }
    if len(tested - {frozenset()}) > 1:
        notes.append("The runs were tested on different shapes: differences may come from those.")
    guesses = set()
    for run in runs.values():
        for key in list(run.metrics)[:1]:
            if (guess := run.guess(key)) is not None:
                how, reached = guess[0], run.metric(key).text(guess[1])
                guesses.add(f"Guessing ({how}) reaches {reached} ({run.metric(key).label}).")
    notes += sorted(guesses)
    names_of: dict[str, list[str]] = {}
    for name, run in runs.items():
        for text in remarks(run, guessing=False):
            names_of.setdefault(text, []).append(name)
    for text, names in names_of.items():
        notes.append(text if len(names) == len(runs) else f"{', '.join(names)}: {text[0].lower()}{text[1:]}")
    return notes


def _differences(groups: Sequence[RunGroup], differences: Sequence[Difference]) -> str:
    """Return the differences between every two groups on the same shapes."""
    run = groups[0].first
    key = run.rank_by or next(iter(run.metrics), None)
    if not differences or key is None:
        return ""
    metric = run.metric(key)
    rows, marked = [], set()
    for row, pair in enumerate(differences):
        size = f"{100 * pair.mean:+.1f} points" if metric.style == "percent" else f"{pair.mean:+.4g}"
        chance = "< 0.001" if pair.chance < 0.001 else f"{pair.chance:.3f}"
        rows.append([f"{pair.one} − {pair.other}", size, str(pair.shapes), chance])
        if pair.chance < MAX_CHANCE:
            marked.add((row, 3))
    inside = table(["pair", f"difference of {metric.label}", "shapes", "chance"], rows, marked=marked)
    return section("Differences", f'<div class="scroll">{inside}</div>', _TEST)


# --- curves


def _training(groups: Sequence[RunGroup]) -> str:
    """Return plots over epochs: the columns of one run by kind, or each column that several runs have."""
    run, plots, caption = _single_run(groups), [], ""
    if run is not None:
        epochs = epochs_of(run.history)
        for kind, keys in figures.split_history(run.history, run.known_metrics).items():
            curves: CurvesByName = {run.metric(key).label: (epochs, run.history[key]) for key in keys}
            if keys:
                title = next(iter(curves)) if len(curves) == 1 else kind
                plots.append(_over_epochs(curves, title, percent=kind == "share"))
        if (seconds := run.history.get("seconds")) is not None:
            caption = f"{count(len(seconds), 'epoch')}, {duration(float(np.nansum(seconds)))}"
    else:
        runs = [
            (k, name, run.history) for k, group in enumerate(groups) for name, run in group.named_runs.items()
        ]
        for key, (y, percent) in _shared_columns(groups).items():
            logged = [(k, name, log) for k, name, log in runs if key in log]
            curves = {name: (epochs_of(log), log[key]) for _, name, log in logged}
            plots.append(_over_epochs(curves, y, percent=percent, colours=[k for k, _, _ in logged]))
        if len(groups) < len(runs):
            caption = "Runs that differ in their seed only share a colour."
    return section("Training", _side_by_side(plots), caption) if plots else ""


def _over_epochs(curves: CurvesByName, y: str, *, percent: bool, colours: Sequence[int] | None = None) -> str:
    plot = figures.lines(curves, x="epoch", y=y, percent=percent, whole=True, colours=colours, width=SCREEN)
    return plot.html()


def _shared_columns(groups: Sequence[RunGroup]) -> dict[str, tuple[str, bool]]:
    """Return the columns that at least two runs have: the label, and whether it is in percent."""
    columns: dict[str, list[tuple[str, bool]]] = {}
    for run in _named_runs(groups).values():
        for kind, keys in figures.split_history(run.history, run.known_metrics).items():
            for key in keys:
                columns.setdefault(key, []).append((run.metric(key).label, kind == "share"))
    return {
        key: (logged[0][0], all(percent for _, percent in logged))
        for key, logged in columns.items()
        if len(logged) > 1
    }


def _parts(groups: Sequence[RunGroup]) -> str:
    """Return the intersection over union of each part, and the confusion matrix of a single run."""
    run = _single_run(groups)
    matrix = None if run is None else run.confusion()
    confusion = [] if matrix is None else [figures.confusion_matrix(*matrix).html()]
    parts_of = {group.name: parts for group in groups if (parts := group.parts()) is not None}
    if not parts_of:
        return section("Confusion", confusion[0], "In percent of each true class.") if confusion else ""
    _, names, numbers = next(iter(parts_of.values()))
    if any(own != names for _, own, _ in parts_of.values()):
        return ""
    iou = {name: iou for name, (iou, _, _) in parts_of.items()}
    bars = figures.bars(iou, names, classes=numbers, width=SCREEN).html()
    if run is not None:
        return section("Parts", _side_by_side([bars, *confusion]), "Confusion in percent of each true part.")
    several = any(len(group.runs) > 1 for group in groups)
    return section("Parts", bars, "Means over seeds." if several else "")


def _curve_plots(groups: Sequence[RunGroup], width: float) -> list[tuple[Curves, Plot]]:
    """Return plots of the runs' curves, one for each meaning; baselines are drawn once for all runs.

    The curve of a group is the mean over its seeds, with a band of one standard deviation.
    """
    plotted: dict[Curves, dict[str, tuple[ArrayLike, ...]]] = {}
    numbers: dict[str, int] = {}
    for k, group in enumerate(groups):
        own = plotted.setdefault(group.first.curve_texts, {}) if group.first.curves else {}
        if (curve := group.curve()) is not None:
            name = next(iter(group.first.curves)) if _single_run(groups) else group.name
            own[name] = _with_band(curve)
            numbers[name] = k
        elif group.first.curves:  # curves at different x have no mean
            for name, run in group.named_runs.items():
                if run.curves:
                    own[name] = tuple(next(iter(run.curves.values())).T)
                    numbers[name] = k
    for group in groups:
        for name, rows in group.baselines().items():
            plotted[group.first.curve_texts].setdefault(name, tuple(rows.T))
    plots = []
    for texts, curves in plotted.items():
        further = count_from(len(groups))
        colours = [numbers[name] if name in numbers else next(further) for name in curves]
        limits = (0.0, 1.01) if _are_shares(curves) else None
        plot = figures.lines(curves, **texts.axes, y_limits=limits, colours=colours, width=width)
        plots.append((texts, plot))
    return plots


def _with_band(rows: Array) -> tuple[ArrayLike, ...]:
    """Return x, y and, if there is any, the spread of a (k, 3) curve."""
    at, height, spread = rows.T
    return (at, height, spread) if spread.any() else (at, height)


def _are_shares(curves: CurvesByName) -> bool:
    heights = [np.asarray(curve[1], dtype=np.float64) for curve in curves.values()]
    return all(np.nanmin(own) >= 0 and np.nanmax(own) <= 1 for own in heights)


# --- one run


def _descriptors(run: Run) -> str:
    if run.descriptors is None:
        return ""
    plot = figures.scatter(*run.descriptors, run.class_names, width=SCREEN)
    caption = "t-SNE of the network's descriptors of points on these shapes, coloured by their true class."
    return section("Descriptors", plot.html(), caption)


def _shapes(run: Run) -> str:
    panels = shape_panels(run)
    if not panels:
        return ""
    columns = min(len(panels), 4)
    inside = views(panels, up=run.up, columns=columns, height="clamp(280px, 44vh, 440px)")
    return section("Shapes", inside, run.shapes_caption)


def _every_shape(run: Run) -> str:
    shapes = sorted(run.shapes, key=run.goodness)
    if not shapes:
        return ""
    if any(shape.get("note") or "predicted" in shape for shape in shapes):
        header = ["shape", "result"]
        rows = [[str(shape.get("name")), run.describe(shape)] for shape in shapes]
    else:
        known = {key: value for shape in shapes for key, value in shape.items() if key not in _NO_COLUMNS}
        lists = (list, tuple, dict, np.ndarray)
        metrics = {key: run.metric(key) for key, value in known.items() if not isinstance(value, lists)}
        header = ["shape", *(metric.label for metric in metrics.values())]
        rows = [
            [str(shape.get("name")), *(_cell(metric, shape.get(key)) for key, metric in metrics.items())]
            for shape in shapes
        ]
    one, several = f"The {run.evaluation.unit}", f"All {count(len(shapes), run.evaluation.unit)}, worst first"
    return _details(one if len(shapes) == 1 else several, table(header, rows))


def _cell(metric: Metric, value: object) -> str:
    if value is None or isinstance(value, float | np.floating):
        return metric.text(None if value is None else float(value))
    return str(value)


# --- settings


def _settings(run: Run) -> str:
    if not run.settings:
        return ""
    rows = [[key, value] for key, value in run.settings.items()]
    return _details("Settings", table(["setting", "value"], rows))


def _settings_that_differ(groups: Sequence[RunGroup]) -> str:
    """Return the settings that differ between groups, without the seed if a group has several."""
    seeds = any(len(group.runs) > 1 for group in groups)
    columns = {group.name: group.first.settings for group in groups}
    keys = dict.fromkeys(key for settings in columns.values() for key in settings)
    rows = [
        [key, *(settings.get(key, "–") for settings in columns.values())]
        for key in keys
        if len({settings.get(key) for settings in columns.values()}) > 1
        and not (seeds and key.split(".")[-1] == "seed")
    ]
    if not rows:
        return note("These runs have the same settings" + (" but for their seed." if seeds else "."))
    inside = f'<div class="scroll">{table(["setting", *columns], rows)}</div>'
    return section("Settings that differ", inside)


# --- pieces of HTML


def _details(title: str, inside: str) -> str:
    head = f"<summary>{escape(title)}</summary>"
    return f'<details class="long">{head}<div class="scroll">{inside}</div></details>'


def _side_by_side(parts: Sequence[str]) -> str:
    return f'<div class="row">{"".join(f"<div>{part}</div>" for part in parts)}</div>'
