"""Clothes and hair: trousers, tops, shoes and hair as smooth offsets, skirts and long hair as solids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import ConvexHull

from fieldconv.geometry.mesh.topology import neighbour_means
from fieldconv.geometry.mesh.triangles import vertex_areas, vertex_normals
from recipes.bodies.model import BodyModel, Floats, Ints, body_model
from recipes.bodies.parts import FINE_PARTS, PART_OF_FINE, PARTS, fine_labels
from recipes.bodies.rig import SIDES

Rng = np.random.Generator
FOLDS = 24  # random waves that fold the cloth


@dataclass(frozen=True, eq=False)
class _Chart:
    """Where on the body each vertex of the template is."""

    leg: Floats  # 0 hip, 1 knee, 2 ankle; −1 elsewhere
    arm: Floats  # 0 shoulder, 1 elbow, 2 wrist; −1 elsewhere
    trunk: Floats  # 0 crotch, 1 collar; −1 elsewhere
    fine: Ints
    mean: csr_array  # takes each vertex to the mean of its neighbours


@cache
def _chart() -> _Chart:
    model = body_model()
    fine, skin = fine_labels(model), model.neutral
    at = dict(zip(model.bones, model.joints, strict=True))
    leg, arm, trunk = (np.full(len(skin), -1.0) for _ in range(3))
    for side, letter in zip(("left", "right"), SIDES, strict=True):
        for chart, names, joints in (
            (leg, ("upper leg", "lower leg", "foot", "toes"), ("upperleg01", "lowerleg01", "foot")),
            (arm, ("upper arm", "lower arm", "palm"), ("upperarm01", "lowerarm01", "wrist")),
        ):
            one, two, three = (at[f"{joint}.{letter}"] for joint in joints)
            ours = np.isin(fine, [FINE_PARTS.index(f"{side} {name}") for name in names])
            first = (skin - one) @ (two - one) / ((two - one) @ (two - one))
            second = 1 + (skin - two) @ (three - two) / ((three - two) @ (three - two))
            chart[ours] = np.where(first < 1, np.maximum(first, 0), np.maximum(second, 1))[ours]
    body = np.isin(
        fine, [FINE_PARTS.index(name) for name in ("chest", "upper back", "belly", "lower back", "pelvis")]
    )
    low, high = skin[body, 2].min(), at["neck01"][2]
    trunk[body] = np.clip((skin[body, 2] - low) / (high - low), 0, 1)
    return _Chart(leg, arm, trunk, fine, neighbour_means(len(skin), model.faces))


def _is(*names: str) -> NDArray[np.bool_]:
    return np.isin(_chart().fine, [FINE_PARTS.index(name) for name in names])


def _fade_at(value: Floats, end: float, hem: float) -> Floats:
    """Return 1 where the value is less than the end, 0 where it is more or negative, with a hem between."""
    return np.asarray((value >= 0) * np.clip((end - value) / hem + 0.5, 0, 1))


class Garment(NamedTuple):
    """A garment.

    Attributes
    ----------
    where : (V,) float64, how much of it each vertex of the template has.
    smooth : how often what lies below is smoothed.
    loose : how far it is from the skin, in heights of the body.
    folded : how much that varies.
    """

    where: Floats
    smooth: int
    loose: float
    folded: float


def _looseness(rng: Rng) -> float:
    """Return a distance from the skin; half of all clothes fit tightly."""
    return float(rng.uniform(0.001, 0.006) if rng.random() < 0.5 else rng.uniform(0.006, 0.019))


def _trousers(rng: Rng) -> Garment:
    chart = _chart()
    ends = (rng.uniform(0.2, 0.8), rng.uniform(0.8, 1.3), rng.uniform(1.6, 2.0))  # shorts, to the knee, long
    end = ends[rng.choice(3, p=[0.25, 0.15, 0.6])]
    where = _fade_at(chart.leg, end, rng.uniform(0.03, 0.15)) + _fade_at(
        chart.trunk, rng.uniform(0.25, 0.5), 0.05
    )
    flare = 1 + rng.uniform(0, 0.6) * np.clip(chart.leg, 0, 2) / 2
    return Garment(where * flare, int(rng.integers(2, 25)), _looseness(rng), rng.uniform(0, 0.45))


def _top(rng: Rng) -> Garment:
    chart = _chart()
    ends = (
        rng.uniform(-0.1, 0.15),
        rng.uniform(0.3, 0.9),
        rng.uniform(1.4, 1.95),
    )  # without sleeves, short, long
    end = ends[rng.choice(3, p=[0.2, 0.4, 0.4])]
    where = _fade_at(chart.trunk, rng.uniform(0.85, 1.0), 0.05) - _fade_at(
        chart.trunk, rng.uniform(0.1, 0.4), 0.05
    )
    where = where + _fade_at(chart.arm, end, rng.uniform(0.03, 0.15))
    return Garment(where, int(rng.integers(2, 25)), _looseness(rng), rng.uniform(0, 0.45))


def _shoes(rng: Rng) -> Garment:
    top = rng.uniform(1.2, 1.95) if rng.random() < 0.3 else 2.0  # boots or shoes
    feet = _is("left foot", "right foot", "left toes", "right toes") | (_chart().leg > top)
    return Garment(feet.astype(np.float64), int(rng.integers(25, 60)), rng.uniform(0.003, 0.008), 0.0)


def _hair(rng: Rng) -> Garment:
    where = _is("scalp").astype(np.float64)
    for _ in range(4):
        where = _chart().mean @ where
    return Garment(where, int(rng.integers(0, 6)), rng.uniform(0.003, 0.025), rng.uniform(0, 0.5))


def _gloves(rng: Rng) -> Garment:
    hands = [name for name, part in zip(FINE_PARTS, PART_OF_FINE, strict=True) if PARTS[part] == "hand"]
    return Garment(_is(*hands).astype(np.float64), 4, rng.uniform(0.001, 0.003), 0.0)


# And the share of bodies that wear them.
GARMENTS: dict[Callable[[Rng], Garment], float] = {
    _trousers: 0.55, _top: 0.55, _shoes: 0.45, _hair: 0.5, _gloves: 0.1,
}  # fmt: skip


def dress(points: Floats, model: BodyModel, rng: Rng) -> tuple[Floats, float]:
    """Return the skin under random clothes, and how loose the loosest of them is, in heights of the body."""
    height = float(np.ptp(model.neutral[:, 2])) * _size(points, model)
    loosest = 0.0
    for kind, chance in GARMENTS.items():
        if rng.random() > chance:
            continue
        garment = kind(rng)
        loosest = max(loosest, garment.loose)
        for _ in range(garment.smooth):
            points = points + 0.6 * garment.where[:, None] * (_chart().mean @ points - points)
        waves = rng.standard_normal((FOLDS, 3)) * 2 * np.pi / rng.uniform(0.1, 0.35)
        fold = np.cos(model.neutral @ waves.T + rng.uniform(0, 2 * np.pi, FOLDS)).sum(axis=1)
        offset = garment.loose * np.maximum(1 + garment.folded * fold / np.sqrt(FOLDS / 2), 0.1)
        away = height * (garment.where * offset)[:, None]
        points = points + away * vertex_normals(points, model.faces)
    return points, loosest


def _size(points: Floats, model: BodyModel) -> float:
    """Return the square root of the body's area, relative to the template."""
    areas = (vertex_areas(skin, model.faces).sum() for skin in (points, model.neutral))
    return float(np.sqrt(next(areas) / next(areas)))


