"""Depth of limbs in each other, by which poses are rejected."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from fieldconv.geometry.mesh.triangles import vertex_normals
from recipes.bodies.model import Floats, Ints
from recipes.bodies.parts import FINE_PARTS

# Groups of parts that move together. A group may touch itself and its neighbours, as skin folds do.
_GROUPS = {
    "head": ("face", "scalp", "neck"),
    "trunk": ("chest", "upper back", "belly", "lower back", "pelvis"),
    **{f"{side} upper arm": (f"{side} upper arm",) for side in ("left", "right")},
    **{
        f"{side} forearm": tuple(
            f"{side} {name}"
            for name in (
                "lower arm",
                "palm",
                "thumb",
                "index finger",
                "middle finger",
                "ring finger",
                "little finger",
            )
        )
        for side in ("left", "right")
    },
    **{f"{side} thigh": (f"{side} upper leg",) for side in ("left", "right")},
    **{
        f"{side} shin": tuple(f"{side} {name}" for name in ("lower leg", "foot", "toes"))
        for side in ("left", "right")
    },
}
_JOINED = {
    ("head", "trunk"),
    *(("trunk", f"{side} {limb}") for side in ("left", "right") for limb in ("upper arm", "thigh")),
    *((f"{side} upper arm", f"{side} forearm") for side in ("left", "right")),
    *((f"{side} thigh", f"{side} shin") for side in ("left", "right")),
    ("left thigh", "right thigh"),
}
_NAMES = tuple(_GROUPS)
_GROUP_OF_FINE = np.array(
    [next(g for g, n in enumerate(_NAMES) if fine in _GROUPS[n]) for fine in FINE_PARTS]
)
_PAIRS = tuple(
    (a, b)
    for a in range(len(_NAMES))
    for b in range(a)
    if (_NAMES[a], _NAMES[b]) not in _JOINED and (_NAMES[b], _NAMES[a]) not in _JOINED
)


def depth(points: Floats, faces: Ints, fine: Ints, every: int = 5) -> float:
    """Return roughly the depth of the deepest vertex of a part inside another, in units of ``points``.

    Parameters
    ----------
    points, faces : (V, 3), (F, 3)
        The posed skin.
    fine : (V,) int64
        Finer part of each vertex.
    every : int
        Only every ``every``-th vertex is examined.
    """
    normals = vertex_normals(points, faces)[::every]
    points, group = points[::every], _GROUP_OF_FINE[fine[::every]]
    members = [np.flatnonzero(group == g) for g in range(len(_NAMES))]
    low = [points[one].min(axis=0) for one in members]
    high = [points[one].max(axis=0) for one in members]
    trees: dict[int, cKDTree] = {}
    deepest = 0.0
    for a, b in _PAIRS:
        if (low[a] > high[b]).any() or (low[b] > high[a]).any():
            continue
        for one, other in ((a, b), (b, a)):
            inside = members[one]
            near = ((points[inside] >= low[other]) & (points[inside] <= high[other])).all(axis=1)
            inside = inside[near]
            if not len(inside):
                continue
            if other not in trees:
                trees[other] = cKDTree(points[members[other]])
            nearest = members[other][trees[other].query(points[inside])[1]]
            way = points[inside] - points[nearest]
            height = (way * normals[nearest]).sum(axis=1)
            # Well inside: straight below the skin, not beside its edge.
            below = (height < 0) & (-height > 0.6 * np.linalg.norm(way, axis=1))
            deepest = max(deepest, float(-height[below].min(initial=0.0)))
    return deepest
