"""`report.html` of a run, one page that compares several runs, and their plots for print.

What is read is listed in `fieldconv.viz.run_folder`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv.viz import figures, page, plots
from fieldconv.viz.figures import epochs_of, split_history
from fieldconv.viz.page import section
from fieldconv.viz.run_folder import CurveTexts, Run, RunError, read_run, shape_panels
from fieldconv.viz.viewer import views

Description = Mapping[str, Any] | None

# Keys of shape records that are no numbers for the table.
_NO_COLUMNS = ("name", "note", "order")
# Parts of config.json that say nothing about how the run was made.
_NO_SETTINGS = ("class_names", "metrics", "benchmark")


def write_report(run: str | Path, out: str | Path | None = None, *, description: Description = None) -> Path:
    """Write a run's report: results, curves, shapes in 3-D, settings, on one page that works offline.

    Parameters
    ----------
    run : path
        Run folder.
    out : path, optional
        ``report.html`` in the run folder if left out.
    description : dict, optional
        How to read the evaluation of a run of version 0.1.0, whose folder does not say (`read_run`).

    Raises
    ------
    RunError
        If the folder is no run, or a file in it cannot be read.
    """
    read = read_run(run, description=description)
    parts = [
        page.heading(
            f"{_task_name(read)}: {read.name}", read.benchmark.name if read.benchmark else read.data
        ),
        _headline(read),
        _training(read),
        _results(read),
        _shapes(read),
        _every_shape(read),
        _settings(read.config),
    ]
    title = f"{read.name}: {read.task or 'run'}"
    html = page.page(title, "\n".join(filter(None, parts)), plotly=True)
    return page.write(out or Path(run) / "report.html", html)


def compare(
    runs: Sequence[str | Path], out: str | Path, *, descriptions: Sequence[Description] | None = None
) -> Path:
    """Write one page with the curves and results of several runs over each other.

    Parameters
    ----------
    runs : sequence of paths
        Run folders.
    out : path
        Page to write.
    descriptions : sequence of dict, optional
        For each run how to read its evaluation, if its folder does not say (`read_run`).
    """
    if not runs:
        raise RunError("no run to report; name at least one run folder")
    given = descriptions or [None] * len(runs)
    if len(runs) == 1:
        return write_report(runs[0], out, description=given[0])
    names = _read_all(runs, given)
    parts = [
        page.heading(f"Comparison of {len(names)} runs", ", ".join(names)),
        _metrics_side_by_side(names),
        _training_side_by_side(names),
        _results_side_by_side(names),
        _differences(names),
    ]
    html = page.page("Comparison of runs", "\n".join(filter(None, parts)), viewer=False, plotly=True)
    return page.write(out, html)


def write_figures(
    runs: Sequence[str | Path],
    folder: str | Path,
    *,
    descriptions: Sequence[Description] | None = None,
) -> list[Path]:
    """Write the plots of one run, or of several over each other, as PNG and PDF for print.

    Parameters are those of `compare`; ``folder`` is where the plots go. Return the files.
    """
    names = _read_all(runs, descriptions or [None] * len(runs))
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
        drawn = figures.lines(pairs, x=texts.x, y=texts.y, percent=texts.percent, limits=limits)
        made[f"curves_{place + 1}" if place else "curves"] = drawn
    return [
        path for name, figure in made.items() for path in figures.save_figure(figure, Path(folder) / name)
    ]


# --- one run


def _task_name(run: Run) -> str:
    return (run.task or "run").replace("_", " ").capitalize()


def _headline(run: Run) -> str:
    """The main numbers, and the published ones beside them."""
    if not run.metrics:
        return _note("This run has not been evaluated: there are no results on test shapes yet.")
    main, *_ = run.metrics
    cards = "".join(
        f'<div class="card{" main" if key == main else ""}"><span>{escape(run.metric(key).words)}</span>'
        f"<strong>{run.metric(key).text(value)}</strong></div>"
        for key, value in run.metrics.items()
    )
    return section("Results", f'<div class="cards">{cards}</div>{_published(run)}')


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
            curves = {run.metric(key).words: (epochs, run.history[key]) for key in keys}
            drawn.append(plots.lines(curves, x="epoch", y=y, percent=y == "share", whole=True))
    seconds = run.history.get("seconds")
    spent = (
        "" if seconds is None else f"{_count(len(seconds), 'epoch')}, {_duration(float(np.nansum(seconds)))}"
    )
    return section("Training", _side_by_side(drawn), spent) if drawn else ""


def _duration(seconds: float) -> str:
    return _count(round(seconds), "second") if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _count(number: int, what: str) -> str:
    """Return a number of things, in the singular where there is one.

    Examples
    --------
    >>> _count(1, "epoch"), _count(1200, "shape")
    ('1 epoch', '1,200 shapes')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _results(run: Run) -> str:
    sections = []
    parts, matrix = run.parts(), run.confusion()
    if parts is not None:
        both = [plots.bars({"IoU": parts[0]}, parts[1], x="intersection over union")]
        both += [] if matrix is None else [plots.confusion(*matrix)]
        sections.append(section("Parts", _side_by_side(both), "Confusion in percent of each true part."))
    elif matrix is not None:
        sections.append(section("Confusion", plots.confusion(*matrix), "In percent of each true class."))
    sections += [_curve_section(texts, curves) for texts, curves in _curves({run.name: run}).items()]
    if run.descriptors is not None:
        drawn = plots.scatter(*run.descriptors, run.class_names)
        caption = "t-SNE of the network's descriptors of points on test shapes, coloured by their true class."
        sections.append(section("Descriptors", drawn, caption))
    return "".join(sections)


