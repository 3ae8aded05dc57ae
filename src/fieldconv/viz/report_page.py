"""`report.html` of a run, one page that compares several runs, and their plots for print.

What a run folder holds is listed in `fieldconv.runs.run`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import count as count_from
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv._duration import duration
from fieldconv.runs.reading import read_run
from fieldconv.runs.run import Run, RunError, epochs_of
from fieldconv.runs.trust import remarks
from fieldconv.tasks.base.evaluation import Curves
from fieldconv.tasks.base.metric import Metric, count
from fieldconv.viz import figures, page, plots
from fieldconv.viz.figures import split_history
from fieldconv.viz.page import note, section, table
from fieldconv.viz.run_shapes import shape_panels, write_shape_pictures
from fieldconv.viz.viewer import views

AnyRun = str | Path | Run

# Keys of shape records that are no numbers for the table.
_NO_COLUMNS = ("name", "note", "order")


def write_report(run: AnyRun, out: str | Path | None = None) -> Path:
    """Write a run's report: results, curves, shapes in 3-D, settings, on one page that works offline.

    Parameters
    ----------
    run : path or Run
        Run folder, or what was read of it.
    out : path, optional
        ``report.html`` in the run folder if left out.

    Raises
    ------
    RunError
        If the folder is no run, or a file in it cannot be read.
    """
    read = _read(run)
    if out is None:
        if read.folder is None:
            raise ValueError("this evaluation has no run folder; say where its report goes")
        out = read.folder / "report.html"
    return page.write(out, report(read))


def report(run: Run) -> str:
    """Return the page of a run."""
    parts = [
        page.heading(f"{_task_name(run)}: {run.name}", run.benchmark.name if run.benchmark else run.data),
        _headline(run),
        _training(run),
        _results(run),
        _shapes(run),
        _every_shape(run),
        _settings(run),
    ]
    return page.page(f"{run.name}: {run.task or 'run'}", "\n".join(filter(None, parts)), plotly=True)


def compare(runs: Sequence[AnyRun], out: str | Path) -> Path:
    """Write one page with the curves and results of several runs over each other.

    Parameters
    ----------
    runs : sequence of paths or Runs
        Run folders, or what was read of them.
    out : path
        Page to write.
    """
    if not runs:
        raise RunError("no run to report; name at least one run folder")
    if len(runs) == 1:
        return write_report(runs[0], out)
    names = _read_all(runs)
    groups = _same_but_seed(names)
    parts = [
        page.heading(f"Comparison of {len(names)} runs", ", ".join(names)),
        _metrics_side_by_side(groups),
        _training_side_by_side(groups),
        _results_side_by_side(groups),
        _differences(groups),
    ]
    html = page.page("Comparison of runs", "\n".join(filter(None, parts)), viewer=False, plotly=True)
    return page.write(out, html)


def write_figures(runs: Sequence[AnyRun], folder: str | Path) -> list[Path]:
    """Write the plots of one run, or of several over each other, as PNG and PDF for print.

    Of a single run also pictures of its worst and best test shapes, as PNG. Parameters are those of
    `compare`; ``folder`` is where the files go. Return them.
    """
    names = _read_all(runs)
    made: dict[str, Any] = {}
    if len(names) == 1:
        [run] = names.values()
        if run.history:
            made["training"] = figures.training_curves(run.history, run.known_metrics)
        if (matrix := run.confusion()) is not None:
            made["confusion"] = figures.confusion_matrix(*matrix)
        if (parts := run.parts()) is not None:
            made["iou"] = figures.iou_bars(*parts)
        if run.descriptors is not None:
            made["descriptors"] = figures.scatter(*run.descriptors, run.class_names)
    else:
        for key, (y, percent) in _shared_columns(names).items():
            logged = {n: (epochs_of(r.history), r.history[key]) for n, r in names.items() if key in r.history}
            made[f"training_{key}"] = figures.lines(logged, x="epoch", y=y, percent=percent)
    for place, (texts, curves) in enumerate(_curves(names).items()):
        pairs = {name: (rows[:, 0], rows[:, 1]) for name, rows in curves.items()}
        limits = (None, (0.0, 1.01) if _are_shares(curves) else None)
        drawn = figures.lines(
            pairs,
            **texts.axes,
            limits=limits,
        )
        made[f"curves_{place + 1}" if place else "curves"] = drawn
    written = [
        path for name, figure in made.items() for path in figures.save_figure(figure, Path(folder) / name)
    ]
    return written + (write_shape_pictures(run, folder) if len(names) == 1 else [])


# --- one run


def _task_name(run: Run) -> str:
    return (run.task or "run").replace("_", " ").capitalize()


def _headline(run: Run) -> str:
    """The main numbers, and the published ones beside them."""
    if not run.metrics:
        return note("This run has not been evaluated: there are no results on test shapes yet.")
    main, *_ = run.metrics
    cards = "".join(_card(run, key, main=key == main) for key in run.metrics)
    notes = "".join(note(text) for text in remarks(run))
    return section("Results", f'<div class="cards">{cards}</div>{notes}{_published(run)}', _measured_on(run))


def _card(run: Run, key: str, *, main: bool) -> str:
    """A number with its interval and what guessing would reach."""
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
    """Say how much was tested, and what the intervals are."""
    told = run.evaluation.measured_on()
    below = []
    if any(run.interval(key) is not None for key in run.metrics):
        below.append("its 95 % interval over shapes like these")
    if any(run.guess(key) is not None for key in run.metrics):
        below.append("what guessing reaches")
    return f"{told} Below a number: {' and '.join(below)}." if told and below else told


def _published(run: Run) -> str:
    benchmark = run.benchmark
    if benchmark is None:
        return ""
    caption = f'<p class="caption">{escape(benchmark.name)}: {escape(benchmark.source)}.</p>'
    if not benchmark.results:
        return caption
    own = run.metrics.get(benchmark.metric)
    rows = [*benchmark.results, *([] if own is None else [("This run", own)])]
    drawn = plots.ranking(rows, "This run", run.metric(benchmark.metric))
    return f"<h3>Beside published results</h3>{drawn}{caption}"


def _training(run: Run) -> str:
    if not run.history:
        return ""
    epochs = epochs_of(run.history)
    drawn = []
    for keys, y in zip(
        split_history(run.history, run.known_metrics), ("loss", "share", "score"), strict=True
    ):
        if keys:
            curves = {run.metric(key).label: (epochs, run.history[key]) for key in keys}
            title = next(iter(curves)) if len(curves) == 1 else y
            drawn.append(plots.lines(curves, x="epoch", y=title, percent=y == "share", whole=True))
    seconds = run.history.get("seconds")
    spent = (
        "" if seconds is None else f"{count(len(seconds), 'epoch')}, {duration(float(np.nansum(seconds)))}"
    )
    return section("Training", _side_by_side(drawn), spent) if drawn else ""


def _results(run: Run) -> str:
    sections = []
    parts, matrix = run.parts(), run.confusion()
    if parts is not None:
        iou, names, numbers = parts
        both = [plots.bars({"IoU": iou}, names, x="intersection over union", colours=numbers)]
        both += [] if matrix is None else [plots.confusion(*matrix)]
        sections.append(section("Parts", _side_by_side(both), "Confusion in percent of each true part."))
    elif matrix is not None:
        sections.append(section("Confusion", plots.confusion(*matrix), "In percent of each true class."))
    sections += [_curve_section(texts, curves) for texts, curves in _curves({run.name: run}).items()]
    if run.descriptors is not None:
        drawn = plots.scatter(*run.descriptors, run.class_names)
        caption = (
            "t-SNE of the network's descriptors of points on these shapes, coloured by their true class."
        )
        sections.append(section("Descriptors", drawn, caption))
    return "".join(sections)


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
        given = {key: value for shape in shapes for key, value in shape.items() if key not in _NO_COLUMNS}
        keys = [
            key for key, value in given.items() if not isinstance(value, list | tuple | dict | np.ndarray)
        ]
        header = ["shape", *(run.metric(key).label for key in keys)]
        rows = [
            [str(shape.get("name")), *(_cell(run, key, shape.get(key)) for key in keys)] for shape in shapes
        ]
    one, several = f"The {run.evaluation.unit}", f"All {count(len(shapes), run.evaluation.unit)}, worst first"
    return _folded(one if len(shapes) == 1 else several, table(header, rows))


def _cell(run: Run, key: str, value: Any) -> str:
    if value is None or isinstance(value, float | np.floating):
        return run.metric(key).text(None if value is None else float(value))
    return str(value)


def _settings(run: Run) -> str:
    if not run.settings:
        return ""
    rows = [[key, value] for key, value in run.settings.items()]
    return _folded("Settings", table(["setting", "value"], rows))


# --- several runs


def _read(run: AnyRun) -> Run:
    return run if isinstance(run, Run) else read_run(run)


def _read_all(runs: Sequence[AnyRun]) -> dict[str, Run]:
    """Read runs, by names that tell them apart."""
    read = [_read(run) for run in runs]
    return dict(zip(_distinct(read), read, strict=True))


def _same_but_seed(runs: Mapping[str, Run]) -> list[dict[str, Run]]:
    """Return groups of runs that differ in nothing but their seed, best group and best run first."""
    groups: dict[str, dict[str, Run]] = {}
    for name, run in runs.items():
        same = {key: value for key, value in run.settings.items() if key.split(".")[-1] != "seed"}
        groups.setdefault(json.dumps([run.task, same], sort_keys=True), {})[name] = run
    tasks = list(dict.fromkeys(run.task for run in runs.values()))
    ordered = [
        dict(sorted(group.items(), key=lambda item: _main_goodness([item[1]]))) for group in groups.values()
    ]

    def place(group: dict[str, Run]) -> tuple[int, float]:
        own = list(group.values())
        return tasks.index(own[0].task), _main_goodness(own)

    return sorted(ordered, key=place)


def _main_goodness(runs: Sequence[Run]) -> float:
    """Return a number that is smaller the better the mean of the runs' most important metric is."""
    key = next(iter(runs[0].metrics), None)
    if key is None:
        return math.inf
    return -runs[0].metric(key).goodness(float(np.mean([run.metrics.get(key, np.nan) for run in runs])))


