"""How far a long call is: a live bar in a terminal; elsewhere a line every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import length_hint
from types import TracebackType
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from fieldconv._duration import duration

Thing = TypeVar("Thing")

EVERY = 10.0  # seconds between two lines


class Progress:
    """How far a long call is, on standard error: ``with Progress(…) as progress``.

    Parameters
    ----------
    what : str
        What is done, before the numbers.
    total : float, optional
        Where it ends, in any unit.
    begun : float
        How much of it was done before.
    share : bool
        Whether to tell how far it is in percent, and not by numbers.
    quiet : bool
        Whether to show nothing.
    clock : callable
        Seconds now.

    Examples
    --------
    >>> with Progress("Reading", 2) as progress:
    ...     progress.step()
    """

    def __init__(
        self,
        what: str,
        total: float | None = None,
        *,
        begun: float = 0,
        share: bool = False,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what, self.total, self.done, self.note = what, total, begun, ""
        self._share, self._quiet, self._clock = share, quiet, clock
        self._begun, self._began = begun, clock()
        self._said = self._began
        self._console = Console(stderr=True, quiet=quiet)
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
        """Count some more as done."""
        self.reach(self.done + count, note=note)

    def reach(
        self,
        done: float,
        *,
        what: str | None = None,
        total: float | None = None,
        note: str | None = None,
    ) -> None:
        """Say how much is done now, and if given, what is done, where it ends, and a note beside it."""
        self.done = done
        self.what = self.what if what is None else what
        self.total = self.total if total is None else total
        self.note = self.note if note is None else note
        if self._bar is not None:
            self._bar.update(
                self._line, completed=done, description=self.what, total=self.total, note=self.note
            )
        elif self.done != self.total and self._clock() - self._said >= EVERY:
            self.say(self._sentence())

    def seconds_left(self) -> float | None:
        """Return how long the rest will take at the speed so far, None if that is not known."""
        if not self.total or self.done <= self._begun:
            return None
        spent = self._clock() - self._began
        return spent / (self.done - self._begun) * (self.total - self.done)

    def say(self, text: str) -> None:
        """Print a line; a bar stays below it."""
        self._said = self._clock()
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
    """Yield the same things and show how far they are.

    Examples
    --------
    >>> list(track([1, 2, 3], "Counting"))
    [1, 2, 3]
    """
    with Progress(what, total or length_hint(things) or None, quiet=quiet) as progress:
        for thing in things:
            yield thing
            progress.step()


def progress_bar(what: str) -> Callable[[Sequence[Thing]], Iterable[Thing]]:
    """Return what shows how far a list is that somebody else goes through.

    Examples
    --------
    >>> watch = progress_bar("Counting")
    >>> list(watch([1, 2, 3]))
    [1, 2, 3]
    """
    return lambda things: track(things, what)