def _shapes(run: Run) -> str:
    panels = shape_panels(run)
    if not panels:
        return ""
    columns = min(len(panels), 4)
    inside = views(panels, up=run.up or "y", columns=columns, height="clamp(280px, 44vh, 440px)")
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
        keys = [key for key, value in given.items() if not isinstance(value, list | dict)]
        header = ["shape", *(run.metric(key).words for key in keys)]
        rows = [
            [str(shape.get("name")), *(_cell(run, key, shape.get(key)) for key in keys)] for shape in shapes
        ]
    inside = f'<div class="scroll">{_table(header, rows)}</div>'
    what = "The test shape" if len(shapes) == 1 else f"All {len(shapes):,} test shapes, worst first"
    return f"<details><summary>{what}</summary>{inside}</details>"


def _cell(run: Run, key: str, value: Any) -> str:
    if value is None or isinstance(value, float):
        return run.metric(key).text(value)
    return str(value)


def _settings(config: Mapping[str, Any]) -> str:
    if not config:
        return ""
    rows = [[key, value] for key, value in _flat(config).items() if key.split(".")[0] not in _NO_SETTINGS]
    inside = f'<div class="scroll">{_table(["setting", "value"], rows)}</div>'
    return f"<details><summary>Settings</summary>{inside}</details>"


# --- several runs


def _read_all(runs: Sequence[str | Path], descriptions: Sequence[Description]) -> dict[str, Run]:
    """Read runs, by names that tell them apart."""
    read = [read_run(run, description=own) for run, own in zip(runs, descriptions, strict=True)]
    return dict(zip(_distinct(read), read, strict=True))


def _metrics_side_by_side(runs: Mapping[str, Run]) -> str:
    metrics = {key: run.metric(key) for run in runs.values() for key in run.metrics}
    keys = list(dict.fromkeys(key for run in runs.values() for key in run.metrics))
    if not keys:
        return _note("None of these runs has been evaluated.")
    rows = [
        [name, run.task, *(metrics[key].text(run.metrics.get(key)) for key in keys)]
        for name, run in runs.items()
    ]
    marked = set()
    for column, key in enumerate(keys):
        values = [run.metrics.get(key) for run in runs.values()]
        if metrics[key].better is None or len(set(values)) < 2:
            continue
        best = max(metrics[key].goodness(value) for value in values)
        marked |= {
            (row, column + 2) for row, value in enumerate(values) if metrics[key].goodness(value) == best
        }
    header = ["run", "task", *(metrics[key].words for key in keys)]
    return section("Results", f'<div class="scroll">{_table(header, rows, marked=marked)}</div>')


