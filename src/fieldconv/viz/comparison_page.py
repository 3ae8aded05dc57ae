"""One page, and figures for print, that compare networks over several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv.runs.compared import Compared, Difference
from fieldconv.runs.run import epochs_of
from fieldconv.tasks.base.evaluation import Curves
from fieldconv.viz import figures, page, plots
from fieldconv.viz.page import note, section, table

SURE = 0.05  # a difference that chance makes more rarely counts as one
MOST_NOTES = 4  # where splits differ by seed, a list of all would say little
Floats = NDArray[np.float64]
TEST = (
    "Mean over the test shapes that both were tested on, each averaged over seeds, and the chance of a "
    "difference at least as large if the two did equally well: paired randomisation test (random signs of "
    "the shapes' differences, two-sided), with Holm's correction for all pairs. Bold: below 0.05."
)


def write_comparison(
    out: str | Path,
    *,
    title: str,
    caption: str,
    networks: Sequence[Compared],
    differences: Sequence[Difference],
    failed: Mapping[str, str] | None = None,
    figures: str | Path | None = None,
) -> Path:
    """Write the page of a comparison, and its curves for print.

    Parameters
    ----------
    out : path
        Page to write.
    title, caption : str
    networks : sequence of Compared
        The best first.
    differences : sequence of Difference
    failed : mapping of str to str
        Runs that were not finished, and why.
    figures : path, optional
        Folder for the curves, and for training over epochs, as PNG and PDF.

    Returns
    -------
    path
        The page.
    """
    parts = [
        page.heading(title, caption),
        _results(networks),
        *(note(f"{run} was not finished: {why}") for run, why in (failed or {}).items()),
        _curves(networks),
        _differences(networks, differences),
        _training(networks),
        _each_run(networks),
    ]
    if figures is not None:
        write_curves(networks, figures)
        write_training(networks, figures)
    html = page.page(title, "\n".join(filter(None, parts)), viewer=False, plotly=True)
    return page.write(out, html)


def write_curves(networks: Sequence[Compared], folder: str | Path) -> list[Path]:
    """Write the curves of all networks in one plot, with a band of one standard deviation over seeds."""
    drawn, texts = _drawn(networks), _texts(networks)
    if not drawn:
        return []
    figure = figures.lines(
        {name: tuple(rows.T) for name, rows in drawn.items()}, **texts.axes, limits=(None, _range(drawn))
    )
    return list(figures.save_figure(figure, Path(folder) / "curves"))


def write_training(networks: Sequence[Compared], folder: str | Path) -> list[Path]:
    """Write training scores over epochs, or losses if there are none, with a band of one deviation."""
    logs = [run.history for network in networks for run in network.runs.values()]
    key = next((key for key in ("score", "loss") if all(_logged(log, key) for log in logs)), None)
    if key is None:
        return []
    drawn = {network.name: network.over_epochs(key) for network in networks}
    figure = figures.lines(
        {name: tuple(rows.T) for name, rows in drawn.items()},
        x="epoch",
        y=f"training {key}",
        percent=key == "score",
        limits=(None, _range(drawn) if key == "score" else None),
    )
    return list(figures.save_figure(figure, Path(folder) / "training"))


def _range(drawn: Mapping[str, Floats]) -> tuple[float, float] | None:
    """The range of y: 0 to 1 if all curves are shares, which a band of deviations may leave; else any."""
    shares = all(np.nanmin(rows[:, 1]) >= 0 and np.nanmax(rows[:, 1]) <= 1 for rows in drawn.values())
    return (0.0, 1.01) if shares else None


def _logged(log: Mapping[str, Floats], key: str) -> bool:
    return key in log and bool(np.isfinite(log[key]).all())


def _results(networks: Sequence[Compared]) -> str:
    keys = list(dict.fromkeys(key for n in networks for run in n.runs.values() for key in run.metrics))
    metric = {key: next(r.metric(key) for n in networks for r in n.runs.values()) for key in keys}
    header = ["network", "runs", *(metric[key].label for key in keys)]
    header += ["epochs", "minutes", "parameters", "ms a step", "memory of a step, MB", "ms to prepare a mesh"]
    rows, marked = [], set()
    for network in networks:
        memory = "–" if network.memory is None else f"{network.memory / 1e6:,.0f}"
        rows.append(
            [
                network.name,
                str(len(network.runs)),
                *(network.text(key) for key in keys),
                *network.trained,
                f"{network.parameters:,}",
                f"{1000 * network.step:,.0f}",
                memory,
                f"{1000 * network.preparation:,.0f}",
            ]
        )
    for column, key in enumerate(keys, start=2):
        good = [metric[key].goodness(n.mean(key) if len(n.values(key)) else None) for n in networks]
        if metric[key].better is not None and len(set(good)) > 1:
            marked |= {(row, column) for row, value in enumerate(good) if value == max(good)}
    inside = f'<div class="scroll results">{table(header, rows, marked=marked)}</div>'
    every = [run for network in networks for run in network.runs.values()]
    told = {
        run.evaluation.measured_on().replace("Measured", "Each measured", 1) for run in every if run.shapes
    }
    told |= {
        f"Guessing ({guess[0]}) reaches {run.metric(key).text(guess[1])} ({run.metric(key).label})."
        for run in every
        for key in list(run.metrics)[:1]
        if (guess := run.guess(key)) is not None
    }
    notes = "".join(note(text) for text in sorted(told)) if len(told) <= MOST_NOTES else ""
    return section("Results", inside + notes, "Mean ± standard deviation over seeds; best first.")


def _curves(networks: Sequence[Compared]) -> str:
    drawn, texts = _drawn(networks), _texts(networks)
    if not drawn:
        return ""
    pairs = {name: (rows[:, 0], rows[:, 1]) for name, rows in drawn.items()}
    plot = plots.lines(pairs, **texts.axes)
    return section(texts.title, plot, texts.caption)


def _drawn(networks: Sequence[Compared]) -> dict[str, Floats]:
    """Curves of the networks (with a spread), and each baseline once."""
    drawn = {n.name: rows for n in networks if (rows := n.curve()) is not None}
    baselines: dict[str, Floats] = {}
    for network in networks:
        baselines |= {name: rows for name, rows in network.baselines().items() if name not in baselines}
    return {**drawn, **baselines}


def _texts(networks: Sequence[Compared]) -> Curves:
    return next(iter(networks[0].runs.values())).curve_texts


def _differences(networks: Sequence[Compared], differences: Sequence[Difference]) -> str:
    if not differences:
        return ""
    run = next(iter(networks[0].runs.values()))
    judged = run.metric(run.rank_by or networks[0].metric.key)
    rows, marked = [], set()
    for place, found in enumerate(differences):
        points = judged.style == "percent"
        size = f"{100 * found.mean:+.1f} points" if points else f"{found.mean:+.4g}"
        chance = "< 0.001" if found.chance < 0.001 else f"{found.chance:.3f}"
        rows.append([f"{found.one} − {found.other}", size, str(found.shapes), chance])
        if found.chance < SURE:
            marked.add((place, 3))
    inside = table(["pair", f"difference of {judged.label}", "shapes", "chance"], rows, marked=marked)
    return section("Differences", inside, TEST)


def _training(networks: Sequence[Compared]) -> str:
    """Loss over epochs of every run."""
    curves: dict[str, tuple[Any, Any]] = {}
    colours = []
    for place, network in enumerate(networks):
        for seed, run in network.runs.items():
            if "loss" in run.history:
                curves[f"{network.name}, seed {seed}"] = (
                    epochs_of(run.history),
                    run.history["loss"],
                )
                colours.append(place)
    if not curves:
        return ""
    drawn = plots.lines(curves, x="epoch", y="training loss", whole=True, colours=colours)
    return section("Training", drawn, "Runs of one network share a colour.")


def _each_run(networks: Sequence[Compared]) -> str:
    key = networks[0].metric.key
    rows = [
        [n.name, str(seed), run.metric(key).text(run.metrics.get(key)), run.name]
        for n in networks
        for seed, run in n.runs.items()
    ]
    return section("Each run", table(["network", "seed", networks[0].metric.label, "folder"], rows))
