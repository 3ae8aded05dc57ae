"""What a network sees of a shape: samples, features, geodesic discs; prepared once and kept on disk."""

from typing import TYPE_CHECKING

from fieldconv._lazy import lazy

if TYPE_CHECKING:
    from fieldconv.surface.cache import SurfaceCache as SurfaceCache
    from fieldconv.surface.settings import SurfaceSettings as SurfaceSettings
    from fieldconv.surface.surface import Surface as Surface
    from fieldconv.surface.surface import ToSurface as ToSurface

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Surface": "surface",
        "SurfaceCache": "cache",
        "SurfaceSettings": "settings",
        "ToSurface": "surface",
    },
)
