"""Deep learning on curved surfaces with field convolutions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Name → module. Loaded on first use: `import fieldconv` must not wait for torch.
_PUBLIC = {
    "Mesh": "geometry.mesh",
    "MeshError": "geometry.mesh",
    "Discs": "geometry.geodesics",
    "geodesic_discs": "geometry.geodesics",
    "tangent_frames": "geometry.geodesics",
    "Surface": "surface",
}
_MODULES = {"datasets", "geometry", "surface", "transforms"}

if TYPE_CHECKING:
    from .geometry.geodesics import Discs as Discs
    from .geometry.geodesics import geodesic_discs as geodesic_discs
    from .geometry.geodesics import tangent_frames as tangent_frames
    from .geometry.mesh import Mesh as Mesh
    from .geometry.mesh import MeshError as MeshError
    from .surface import Surface as Surface


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_PUBLIC, *_MODULES, "__version__"})
