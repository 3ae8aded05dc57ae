"""Geodesic distances between all vertices of a template, by which correspondences are judged."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldconv._io import write_array
from fieldconv.geometry.distances import all_distances
from fieldconv.geometry.geodesics import SOLVER_VERSION
from fieldconv.geometry.mesh import Mesh

EXACT = 0.15  # up to this distance the exact solver's; beyond, within about half a percent


def template_distances(mesh: Mesh, folder: str | Path | None = None) -> NDArray[np.float32]:
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
    digest = hashlib.sha256(f"{SOLVER_VERSION} {EXACT}".encode())
    digest.update(mesh.vertices.tobytes() + mesh.faces.tobytes())
    path = Path(folder) / "distances" / f"{digest.hexdigest()}.npy"
    try:
        stored: NDArray[np.float32] = np.load(path, allow_pickle=False)
        if stored.shape == (len(mesh.vertices),) * 2:
            return stored
    except (OSError, ValueError, EOFError):
        pass
    computed = all_distances(mesh.normalised(), EXACT)
    write_array(path, computed)
    return computed
