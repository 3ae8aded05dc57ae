"""Geodesic distances between all vertices of a template, by which correspondences are judged."""

from __future__ import annotations

from os import PathLike

import numpy as np
import torch
from numpy.typing import NDArray

from fieldconv.geometry.geodesic.distances import all_distances
from fieldconv.geometry.geodesic.geodesic_discs import SOLVER_VERSION
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.surface.cache import SurfaceCache, mesh_digest

EXACT = 0.15  # up to this distance the exact solver's; beyond, within about half a percent


def template_distances(mesh: Mesh, folder: str | PathLike[str] | None = None) -> NDArray[np.float32]:
    """Return (V, V) geodesic distances on the mesh scaled to unit area; kept in ``folder``.

    Exact up to 0.15, which is where error curves are read; beyond by a front over the triangles, within
    about half a percent. Between components the distance is infinite.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> template_distances(square).round(3)[0].tolist()
    [0.0, 1.0, 1.4140000343322754, 1.0]
    """
    if folder is None:
        return all_distances(mesh.normalised(), EXACT)
    store, key = SurfaceCache(folder), ["distances", SOLVER_VERSION, EXACT, mesh_digest(mesh)]
    stored = store.load(key)
    if stored is not None:
        kept: NDArray[np.float32] = stored["distances"].numpy()
        return kept
    computed = all_distances(mesh.normalised(), EXACT)
    store.save(key, {"distances": torch.from_numpy(computed)})
    return computed
