"""Names of a package that are loaded when they are first used, listed in its stub ``__init__.pyi``."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from fieldconv._process import process_unchanged


def lazy(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that shows what its stub imports.

    Parameters
    ----------
    package, file : str
        Its ``__name__`` and ``__file__``. Beside it is ``__init__.pyi``, which type checkers read as well:
        lines ``from fieldconv.networks.fcnet import FCNet as FCNet``.
    """
    homes = {
        alias.name: node.module
        for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with process_unchanged():  # by the packages that this imports
            warnings.filterwarnings("ignore", "IProgress not found")  # tqdm's, in notebooks; we do not use it
            if homes[name] == package:
                return import_module(f"{package}.{name}")
            return getattr(import_module(homes[name]), name)

    return get, lambda: sorted(homes)
