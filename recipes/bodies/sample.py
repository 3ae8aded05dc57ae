"""A body with its ground truth, and the template that the truth refers to; both as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldconv._io import atomic_path
from fieldconv.geometry import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BodySample:
    """A body and its ground truth.

    Attributes
    ----------
    mesh : Mesh
        V vertices.
    labels, fine : (V,) int64
        Index into `PARTS` and `FINE_PARTS` of each vertex.
    triangle : (V,) int64
        The template's triangle in which each vertex lies.
    weights : (V, 3) float64
        Barycentric coordinates there.
    """

    mesh: Mesh
    labels: Ints
    fine: Ints
    triangle: Ints
    weights: Floats

    def save(self, path: str | Path) -> None:
        """Write the body as a compressed npz file, whole or not at all; numbers are rounded to 32 bits."""
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file,
                vertices=self.mesh.vertices.astype(np.float32),
                faces=self.mesh.faces.astype(np.int32),
                labels=self.labels.astype(np.uint8),
                fine=self.fine.astype(np.uint8),
                triangle=self.triangle.astype(np.int32),
                weights=self.weights.astype(np.float32),
            )

    @classmethod
    def load(cls, path: str | Path) -> BodySample:
        """Read what `save` wrote."""
        with np.load(path) as file:
            return cls(
                Mesh(file["vertices"], file["faces"], name=Path(path).stem),
                file["labels"].astype(np.int64),
                file["fine"].astype(np.int64),
                file["triangle"].astype(np.int64),
                file["weights"].astype(np.float64),
            )


@dataclass(frozen=True, eq=False)
class BodyTemplate:
    """The body that all others are compared with: neutral, at rest.

    Attributes
    ----------
    mesh : Mesh
        Closed, 12,167 vertices. z points up, the body looks along −y, its left is at +x; in metres.
    labels, fine : (V,) int64
        Index into `PARTS` and `FINE_PARTS` of each vertex.
    """

    mesh: Mesh
    labels: Ints
    fine: Ints

    def positions(self, body: BodySample) -> Floats:
        """Return (V, 3) where each vertex of a body is on the template."""
        corners = self.mesh.vertices[self.mesh.faces[body.triangle]]
        return np.asarray((body.weights[:, :, None] * corners).sum(axis=1))

    def nearest(self, body: BodySample) -> Ints:
        """Return (V,) the template's vertex nearest to each vertex of a body: a corner of its triangle."""
        return np.asarray(self.mesh.faces[body.triangle, body.weights.argmax(axis=1)])

    def save(self, path: str | Path) -> None:
        """Write the template as a compressed npz file."""
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file,
                vertices=self.mesh.vertices.astype(np.float32),
                faces=self.mesh.faces.astype(np.int32),
                labels=self.labels.astype(np.uint8),
                fine=self.fine.astype(np.uint8),
            )

    @classmethod
    def load(cls, path: str | Path) -> BodyTemplate:
        """Read what `save` wrote."""
        with np.load(path) as file:
            mesh = Mesh(file["vertices"], file["faces"], name="body template")
            return cls(mesh, file["labels"].astype(np.int64), file["fine"].astype(np.int64))
