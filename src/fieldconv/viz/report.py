"""`report.html` of a run, and one page that compares several runs.

RUN FOLDER
----------
The report reads these files and nothing else; whatever is missing is left out of the page.

``config.json``
    Settings as nested JSON, shown as they are. ``task`` and ``dataset`` ("shrec11", "human_seg", "faust",
    "shrec19"; or ``data``, if the run was measured on something else than it learnt from) choose the
    published figures that stand beside the results.
``log.csv`` (or ``metrics.csv``)
    One row per epoch under a line of names. ``epoch`` is the x axis; columns that end in ``loss`` share one
    plot, shares between 0 and 1 another.
``evaluation/metrics.json``
    ``Evaluation.to_dict()``: ``task``, ``metrics``, ``class_names``, ``tables`` (``confusion``, ``iou``),
    ``curves`` (name to rows of x, y) and ``shapes`` (``name`` and own numbers of each test shape).
``evaluation/shapes/<number>.ply``
    Best and worst test shapes; <number> is the place in ``shapes``. What the vertices carry is shown:
    ``truth`` and ``prediction`` (classes), ``error``, ``match`` (vertex of ``template.ply``), ``rank`` (of
    the first right match, as a share of all), ``feature_0``, ``feature_1``, … (magnitudes of the paper's
    bottleneck features). The other mesh of a pair is ``<number>-model.ply``.
``template.ply``
    For correspondence, the mesh that is matched.
``evaluation/descriptors.npz``
    ``points`` (n, 2): t-SNE of ECHO descriptors; ``labels`` (n,): parts they come from.

`fieldconv.training.runs.evaluate_run` writes the numbers, `fieldconv.viz.evidence.write_evidence` the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv.tasks.wording import number, words
from fieldconv.viz import figures, page, plots
from fieldconv.viz.figures import split_history
from fieldconv.viz.page import section
from fieldconv.viz.published import benchmark_of
from fieldconv.viz.runs import Run, RunError, describe, read_run, score, shape_panels
from fieldconv.viz.viewer import views


def write_report(run: str | Path, out: str | Path | None = None) -> Path:
    """Write a run's report: results, curves, shapes in 3-D, settings, on one page that works offline.

    Parameters
    ----------
    run : path
        Run folder.
    out : path, optional
        ``report.html`` in the run folder if left out.
    """
    read = read_run(run)
    parts = [
        page.heading(f"{words(read.task or 'run').capitalize()}: {read.name}", _data_name(read)),
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


def compare(runs: Sequence[str | Path], out: str | Path) -> Path:
    """Write one page with the curves and results of several runs over each other.

    Parameters
    ----------
    runs : sequence of paths
        Run folders.
    out : path
        Page to write.
    """
    if not runs:
        raise RunError("no run to report; name at least one run folder")
    if len(runs) == 1:
        return write_report(runs[0], out)
    read = [read_run(folder) for folder in runs]
    names = dict(zip(_distinct(read), read, strict=True))
    parts = [
        page.heading(f"Comparison of {len(read)} runs", ", ".join(names)),
        _metrics_side_by_side(names),
        _training_side_by_side(names),
        _results_side_by_side(names),
        _differences(names),
    ]
    html = page.page("Comparison of runs", "\n".join(filter(None, parts)), viewer=False, plotly=True)
    return page.write(out, html)


def write_figures(runs: Sequence[str | Path], folder: str | Path) -> list[Path]:
    """Write the plots of one run, or of several over each other, as PNG and PDF for print."""
    read = [read_run(run) for run in runs]
    names = dict(zip(_distinct(read), read, strict=True))
    made: dict[str, Any] = {}
    if len(read) == 1:
        [run] = read
        if run.history:
            made["training"] = figures.training_curves(run.history)
        if (matrix := run.confusion()) is not None:
            made["confusion"] = figures.confusion_matrix(*matrix)
        if (parts := run.parts()) is not None:
            made["iou"] = figures.iou_bars(*parts)
        if run.descriptors is not None:
            made["descriptors"] = figures.scatter(*run.descriptors, run.class_names)
    else:
        for key in _shared_columns(names):
            curves = {n: (_epochs(r), r.history[key]) for n, r in names.items() if key in r.history}
            made[f"training_{key}"] = figures.lines(curves, x="epoch", y=words(key))
    if curves := _curves(names):
        draw = figures.error_curves if read[0].task == "correspondence" else figures.precision_recall_curves
        made["curves"] = draw(curves)
    return [
        path for name, figure in made.items() for path in figures.save_figure(figure, Path(folder) / name)
    ]


# --- one run


def _data_name(run: Run) -> str:
    benchmark = benchmark_of(run.task, run.data)
    return benchmark.name if benchmark is not None else run.data


def _headline(run: Run) -> str:
    """The main numbers, and the published ones beside them."""
    if not run.metrics:
        return _note("This run has not been evaluated: there are no results on test shapes yet.")
    main, *_ = run.metrics
    cards = "".join(
        f'<div class="card{" main" if key == main else ""}"><span>{escape(words(key))}</span>'
        f"<strong>{number(key, value)}</strong></div>"
        for key, value in run.metrics.items()
    )
    benchmark = benchmark_of(run.task, run.data)
    beside = ""
    if benchmark is not None and benchmark.results:
        rows = [
            *benchmark.results,
            *([("This run", run.metrics[benchmark.metric])] if benchmark.metric in run.metrics else []),
        ]
        rows.sort(key=lambda row: -row[1])
        beside = "<h3>Beside published results</h3>" + plots.ranking(
            rows, "This run", x=words(benchmark.metric)
        )
        beside += f'<p class="caption">{escape(benchmark.name)}: {escape(benchmark.source)}.</p>'
    elif benchmark is not None:
        beside = f'<p class="caption">{escape(benchmark.name)}: {escape(benchmark.source)}.</p>'
    return section("Results", f'<div class="cards">{cards}</div>{beside}')


def _training(run: Run) -> str:
    if not run.history:
        return ""
    losses, shares = split_history(run.history)
    drawn = []
    if losses:
        drawn.append(plots.lines(plots.history(run.history, losses), x="epoch", y="loss"))
    if shares:
        drawn.append(plots.lines(plots.history(run.history, shares), x="epoch", y="share", percent=True))
    seconds = run.history.get("seconds")
    spent = "" if seconds is None else f"{len(seconds)} epochs, {_duration(float(np.nansum(seconds)))}"
    return section("Training", _side_by_side(drawn), spent)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _results(run: Run) -> str:
    sections = []
    parts, matrix = run.parts(), run.confusion()
    if parts is not None:
        both = [plots.bars({"IoU": parts[0]}, parts[1], x="intersection over union")]
        both += [] if matrix is None else [plots.confusion(*matrix)]
        sections.append(section("Parts", _side_by_side(both), "Confusion in percent of each true part."))
    elif matrix is not None:
        sections.append(section("Confusion", plots.confusion(*matrix), "In percent of each true class."))
    if run.curves:
        sections.append(_curve_section(run.task, run.curves))
    if run.descriptors is not None:
        drawn = plots.scatter(*run.descriptors, run.class_names)
        sections.append(
            section(
                "ECHO descriptors",
                drawn,
                "t-SNE of descriptors of points on test shapes, coloured by true part.",
            )
        )
    return "".join(sections)


def _shapes(run: Run) -> str:
    panels = shape_panels(run)
    if not panels:
        return ""
    captions = {
        "segmentation": "Worst and best test shapes. Switch between prediction, truth and mistakes.",
        "correspondence": "Points of one colour correspond. Features: hue is absolute, value relative size.",
        "matching": "Grey to red: how far down the list of nearest descriptors the first right match is.",
    }
    caption = captions.get(run.task or "", "Worst and best test shapes.")
    columns = min(len(panels), 4)
    return section(
        "Shapes", views(panels, up=run.up, columns=columns, height="clamp(280px, 44vh, 440px)"), caption
    )


def _every_shape(run: Run) -> str:
    shapes = sorted(run.shapes, key=lambda shape: score(run.task, shape))
    if not shapes:
        return ""
    if run.task == "classification":
        header, rows = ["shape", "result"], [[str(s.get("name")), describe(run, s)] for s in shapes]
    else:
        keys = [key for key in shapes[0] if key != "name"]
        header = ["shape", *map(words, keys)]
        rows = [[str(s.get("name")), *(number(key, s.get(key)) for key in keys)] for s in shapes]
    inside = f'<div class="scroll">{_table(header, rows)}</div>'
    return f"<details><summary>All {len(shapes):,} test shapes, worst first</summary>{inside}</details>"


def _settings(config: Mapping[str, Any]) -> str:
    if not config:
        return ""
    rows = [[key, value] for key, value in _flat(config).items() if not key.startswith("class_names")]
    inside = f'<div class="scroll">{_table(["setting", "value"], rows)}</div>'
    return f"<details><summary>Settings</summary>{inside}</details>"


# --- several runs


def _metrics_side_by_side(runs: Mapping[str, Run]) -> str:
    keys = list(dict.fromkeys(key for run in runs.values() for key in run.metrics))
    if not keys:
        return _note("None of these runs has been evaluated.")
    best = {
        key: max((run.metrics.get(key, -np.inf) for run in runs.values()), default=-np.inf) for key in keys
    }
    rows = []
    for name, run in runs.items():
        cells = [number(key, run.metrics.get(key)) for key in keys]
        rows.append([name, run.task or "", *cells])
    differ = {key for key in keys if len({run.metrics.get(key) for run in runs.values()}) > 1}
    marked = {
        (i, j + 2)
        for i, run in enumerate(runs.values())
        for j, key in enumerate(keys)
        if key in differ and run.metrics.get(key) == best[key] and not key.endswith("error")
    }
    return section(
        "Results",
        f'<div class="scroll">{_table(["run", "task", *map(words, keys)], rows, marked=marked)}</div>',
    )


def _training_side_by_side(runs: Mapping[str, Run]) -> str:
    drawn = []
    for key in _shared_columns(runs):
        curves = {name: (_epochs(run), run.history[key]) for name, run in runs.items() if key in run.history}
        percent = not key.endswith("loss")
        drawn.append(plots.lines(curves, x="epoch", y=words(key), percent=percent))
    return section("Training", _side_by_side(drawn)) if drawn else ""


def _results_side_by_side(runs: Mapping[str, Run]) -> str:
    sections = []
    parts = {name: found for name, run in runs.items() if (found := run.parts()) is not None}
    named = [names for _, names in parts.values()]
    if parts and all(names == named[0] for names in named):
        values = {name: iou for name, (iou, _) in parts.items()}
        sections.append(section("Parts", plots.bars(values, named[0], x="intersection over union")))
    for task in dict.fromkeys(run.task for run in runs.values()):
        curves = _curves({name: run for name, run in runs.items() if run.task == task})
        if curves:
            sections.append(_curve_section(task, curves))
    return "".join(sections)


def _differences(runs: Mapping[str, Run]) -> str:
    """Settings that are not the same in all runs."""
    flat = {name: _flat(run.config) for name, run in runs.items()}
    keys = dict.fromkeys(key for settings in flat.values() for key in settings)
    rows = [
        [key, *(settings.get(key, "–") for settings in flat.values())]
        for key in keys
        if len({settings.get(key) for settings in flat.values()}) > 1 and not key.startswith("metrics")
    ]
    if not rows:
        return ""
    return section("Settings that differ", f'<div class="scroll">{_table(["setting", *runs], rows)}</div>')


def _curves(runs: Mapping[str, Run]) -> dict[str, Any]:
    """All curves of runs; each baseline, the same in all runs, once."""
    if len(runs) == 1:
        [run] = runs.values()
        return dict(run.curves)
    own: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, run in runs.items():
        for place, (curve, rows) in enumerate(run.curves.items()):
            if place == 0:
                own[name] = rows
            else:
                others.setdefault(curve, rows)
    return {**own, **others}


def _shared_columns(runs: Mapping[str, Run]) -> list[str]:
    """Losses and shares that at least two runs have logged."""
    seen: dict[str, int] = {}
    for run in runs.values():
        losses, shares = split_history(run.history)
        for key in (*losses, *shares):
            seen[key] = seen.get(key, 0) + 1
    return [key for key, times in seen.items() if times > 1]


def _epochs(run: Run) -> Any:
    return run.history.get("epoch", np.arange(1, 1 + max(map(len, run.history.values()), default=0)))


def _distinct(runs: Sequence[Run]) -> list[str]:
    """Names of the runs; folders of the same name are told apart by what is above them."""
    own = [run.name for run in runs]
    names = [
        f"{run.folder.resolve().parent.name}/{run.name}" if own.count(run.name) > 1 else run.name
        for run in runs
    ]
    return [name if names.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(names)]


# --- pieces of HTML; everything that comes from files is escaped here


def _curve_section(task: str | None, curves: Mapping[str, Any]) -> str:
    pairs = {name: (rows[:, 0], rows[:, 1]) for name, rows in curves.items()}
    if task == "correspondence":
        drawn = plots.lines(
            pairs, x="geodesic error / √area", y="correspondences", percent=True, limits=(0, 1.02)
        )
        return section(
            "Geodesic errors", drawn, "Share of points whose match is at most this far from the true one."
        )
    drawn = plots.lines(pairs, x="recall", y="precision", limits=(0, 1.02))
    return section(
        "Precision and recall", drawn, "Mean over test pairs, candidates ranked by descriptor distance."
    )


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