@dataclass(frozen=True, eq=False)
class Solid:
    """A solid beyond the skin.

    Attributes
    ----------
    inside : function of (n, 3) points to (n,)
        Roughly the distance to the solid, negative inside.
    vertices : (k,) int64
        Vertices of the skin from which its surface has its parts.
    """

    inside: Callable[[Floats], Floats]
    vertices: Ints


def _hull(corners: Floats, inflate: float) -> Callable[[Floats], Floats]:
    """Return a function of points: roughly the distance to an inflated convex hull."""
    planes = ConvexHull(corners).equations
    # Many facets are nearly the same, and each costs time at every point of the lattice.
    planes = np.unique(planes.round(2), axis=0) if len(planes) > 400 else planes
    normal, offset = planes[:, :3], planes[:, 3]
    low, high = corners.min(axis=0) - inflate, corners.max(axis=0) + inflate
    margin = 0.1 * np.linalg.norm(high - low)

    def distance(points: Floats) -> Floats:
        result = np.full(len(points), 1e3)
        near = ((points > low - margin) & (points < high + margin)).all(axis=1)
        result[near] = (points[near] @ normal.T + offset).max(axis=1) - inflate
        return result

    return distance


def draw_solid(points: Floats, model: BodyModel, rng: Rng) -> Solid | None:
    """Return a skirt or long hair, or None if it does not suit the pose."""
    height = float(np.ptp(model.neutral[:, 2])) * _size(points, model)
    return (
        _skirt(points, model, rng, height) if rng.random() < 0.6 else _long_hair(points, model, rng, height)
    )


def _skirt(points: Floats, model: BodyModel, rng: Rng, height: float) -> Solid | None:
    """Return the convex hull of both legs down to some length, or None if they are far apart."""
    chart = _chart()
    length = rng.uniform(0.4, 1.0) if rng.random() < 0.6 else rng.uniform(1.0, 1.7)
    around = (chart.leg >= 0) & (chart.leg < length)
    around |= (chart.trunk >= 0) & (chart.trunk < rng.uniform(0.15, 0.3))
    knee = (chart.leg > 0.8) & (chart.leg < 1.2)
    left, right = (points[knee & (side * model.neutral[:, 0] > 0)].mean(axis=0) for side in (1, -1))
    if np.linalg.norm(left - right) > 0.3 * height:
        return None
    return Solid(_hull(points[around], height * rng.uniform(0.0, 0.02)), np.flatnonzero(around))


def _long_hair(points: Floats, model: BodyModel, rng: Rng, height: float) -> Solid | None:
    """Return the hull of the back of the head and of some of the back; all of it belongs to the scalp."""
    chart, scalp = _chart(), _is("scalp")
    behind = points[scalp].mean(axis=0) - points[_is("face")].mean(axis=0)
    crown = scalp & ((points - points[scalp].mean(axis=0)) @ behind > 0)
    back = (chart.trunk > rng.uniform(0.75, 0.95)) & _is("upper back")
    back &= np.abs(model.neutral[:, 0]) < rng.uniform(0.04, 0.1)
    return Solid(_hull(points[crown | back], height * rng.uniform(0.003, 0.015)), np.flatnonzero(scalp))