def _metrics_side_by_side(groups: Sequence[Mapping[str, Run]]) -> str:
    """Tables of results, best first: of settings over their seeds, and of each run."""
    runs = {name: run for group in groups for name, run in group.items()}
    metrics = {key: run.metric(key) for run in runs.values() for key in run.metrics}
    if not metrics:
        return note("None of these runs has been evaluated.")
    tasks = list(dict.fromkeys(run.task for run in runs.values()))
    best_first = sorted(runs.items(), key=lambda item: (tasks.index(item[1].task), _main_goodness([item[1]])))
    each = _results_table({name: [run] for name, run in best_first}, metrics)
    told = "".join(note(text) for text in _told_of_all(runs))
    if len(groups) == len(runs):
        return section("Results", each + told, "Best first; the best of each column is bold.")
    over_seeds = _results_table({_group_name(group): list(group.values()) for group in groups}, metrics)
    caption = "Mean ± standard deviation over runs that differ in their seed only; best first."
    return section("Results", over_seeds + told + "<h3>Each run</h3>" + each, caption)


def _told_of_all(runs: Mapping[str, Run]) -> list[str]:
    """Return on how much the runs were measured, and what readers should know of their numbers, once each."""
    amounts = {name: run.evaluation.measured_on() for name, run in runs.items() if run.shapes}
    if len(set(amounts.values())) == 1:
        first, *_ = amounts.values()
        told = [first.replace("Measured on", "Each measured on", 1)]
    else:
        told = [f"{name}: {text[0].lower()}{text[1:]}" for name, text in amounts.items()]
        told += ["The runs were tested on different shapes: differences may come from those."] if told else []
    guesses = {
        f"Guessing ({how}) reaches {run.metric(key).text(value)} ({run.metric(key).label})."
        for run in runs.values()
        for key in list(run.metrics)[:1]
        if (guess := run.guess(key)) is not None
        for how, value in [guess]
    }
    told += sorted(guesses)
    said: dict[str, list[str]] = {}
    for name, run in runs.items():
        for text in remarks(run, guessing=False):
            said.setdefault(text, []).append(name)
    for text, names in said.items():
        told.append(text if len(names) == len(runs) else f"{', '.join(names)}: {text[0].lower()}{text[1:]}")
    return told


