"""Gradients of functions on a mesh, as tangent vectors at its vertices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from fieldconv.geometry.geodesic.geodesic_discs import tangent_frames
from fieldconv.geometry.mesh.mesh import Mesh


def vertex_gradients(mesh: Mesh, values: ArrayLike) -> NDArray[np.complex128]:
    """Return the gradient of functions given at the vertices, in each vertex's tangent frame.

    A function, a column of ``values`` (V,) or (V, k), is linear on each triangle. Its gradient at a vertex,
    complex and of the same shape, is the mean over the triangles around it, weighted by their areas, and
    projected to the tangent plane; zero at vertices without triangles.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> np.abs(vertex_gradients(square, 3 * square.vertices[:, 0])).round(9).tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    functions = np.asarray(values, np.float64)
    corners = mesh.vertices[mesh.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    doubled = np.linalg.norm(normal, axis=1)
    usable = doubled > 0
    unit = normal / np.where(usable, doubled, 1)[:, None]
    # ∇f · area = ½ Σ fᵢ n × (the side opposite corner i); summed over the triangles around each vertex.
    sides = np.roll(corners, 1, axis=1) - np.roll(corners, -1, axis=1)
    weighted = 0.5 * np.cross(unit[:, None], sides) * usable[:, None, None]
    frames, normals = tangent_frames(mesh)
    across = np.cross(normals, frames)
    count = len(mesh.vertices)
    around = np.repeat(mesh.faces, 3, axis=1).ravel()  # the vertex that receives
    corner = np.tile(mesh.faces, 3).ravel()  # the vertex whose value is read
    flow = np.tile(weighted, (1, 3, 1)).reshape(-1, 3)
    along = (flow * frames[around]).sum(1) + 1j * (flow * across[around]).sum(1)
    total = np.bincount(mesh.faces.ravel(), np.repeat(doubled / 2, 3), minlength=count)
    operator = csr_array((along, (around, corner)), (count, count))
    summed = operator @ functions
    share = 1 / np.where(total > 0, total, 1.0)
    return np.asarray(summed * (share[:, None] if functions.ndim > 1 else share))
