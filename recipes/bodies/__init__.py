"""Human bodies made from code: any build, pose and mesh, with parts and template coordinates known.

A body model of freely licensed assets (`anny`) gives the skin of any build. A
pose is drawn from everyday stances and gestures; clothes and hair are put over it; then it is meshed anew and
damaged as scans are. Every vertex of the result knows its place on one template, from which its parts follow.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from fieldconv.geometry import Eigenbasis, Mesh, eigenbasis, reshape
from fieldconv.geometry.damage import Damaged
from fieldconv.geometry.mesh.topology import neighbour_means
from fieldconv.geometry.resample.remesh import make_reference, settle_all
from recipes.bodies.clothes import draw_solid, dress
from recipes.bodies.contact import depth
from recipes.bodies.finish import (
    MAX_VERTICES,
    MIN_VERTICES,
    damage_body,
    draw_vertices,
    fuse_skin,
    place_randomly,
    triangulate_skin,
)
from recipes.bodies.model import BodyModel, body_model
from recipes.bodies.parts import FINE_PARTS, PART_OF_FINE, PARTS, fine_labels
from recipes.bodies.poses import draw_pose, move_arms_out
from recipes.bodies.rig import skin_points, turns_of
from recipes.bodies.sample import BodySample, BodyTemplate
from recipes.bodies.shapes import draw_build

__all__ = [
    "FINE_PARTS",
    "PARTS",
    "PART_OF_FINE",
    "BodySample",
    "BodyTemplate",
    "generator_version",
    "make_body",
    "template",
]

MAX_DEPTH = 0.015  # of limbs in each other, in heights of the body
DAMAGED_SHARE = 0.75  # of the bodies may have damage
STYLES = {"even": 0.4, "uneven": 0.28, "fine ends": 0.17, "decimated": 0.1, "as modelled": 0.05}


@cache
def template() -> BodyTemplate:
    """Return the template; needs anny."""
    model = body_model()
    fine = fine_labels(model)
    return BodyTemplate(Mesh(model.neutral, model.faces, name="body template"), PART_OF_FINE[fine], fine)


def make_body(
    seed: int, *, vertices: int | None = None, damage: float = 1.0, clothes: float = 1.0
) -> BodySample:
    """Make one body; the same arguments always give the same mesh.

    Parameters
    ----------
    seed : int
        Not negative; another seed is another person, pose and mesh.
    vertices : int, optional
        700 to 50,000, before holes and cuts; drawn by default, 5,000 in the median.
    damage : float
        0 gives closed, clean, unfused meshes of any triangulation; 1 gives each kind of damage its usual
        chance.
    clothes : float
        Share of bodies that wear any, as a factor on the usual one; 0 leaves the skin bare.

    Raises
    ------
    ImportError
        If anny is not installed.
    ValueError
        If the mesh cannot have that number of vertices.

    Examples
    --------
    >>> body = make_body(3, vertices=2000, damage=0)  # doctest: +SKIP
    >>> len(body.mesh.vertices), PARTS[body.labels[0]]  # doctest: +SKIP
    (2000, 'head')
    """
    if vertices is not None and not MIN_VERTICES <= vertices <= MAX_VERTICES:
        raise ValueError(
            f"cannot make a body of {vertices} vertices; choose {MIN_VERTICES} to {MAX_VERTICES}"
        )
    model = body_model()
    # Separate streams: the person and pose of a seed do not depend on the mesh.
    person, posing, wardrobe, meshing, spoiling = (
        np.random.default_rng((seed, stream)) for stream in range(5)
    )
    points, height = _draw_posed_skin(model, person, posing)
    loose, solid = 0.0, None
    if wardrobe.random() < 0.65 * clothes:
        points, loose = dress(points, model, wardrobe)
    if wardrobe.random() < 0.12 * clothes:
        solid = draw_solid(points, model, wardrobe)
    skin = Mesh(points, model.faces)
    count = vertices or draw_vertices(meshing)
    damage *= spoiling.random() < DAMAGED_SHARE
    fused = spoiling.random() < damage * (0.5 if loose > 0.01 else 0.18)
    if fused or solid is not None:
        gap = height * (spoiling.uniform(0, 0.02) if spoiling.random() < 0.5 else 0.0)
        body = fuse_skin(skin, count, meshing, gap, solid)
    else:
        style = str(meshing.choice(list(STYLES), p=list(STYLES.values())))
        if vertices is not None and style == "as modelled":
            style = "even"
        body = triangulate_skin(skin, count, meshing, style)
    body = damage_body(body, spoiling, damage)
    return _sample(body, f"body-{seed}", spoiling)


def _draw_posed_skin(
    model: BodyModel, person: np.random.Generator, posing: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """Return the skin of a random person in a random pose, and the person's height."""
    rest, joints = draw_build(model, person)
    height = float(np.ptp(rest[:, 2]))
    smooth = float(posing.random())
    fine = template().fine
    least, best = np.inf, rest
    first, second = draw_pose(posing), draw_pose(posing)
    for pose in (first, move_arms_out(first, 0.5), second, move_arms_out(second, 0.5)):
        points = skin_points(model, rest, joints, turns_of(model, joints, pose), smooth=smooth)
        deep = depth(points, model.faces, fine)
        if deep < least:
            least, best = deep, points
        if deep < MAX_DEPTH * height:
            break
    strength = float(person.choice([0.0, person.uniform(0.1, 0.6)], p=[0.4, 0.6]))
    if strength:
        other = reshape(Mesh(best, model.faces), int(person.integers(2**31)), strength, basis=_basis())
        best = other.vertices * np.sqrt(Mesh(best, model.faces).area)
    return best, height


@cache
def _basis() -> Eigenbasis:
    return eigenbasis(template().mesh.normalised(), 64)


@cache
def _membership() -> NDArray[np.float64]:
    """Return the shares of each vertex of the template in each finer part, blurred for smooth borders."""
    shape = template()
    member = np.eye(len(FINE_PARTS))[shape.fine]
    mean = neighbour_means(len(member), shape.mesh.faces)
    for _ in range(3):
        member = 0.5 * (member + mean @ member)
    return np.asarray(member)


def _sample(body: Damaged, name: str, rng: np.random.Generator) -> BodySample:
    """Return the mesh in a random unit and frame, with its ground truth."""
    shape = template()
    fine = (body.origin @ _membership()).argmax(axis=1)
    reference = make_reference(shape.mesh, np.ones(len(shape.mesh.vertices)))
    start = reference.ring[reference.first[body.nearest]]
    triangle, weights = settle_all(reference, start, body.origin @ shape.mesh.vertices)
    mesh = Mesh(place_randomly(body.mesh.vertices, rng), body.mesh.faces, name=name)
    return BodySample(mesh, PART_OF_FINE[fine], fine, triangle, weights)


@cache
def generator_version() -> str:
    """Return a name for what the generator makes, which changes with its code and the body model."""
    model = version("anny").encode()
    own = [entry for entry in files(__name__).iterdir() if entry.name.endswith(".py")]
    geometry = files("fieldconv.geometry")
    used = (
        *("damage/damage.py", "damage/lattice.py", "damage/proportions.py", "damage/voxels.py"),
        *("mesh/halfedge.py", "mesh/topology.py", "resample/remesh.py"),
    )
    sources = own + [geometry.joinpath(name) for name in used]
    text = b"".join(entry.read_bytes() for entry in sorted(sources, key=lambda entry: entry.name))
    return hashlib.sha256(model + text).hexdigest()[:16]
