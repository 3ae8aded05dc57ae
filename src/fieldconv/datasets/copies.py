"""Reshaped and damaged copies of a mesh, with their targets, to train on besides the mesh."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from fieldconv._arrays import Ints
from fieldconv.geometry.damage.damage import Damaged, damage_mesh, refine
from fieldconv.geometry.damage.proportions import reshape
from fieldconv.labels.collection import Sample, fill_geodesically, first_preimage
from fieldconv.surface.parts import VERTICES_PER_SUBDIVIDED_SAMPLE
from fieldconv.surface.settings import MIN_DENSITY
from fieldconv.tasks import task_named

MAX_DISTANCE = 3.0  # in mean edge lengths; a point whose nearest counterpart is farther away has none


class Origin(NamedTuple):
    """The target of a damaged mesh of a pair: the mesh it was made of, and the damage."""

    sample: Sample
    damage: Damaged


def read_reshaped(read: Callable[[], Sample], seed: int, number: int, strength: float) -> Sample:
    """Return a mesh with other proportions; it keeps its vertices, and so its target."""
    sample = read()
    return sample._replace(mesh=reshape(sample.mesh, [seed, number], strength))


def read_damaged(
    read: Callable[[], Sample],
    task: str,
    seed: int,
    number: int,
    strength: float,
    samples: int | None,
    version: str,
) -> Sample:
    """Return a damaged mesh and its target.

    A mesh that is too sparse for ``samples`` samples, or for as many as it had vertices, is subdivided, as it
    would be for a prediction. ``version`` is that of the code; it serves the cache key only.
    """
    sample, kind = read(), task_named(task)
    done = damage_mesh(sample.mesh, [seed, number], strength)
    count = len(sample.mesh.vertices)
    if len(done.mesh.vertices) < MIN_DENSITY * min(count, samples or count):
        done = done.then(refine(done.mesh, VERTICES_PER_SUBDIVIDED_SAMPLE * samples if samples else count))
    target = Origin(sample, done) if kind.paired else kind.transfer_target(sample.target, sample.mesh, done)
    return Sample(done.mesh, target)


def damaged_truth(truth: Callable[[Sample, Sample], Ints], scene: Sample, model: Sample) -> Ints:
    """Return the ground truth between two damaged meshes, −1 where the model lacks the place."""
    ours: Origin = scene.target
    theirs: Origin = model.target
    place = truth(ours.sample, theirs.sample)[ours.damage.nearest]
    return np.where(place >= 0, _new_vertices(theirs)[place], -1)


def _new_vertices(origin: Origin) -> Ints:
    """(V_old,) the nearest vertex of the damaged mesh, −1 where nothing is left nearby."""
    before, after = origin.sample.mesh, origin.damage.mesh
    vertex = fill_geodesically(before, first_preimage(origin.damage.nearest, len(before.vertices)))
    place = origin.damage.carry(before.vertices)
    distance = np.linalg.norm(before.vertices - place[vertex], axis=1)
    spacing = (max(before.area, after.area) / min(len(before.vertices), len(after.vertices))) ** 0.5
    return np.where((vertex >= 0) & (distance <= MAX_DISTANCE * spacing), vertex, -1)


@cache
def damage_version() -> str:
    """Return a name for how meshes are damaged, which changes with the code."""
    return code_version(
        *(f"geometry/damage/{name}.py" for name in ("build_bridge", "damage", "lattice", "voxels")),
        "geometry/mesh/halfedge.py",
        "geometry/mesh/topology.py",
        "geometry/resample/remesh.py",
        "geometry/resample/resolution.py",
    )


def code_version(*names: str) -> str:
    """Return a hash of source files of this package."""
    folder = files("fieldconv")
    text = b"".join(folder.joinpath(name).read_bytes() for name in names)
    return hashlib.sha256(text).hexdigest()[:16]
