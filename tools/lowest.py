"""Print the lowest versions that pyproject.toml admits, as constraints for pip.

numpy>=1.24 becomes numpy==1.24; what constraints.txt pins stays as it is there. Called by `make compat`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]


def lowest(requirements: Iterable[str], pinned: Iterable[str]) -> list[str]:
    """Return a constraint for each requirement that names its lowest version, except for pinned packages.

    Examples
    --------
    >>> lowest(["torch>=2.4", "numpy>=1.24", "fieldconv[tsne]"], ["torch==2.13.0"])
    ['numpy==1.24', 'torch==2.13.0']
    """
    fixed = [line for line in pinned if "==" in line]
    names = {line.split("==")[0] for line in fixed}
    bounds = [re.match(r"([\w.-]+)>=([\w.]+)", line) for line in requirements]
    lowest = [f"{bound[1]}=={bound[2]}" for bound in bounds if bound and bound[1] not in names]
    return sorted(lowest + fixed)


def main() -> None:
    """Print the constraints."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    print("\n".join(lowest(requirements, pinned)))


if __name__ == "__main__":
    main()
