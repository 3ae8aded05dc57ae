"""What a reader of a run's numbers should know: how far they can be trusted, what guessing reaches."""

from __future__ import annotations

from collections.abc import Iterator

from fieldconv.runs.run import Run
from fieldconv.tasks.base.metric import metric_of


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
        yield f"Not tested, because no {run.evaluation.unit} has them: {', '.join(untested)}."
    if run.part != "test":
        learnt = "All of these shapes" if run.part == "train" else "Most of these shapes"
        yield f"{learnt} were trained on: the numbers say little about new ones."
