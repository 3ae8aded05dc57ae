"""What the result of a reader depends on, so that what is kept of it is used only while it holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from fieldconv.geometry.mesh.mesh import Mesh


def fingerprint(reader: Callable[..., Any]) -> list[Any] | None:
    """Return what a reader's result depends on: its function and arguments, and of files the size and time.

    None for readers of which that cannot be said: they are not plain functions, or have unusual arguments.
    """
    function, arguments = reader, ()  # type: tuple[Any, tuple[Any, ...]]
    if isinstance(reader, partial):
        function, arguments = reader.func, (*reader.args, *sorted(reader.keywords.items()))
    if not isinstance(function, FunctionType) or function.__closure__ or "<lambda>" in function.__qualname__:
        return None
    try:
        return [function.__module__, function.__qualname__, [_describe(value) for value in arguments]]
    except TypeError:
        return None


def _describe(value: Any) -> Any:
    """The value as JSON."""
    if callable(value):
        inner = fingerprint(value)
        if inner is None:
            raise TypeError(f"{value} may give anything")
        return inner
    if isinstance(value, Path):
        found = value.stat() if value.is_file() else None
        return [str(value.resolve()), found and [found.st_size, found.st_mtime_ns]]
    if isinstance(value, Mesh):
        return hashlib.sha256(value.vertices.tobytes() + value.faces.tobytes()).hexdigest()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return repr(value)
    json.dumps(value)
    return value
