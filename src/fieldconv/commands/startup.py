"""A quick start: parts of other packages that few commands need are loaded when they are first used.

The first call of an operator that is registered in Python loads torch's compiler; importing scipy loads a
translator of Fortran. Only the command line does this; the library leaves imports as they are.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

POSTPONED = frozenset(["numpy.f2py", "torch._dynamo"])


class _Later(ModuleType):
    """A module that is loaded when anything in it is asked for."""

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]
        assert isinstance(self.__loader__, _Postponed)
        spec = self.__loader__.spec
        self.__spec__, self.__loader__ = spec, spec.loader
        self.__path__ = spec.submodule_search_locations or []
        assert spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


class _Postponed(Loader):
    def __init__(self, spec: ModuleSpec) -> None:
        self.spec = spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        del module.__path__  # so that importing anything below it loads it, too
        module.__file__ = self.spec.origin  # which `inspect` asks of all modules, and must not load it
        if module.__name__ == "torch._dynamo":
            # What torch asks of it at the first call of every operator that is registered in Python. As long
            # as the compiler is not loaded, there is nothing to be disabled.
            module.disable = _as_it_is  # type: ignore[attr-defined]
        module.__class__ = _Later


def _as_it_is(function: Any, *_: Any, **__: Any) -> Any:
    return function


class _Finder:
    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, path) if name in POSTPONED else None
        if found is None or found.submodule_search_locations is None:
            return None
        return ModuleSpec(name, _Postponed(found), origin=found.origin, is_package=True)


def start_quickly() -> None:
    """Load the modules in `POSTPONED` when something in them is used; look for garbage less often."""
    gc.set_threshold(20_000, *gc.get_threshold()[1:])  # imports leave none
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
        # Python looks for garbage several times as it ends, which takes half as long as importing torch.
        atexit.register(gc.freeze)
