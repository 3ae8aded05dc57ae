"""How far a run is: a live bar in a terminal; elsewhere a line per epoch, and one every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from operator import length_hint
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fieldconv._duration import duration
from fieldconv.labels.parallel import EVERY, followed
from fieldconv.tasks.base import Task
from fieldconv.tasks.base.metric import metric_of


class TrainingProgress:
    """Shows epoch, step, loss, metric and time left."""

    def __init__(self, task: Task, epochs: int, steps: int, *, done: int = 0, quiet: bool = False) -> None:
        self.score = task.score
        self.known = {metric.key: metric for metric in task.metrics}
        self.console = Console(stderr=True, quiet=quiet)
        self.epochs, self.steps, self.first = epochs, steps, done
        self._began = self._said = time.monotonic()
        self._live: Progress | None = None
        if self.console.is_terminal and not quiet:
            self._live = Progress(
                TextColumn("epoch {task.fields[epoch]}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[numbers]}"),
                TimeRemainingColumn(),
                console=self.console,
                transient=True,
            )
            self._bar = self._live.add_task(
                "", total=epochs * steps, completed=done * steps, epoch=f"{done + 1}/{epochs}", numbers=""
            )

    def __enter__(self) -> TrainingProgress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def step(self, epoch: int, step: int, loss: float, score: float) -> None:
        now = time.monotonic()
        if self._live is None and now - self._said >= EVERY:
            place = step - (epoch - 1) * self.steps
            self.say(f"epoch {epoch}/{self.epochs}  step {place} of {self.steps}  loss {loss:.4f}")
        if self._live is not None:
            self._live.update(
                self._bar,
                completed=step,
                epoch=f"{epoch}/{self.epochs}",
                numbers=f"loss {loss:.4f}" + (f"  {self.score.text(score)}" if self.score else ""),
            )

    def epoch(self, row: dict[str, Any]) -> None:
        """Print one line about a finished epoch."""
        done = row["epoch"] - self.first
        left = (self.epochs - row["epoch"]) * (time.monotonic() - self._began) / max(done, 1)
        parts = [f"epoch {row['epoch']:>{len(str(self.epochs))}}/{self.epochs}", f"loss {row['loss']:.4f}"]
        if self.score is not None:
            parts.append(f"{self.score.label} {self.score.text(row['score'])}")
        found = {key: value for key, value in row.items() if key.startswith("validation_")}
        for metric, value in ((metric_of(key, self.known), value) for key, value in found.items()):
            parts.append(f"{metric.label} {metric.text(value)}")
        parts.append(duration(row["seconds"]))
        if row["epoch"] < self.epochs:
            parts.append(f"{duration(left)} left")
        self.say("  ".join(parts))

    def say(self, text: str) -> None:
        self._said = time.monotonic()
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


def follow(
    things: Iterable[Any], what: str, *, total: int | None = None, quiet: bool = False
) -> Iterator[Any]:
    """Yield the same things, with a bar in a terminal, or else a line every ten seconds."""
    if quiet:
        yield from things
    else:
        yield from followed(things, what, total=total or length_hint(things) or None)
