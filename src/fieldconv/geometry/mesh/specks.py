"""What of a mesh is its surface, and what are crumbs that scanners and exporters leave beside it."""

from __future__ import annotations

import numpy as np

from fieldconv._arrays import Ints
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import components

SPECK_SHARES = (1e-4, 1e-5, 1e-6, 1e-7)  # of the area: smaller parts are specks …
ALL_SPECKS_SHARE = 0.01  # … by the first of these by which all specks together have no more than this share


def surface_vertices(mesh: Mesh) -> Ints:
    """Return the vertices, ascending, of what counts as the surface of a mesh.

    Left out are vertices on no face, and the vertices of specks: parts with less than 1/10,000 of the area.
    Where all of them together have more than 1/100, only parts with less than 1/100,000 are, and so on.

    Examples
    --------
    >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> speck = [[9, 9, 9], [9, 9, 9.01], [9, 9.01, 9]]
    >>> surface_vertices(Mesh([*square, *speck, [5, 5, 5]], [[0, 1, 2], [0, 2, 3], [4, 5, 6]]))
    array([0, 1, 2, 3])
    """
    count = len(mesh.vertices)
    part = components(count, mesh.faces)
    counts = np.zeros(count, bool)
    counts[mesh.faces] = True
    if np.count_nonzero(np.bincount(part[counts])) > 1:
        share = np.bincount(part[mesh.faces[:, 0]], mesh.face_areas / mesh.area, part.max() + 1)
        for limit in SPECK_SHARES:
            if share[share < limit].sum() <= ALL_SPECKS_SHARE:
                counts &= (share >= limit)[part]
                break
    return np.flatnonzero(counts)
