from fieldconv.surface.cache import SurfaceCache as SurfaceCache
from fieldconv.surface.parts import Part as Part
from fieldconv.surface.parts import Preparation as Preparation
from fieldconv.surface.parts import register_operator as register_operator
from fieldconv.surface.settings import SurfaceSettings as SurfaceSettings
from fieldconv.surface.surface import Surface as Surface
from fieldconv.surface.surface import ToSurface as ToSurface
