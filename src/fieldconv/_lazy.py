"""Names of a package that are loaded when they are first used, listed in its stub ``__init__.pyi``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from fieldconv._process import process_unchanged


def lazy(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package with this ``__name__`` and ``__file__``.

    It offers the names that the stub ``__init__.pyi`` beside it imports, which type checkers read as well:
    lines ``from fieldconv.networks.fcnet import FCNet as FCNet``.
    """

    @cache
    def homes() -> dict[str, str]:
        import ast  # `fieldconv --help` needs neither this nor the stub

        with open(f"{file.removesuffix('.py')}.pyi", encoding="utf-8") as stub:
            tree = ast.parse(stub.read())
        return {
            alias.name: node.module
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }

    def get(name: str) -> Any:
        home = homes().get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with process_unchanged():  # which imported packages may change
            warnings.filterwarnings("ignore", "IProgress not found")  # tqdm's, in notebooks; we do not use it
            if home == package:
                return import_module(f"{package}.{name}")
            return getattr(import_module(home), name)

    return get, lambda: sorted(homes())
