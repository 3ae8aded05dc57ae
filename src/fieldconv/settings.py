"""How a mesh becomes a `Surface`: plain data that travels with caches, runs and checkpoints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Features = Literal["xyz", "hks", "wks"]
Solver = Literal["local", "heat"]


@dataclass(frozen=True)
class SurfaceSettings:
    """Preprocessing of a mesh, which is first scaled to unit area and centred.

    Examples
    --------
    >>> SurfaceSettings(radius=0.1, samples=2048)
    SurfaceSettings(radius=0.1, samples=2048, features='xyz', solver='local')
    """

    radius: float = 0.2
    """Geodesic radius ε of the filters' support, at unit area."""
    samples: int | None = None
    """Farthest-point samples the network works on; every vertex if not given."""
    features: Features = "xyz"
    """What the network sees at a point: its position, or the intrinsic heat or wave kernel signature."""
    solver: Solver = "local"
    """Exact unfolding of triangles, or the vector heat method (what the paper used)."""

    def __post_init__(self) -> None:
        if not 0 < self.radius < float("inf"):
            raise ValueError(f"radius must be a positive number, not {self.radius}.")
        if self.samples is not None and self.samples < 1:
            raise ValueError(f"samples must be at least 1, not {self.samples}.")
        if self.features not in ("xyz", "hks", "wks"):
            raise ValueError(f"features must be xyz, hks or wks, not {self.features!r}.")
        if self.solver not in ("local", "heat"):
            raise ValueError(f"solver must be local or heat, not {self.solver!r}.")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
