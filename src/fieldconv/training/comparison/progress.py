"""One bar over all runs of a comparison; lines where there is no terminal."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from fieldconv._duration import duration
from fieldconv.geometry.mesh.check import counted
from fieldconv.training.comparison.plan import PlannedRun


class ComparisonProgress:
    """Shows how much of a comparison is done, in expected seconds of training.

    Parameters
    ----------
    runs : int
        How many there are.
    quiet : bool
        Show nothing.
    """

    def __init__(self, runs: int, *, quiet: bool = False) -> None:
        self.runs = runs
        self.console = Console(stderr=True, quiet=quiet)
        self._live: Progress | None = None
        self._all = self._done = 0.0
        if self.console.is_terminal and not quiet:
            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=self.console,
                transient=True,
            )
            self._bar = self._live.add_task("comparing", total=None)

    def __enter__(self) -> ComparisonProgress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def expect(self, seconds: float) -> None:
        """Say how long all runs together will take."""
        self._all = seconds
        if self._live is not None:
            self._live.update(self._bar, total=seconds)

    def begin(self, number: int, run: PlannedRun) -> float:
        """Say which run is trained now; return how many expected seconds were done before it."""
        text = f"run {number}/{self.runs}: {run.network}, seed {run.seed}"
        if self._live is not None:
            self._live.update(self._bar, description=text)
        else:
            epochs = counted(run.settings.training.epochs, "epoch")
            self.say(f"{text}, {epochs}; about {duration(self._all - self._done)} left in all")
        return self._done

    def reached(self, seconds: float) -> None:
        """Say how many of the expected seconds are done."""
        self._done = seconds
        if self._live is not None:
            self._live.update(self._bar, completed=seconds)

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)
