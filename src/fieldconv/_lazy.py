"""Names of a package that are loaded when they are first used: nobody waits for what is not needed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from fieldconv._process import process_unchanged


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        The module of each name, seen from the package or whole; an empty one for a submodule itself.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name] if homes[name].startswith("fieldconv.") else f"{package}.{homes[name] or name}"
        with process_unchanged():  # by the packages that this imports
            warnings.filterwarnings("ignore", "IProgress not found")  # tqdm's, in notebooks; we do not use it
            module = import_module(home)
        return getattr(module, name) if homes[name] else module

    return get, lambda: sorted(homes)
