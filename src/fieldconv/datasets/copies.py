"""Copies of a mesh to learn from as well: of other proportions, or damaged, with what is known of it."""

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
from fieldconv.surface.parts import SPARSE
from fieldconv.surface.settings import SPARSER
from fieldconv.tasks import task_named

FARTHEST = 3.0  # in mean edge lengths: a point whose nearest counterpart is farther away has none


class Origin(NamedTuple):
    """The target of a damaged mesh of a pair: what it was made of, and how."""

    sample: Sample
    damage: Damaged


def read_reshaped(read: Callable[[], Sample], seed: int, number: int, strength: float) -> Sample:
    """Return a mesh with other proportions; its vertices, and so its target, stay what they were."""
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

    One that is too sparse for ``samples`` samples, or for as many as the mesh has vertices, is subdivided, as
    it would be for a prediction. ``version`` only says which code made it, for what is kept.
    """
    sample, kind = read(), task_named(task)
    done = damage_mesh(sample.mesh, [seed, number], strength)
    count = len(sample.mesh.vertices)
    if len(done.mesh.vertices) < SPARSER * min(count, samples or count):
        done = done.then(refine(done.mesh, SPARSE * samples if samples else count))
    target = Origin(sample, done) if kind.paired else kind.carried(sample.target, sample.mesh, done)
    return Sample(done.mesh, target)


def damaged_truth(truth: Callable[[Sample, Sample], Ints], scene: Sample, model: Sample) -> Ints:
    """Return the ground truth between two damaged meshes, −1 where the place is gone from the model."""
    ours: Origin = scene.target
    theirs: Origin = model.target
    place = truth(ours.sample, theirs.sample)[ours.damage.nearest]
    return np.where(place >= 0, _new_vertices(theirs)[place], -1)


def _new_vertices(origin: Origin) -> Ints:
    """(V_old,) the nearest vertex of the damaged mesh, −1 where nothing is left nearby."""
    before, after = origin.sample.mesh, origin.damage.mesh
    found = fill_geodesically(before, first_preimage(origin.damage.nearest, len(before.vertices)))
    place = origin.damage.carry(before.vertices)
    away = np.linalg.norm(before.vertices - place[found], axis=1)
    spacing = (max(before.area, after.area) / min(len(before.vertices), len(after.vertices))) ** 0.5
    return np.where((found >= 0) & (away <= FARTHEST * spacing), found, -1)


@cache
def damage_version() -> str:
    """Return a name for how meshes are damaged: another one when the code changes."""
    folder = files("fieldconv.geometry")
    names = (
        *("damage/build_bridge.py", "damage/damage.py", "damage/lattice.py", "damage/voxels.py"),
        *("mesh/halfedge.py", "mesh/topology.py", "resample/remesh.py", "resample/subdivide.py"),
    )
    text = b"".join(folder.joinpath(name).read_bytes() for name in names)
    return hashlib.sha256(text).hexdigest()[:16]
