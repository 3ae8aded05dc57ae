"""Which implementation of the operations runs: compiled CPU kernels or portable torch."""

from __future__ import annotations

import os
from typing import Literal, get_args

from torch import Tensor

Backend = Literal["auto", "torch", "compiled"]
BACKEND_VARIABLE = "FIELDCONV_BACKEND"


def check_backend(backend: Backend, x: Tensor) -> None:
    """Raise ValueError if there is no such backend, or if it cannot run on the device of ``x``."""
    if backend not in get_args(Backend):
        raise ValueError(f'backend must be "auto", "torch" or "compiled", got {backend!r}.')
    if backend == "compiled" and x.device.type != "cpu":
        raise ValueError(
            f'The backend "compiled" runs on the CPU, but the features are on {x.device}; use "auto".'
        )


def use_compiled(backend: Backend, x: Tensor) -> bool:
    """Return whether the compiled kernels serve features ``x``.

    "auto" stands for the value of the environment variable ``FIELDCONV_BACKEND``: "torch", "compiled", or
    "auto" (the default), which takes the kernels on the CPU. Raise ValueError if it has another value.
    """
    if backend == "auto":
        variable = os.environ.get(BACKEND_VARIABLE) or "auto"
        if variable not in get_args(Backend):
            raise ValueError(f"{BACKEND_VARIABLE} must be auto, torch or compiled, got {variable}.")
        if variable == "auto":
            return x.device.type == "cpu"
        backend = variable  # type: ignore[assignment]
    check_backend(backend, x)
    return backend == "compiled"
