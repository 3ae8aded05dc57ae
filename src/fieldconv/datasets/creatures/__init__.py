"""Articulated creatures made from code alone: meshes with class, parts and correspondence known.

A skeleton with radii defines a smooth solid at rest. Each sample has its own mesh of that solid, whose
proportions and pose then change by skinning. A vertex's rest position is its canonical coordinate: part
labels and correspondences between any two samples of a species follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.spatial import cKDTree

from fieldconv._arrays import Bools, Floats, Ints
from fieldconv.datasets.creatures.even_triangles import triangulate
from fieldconv.datasets.creatures.pose import (
    articulate,
    closest_approach,
    find_turns,
    grow,
    nearest_bones,
    skin_weights,
)
from fieldconv.datasets.creatures.skeleton import PARTS, Skeleton
from fieldconv.datasets.creatures.solid import make_solid, project_all
from fieldconv.datasets.creatures.species import SPECIES, skeleton_of
from fieldconv.geometry.damage import damage
from fieldconv.geometry.damage.build_bridge import build_bridge
from fieldconv.geometry.damage.lattice import random_turn
from fieldconv.geometry.mesh.halfedge import flip_slivers
from fieldconv.geometry.mesh.mesh import Mesh

__all__ = [
    "DIFFICULTIES",
    "PARTS",
    "SPECIES",
    "CreatureSample",
    "Difficulty",
    "correspondence",
    "make_creature",
    "template",
]


@dataclass(frozen=True, kw_only=True)
class Difficulty:
    """How a creature differs from a plain one in its usual pose."""

    pose: float = 1.0  # factor on the pose strength
    build: float = 1.0  # how much lengths and girths of limbs vary
    noise: float = 0.0  # displacement along the normals, in mean edge lengths
    uneven: float = 0.0  # how much the density of vertices varies (1: triangles of very different sizes)
    holes: int = 0  # number of round holes
    cut: float = 0.0  # share of the surface cut away by a plane
    fused: bool = False  # whether two limbs that come close are joined by a bridge
    missing: int = 0  # number of limbs left out of the solid
    rotate: bool = False  # whether the mesh is turned at random
    scale: float = 1.0  # largest factor by which it is enlarged or shrunk


DIFFICULTIES: dict[str, Difficulty] = {
    "rest": Difficulty(pose=0.0, build=0.0),
    "clean": Difficulty(),
    "posed": Difficulty(pose=1.6, build=1.5),
    "noise": Difficulty(noise=0.15),
    "uneven": Difficulty(uneven=1.0),
    "holes": Difficulty(holes=4),
    "cut": Difficulty(cut=0.3),
    "fused": Difficulty(fused=True),
    "missing": Difficulty(missing=1),
    "rotated": Difficulty(rotate=True),
    "scaled": Difficulty(rotate=True, scale=3.0),
    "hard": Difficulty(pose=1.3, noise=0.1, uneven=0.7, holes=3, missing=1, rotate=True, scale=2.0),
}


def difficulty_named(difficulty: str | Difficulty) -> Difficulty:
    """Return the difficulty of that name; a `Difficulty` is returned as it is."""
    if isinstance(difficulty, Difficulty):
        return difficulty
    if difficulty not in DIFFICULTIES:
        raise ValueError(f"Unknown difficulty {difficulty!r}: choose one of {', '.join(DIFFICULTIES)}.")
    return DIFFICULTIES[difficulty]


@dataclass(frozen=True)
class CreatureSample:
    """A creature and its ground truth."""

    mesh: Mesh  # posed, V vertices
    species: int  # index into `SPECIES`
    labels: Ints  # (V,) int64, index into `PARTS` of each vertex's part
    rest: Floats  # (V, 3) float64, where each vertex is on the species' rest shape


def check_vertices(vertices: int) -> None:
    """Raise ValueError unless a creature can have so many vertices."""
    if not 250 <= vertices <= 50_000:
        raise ValueError(f"Cannot make a creature of {vertices} vertices: choose 250 to 50,000.")


def make_creature(
    species: str | int,
    seed: int,
    *,
    vertices: int = 1000,
    pose: float = 1.0,
    difficulty: str | Difficulty = "clean",
) -> CreatureSample:
    """Return one creature; the same arguments always give the same mesh.

    Parameters
    ----------
    species : a name in `SPECIES`, or its index.
    seed : not negative; another seed is another triangulation, body build and pose.
    vertices : 250 to 50,000; the mesh has exactly that many before holes and cuts.
    pose : strength of the pose; 0 is the rest pose, 1 goes to the joints' limits.
    difficulty : a name in `DIFFICULTIES`, or a `Difficulty`.

    Examples
    --------
    >>> sample = make_creature("octopus", seed=3, vertices=500)
    >>> sample.mesh.vertices.shape, sorted({PARTS[label] for label in sample.labels})
    ((500, 3), ['head', 'tentacle'])
    """
    name = species if isinstance(species, str) else SPECIES[species]
    whole = skeleton_of(name)
    check_vertices(vertices)
    level = difficulty_named(difficulty)
    number = SPECIES.index(name)
    meshing, posing, damaging = (np.random.default_rng((seed, number, stream)) for stream in range(3))
    skeleton = whole.without(_draw_missing_limbs(whole, damaging, level.missing))
    rest, faces = triangulate(make_solid(skeleton), vertices, meshing, uneven=level.uneven)
    points, contact = _pose(skeleton, rest, faces, posing, level, pose * level.pose)
    faces = flip_slivers(points, faces)
    if np.isfinite(contact[0]):
        points, keep, faces = build_bridge(points, faces, *contact[1:])
        points, rest = points[keep], rest[keep]
        faces = flip_slivers(points, faces)
    mesh, rest = _damage(Mesh(points, faces), rest, damaging, level)
    mesh = Mesh(_place_randomly(mesh.vertices, damaging, level), mesh.faces, name=f"{name}-{seed}")
    labels = skeleton.part[nearest_bones(skeleton, rest)]
    return CreatureSample(mesh, number, labels, rest)


def _pose(
    skeleton: Skeleton,
    rest: Floats,
    faces: Ints,
    rng: np.random.Generator,
    level: Difficulty,
    strength: float,
) -> tuple[Floats, tuple[float, int, int]]:
    """Return posed points and, if limbs are to be fused, the distance and the vertices of the contact."""
    contact = (np.inf, 0, 0)
    if not level.build and not strength:
        return rest, closest_approach(rest, faces, rest) if level.fused else contact
    weights = skin_weights(skeleton, rest, faces)
    grown, joints = grow(skeleton, rest, weights, rng, level.build)
    points = grown
    for _ in range(12 if level.fused else 1):  # a fused creature takes the pose in which limbs come closest
        turns = find_turns(skeleton, joints, rng, strength)
        posed = articulate(skeleton, grown, joints, weights, turns)
        approach = closest_approach(posed, faces, rest) if level.fused else contact
        if approach <= contact:
            points, contact = posed, approach
    return points, contact


def _draw_missing_limbs(skeleton: Skeleton, rng: np.random.Generator, number: int) -> Bools:
    """Return a mask of limbs to leave out: small subtrees of the skeleton that can move."""
    size = skeleton.length * skeleton.radii.mean(axis=1)
    removed = np.zeros(len(skeleton), bool)
    for _ in range(number):
        limbs = [
            limb
            for b, bone in enumerate(skeleton.bones)
            if b and bone.turns and not removed[b]
            for limb in [skeleton.subtree(b)]
            if 0.04 * size.sum() < size[limb].sum() < 0.35 * size.sum()
        ]
        if limbs:
            removed |= limbs[rng.integers(len(limbs))]
    return removed


def _damage(
    mesh: Mesh, rest: Floats, rng: np.random.Generator, difficulty: Difficulty
) -> tuple[Mesh, Floats]:
    """Return a posed mesh with holes, a cut and noise, and the rest positions of its vertices."""
    if difficulty.holes:
        done = damage.add_holes(mesh, rng, difficulty.holes, pieces=1.0)
        mesh, rest = done.mesh, rest[done.nearest]
    if difficulty.cut:
        done = damage.cut(mesh, rng, difficulty.cut, pieces=1.0)
        mesh, rest = done.mesh, rest[done.nearest]
    if difficulty.noise:
        mesh = damage.add_noise(mesh, rng, difficulty.noise, unit="edge", max_deviations=2.5).mesh
    return mesh, rest


def _place_randomly(points: Floats, rng: np.random.Generator, difficulty: Difficulty) -> Floats:
    """Return the points rotated and scaled as a whole."""
    if difficulty.rotate:
        points = points @ random_turn(rng).T
    factor = np.exp(rng.uniform(-1, 1) * np.log(difficulty.scale))
    return np.asarray(points * factor)


@lru_cache(maxsize=64)
def template(species: str | int, vertices: int = 1000) -> CreatureSample:
    """Return the species at rest, with a triangulation that is always the same.

    Examples
    --------
    >>> import numpy as np
    >>> shape = template("snake", vertices=300)
    >>> np.array_equal(shape.mesh.vertices, shape.rest)
    True
    """
    return make_creature(species, 2**31 - 1, vertices=vertices, difficulty="rest")


def correspondence(sample: CreatureSample, template: CreatureSample) -> Ints:
    """Return, for each vertex of ``sample``, the template vertex nearest at rest, (V,).

    Only vertices on the same side of the surface and on the same or a neighbouring bone are considered, so
    that limbs that almost touch at rest, and the two sides of a fin, are not confused.

    Examples
    --------
    >>> shape = template("fish", vertices=300)
    >>> bool((correspondence(shape, shape) == range(300)).all())
    True
    """
    if sample.species != template.species:
        one, two = SPECIES[sample.species], SPECIES[template.species]
        raise ValueError(f"A {one} and a {two} have no correspondence: use a template of the same species.")
    skeleton = skeleton_of(SPECIES[sample.species])
    near = np.eye(len(skeleton), dtype=bool)
    near[np.arange(1, len(skeleton)), skeleton.parent[1:]] = True
    near = (near | near.T).astype(int)
    near = near @ near > 0  # neighbours, and bones on the same parent
    solid = make_solid(skeleton)

    def describe(rest: Floats) -> tuple[Ints, Floats]:
        return nearest_bones(skeleton, rest), project_all(solid, rest.copy(), 0, np.full(len(rest), 1e-3))

    bone, normal = describe(sample.rest)
    other_bone, other_normal = describe(template.rest)
    distance, candidate = cKDTree(template.rest).query(sample.rest, k=min(24, len(template.rest)))
    agrees = near[bone[:, None], other_bone[candidate]]
    agrees &= (normal[:, None] * other_normal[candidate]).sum(-1) > 0
    best = np.where(agrees, distance, distance + 1e3).argmin(axis=1)
    return np.asarray(np.take_along_axis(candidate, best[:, None], 1)[:, 0], np.int64)
