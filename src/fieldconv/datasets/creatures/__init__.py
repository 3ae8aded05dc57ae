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

from fieldconv._arrays import Floats, Ints
from fieldconv.datasets.creatures.difficulty import (
    DIFFICULTIES,
    Difficulty,
    damage_creature,
    difficulty_named,
    draw_missing_limbs,
    place_randomly,
)
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
from fieldconv.geometry.damage.build_bridge import build_bridge
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


@dataclass(frozen=True)
class CreatureSample:
    """A creature and its ground truth.

    Attributes
    ----------
    mesh : the posed surface, V vertices.
    species : index into `SPECIES`.
    labels : (V,) int64, index into `PARTS` of each vertex's part.
    rest : (V, 3) float64, where each vertex is on the species' rest shape.
    """

    mesh: Mesh
    species: int
    labels: Ints
    rest: Floats


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
    meshing, posing, damage = (np.random.default_rng((seed, number, stream)) for stream in range(3))
    skeleton = whole.without(draw_missing_limbs(whole, damage, level.missing))
    rest, faces = triangulate(make_solid(skeleton), vertices, meshing, uneven=level.uneven)
    points, contact = _pose(skeleton, rest, faces, posing, level, pose * level.pose)
    faces = flip_slivers(points, faces)
    if np.isfinite(contact[0]):
        points, keep, faces = build_bridge(points, faces, *contact[1:])
        points, rest = points[keep], rest[keep]
        faces = flip_slivers(points, faces)
    mesh, rest = damage_creature(Mesh(points, faces), rest, damage, level)
    mesh = Mesh(place_randomly(mesh.vertices, damage, level), mesh.faces, name=f"{name}-{seed}")
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
