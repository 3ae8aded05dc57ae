"""What a reader of a run's numbers should know: how much was tested, what guessing reaches."""

from __future__ import annotations

from collections.abc import Iterator

from fieldconv.viz.metric import metric_of
from fieldconv.viz.run_folder import Run
from fieldconv.viz.uncertainty import FEWEST


def count(number: int, what: str) -> str:
    """Return a number of things, in the singular where there is one.

    Examples
    --------
    >>> count(1, "epoch"), count(1200, "shape"), count(3, "vertex")
    ('1 epoch', '1,200 shapes', '3 vertices')
    """
    several = "vertices" if what == "vertex" else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"


def unit(run: Run) -> str:
    """Return what was measured: shapes, or pairs of them, whose names have an arrow between."""
    what = "pair" if all(" → " in str(shape.get("name")) for shape in run.shapes) else "shape"
    return {"test": "test ", "train": "training "}.get(run.part, "") + what


def amount(run: Run) -> str:
    """Return how much was tested; empty if the run does not tell."""
    if not run.shapes:
        return ""
    vertices = run.vertex_count()
    return count(len(run.shapes), unit(run)) + (f", {count(vertices, 'vertex')}" if vertices else "")


def measured_on(run: Run) -> str:
    """Return a sentence on how much was tested, and whether that is too little; empty if it is not known."""
    if not run.shapes:
        return ""
    few = len(run.shapes) < FEWEST
    return f"Measured on {amount(run)}" + (": too few to say how far to trust it." if few else ".")


def beside(run: Run, key: str) -> str:
    """Return what stands beside a number: its 95 % interval over shapes, and what guessing would reach."""
    metric, interval, guess = run.metric(key), run.interval(key), run.guess(key)
    parts = [] if interval is None else [f"{metric.text(interval[0])} to {metric.text(interval[1])}"]
    parts += [] if guess is None else [f"{guess[0]}: {metric.text(guess[1])}"]
    return ", ".join(parts)


def remarks(run: Run, *, guessing: bool = True) -> Iterator[str]:
    """Yield what a reader of the numbers should know, one sentence each; of guessing only if asked for."""
    if not run.metrics:
        return
    main, *others = run.metrics
    metric, value = run.metric(main), run.metrics[main]
    guess = run.guess(main)
    if guessing and guess is not None and metric.goodness(guess[1]) >= metric.goodness(value):
        how = guess[0].replace("always", "always answering", 1)
        yield f"Guessing ({how}) does at least as well: {metric.text(guess[1])}."
    curves = {name.casefold() for name in run.curves}
    better = []
    for key in others:
        baseline = key.removesuffix(f"_{main}")
        known = baseline.casefold() in curves or main == "mean_average_precision"
        if baseline != key and known and metric.goodness(run.metrics[key]) > metric.goodness(value):
            better.append(f"{metric_of(baseline).label} {metric.text(run.metrics[key])}")
    if better:
        yield f"Simple descriptors do better: {', '.join(better)}; this network {metric.text(value)}."
    if untested := run.untested():
        yield f"Not tested, because no {unit(run)} has them: {', '.join(untested)}."
    if run.part != "test":
        learnt = "All of these shapes" if run.part == "train" else "Most of these shapes"
        yield f"{learnt} were trained on: the numbers say little about new ones."
