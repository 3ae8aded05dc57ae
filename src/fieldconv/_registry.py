"""Registries of named classes: of this package, of other packages, and of the caller's script."""

from __future__ import annotations

import difflib
import pkgutil
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Generic, TypeVar

from fieldconv._checked import shown

Kind = TypeVar("Kind")


class Registry(Generic[Kind]):
    """Classes that are found by name and loaded when needed.

    Every module (or subpackage) of ``package``, and of its subpackages ``within``, that is not in ``helpers``
    holds one class, under its own name. Other packages add theirs with entry points of the group ``package``;
    `register` adds one for this process.
    """

    def __init__(
        self,
        what: str,  # what the classes are, for messages: "task"
        package: str,
        base: Callable[[], type[Kind]],  # returns their base class
        *,
        helpers: Iterable[str],
        within: Iterable[str] = (),  # a missing one is skipped
    ) -> None:
        self.what, self.package, self._base = what, package, base
        self._folders = [package, *(f"{package}.{name}" for name in within)]
        self._helpers = {*helpers, *within}
        self._added: dict[str, type[Kind]] = {}

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted({*self._own(), *self._foreign(), *self._added})

    def get(self, name: str) -> type[Kind]:
        """Return the class of that name; raise ValueError with the nearest names if there is none."""
        if name in self._added:
            return self._added[name]
        if name in self._own():
            home = self._own()[name]
            here = (value for value in vars(import_module(home)).values() if isinstance(value, type))
            for kind in here:
                if issubclass(kind, self._base()) and f"{kind.__module__}.".startswith(f"{home}."):
                    return kind
            raise ValueError(f"{home} holds no {self.what}: expected a subclass of {self._base().__name__}")
        if name in self._foreign():
            return self._checked(name, self._foreign()[name])
        near = difflib.get_close_matches(str(name)[:100], self.names(), 1, 0.7)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(self.names())}"
        raise ValueError(f"unknown {self.what} {shown(name)}; {hint}")

    def register(self, thing: type[Kind]) -> type[Kind]:
        """Add a class for the rest of this process, by its attribute ``name``; also a decorator."""
        self._added[thing.name] = thing  # type: ignore[attr-defined]
        return thing

    def all(self) -> list[type[Kind]]:
        """Return every class, sorted by name, without those of other packages that fail to load."""
        found = []
        for name in self.names():
            try:
                found.append(self.get(name))
            except ValueError:
                if name in self._own():
                    raise
        return found

    def _own(self) -> dict[str, str]:
        """Return the module of each name: body_points.py holds body-points."""
        found = {}
        for folder in self._folders:
            if find_spec(folder) is not None:
                for module in pkgutil.iter_modules(import_module(folder).__path__):
                    if module.name not in self._helpers:
                        found[module.name.replace("_", "-")] = f"{folder}.{module.name}"
        return found

    def _foreign(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.package)}

    def _checked(self, name: str, entry: EntryPoint) -> type[Kind]:
        try:
            found = entry.load()
        except Exception as error:  # anything may fail in another package
            raise ValueError(f"the {self.what} {name!r} ({entry.value}) cannot be loaded: {error}") from error
        if not (isinstance(found, type) and issubclass(found, self._base())):
            raise ValueError(
                f"{entry.value} is no {self.what}: expected a subclass of {self._base().__name__}"
            )
        return found