def _results_table(rows: Mapping[str, Sequence[Run]], metrics: Mapping[str, Metric]) -> str:
    """A table of metrics, with mean and standard deviation where a row has several runs."""
    several = any(len(runs) > 1 for runs in rows.values())
    tasks = len({run.task for runs in rows.values() for run in runs}) > 1
    cells, means = [], []
    for name, runs in rows.items():
        row = [name, *([runs[0].task] if tasks else []), *([str(len(runs))] if several else [])]
        values = {key: [run.metrics[key] for run in runs if key in run.metrics] for key in metrics}
        means.append({key: float(np.mean(found)) for key, found in values.items() if found})
        for key, metric in metrics.items():
            found = values[key]
            if len(found) > 1:
                row.append(metric.text_with_spread(float(np.mean(found)), float(np.std(found, ddof=1))))
            else:
                row.append(metric.text(found[0] if found else None))
        cells.append(row)
    columns = ["run", *(["task"] if tasks else []), *(["runs"] if several else [])]
    header = [*columns, *(metric.label for metric in metrics.values())]
    first = len(header) - len(metrics)
    marked = set()
    for column, (key, metric) in enumerate(metrics.items(), start=first):
        known = [metric.goodness(own.get(key)) for own in means]
        if metric.better is not None and len(set(known)) > 1:
            marked |= {(row, column) for row, value in enumerate(known) if value == max(known)}
    return f'<div class="scroll results">{table(header, cells, marked=marked)}</div>'


