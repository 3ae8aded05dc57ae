"""The camera of a panel; the viewer and the pictures share it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import radians, sin, tan

import numpy as np

from fieldconv._arrays import Floats
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.viz.panels import Panel

FOCAL = 1 / tan(radians(15))
EYE = 1.03 / sin(radians(15))  # distance from which the unit ball just fits
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Camera:
    """Rotation and magnification of a view of the unit ball."""

    turn: Floats  # (3, 3), from the mesh to the viewer's right, up and backward
    zoom: float = 1.0  # 1 shows the ball around the mesh
    fit: bool = True  # go closer as long as the whole mesh stays in view

    @classmethod
    def home(cls, panel: Panel, *, up: str | None = None) -> Camera:
        """Return the camera in front and slightly above, or straight above the focus if there is one.

        The axis ``up`` ("x", "y" or "z") points up; it is guessed if left out (`guess_up`).
        """
        up = up or guess_up(panel.mesh)
        if up not in AXES:
            raise ValueError(f"up is {up!r}; choose x, y or z")
        upward = np.eye(3)[AXES.index(up)]
        if panel.focus is None:
            front = np.roll(upward, 1)  # z for y, x for z, y for x
            right = np.cross(upward, front)
            toward, zoom = front + 0.45 * right + 0.22 * upward, 1.0
        else:
            vertex, radius = panel.focus
            toward = panel.mesh.vertex_normals[vertex]
            if abs(toward @ upward) > 0.95:
                upward = np.roll(upward, 1)
            zoom = max(frame(panel.mesh, panel.focus)[1] / (1.25 * radius), 1.0)
        backward = toward / np.linalg.norm(toward)
        right = np.cross(upward, backward)
        right /= np.linalg.norm(right)
        return cls(np.stack([right, np.cross(backward, right), backward]), zoom, fit=panel.focus is None)

    def project(self, points: Floats, width: int, height: int) -> tuple[Floats, Floats]:
        """Return (n, 2) positions in pixels of points of the unit ball, and (n,) distances from the eye."""
        turned = points @ self.turn.T
        distance = EYE - turned[:, 2]
        shorter = min(width, height)
        plane = FOCAL * self.zoom * shorter / 2 * turned[:, :2] / distance[:, None]
        return np.array([width / 2, height / 2]) + plane * [1, -1], distance

    def fitted(self, points: Floats, width: int, height: int) -> Camera:
        """Return the same camera, closer, if it fits."""
        if not self.fit:
            return self
        at, _ = self.project(points, width, height)
        reach = np.abs(2 * at / [width, height] - 1).max(initial=1e-6)
        return replace(self, zoom=self.zoom * min(4.0, 0.92 / reach))


def guess_up(mesh: Mesh) -> str:
    """Return the axis along which a mesh seems to stand, judged by its bounding box.

    The box of a mesh that stands on the ground is on one side of zero along this axis only. Otherwise return
    the longest side, if it is much longer than the others and not x, or else y, as most programs have it.

    Examples
    --------
    >>> guess_up(Mesh([[-1, -1, 0], [1, -1, 0], [0, 1, 2]], [[0, 1, 2]]))
    'z'
    """
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    size = high - low
    above = low > -0.15 * size
    across = (low < -0.15 * size) & (high > 0.15 * size)
    if above.sum() == 1 and across.sum() == 2:
        return AXES[int(above.argmax())]
    longest = int(size.argmax())
    return AXES[longest] if longest != 0 and size[longest] > 1.3 * np.delete(size, longest).max() else "y"


def frame(mesh: Mesh, focus: tuple[int, float] | None) -> tuple[Floats, float]:
    """Return the centre (3,) and radius of the ball in view: around the mesh, or around the focus."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    centre = (low + high) / 2 if focus is None else mesh.vertices[focus[0]]
    return centre, float(np.linalg.norm(mesh.vertices - centre, axis=1).max()) or 1.0
