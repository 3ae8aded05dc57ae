"""Geodesic distances between all vertices of a template, by which correspondences are judged."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldconv._compiled import kernel, num_threads, run_blocks
from fieldconv._io import atomic_path
from fieldconv.geometry.geodesics import SOLVER_VERSION, geodesic_discs
from fieldconv.geometry.mesh import Mesh
from fieldconv.geometry.sampling import _corners, _grow

EXACT = 0.15  # up to this distance the exact solver's; beyond, within about half a percent


def template_distances(mesh: Mesh, folder: str | Path | None = None) -> NDArray[np.float32]:
    """(V, V) geodesic distances on the mesh scaled to unit area; kept in ``folder`` for the next time.

    Exact up to 0.15, which is where error curves are read; beyond by a front over the triangles, within
    about half a percent. Between components the distance is infinite.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> template_distances(square).round(3)[0].tolist()
    [0.0, 1.0, 1.4140000343322754, 1.0]
    """
    if folder is None:
        return _compute(mesh)
    digest = hashlib.sha256(f"{SOLVER_VERSION} {EXACT}".encode())
    digest.update(mesh.vertices.tobytes() + mesh.faces.tobytes())
    path = Path(folder) / "distances" / f"{digest.hexdigest()}.npy"
    try:
        stored: NDArray[np.float32] = np.load(path, allow_pickle=False)
        if stored.shape == (len(mesh.vertices),) * 2:
            return stored
    except (OSError, ValueError, EOFError):
        pass
    computed = _compute(mesh)
    with atomic_path(path) as temporary:
        np.save(temporary, computed, allow_pickle=False)
    return computed


def _compute(mesh: Mesh) -> NDArray[np.float32]:
    mesh = mesh.normalised()
    count = len(mesh.vertices)
    distances = np.full((count, count), np.inf, np.float32)
    corners = _corners(mesh)
    cuts = np.linspace(0, count, 4 * num_threads() + 1).astype(int).tolist()
    run_blocks(
        _fronts,
        [(mesh.vertices, *corners, a, b, distances) for a, b in pairwise(cuts)],
    )
    discs = geodesic_discs(mesh, EXACT)
    distances[discs.centres, discs.targets] = discs.distance
    return distances


@kernel
def _fronts(vertices, offsets, corners, first, last, distances):  # type: ignore[no-untyped-def]
    limit = np.full(len(vertices), np.inf)
    distance = np.full(len(vertices), np.inf)
    reached = np.empty(len(vertices), np.int64)
    for source in range(first, last):
        for j in range(_grow(vertices, offsets, corners, source, limit, distance, reached)):
            distances[source, reached[j]] = distance[reached[j]]
            distance[reached[j]] = np.inf
