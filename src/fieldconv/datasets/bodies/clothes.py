"""What covers the skin: trousers, tops, shoes and hair as smooth offsets, skirts and long hair as solids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.spatial import ConvexHull

from fieldconv.geometry.halfedge import vertex_areas, vertex_normals
from fieldconv.geometry.topology import edge_graph

from .model import BodyModel, Floats, Ints, body_model
from .parts import FINE_PARTS, fine_labels
from .rig import SIDES

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
    graph = edge_graph(skin, model.faces)
    graph.data[:] = 1
    mean = csr_array(diags_array(1 / np.asarray(graph.sum(axis=1)).ravel()) @ graph)
    return _Chart(leg, arm, trunk, fine, mean)


def _fades(value: Floats, end: float, width: float) -> Floats:
    """1 below the end, 0 above, with a hem between."""
    return np.asarray(np.clip((end - value) / width + 0.5, 0, 1))


def _is(*names: str) -> NDArray[np.bool_]:
    return np.isin(_chart().fine, [FINE_PARTS.index(name) for name in names])


def dressed(points: Floats, model: BodyModel, rng: Rng) -> tuple[Floats, float]:
    """Return the skin under random clothes, and how loose the loosest of them is, in heights of the body."""
    chart = _chart()
    height = float(np.ptp(model.neutral[:, 2])) * _size(points, model)
    loosest = 0.0

    def wear(mask: Floats, smooth: int, loose: float, folded: float) -> None:
        nonlocal points, loosest
        loosest = max(loosest, loose)
        for _ in range(smooth):
            points = points + 0.6 * mask[:, None] * (chart.mean @ points - points)
        waves = rng.standard_normal((FOLDS, 3)) * 2 * np.pi / (rng.uniform(0.06, 0.2) * 1.7)
        fold = np.cos(model.neutral @ waves.T + rng.uniform(0, 2 * np.pi, FOLDS)).sum(axis=1) / np.sqrt(
            FOLDS / 2
        )
        offset = height * loose * np.maximum(1 + folded * fold, 0.1)
        points = points + (mask * offset)[:, None] * vertex_normals(points, model.faces)

    on_leg, on_arm, on_trunk = chart.leg >= 0, chart.arm >= 0, chart.trunk >= 0
    if rng.random() < 0.55:
        waist = rng.uniform(0.25, 0.5)
        end = rng.choice(
            [rng.uniform(0.2, 0.8), rng.uniform(0.8, 1.3), rng.uniform(1.6, 2.0)], p=[0.25, 0.15, 0.6]
        )
        mask = on_leg * _fades(chart.leg, end, rng.uniform(0.03, 0.15)) + on_trunk * _fades(
            chart.trunk, waist, 0.05
        )
        loose = rng.uniform(0.001, 0.006) if rng.random() < 0.5 else rng.uniform(0.006, 0.02)
        wear(
            mask * (1 + rng.uniform(0, 0.6) * np.clip(chart.leg, 0, 2) / 2),
            int(rng.integers(2, 25)),
            loose,
            rng.uniform(0, 0.45),
        )
    if rng.random() < 0.55:
        end = rng.choice(
            [rng.uniform(-0.1, 0.15), rng.uniform(0.3, 0.9), rng.uniform(1.4, 1.95)], p=[0.2, 0.4, 0.4]
        )
        hem, collar = rng.uniform(0.1, 0.4), rng.uniform(0.85, 1.0)
        mask = on_trunk * (1 - _fades(chart.trunk, hem, 0.05)) * _fades(chart.trunk, collar, 0.05)
        mask = mask + on_arm * _fades(chart.arm, end, rng.uniform(0.03, 0.15))
        loose = rng.uniform(0.001, 0.006) if rng.random() < 0.5 else rng.uniform(0.006, 0.018)
        wear(mask, int(rng.integers(2, 25)), loose, rng.uniform(0, 0.45))
    if rng.random() < 0.45:
        above = rng.uniform(1.2, 1.95) if rng.random() < 0.3 else 2.0
        shoe = _is("left foot", "right foot", "left toes", "right toes") | (chart.leg > above)
        wear(shoe.astype(float), int(rng.integers(25, 60)), rng.uniform(0.003, 0.008), 0.0)
    if rng.random() < 0.5:
        edge = _is("scalp").astype(float)
        for _ in range(4):
            edge = chart.mean @ edge
        wear(edge, int(rng.integers(0, 6)), rng.uniform(0.003, 0.025), rng.uniform(0, 0.5))
    if rng.random() < 0.1:
        names = ("palm", "thumb", "index finger", "middle finger", "ring finger", "little finger")
        wear(
            _is(*(f"{side} {name}" for side in ("left", "right") for name in names)).astype(float),
            4,
            0.002,
            0.0,
        )
    return points, loosest


def _size(points: Floats, model: BodyModel) -> float:
    """How large the body is, as the square root of its area, in those of the template."""
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
        Vertices of the skin to which its surface is said to belong.
    """

    inside: Callable[[Floats], Floats]
    vertices: Ints


def _hull(corners: Floats, inflate: float) -> Callable[[Floats], Floats]:
    """Roughly the distance to a convex hull that is inflated."""
    planes = ConvexHull(corners).equations
    # Many facets are nearly the same; a few hundred points of the lattice need not ask them all.
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
    """Return a skirt or long hair, or None if neither suits the pose."""
    chart = _chart()
    height = float(np.ptp(model.neutral[:, 2])) * _size(points, model)
    if rng.random() < 0.6:
        length = rng.uniform(0.4, 1.0) if rng.random() < 0.6 else rng.uniform(1.0, 1.7)
        below = (chart.leg >= 0) & (chart.leg < length)
        around = below | ((chart.trunk >= 0) & (chart.trunk < rng.uniform(0.15, 0.3)))
        knees = [
            points[(chart.leg > 0.8) & (chart.leg < 1.2) & (model.neutral[:, 0] * side > 0)].mean(axis=0)
            for side in (1, -1)
        ]
        if np.linalg.norm(knees[0] - knees[1]) > 0.3 * height:
            return None
        return Solid(_hull(points[around], height * rng.uniform(0.0, 0.02)), np.flatnonzero(around))
    scalp = _is("scalp") & (vertex_normals(points, model.faces) @ _upright(points, model) > -0.5)
    back = (
        (chart.trunk > rng.uniform(0.75, 0.95))
        & _is("upper back")
        & (np.abs(model.neutral[:, 0]) < rng.uniform(0.04, 0.1))
    )
    face = _is("face")
    behind = points[scalp].mean(axis=0) - points[face].mean(axis=0)
    behind = behind / np.linalg.norm(behind)
    # Only what is behind the ears: the face stays free.
    crown = scalp & ((points - points[scalp].mean(axis=0)) @ behind > 0)
    if not back.any() or not crown.any():
        return None
    return Solid(_hull(points[crown | back], height * rng.uniform(0.003, 0.015)), np.flatnonzero(scalp))


def _upright(points: Floats, model: BodyModel) -> Floats:
    """From the neck to the head's top."""
    way = points[_is("scalp")].mean(axis=0) - points[_is("neck")].mean(axis=0)
    return np.asarray(way / np.linalg.norm(way))
