"""Laplacians that prefer a direction: heat flows slowly along it, given relative to principal curvatures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Floats, Ints
from fieldconv.geometry.mesh.mesh import Mesh


class Stiffness(NamedTuple):
    """Several stiffness matrices with entries at the same places.

    Attributes
    ----------
    row, column : (E,) int64
        Each pair of vertices once, sorted by row, then column.
    values : (E, k) float64
        The entries of each of the k matrices.
    """

    row: Ints
    column: Ints
    values: Floats


def principal_directions(mesh: Mesh, *, smoothing: int = 10) -> Floats:
    """Return the direction of largest curvature at each face; bulges have positive curvature.

    The curvature of a face is the change of the vertex normals over it. Where it is the same in all
    directions, as on spheres and planes, the direction is arbitrary.

    Parameters
    ----------
    mesh : Mesh
    smoothing : int
        How often curvature is averaged over neighbouring faces before its direction is taken.

    Returns
    -------
    (F, 3) float64
        Unit vectors in the planes of the faces; their signs mean nothing. Zero at faces without area.

    Examples
    --------
    >>> roof = Mesh([[0, 0, 1], [2, 0, 1], [2, 1, 0], [0, 1, 0], [0, -1, 0], [2, -1, 0]],
    ...             [[0, 1, 2], [0, 2, 3], [4, 5, 1], [4, 1, 0]])
    >>> np.abs(principal_directions(roof, smoothing=0)[:, 0]).round(1).tolist()  # straight along x
    [0.2, 0.0, 0.0, 0.2]
    """
    hats, normal, area = _hat_gradients(mesh)
    bend = np.einsum("fki,fkj->fij", mesh.vertex_normals[mesh.faces], hats)
    bend = 0.5 * (bend + bend.transpose(0, 2, 1))
    flat, corner = bend.reshape(-1, 9), mesh.faces.ravel()
    whole = np.maximum(np.bincount(corner, np.repeat(area, 3), len(mesh.vertices)), 1e-300)
    for _ in range(smoothing):
        weighted = np.repeat(area[:, None] * flat, 3, axis=0)
        at_vertices = np.stack(
            [np.bincount(corner, column, len(mesh.vertices)) / whole for column in weighted.T], 1
        )
        flat = at_vertices[mesh.faces].mean(1)
    bend = flat.reshape(-1, 3, 3)
    side = mesh.vertices[mesh.faces[:, 1]] - mesh.vertices[mesh.faces[:, 0]]
    first = side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300)
    second = np.cross(normal, first)
    xx, xy, yy = (
        np.einsum("fi,fij,fj->f", u, bend, v) for u, v in ((first, first), (first, second), (second, second))
    )
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)[:, None]
    return np.where(area[:, None] > 0, np.cos(angle) * first + np.sin(angle) * second, 0.0)


def anisotropic_stiffness(
    mesh: Mesh, directions: Floats, angles: ArrayLike, *, anisotropy: float = 10.0
) -> Stiffness:
    """Return the stiffness matrices of −div(D ∇f), for conductivities D that are smaller along one direction.

    D is 1/(1 + α) along the direction and 1 across it. With functions that are linear on each triangle, the
    entry of two vertices is ∫ ∇φ_p · D ∇φ_q. With α = 0 it is the cotangent Laplacian.

    Parameters
    ----------
    mesh : Mesh
    directions : (F, 3)
        Unit vectors in the planes of the faces, as from `principal_directions`.
    angles : (k,)
        Angles by which the directions are turned anticlockwise, in radians; one matrix for each.
    anisotropy : float
        α.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> flow = anisotropic_stiffness(square, np.array([[1.0, 0, 0]] * 2), [0.0], anisotropy=1.0)
    >>> flow.values[flow.row == 0, 0].round(6).tolist()  # along x to vertex 1, along y to vertex 3
    [0.75, -0.25, 0.0, -0.5]
    """
    hats, normal, area = _hat_gradients(mesh)
    across = np.cross(normal, directions)
    whole = area[:, None, None] * np.einsum("fik,fjk->fij", hats, hats)
    entries = []
    for angle in np.asarray(angles, np.float64):
        slow = np.einsum("fik,fk->fi", hats, np.cos(angle) * directions + np.sin(angle) * across)
        less = anisotropy / (1 + anisotropy) * area[:, None, None] * slow[:, :, None] * slow[:, None, :]
        entries.append((whole - less).ravel())
    row, column = np.repeat(mesh.faces, 3, axis=1).ravel(), np.tile(mesh.faces, 3).ravel()
    return sum_duplicates(row, column, np.stack(entries, 1), len(mesh.vertices))


def sum_duplicates(row: Ints, column: Ints, values: Floats, size: int) -> Stiffness:
    """Return the entries with those of the same row and column added up."""
    pairs, which = np.unique(row * size + column, return_inverse=True)
    totals = [np.bincount(which, one, len(pairs)) for one in values.T]
    return Stiffness(pairs // size, pairs % size, np.stack(totals, 1))


def _hat_gradients(mesh: Mesh) -> tuple[Floats, Floats, Floats]:
    """Return gradients (F, 3, 3) of the three corners' hat functions, unit normals and areas of the faces."""
    corners = mesh.vertices[mesh.faces]
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(doubled, axis=1)
    usable = length > 1e-14 * max(float(length.max(initial=0.0)), 1e-300)
    safe = np.where(usable, length, 1.0)
    normal = doubled / safe[:, None] * usable[:, None]
    sides = np.roll(corners, 1, axis=1) - np.roll(corners, -1, axis=1)
    hats = np.cross(normal[:, None], sides) / safe[:, None, None]
    return hats, normal, 0.5 * length * usable
