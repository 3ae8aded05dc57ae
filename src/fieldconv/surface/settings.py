"""How a mesh becomes a `Surface`: plain data that travels with caches, runs and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from fieldconv._checked import check_choices, check_count, shown
from fieldconv.geometry.geodesic.discs import RADIUS

Solver = Literal["local", "heat"]

FEATURES = {"xyz": 3, "normals": 3, "hks": 16, "wks": 16, "heat": 8, "rim": 1, "balls": 41}
"""What a network may see at a point, and how many numbers each is."""
TURNING = ("xyz", "normals")
"""Those that turn with the shape; the others are intrinsic."""

SAMPLES = 1024
"""Usual number of samples where a task does not need every vertex, as in the paper's segmentation."""
EIGENFUNCTIONS = 128
"""Eigenfunctions of an eigenbasis, as many as in DiffusionNet's paper."""

MIN_DENSITY = 0.8  # times the vertices of training shapes: meshes with fewer are subdivided
OLD_NAMES = {"fewest": "min_vertices", "sampling": "sampling_seed"}  # fields as version 0.2.0 named them
MAX_RADIUS = 1e6  # no two points of a surface of unit area that can be measured are so far apart


@dataclass(frozen=True)
class SurfaceSettings:
    """Preprocessing of a mesh, which is first scaled to unit area and centred.

    Examples
    --------
    >>> SurfaceSettings(radius=0.1, samples=2048).samples
    2048
    """

    radius: float = RADIUS
    """Geodesic radius ε of the filters' support, at unit area."""
    samples: int | None = None
    """Farthest-point samples the network works on; every vertex if not given."""
    features: str = "xyz"
    """What the network sees at a point: its position (xyz), its normal (normals), the intrinsic heat or wave
    kernel signature (hks, wks), heat after short times, which no distant cut changes (heat), how near a rim
    is (rim), the shape within balls in space, which no contact changes (balls), or several of them
    (hks+normals)."""
    solver: Solver = "local"
    """Unfolding of triangles (nearly exact for very many), or the vector heat method (as the paper did)."""
    operators: tuple[str, ...] = ("discs",)
    """What the surface carries for the network's layers: discs, coarse, eigenbasis, eigengradients."""
    eigenfunctions: int = EIGENFUNCTIONS
    """Number of eigenfunctions in an eigenbasis."""
    closed: bool = False
    """Close holes and open ends, so that they hardly change heat, paths and scale."""
    smoothing: float = 0.0
    """Smooth away bumps narrower than this share of the box's diagonal, so that noise changes neither area
    nor paths; 0.02 is right for scans."""
    min_vertices: int | None = None
    """Subdivide meshes that have fewer vertices than this; none if not given."""
    sampling_seed: int = 0
    """Which set of samples: 0 starts at the vertex farthest from the centre, others at a random one."""

    def __post_init__(self) -> None:
        if not 0 < self.radius <= MAX_RADIUS:
            raise ValueError(f"radius is {shown(self.radius)}; give a positive number up to {MAX_RADIUS:g}")
        if self.samples is not None:
            check_count("samples", self.samples, most=10**9)
        check_count("sampling_seed", self.sampling_seed, least=0)
        if self.min_vertices is not None:
            check_count("min_vertices", self.min_vertices, most=10**9)
        check_count("eigenfunctions", self.eigenfunctions)
        if not 0 <= self.smoothing <= 0.2:
            raise ValueError(f"smoothing is {self.smoothing}; give a number from 0 to 0.2")
        check_choices(self, solver=("local", "heat"))
        feature_columns(self.features)
        object.__setattr__(self, "operators", tuple(self.operators))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SurfaceSettings:
        """Build from `to_dict`'s output, also of version 0.2.0; raise TypeError for unknown names.

        Examples
        --------
        >>> SurfaceSettings.from_dict({"samples": 500, "fewest": 400}).min_vertices
        400
        """
        return cls(**{OLD_NAMES.get(name, name): value for name, value in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, by name."""
        return asdict(self)

    def changed(self) -> dict[str, Any]:
        """Return the values that are not the defaults."""
        usual = SurfaceSettings().to_dict()
        return {name: value for name, value in self.to_dict().items() if value != usual[name]}

    def in_effect(self, vertices: int) -> SurfaceSettings:
        """Return the settings without those that change nothing for a mesh of so many vertices.

        Examples
        --------
        >>> SurfaceSettings(samples=2048, min_vertices=500).in_effect(1000) == SurfaceSettings()
        True
        >>> SurfaceSettings(samples=2048, min_vertices=500).in_effect(5000).changed()
        {'samples': 2048}
        """
        if self.min_vertices is not None and vertices < self.min_vertices:
            return self
        every = self.samples is None or self.samples >= vertices
        return replace(self, samples=None if every else self.samples, min_vertices=None)


def feature_columns(features: str) -> dict[str, slice]:
    """Return which columns of ``x`` hold each of the named features; raise ValueError for an unknown name.

    Examples
    --------
    >>> feature_columns("hks+normals")
    {'hks': slice(0, 16, None), 'normals': slice(16, 19, None)}
    """
    columns, first = {}, 0
    for name in features.split("+"):
        if name not in FEATURES:
            raise ValueError(
                f"features is {features!r}; choose of {', '.join(FEATURES)}, several joined by a plus sign"
            )
        columns[name] = slice(first, first + FEATURES[name])
        first += FEATURES[name]
    return columns
