"""Deep learning on curved surfaces with field convolutions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Name → module. Loaded on first use: `import fieldconv` must not wait for torch.
_PUBLIC = {
    "Mesh": "geometry.mesh",
    "MeshError": "geometry.mesh",
    "Discs": "geometry.discs",
    "geodesic_discs": "geometry.geodesics",
    "tangent_frames": "geometry.geodesics",
    "Surface": "surface",
    "ToSurface": "surface",
    "SurfaceSettings": "settings",
    "SurfaceCache": "cache",
    "FCNet": "models.fcnet",
    "FCNetConfig": "models.config",
    "keep_freed_memory": "_memory",
    "train": "training",
    "evaluate": "training",
    "predict": "training",
    "match": "training",
}
_MODULES = {
    "datasets",
    "geometry",
    "models",
    "nn",
    "ops",
    "surface",
    "tasks",
    "testing",
    "training",
    "transforms",
    "viz",
}

if TYPE_CHECKING:
    from ._memory import keep_freed_memory as keep_freed_memory
    from .cache import SurfaceCache as SurfaceCache
    from .geometry.discs import Discs as Discs
    from .geometry.geodesics import geodesic_discs as geodesic_discs
    from .geometry.geodesics import tangent_frames as tangent_frames
    from .geometry.mesh import Mesh as Mesh
    from .geometry.mesh import MeshError as MeshError
    from .models.config import FCNetConfig as FCNetConfig
    from .models.fcnet import FCNet as FCNet
    from .settings import SurfaceSettings as SurfaceSettings
    from .surface import Surface as Surface
    from .surface import ToSurface as ToSurface
    from .training import evaluate as evaluate
    from .training import match as match
    from .training import predict as predict
    from .training import train as train


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_PUBLIC, *_MODULES, "__version__"})
