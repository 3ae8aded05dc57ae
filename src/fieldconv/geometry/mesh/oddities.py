"""Warnings about a mesh that was used although something is odd about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fieldconv.geometry.mesh.check import counted
from fieldconv.geometry.mesh.mesh import Mesh


@dataclass(frozen=True)
class Oddities:
    """Counts of what a network cannot see, and what was done about it.

    Attributes
    ----------
    vertices, faces : int
        Size of the mesh.
    without_position : int
        Vertices with a coordinate that is NaN or infinite.
    without_face : int
        Vertices that are part of no face.
    components : int
        Parts of the mesh that share no vertex.
    repairs : tuple of str
        What was mended before the mesh could be used, in words; empty if it was used as it is.
    """

    vertices: int
    faces: int
    without_position: int
    without_face: int
    components: int
    repairs: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {**asdict(self), "repairs": list(self.repairs), "repaired": bool(self.repairs)}

    def __str__(self) -> str:
        """Return the defects as a sentence, or an empty string for a connected mesh without any."""
        found = []
        if self.without_position:
            found.append(f"{counted(self.without_position, 'vertex', 'vertices')} without a position")
        if self.without_face:
            found.append(f"{counted(self.without_face, 'vertex', 'vertices')} on no face")
        if self.components != 1:
            found.append(counted(self.components, "component"))
        if self.repairs:
            found.append(f"repaired: {', '.join(self.repairs)}")
        return "; ".join(found)


def oddities(mesh: Mesh, repairs: Sequence[str] = ()) -> Oddities:
    """Return what is odd about a mesh; ``repairs`` says what was repaired before.

    Examples
    --------
    >>> str(oddities(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 9]], [[0, 1, 2]])))
    '1 vertex on no face'
    """
    count, faces = len(mesh.vertices), mesh.faces
    used = np.zeros(count, bool)
    used[faces] = True
    edges = (np.ones(2 * len(faces), bool), (faces[:, [0, 1]].ravel("F"), faces[:, [1, 2]].ravel("F")))
    _, part = connected_components(coo_array(edges, (count, count)), directed=False)
    return Oddities(
        vertices=count,
        faces=len(faces),
        without_position=int((~np.isfinite(mesh.vertices).all(1)).sum()),
        without_face=int((~used).sum()),
        components=len(np.unique(part[used])),
        repairs=tuple(repairs),
    )
