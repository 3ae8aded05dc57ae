"""From a smooth skin to a realistic mesh: other triangles, fused contacts, holes, noise, any position."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from fieldconv.geometry import Mesh
from fieldconv.geometry.damage import Damaged, damage, outer_surface
from fieldconv.geometry.damage.lattice import random_turn
from fieldconv.geometry.resample.remesh import even_size, remesh, unevenness
from recipes.bodies.clothes import Solid
from recipes.bodies.model import Floats
from recipes.bodies.rig import UP

Rng = np.random.Generator
MIN_VERTICES, MAX_VERTICES, MEDIAN_VERTICES = 700, 50_000, 5_000  # vertices
RAW_VERTICES = 6_000  # at least this many are needed for a lattice that resolves fingers
LATTICE_VERTICES = 9.0  # per square cell of a surface on the lattice


def draw_vertices(rng: Rng) -> int:
    """Return a random number of vertices: 5,000 in the median, from 700 to 50,000."""
    return int(np.clip(MEDIAN_VERTICES * np.exp(0.9 * rng.standard_normal()), MIN_VERTICES, MAX_VERTICES))


def triangulate_skin(skin: Mesh, vertices: int, rng: Rng, style: str) -> Damaged:
    """Return the skin with other triangles.

    Parameters
    ----------
    skin : Mesh
    vertices : int
    rng : numpy.random.Generator
    style : {"even", "uneven", "fine ends", "decimated", "as modelled"}
        Equal triangles; sizes that vary at random; small ones on face, hands and feet; collapsed edges;
        the model's own triangles, whatever their number.
    """
    if style == "as modelled":
        return damage.no_damage(skin)
    if style == "decimated":
        if vertices > len(skin.vertices):
            skin = Mesh(skin.vertices, skin.faces)
            finer = Damaged(*remesh(skin, round(1.3 * vertices), rng, rounds=1))
            return finer.then(damage.decimate(finer.mesh, vertices))
        return damage.decimate(skin, vertices)
    density = None
    if style == "uneven":
        density = unevenness(skin.vertices, rng, rng.uniform(0.3, 1.2))
    elif style == "fine ends":
        density = np.sqrt(skin.vertex_areas) ** rng.uniform(0.3, 0.9)
    return Damaged(*remesh(skin, vertices, rng, density=density))


def fuse_skin(skin: Mesh, vertices: int, rng: Rng, gap: float, solid: Solid | None) -> Damaged:
    """Return the outer surface: parts that overlap or are closer than ``gap`` fuse, and a solid is joined.

    It gets new triangles; one in four of the finer ones keeps those of the lattice.
    """
    raw = rng.random() < 0.25 and vertices > RAW_VERTICES
    cell = np.sqrt(LATTICE_VERTICES * skin.area / ((1 if raw else 3) * vertices))
    if not raw:
        cell = min(cell, 0.016 * float(np.linalg.norm(np.ptp(skin.vertices, axis=0))))
    extra = None if solid is None else lambda points: solid.inside(points) - gap / 2
    surface, face, share = outer_surface(skin, cell, rng, gap=gap, extra=extra)
    corners = skin.faces[face]
    if solid is not None:
        foot = (share[:, :, None] * skin.vertices[corners]).sum(axis=1)
        off = (face < 0) | (np.linalg.norm(surface.vertices - foot, axis=1) > 0.7 * cell)
        off &= solid.inside(surface.vertices) < 0.5 * cell
        off |= face < 0
        nearest = solid.vertices[cKDTree(skin.vertices[solid.vertices]).query(surface.vertices[off])[1]]
        corners[off], share[off] = nearest[:, None], [1, 0, 0]
    first = Damaged(surface, damage.weights_of(skin, corners, share))
    return first if raw else first.then(Damaged(*remesh(surface, vertices, rng, rounds=2)))


def damage_body(body: Damaged, rng: Rng, strength: float) -> Damaged:
    """Return the body with holes, missing parts, noise and the like, each with some chance."""

    def happens(chance: float) -> bool:
        return bool(rng.random() < strength * chance)

    def then(more: Damaged) -> None:
        nonlocal body
        body = body.then(more)

    if happens(0.12):  # the floor hides the soles
        then(damage.cut(body.mesh, rng, rng.uniform(0.005, 0.04), direction=-UP))
    if happens(0.12):
        for _ in range(int(rng.integers(1, 3))):
            then(damage.remove_tip(body.mesh, rng, (0.003, 0.05)))
    if happens(0.08):
        then(damage.cut(body.mesh, rng, rng.uniform(0.02, 0.25)))
    if happens(0.2):
        then(damage.add_holes(body.mesh, rng, int(rng.integers(1, 9)), (0.0005, rng.uniform(0.001, 0.015))))
        if rng.random() < 0.25:
            then(damage.fill_holes(body.mesh))
    if happens(0.15):
        then(damage.smooth(body.mesh, rng.uniform(0.002, 0.01)))
    if happens(0.15):
        then(damage.add_noise(body.mesh, rng, rng.uniform(0.0005, 0.003), grain=rng.uniform(0.02, 0.15)))
    if happens(0.3):
        edge = even_size(body.mesh, len(body.mesh.vertices)) / np.linalg.norm(
            np.ptp(body.mesh.vertices, axis=0)
        )
        # Beyond half an edge, a surface folds over itself and nothing is recognisable.
        share = min(rng.uniform(0.0002, 0.006), float(rng.uniform(0.1, 0.6) * edge))
        then(damage.add_noise(body.mesh, rng, share))
    return body


def place_randomly(points: Floats, rng: Rng) -> Floats:
    """Return the points in a random unit and frame; half of the bodies are upright in y or z."""
    angle = rng.uniform(0, 2 * np.pi)
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1.0]])
    kind = rng.random()
    if kind < 0.25:
        turn = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]) @ turn
    elif kind > 0.5:
        turn = random_turn(rng)
    unit = rng.choice([1.0, 100.0, 1000.0, 10 ** rng.uniform(-2, 3)])
    shift = rng.normal(0, 0.5, 3) * rng.integers(2)
    return np.asarray((points @ turn.T + shift) * unit)
