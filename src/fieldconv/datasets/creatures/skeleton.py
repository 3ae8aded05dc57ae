"""A skeleton: bones with radii, their parents, and how far each joint turns.

Axes: x forwards, y to the creature's left, z up. Angles are given in degrees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Bools

Triple: TypeAlias = tuple[float, float, float]
Radius: TypeAlias = float | tuple[float, float]
Limit: TypeAlias = float | tuple[float, float]

PARTS: tuple[str, ...] = (
    "head", "neck", "torso", "tail", "upper arm", "lower arm", "hand", "thumb", "finger", "upper leg",
    "lower leg", "foot", "wing", "fin", "tentacle", "claw", "ear", "beak", "trunk", "shell", "abdomen",
)  # fmt: skip


@dataclass(frozen=True)
class Bone:
    """One tapered, possibly flattened, piece of the body and the joint at its head."""

    name: str
    part: str
    parent: int
    head: Triple
    tail: Triple
    radii: tuple[float, float, float, float]  # width and thickness at the head, then at the tail
    thin: Triple  # unit direction along which the thickness is measured
    swell: float  # relative thickening half-way, as of a muscle
    blend: float  # width of the smooth transition to the parent
    turns: tuple[tuple[Triple, float, float], ...]  # (axis, least, most) of each rotation, in degrees
    follows: bool  # whether the joint bends much like the one before it, as along a tail

    @property
    def group(self) -> str:
        """Return the name without side and number: left and right limbs grow alike."""
        return self.name.split(".")[0].rstrip("0123456789")


class Skeleton:
    """The bones of a species; a bone comes after its parent, and bone 0 is the root."""

    def __init__(self, bones: list[Bone]) -> None:
        self.bones = tuple(bones)
        self.parent = np.array([bone.parent for bone in bones])
        self.part = np.array([PARTS.index(bone.part) for bone in bones])
        self.head = np.array([bone.head for bone in bones], float)
        self.tail = np.array([bone.tail for bone in bones], float)
        self.radii = np.array([bone.radii for bone in bones], float)
        self.swell = np.array([bone.swell for bone in bones], float)
        self.blend = np.array([bone.blend for bone in bones], float)
        self.length = np.linalg.norm(self.tail - self.head, axis=1)
        self.along = (self.tail - self.head) / self.length[:, None]
        thin = np.array([bone.thin for bone in bones], float)
        thin -= (thin * self.along).sum(1, keepdims=True) * self.along
        self.thin = thin / np.linalg.norm(thin, axis=1, keepdims=True)
        self.wide = np.cross(self.thin, self.along)

    def __len__(self) -> int:
        return len(self.bones)

    def subtree(self, bone: int) -> Bools:
        """Return a mask of ``bone`` and all its descendants."""
        inside = np.zeros(len(self), bool)
        inside[bone] = True
        for i in range(bone + 1, len(self)):
            inside[i] = inside[self.parent[i]]
        return inside

    def without(self, removed: Bools) -> Skeleton:
        """Return the skeleton without the ``removed`` bones, which are whole subtrees."""
        kept = np.flatnonzero(~removed)
        number = np.full(len(self) + 1, -1)
        number[kept] = np.arange(len(kept))
        bones = (self.bones[i] for i in kept)
        return Skeleton([replace(bone, parent=int(number[bone.parent])) for bone in bones])


def _triple(point: ArrayLike) -> Triple:
    x, y, z = (float(value) for value in np.asarray(point, float))
    return x, y, z


class Sketch:
    """Draws a skeleton bone by bone; names ending in ``.l`` can be mirrored to ``.r``.

    Examples
    --------
    >>> worm = Sketch()
    >>> worm.chain("body", None, "torso", [(0, 0, 0), (1, 0, 0), (2, 0, 0)], [0.1, 0.2, 0.1], yaw=30)
    'body2'
    >>> len(worm.skeleton())
    2
    """

    def __init__(self) -> None:
        self._bones: dict[str, Bone] = {}

    def bone(
        self,
        name: str,
        parent: str | None,
        part: str,
        head: ArrayLike,
        tail: ArrayLike,
        start: Radius,
        end: Radius,
        *,
        thin: ArrayLike = (0, 0, 1),
        swell: float = 0.0,
        blend: float | None = None,
        pitch: Limit = 0.0,
        yaw: Limit = 0.0,
        roll: Limit = 0.0,
        hinge: tuple[ArrayLike, float, float] | None = None,
        follows: bool = False,
    ) -> str:
        """Add a bone; a radius is one number, or (width, thickness along ``thin``).

        ``pitch``, ``yaw`` and ``roll`` turn about y, z and x; ``hinge`` about any axis.
        """
        wide, thick = start if isinstance(start, tuple) else (start, start)
        radii = (wide, thick, *(end if isinstance(end, tuple) else (end, end)))
        if blend is None:
            blend = 0.9 * min(wide, thick)
        turns = [
            (axis, *(limit if isinstance(limit, tuple) else (-limit, limit)))
            for axis, limit in (((0.0, 1.0, 0.0), pitch), ((0.0, 0.0, 1.0), yaw), ((1.0, 0.0, 0.0), roll))
            if limit
        ]
        if hinge is not None:
            axis = np.asarray(hinge[0], float)
            turns.insert(0, (_triple(axis / np.linalg.norm(axis)), hinge[1], hinge[2]))
        along = np.subtract(tail, head)
        if np.linalg.norm(np.cross(np.asarray(thin, float), along)) < 1e-3 * np.linalg.norm(along):
            thin = (1, 0, 0)  # a round bone along z: any cross direction will do
        number = -1 if parent is None else list(self._bones).index(parent)
        self._bones[name] = Bone(
            name, part, number, _triple(head), _triple(tail), radii, _triple(thin), swell, blend,
            tuple(turns), follows,
        )  # fmt: skip
        return name

    def chain(
        self,
        name: str,
        parent: str | None,
        part: str,
        points: ArrayLike,
        radii: list[float] | list[tuple[float, float]],
        *,
        side: str = "",
        **options: object,
    ) -> str:
        """Add bones name1, name2, … along a polyline; every joint but the first follows the one before."""
        polyline = np.asarray(points, float)
        for i in range(len(polyline) - 1):
            parent = self.bone(
                f"{name}{i + 1}{side}", parent, part, polyline[i], polyline[i + 1], radii[i], radii[i + 1],
                follows=i > 0, **options,  # type: ignore[arg-type]
            )  # fmt: skip
        assert parent is not None
        return parent

    def skeleton(self) -> Skeleton:
        """Return the skeleton, with a right-hand twin of every bone whose name ends in ``.l``."""
        for bone in list(self._bones.values()):
            twin = bone.name[:-1] + "r"
            if not bone.name.endswith(".l") or twin in self._bones:
                continue
            names = list(self._bones)
            parent = names[bone.parent]
            if parent.endswith(".l"):
                parent = parent[:-1] + "r"
            self._bones[twin] = replace(
                bone,
                name=twin,
                parent=names.index(parent),
                head=_flip(bone.head),
                tail=_flip(bone.tail),
                thin=_flip(bone.thin),
                # A reflection reverses rotations about axes in its plane.
                turns=tuple(((-ax, ay, -az), least, most) for (ax, ay, az), least, most in bone.turns),
            )
        return Skeleton(list(self._bones.values()))


def _flip(point: Triple) -> Triple:
    return point[0], -point[1], point[2]
