"""Files that list pairs of meshes."""

from __future__ import annotations

import re
from pathlib import Path

from fieldconv._io import read_text


def read_pairs(path: Path, problems: list[str], *, name: str | None = None) -> list[tuple[int, list[str]]]:
    """Read lines of two names (scene and model, maybe a third field), separated by commas or blanks.

    Blank lines and lines that begin with ``#`` are passed over; others with too few fields are noted.

    Returns
    -------
    list of (line number, fields)
    """
    shown = name or path.name
    rows = []
    try:
        lines = read_text(path).splitlines()
    except (OSError, ValueError) as error:
        problems.append(f"{shown}: cannot be read ({error})")
        return []
    for number, line in enumerate(lines, start=1):
        fields = re.split(r"[,;\s]+", line.split("#")[0].strip())
        if fields == [""]:
            continue
        if len(fields) < 2:
            problems.append(f"{shown}, line {number} is {line.strip()!r}; expected two names")
        else:
            rows.append((number, fields))
    if not rows and not problems:
        problems.append(f"{shown} lists no pairs")
    return rows
