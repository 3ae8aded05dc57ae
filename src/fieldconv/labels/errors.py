"""How a folder that is not as it should be is reported: every problem, one line each."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 20
LONGEST = 600  # letters of a problem: files may hold words of any length


def shortened(text: str) -> str:
    """Return a text, without its middle if it is very long.

    Examples
    --------
    >>> len(shortened("x" * 10**6))
    600
    """
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[: half - 2]} … {text[1 - half :]}"


class DatasetError(ValueError):
    """A dataset that cannot be used; `problems` holds one sentence for each thing that is wrong.

    Parameters
    ----------
    what : str
        The dataset or folder.
    problems : sequence of str
        One sentence each: the file, the line if any, what was expected.
    hint : str
        What to do, such as where the dataset can be had.

    Examples
    --------
    >>> print(DatasetError("shapes", ["a.obj: no labels", "b.obj: empty"], hint="See the docs."))
    shapes: 2 problems
      a.obj: no labels
      b.obj: empty
    See the docs.
    >>> print(DatasetError("shapes", ["a.obj: no labels"], hint="See the docs."))
    shapes: a.obj: no labels. See the docs.
    """

    def __init__(self, what: str, problems: Sequence[str], *, hint: str = "") -> None:
        self.what = what
        self.problems = [shortened(problem) for problem in problems]
        self.hint = hint
        if len(self.problems) == 1:
            end = ". " if hint and not self.problems[0].endswith((".", "?", "!")) else " "
            lines = [f"{what}: {self.problems[0]}{end}{hint}".rstrip()]
        else:
            lines = [f"{what}: {len(self.problems)} problems", *(f"  {p}" for p in self.problems[:SHOWN])]
            if len(self.problems) > SHOWN:
                lines.append(f"  … and {len(self.problems) - SHOWN} more")
            if hint:
                lines.append(hint)
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[object, ...]:  # else the keyword is lost between processes
        return _rebuild, (self.what, self.problems, self.hint)


def _rebuild(what: str, problems: list[str], hint: str) -> DatasetError:
    return DatasetError(what, problems, hint=hint)
