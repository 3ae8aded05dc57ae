"""How a folder that is not as it should be is reported: every problem, one line each."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 20


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
    """

    def __init__(self, what: str, problems: Sequence[str], *, hint: str = "") -> None:
        self.what = what
        self.problems = list(problems)
        self.hint = hint
        if len(self.problems) == 1:
            lines = [f"{what}: {self.problems[0]}"]
        else:
            lines = [f"{what}: {len(self.problems)} problems", *(f"  {p}" for p in self.problems[:SHOWN])]
            if len(self.problems) > SHOWN:
                lines.append(f"  … and {len(self.problems) - SHOWN} more")
        super().__init__("\n".join([*lines, hint] if hint else lines))

    def __reduce__(self) -> tuple[object, ...]:  # else the keyword is lost between processes
        return _rebuild, (self.what, self.problems, self.hint)


def _rebuild(what: str, problems: list[str], hint: str) -> DatasetError:
    return DatasetError(what, problems, hint=hint)
