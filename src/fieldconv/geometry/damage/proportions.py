"""Other proportions for a mesh, for training networks that meet bodies from new sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.spectral.signatures import Eigenbasis, eigenbasis

# Copies are cached on disk: a change of results needs a new cache.
SMOOTHING = 0.01  # time of heat flow, at unit area, in which an arm or a leg shrinks to its axis
WAVES = 15  # lowest eigenfunctions whose sum decides where a limb becomes thicker or thinner
MAX_CHANGE = 0.7  # largest logarithm of a change of thickness


def reshape(
    mesh: Mesh,
    seed: int | Sequence[int],
    strength: float = 1.0,
    *,
    thickness: float = 0.35,
    stretch: float = 0.2,
    basis: Eigenbasis | None = None,
) -> Mesh:
    """Return the same mesh with limbs thicker and thinner in places, and stretched as a whole, at random.

    Each vertex moves away from, or closer to, the place to which heat flow would shrink it, by a factor that
    varies smoothly over the surface. Vertices keep their numbers, so labels stay true. The result has unit
    area, as from `Mesh.normalised`.

    Parameters
    ----------
    strength : float
        Factor on both ``thickness`` and ``stretch``.
    thickness : float
        Standard deviation, over the surface, of the logarithm of the factor.
    stretch : float
        Largest logarithm of the stretch along three random perpendicular directions.
    basis : Eigenbasis, optional
        At unit area, of another pose of the same mesh; computed by default.

    Examples
    --------
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> other = reshape(tetrahedron, seed=0)
    >>> bool((other.faces == tetrahedron.faces).all()), round(float(other.area), 6)
    (True, 1.0)
    """
    draw = np.random.default_rng(seed)
    mesh = mesh.normalised()
    basis = eigenbasis(mesh, 64) if basis is None else basis
    coefficients = basis.functions.T @ (basis.areas[:, None] * mesh.vertices)
    shrunk = basis.functions @ (np.exp(-SMOOTHING * basis.values)[:, None] * coefficients)
    waves = basis.functions[:, np.flatnonzero(basis.values > 1e-6)[:WAVES]]
    change = waves @ draw.normal(size=waves.shape[1])
    spread = np.sqrt(basis.areas @ change**2)
    change *= strength * thickness / spread if spread > 0 else 0.0
    factor = np.exp(np.clip(change, -MAX_CHANGE, MAX_CHANGE))
    turn = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    stretched = turn @ np.diag(np.exp(strength * draw.uniform(-stretch, stretch, 3))) @ turn.T
    vertices = (shrunk + factor[:, None] * (mesh.vertices - shrunk)) @ stretched
    return Mesh(vertices, mesh.faces, name=mesh.name).normalised()
