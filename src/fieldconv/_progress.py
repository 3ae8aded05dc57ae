"""Progress of long calls: a live bar in a terminal; elsewhere a line every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from operator import length_hint
from types import TracebackType
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from fieldconv._duration import duration

Thing = TypeVar("Thing")

LINE_SECONDS = 10.0  # between two lines


class Progress:
    """Progress of a long call, on standard error: ``with Progress("Reading", 2) as progress``."""

    def __init__(
        self,
        what: str,  # is shown before the numbers
        total: float | None = None,  # in any unit
        *,
        begun: float = 0,  # how much was done before
        share: bool = False,  # show percent instead of numbers
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
        console: Console | None = None,  # instead of standard error
    ) -> None:
        self.what, self.total, self.done, self.note = what, total, begun, ""
        self._share, self._clock = share, clock
        self._begun, self._start = begun, clock()
        self._last_line = self._start
        self._console = console or Console(stderr=True, quiet=quiet)
        self._bar: Bar | None = None
        if self._console.is_terminal and not quiet:
            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn() if share else MofNCompleteColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._line = self._bar.add_task(what, total=total, note="")
            self._bar.update(self._line, completed=begun)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, count: float = 1, *, note: str | None = None) -> None:
        """Add ``count`` to what is done."""
        self.reach(self.done + count, note=note)

    def reach(self, done: float, *, what: str | None = None, note: str | None = None) -> None:
        """Set how much is done, and if given, what is done and the note beside it."""
        self.done = done
        self.what = self.what if what is None else what
        self.note = self.note if note is None else note
        if self._bar is not None:
            self._bar.update(self._line, completed=done, description=self.what, note=self.note)
        elif self.done != self.total and self._clock() - self._last_line >= LINE_SECONDS:
            self.say(self._sentence())

    def seconds_left(self) -> float | None:
        """Return how long the rest takes at the speed so far; None if unknown."""
        if not self.total or self.done <= self._begun:
            return None
        spent = self._clock() - self._start
        return spent / (self.done - self._begun) * (self.total - self.done)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._last_line = self._clock()
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _sentence(self) -> str:
        parts = [f"{self.what}: {self.done:,}"]
        if self.total:
            share = f"{self.what}: {100 * self.done / self.total:.0f} %"
            parts = [share if self._share else f"{parts[0]} of {self.total:,}"]
        if self.note:
            parts.append(self.note)
        if (left := self.seconds_left()) is not None:
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)


def track(
    things: Iterable[Thing], what: str, *, total: int | None = None, quiet: bool = False
) -> Iterator[Thing]:
    """Yield ``things`` and show the progress."""
    with Progress(what, total or length_hint(things) or None, quiet=quiet) as progress:
        for thing in things:
            yield thing
            progress.step()
