"""The error of a dataset: all its problems, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

MAX_SHOWN = 20
MAX_LETTERS = 600  # of a problem: files may hold words of any length


def shorten(text: str) -> str:
    """Return a text, without its middle if it is longer than `MAX_LETTERS`.

    Examples
    --------
    >>> len(shorten("x" * 10**6))
    600
    """
    half = MAX_LETTERS // 2
    return text if len(text) <= MAX_LETTERS else f"{text[: half - 2]} … {text[1 - half :]}"


class DatasetError(ValueError):
    """A dataset that cannot be used.

    Parameters
    ----------
    what : str or path
        The dataset, folder or file.
    problems : str or sequence of str
        One sentence for each thing that is wrong: the file, the line if any, what was expected.
    hint : str
        What to do, such as where the dataset can be had.

    Examples
    --------
    >>> print(DatasetError("shapes", ["a.obj: no labels", "b.obj: empty"], hint="See the docs."))
    shapes: 2 problems
      a.obj: no labels
      b.obj: empty
    See the docs.
    >>> print(DatasetError("shapes", "a.obj: no labels", hint="See the docs."))
    shapes: a.obj: no labels. See the docs.
    """

    def __init__(self, what: str | Path, problems: str | Sequence[str], *, hint: str = "") -> None:
        self.what = str(what)
        self.problems = [shorten(p) for p in ([problems] if isinstance(problems, str) else problems)]
        self.hint = hint
        if len(self.problems) == 1:
            end = ". " if hint and not self.problems[0].endswith((".", "?", "!")) else " "
            lines = [f"{what}: {self.problems[0]}{end}{hint}".rstrip()]
        else:
            count = len(self.problems)
            lines = [f"{what}: {count} problems", *(f"  {p}" for p in self.problems[:MAX_SHOWN])]
            lines += [f"  … and {count - MAX_SHOWN} more"] * (count > MAX_SHOWN)
            lines += [hint] * bool(hint)
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[object, ...]:  # pickling would lose the keyword
        return partial(DatasetError, hint=self.hint), (self.what, self.problems)
