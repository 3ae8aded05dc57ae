"""Tell the surface of a mesh from the specks that scanners and exporters leave beside it."""

from __future__ import annotations

import numpy as np

from fieldconv._arrays import Ints
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import components

SPECK_SHARES = (1e-4, 1e-5, 1e-6, 1e-7)  # of the area; parts below the first that fits are specks
MAX_SPECKS_SHARE = 0.01  # a share fits if all parts below it together have no more than this


def surface_vertices(mesh: Mesh) -> Ints:
    """Return the vertices of the surface of a mesh, ascending: those with a face and not of a speck.

    A speck is a part with less than 1/10,000 of the area. If all specks together have more than 1/100, only
    parts with less than 1/100,000 are specks, and so on.

    Examples
    --------
    >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> speck = [[9, 9, 9], [9, 9, 9.01], [9, 9.01, 9]]
    >>> surface_vertices(Mesh([*square, *speck, [5, 5, 5]], [[0, 1, 2], [0, 2, 3], [4, 5, 6]]))
    array([0, 1, 2, 3])
    """
    count = len(mesh.vertices)
    part = components(count, mesh.faces)
    included = np.zeros(count, bool)
    included[mesh.faces] = True
    if len(np.unique(part[included])) > 1:
        share = np.bincount(part[mesh.faces[:, 0]], mesh.face_areas / mesh.area, part.max() + 1)
        for limit in SPECK_SHARES:
            if share[share < limit].sum() <= MAX_SPECKS_SHARE:
                included &= (share >= limit)[part]
                break
    return np.flatnonzero(included)