def _group_name(group: Mapping[str, Run]) -> str:
    """Return the name of a run, or of several that differ in their seed only."""
    first, *others = group
    return first if not others else f"{first} and {count(len(others), 'other seed')}"


def _training_side_by_side(groups: Sequence[Mapping[str, Run]]) -> str:
    runs = {name: run for group in groups for name, run in group.items()}
    colour_of = {name: k for k, group in enumerate(groups) for name in group}
    drawn = []
    for key, (y, percent) in _shared_columns(runs).items():
        logged = {n: (epochs_of(r.history), r.history[key]) for n, r in runs.items() if key in r.history}
        colours = [colour_of[name] for name in logged]
        drawn.append(plots.lines(logged, x="epoch", y=y, percent=percent, whole=True, colours=colours))
    caption = "Runs that differ in their seed only share a colour." if len(groups) < len(runs) else ""
    return section("Training", _side_by_side(drawn), caption) if drawn else ""


def _results_side_by_side(groups: Sequence[Mapping[str, Run]]) -> str:
    """Parts, as means over seeds, and curves of every run in the colour of its group."""
    sections = []
    found = {_group_name(group): [run.parts() for run in group.values()] for group in groups}
    parts = {name: [own for own in runs if own is not None] for name, runs in found.items()}
    named = [names for runs in parts.values() for _, names, _ in runs]
    if named and all(names == named[0] for names in named):
        values = {name: np.mean([iou for iou, _, _ in own], axis=0) for name, own in parts.items() if own}
        caption = "Means over seeds." if any(len(own) > 1 for own in parts.values()) else ""
        drawn = plots.bars(values, named[0], x="intersection over union")
        sections.append(section("Parts", drawn, caption))
    runs = {name: run for group in groups for name, run in group.items()}
    colour_of = {name: place for place, group in enumerate(groups) for name in group}
    sections += [_curve_section(texts, curves, colour_of) for texts, curves in _curves(runs).items()]
    return "".join(sections)


