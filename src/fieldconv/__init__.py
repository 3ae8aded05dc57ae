"""Deep learning on curved surfaces with field convolutions."""

from typing import TYPE_CHECKING

from fieldconv._lazy import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fieldconv._memory import keep_freed_memory as keep_freed_memory
    from fieldconv.geometry.discs import Discs as Discs
    from fieldconv.geometry.geodesics import geodesic_discs as geodesic_discs
    from fieldconv.geometry.geodesics import tangent_frames as tangent_frames
    from fieldconv.geometry.mesh import Mesh as Mesh
    from fieldconv.geometry.mesh import MeshError as MeshError
    from fieldconv.networks.base import Network as Network
    from fieldconv.networks.base import NetworkConfig as NetworkConfig
    from fieldconv.networks.fcnet import FCNet as FCNet
    from fieldconv.networks.fcnet import FCNetConfig as FCNetConfig
    from fieldconv.surface.cache import SurfaceCache as SurfaceCache
    from fieldconv.surface.settings import SurfaceSettings as SurfaceSettings
    from fieldconv.surface.surface import Surface as Surface
    from fieldconv.surface.surface import ToSurface as ToSurface
    from fieldconv.tasks.base import Task as Task
    from fieldconv.training import compare as compare
    from fieldconv.training import evaluate as evaluate
    from fieldconv.training import load as load
    from fieldconv.training import match as match
    from fieldconv.training import predict as predict
    from fieldconv.training import train as train

# The public names, each with its module, and the public modules. Loaded on first use: `import fieldconv`
# must not wait for torch.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "Discs": "geometry.discs",
        "FCNet": "networks.fcnet",
        "FCNetConfig": "networks.fcnet",
        "Mesh": "geometry.mesh",
        "MeshError": "geometry.mesh",
        "Network": "networks.base",
        "NetworkConfig": "networks.base",
        "Surface": "surface.surface",
        "SurfaceCache": "surface.cache",
        "SurfaceSettings": "surface.settings",
        "Task": "tasks.base",
        "ToSurface": "surface.surface",
        "compare": "training",
        "evaluate": "training",
        "geodesic_discs": "geometry.geodesics",
        "keep_freed_memory": "_memory",
        "load": "training",
        "match": "training",
        "predict": "training",
        "tangent_frames": "geometry.geodesics",
        "train": "training",
        **dict.fromkeys(
            (
                "datasets",
                "geometry",
                "networks",
                "nn",
                "ops",
                "surface",
                "tasks",
                "testing",
                "training",
                "transforms",
                "viz",
            ),
            "",
        ),
    },
)