def _training_side_by_side(runs: Mapping[str, Run]) -> str:
    drawn = []
    for key, (y, percent) in _shared_columns(runs).items():
        logged = {n: (epochs_of(r.history), r.history[key]) for n, r in runs.items() if key in r.history}
        drawn.append(plots.lines(logged, x="epoch", y=y, percent=percent, whole=True))
    return section("Training", _side_by_side(drawn)) if drawn else ""


def _results_side_by_side(runs: Mapping[str, Run]) -> str:
    sections = []
    parts = {name: found for name, run in runs.items() if (found := run.parts()) is not None}
    named = [names for _, names in parts.values()]
    if parts and all(names == named[0] for names in named):
        values = {name: iou for name, (iou, _) in parts.items()}
        sections.append(section("Parts", plots.bars(values, named[0], x="intersection over union")))
    sections += [_curve_section(texts, curves) for texts, curves in _curves(runs).items()]
    return "".join(sections)


def _differences(runs: Mapping[str, Run]) -> str:
    """Settings that are not the same in all runs."""
    flat = {name: _flat(run.config) for name, run in runs.items()}
    keys = dict.fromkeys(key for settings in flat.values() for key in settings)
    rows = [
        [key, *(settings.get(key, "–") for settings in flat.values())]
        for key in keys
        if len({settings.get(key) for settings in flat.values()}) > 1
        and key.split(".")[0] not in _NO_SETTINGS
    ]
    if not rows:
        return ""
    return section("Settings that differ", f'<div class="scroll">{_table(["setting", *runs], rows)}</div>')


def _curves(runs: Mapping[str, Run]) -> dict[CurveTexts, dict[str, Any]]:
    """Return the curves of runs by what they show; of several runs each baseline, the same in all, once."""
    found: dict[CurveTexts, dict[str, Any]] = {}
    others: dict[CurveTexts, dict[str, Any]] = {}
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
            seen.setdefault(key, []).append((run.metric(key).words, key in shares))
    return {
        key: (found[0][0], all(percent for _, percent in found))
        for key, found in seen.items()
        if len(found) > 1
    }


def _distinct(runs: Sequence[Run]) -> list[str]:
    """Return names of the runs; folders of the same name are told apart by what is above them."""
    own = [run.name for run in runs]
    names = [
        f"{run.folder.resolve().parent.name}/{run.name}" if own.count(run.name) > 1 else run.name
        for run in runs
    ]
    return [name if names.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(names)]


# --- pieces of HTML; everything that comes from files is escaped here


def _curve_section(texts: CurveTexts, curves: Mapping[str, Any]) -> str:
    pairs = {name: (rows[:, 0], rows[:, 1]) for name, rows in curves.items()}
    limits = (0, 1.02) if _are_shares(curves) else None
    drawn = plots.lines(pairs, x=texts.x, y=texts.y, percent=texts.percent, limits=limits)
    return section(texts.title, drawn, texts.caption)


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _side_by_side(parts: Sequence[str]) -> str:
    return f'<div class="row">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def _table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    marked: set[tuple[int, int]] | None = None,
) -> str:
    """A table of plain texts; marked cells (row, column) stand out."""
    top = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{' class=strong' if (i, j) in (marked or ()) else ''}>{escape(str(cell))}</td>"
            for j, cell in enumerate(row)
        )
        + "</tr>"
        for i, row in enumerate(rows)
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _flat(config: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Nested settings as dotted names."""
    flat: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[f"{before}{key}"] = value if isinstance(value, str) else json.dumps(value)
    return flat
