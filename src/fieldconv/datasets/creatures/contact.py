"""Where two limbs of a posed creature come closest."""

from __future__ import annotations

import numpy as np

from fieldconv.datasets.creatures.skeleton import Array
from fieldconv.datasets.creatures.solid import Faces
from fieldconv.geometry.damage.build_bridge import facing_pairs
from fieldconv.geometry.mesh.halfedge import vertex_areas


def closest_approach(points: Array, faces: Faces, rest: Array, *, most: int = 1500) -> tuple[float, int, int]:
    """Return the two nearest vertices that face each other and are far apart at rest, and their distance.

    At most ``most`` vertices are examined. The distance is infinite if there is no such pair.
    """
    some = np.linspace(0, len(points) - 1, min(most, len(points))).astype(int)
    scale = np.sqrt(vertex_areas(points, faces).sum())
    a, b, gap = facing_pairs(points, faces, some, 0.6 * scale)
    edge = np.linalg.norm(points[faces[:, 0]] - points[faces[:, 1]], axis=1).mean()
    far = np.linalg.norm(rest[a] - rest[b], axis=1) > max(0.25 * scale, 7 * edge)  # discs must not meet
    if not far.any():
        return np.inf, 0, 0
    best = int(np.flatnonzero(far)[gap[far].argmin()])
    return float(gap[best]), int(a[best]), int(b[best])
