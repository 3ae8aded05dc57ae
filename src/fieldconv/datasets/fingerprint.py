"""What the result of a reader depends on, for the key under which the result is cached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from types import FunctionType

import numpy as np

from fieldconv.geometry.mesh.mesh import Mesh


def fingerprint(reader: Callable[..., object]) -> list[object] | None:
    """Return what a reader's result depends on: its function and arguments, and the size and time of files.

    None for a reader that is no plain function or has unusual arguments.
    """
    function: object = reader
    arguments: tuple[object, ...] = ()
    if isinstance(reader, partial):
        function, arguments = reader.func, (*reader.args, *sorted(reader.keywords.items()))
    if not isinstance(function, FunctionType) or function.__closure__ or "<lambda>" in function.__qualname__:
        return None
    try:
        return [function.__module__, function.__qualname__, [_describe(value) for value in arguments]]
    except TypeError:
        return None


def _describe(value: object) -> object:
    """Return a value that JSON can hold."""
    if callable(value):
        inner = fingerprint(value)
        if inner is None:
            raise TypeError(f"{value} has no fingerprint")
        return inner
    if isinstance(value, Path):
        about = value.stat() if value.is_file() else None
        return [str(value.resolve()), about and [about.st_size, about.st_mtime_ns]]
    if isinstance(value, Mesh):
        return hashlib.sha256(value.vertices.tobytes() + value.faces.tobytes()).hexdigest()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return repr(value)
    json.dumps(value)
    return value