def _differences(groups: Sequence[Mapping[str, Run]]) -> str:
    """Settings that are not the same in all runs, seeds apart where several were run."""
    seeds = any(len(group) > 1 for group in groups)
    columns = {_group_name(group): next(iter(group.values())).settings for group in groups}
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


def _curves(runs: Mapping[str, Run]) -> dict[Curves, dict[str, Any]]:
    """Return the curves of runs by what they show; of several runs each baseline, the same in all, once."""
    found: dict[Curves, dict[str, Any]] = {}
    others: dict[Curves, dict[str, Any]] = {}
    for name, run in runs.items():
        for place, (curve, rows) in enumerate(run.curves.items()):
            if place == 0:
                found.setdefault(run.curve_texts, {})[curve if len(runs) == 1 else name] = rows
            else:
                others.setdefault(run.curve_texts, {}).setdefault(curve, rows)
    return {texts: {**curves, **others.get(texts, {})} for texts, curves in found.items()}


def _are_shares(curves: Mapping[str, Any]) -> bool:
    return all(np.nanmin(rows[:, 1]) >= 0 and np.nanmax(rows[:, 1]) <= 1 for rows in curves.values())


def _shared_columns(runs: Mapping[str, Run]) -> dict[str, tuple[str, bool]]:
    """Return what at least two runs have logged: its name for people, and whether it is in percent."""
    seen: dict[str, list[tuple[str, bool]]] = {}
    for run in runs.values():
        losses, shares, others = split_history(run.history, run.known_metrics)
        for key in (*losses, *shares, *others):
            seen.setdefault(key, []).append((run.metric(key).label, key in shares))
    return {
        key: (found[0][0], all(percent for _, percent in found))
        for key, found in seen.items()
        if len(found) > 1
    }


def _distinct(runs: Sequence[Run]) -> list[str]:
    """Return names of the runs; folders of the same name are told apart by what is above them."""
    own = [run.name for run in runs]
    names = [
        f"{run.folder.resolve().parent.name}/{run.name}"
        if run.folder and own.count(run.name) > 1
        else run.name
        for run in runs
    ]
    return [name if names.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(names)]


# --- pieces of HTML; everything that comes from files is escaped here


def _curve_section(
    texts: Curves, curves: Mapping[str, Any], colour_of: Mapping[str, int] | None = None
) -> str:
    """A plot of curves; those of runs in the colours of their group, baselines in further ones."""
    pairs = {name: (rows[:, 0], rows[:, 1]) for name, rows in curves.items()}
    limits = (0, 1.02) if _are_shares(curves) else None
    colours = None
    if colour_of is not None:
        further = count_from(max(colour_of.values()) + 1)
        colours = [colour_of[name] if name in colour_of else next(further) for name in pairs]
    drawn = plots.lines(
        pairs,
        **texts.axes,
        limits=limits,
        colours=colours,
    )
    return section(texts.title, drawn, texts.caption)


def _folded(title: str, inside: str) -> str:
    head = f"<summary>{escape(title)}</summary>"
    return f'<details class="long">{head}<div class="scroll">{inside}</div></details>'


def _side_by_side(parts: Sequence[str]) -> str:
    return f'<div class="row">{"".join(f"<div>{part}</div>" for part in parts)}</div>'
