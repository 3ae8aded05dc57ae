"""Embedded creatures as a dataset for any task that takes its target from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np

from fieldconv._arrays import Ints
from fieldconv.datasets.copies import MAX_DISTANCE, code_version
from fieldconv.datasets.creatures import (
    PARTS,
    SPECIES,
    CreatureSample,
    Difficulty,
    check_vertices,
    correspondence,
    difficulty_named,
    make_creature,
    template,
)
from fieldconv.datasets.creatures.species import skeleton_of
from fieldconv.datasets.surface_dataset import Own, SurfaceDataset
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import Collection, Item, Pair, Sample
from fieldconv.labels.splits import Split, check_split
from fieldconv.tasks import task_named
from fieldconv.tasks.base import EmbeddedShape, Task

PER_SPECIES = {"train": 10, "test": 4}
SEEDS_PER_SPLIT = 1_000_000


class Creatures(SurfaceDataset):
    """Articulated creatures made from code: no download, the same for the same arguments.

    Parameters
    ----------
    task : str
        Classes are species; parts are shared between species where they mean the same; correspondence is
        with the template of one species; pairs for matching are of one species each. Any other task that
        takes a target from an embedded shape will do, too.
    split : {"train", "test", "all"}
        Two sets that share no creature, or both.
    meshes : int, optional
        How many in this split, the species in turn; by default 10 of each to train on and 4 to test. For
        "all" it counts the training shapes only; a fifth as many test shapes are added.
    vertices : int
        Vertices of each mesh, 250 to 50,000.
    species : str or sequence of str, optional
        All by default; for correspondence one, by default "quadruped".
    pose : float
        Strength of the pose.
    difficulty : str or Difficulty
        A name in `creatures.DIFFICULTIES`: noise, holes, missing parts …
    seed : int
        Another seed is another dataset.
    **options
        As for `SurfaceDataset`.

    Examples
    --------
    >>> data = Creatures("segmentation", meshes=2, vertices=250, species=["snake"], cache=False)
    >>> len(data), data[0].y.shape, "tail" in data.class_names
    (2, torch.Size([250]), True)
    """

    def __init__(
        self,
        task: str = "segmentation",
        *,
        split: Split = "train",
        meshes: int | None = None,
        vertices: int = 1000,
        species: str | Sequence[str] | None = None,
        pose: float = 1.0,
        difficulty: str | Difficulty = "clean",
        seed: int = 0,
        **options: Any,
    ) -> None:
        creatures = {"vertices": vertices, "species": species, "pose": pose, "difficulty": difficulty}
        super().__init__(
            creature_collection(task, split=split, meshes=meshes, seed=seed, **creatures), **options
        )

    def reshaped(self: Own, seed: int, strength: float = 1.0) -> Own:
        """Return these creatures unchanged: they come in all proportions already."""
        return self


def creature_collection(
    task: str = "segmentation", *, split: str = "train", meshes: int | None = None, **creatures: Any
) -> Collection:
    """Return creatures of the chosen species in turn; parameters as for `Creatures`."""
    check_split(split)
    if split != "all":
        return _one_split(task, split, meshes, **creatures)
    train = _one_split(task, "train", meshes, **creatures)
    test = _one_split(task, "test", None if meshes is None else test_share(meshes, task), **creatures)
    first = len(train.items)
    later = (replace(pair, scene=first + pair.scene, model=first + pair.model) for pair in test.pairs)
    return replace(
        train, name="creatures (all)", items=train.items + test.items, pairs=(*train.pairs, *later)
    )


def _one_split(
    task: str,
    split: str,
    meshes: int | None,
    *,
    vertices: int = 1000,
    species: str | Sequence[str] | None = None,
    pose: float = 1.0,
    difficulty: str | Difficulty = "clean",
    seed: int = 0,
) -> Collection:
    kind = task_named(task)
    check_vertices(vertices)
    chosen = _species(species, kind)
    count = meshes if meshes is not None else PER_SPECIES[split] * len(chosen)
    if kind.paired:
        if count < 2:
            raise ValueError(f"{count} meshes in the {split} split; {task} needs at least 2, for one pair")
        chosen = chosen[: count // 2]  # pairs are of one species
    level = difficulty_named(difficulty)
    first = (2 * seed + (split == "test")) * SEEDS_PER_SPLIT
    parts = np.unique(np.concatenate([skeleton_of(name).part for name in chosen]))
    items = []
    for i in range(count):
        name = chosen[i % len(chosen)]
        read = partial(
            _read, task, name, first + i, vertices, pose, level, chosen.index(name), parts, _version()
        )
        items.append(Item(f"{name}-{first + i}", read, group=name))
    pairs: list[Pair] = []
    if kind.paired:
        for name in chosen:  # each with the next of its species
            members = [i for i, item in enumerate(items) if item.group == name]
            following = members[1:] + members[: len(members) > 2]
            pairs += [
                Pair(scene, model, creature_truth, group=name)
                for scene, model in zip(members, following, strict=False)
            ]
    return Collection(
        f"creatures ({split})",
        task,
        tuple(items),
        class_names=kind.embedded_classes(chosen, tuple(PARTS[part] for part in parts)),
        pairs=tuple(pairs),
        template=partial(_template_mesh, chosen[0], vertices) if kind.one_template else None,
    )


def test_share(meshes: int, task: str) -> int:
    """Return the number of test creatures for a number of training creatures: a fifth, at least one pair."""
    return max(2 if task_named(task).paired else 1, round(meshes / 5))


def _species(species: str | Sequence[str] | None, task: Task) -> tuple[str, ...]:
    """Return species in the order of `SPECIES`: by default all, or one for a task that has one template."""
    if species is None:
        # Unlike those of a biped, the front and back of a quadruped look different.
        return ("quadruped",) if task.one_template else SPECIES
    wanted = [species] if isinstance(species, str) else list(species)
    for name in wanted:
        if name not in SPECIES:
            raise ValueError(f"there is no species {name!r}; choose one of {', '.join(SPECIES)}")
    if not wanted:
        raise ValueError("no species; choose at least one")
    if task.one_template and len(wanted) > 1:
        raise ValueError(f"{len(wanted)} species; choose one for {task.name}, which has one template")
    return tuple(name for name in SPECIES if name in wanted)


@cache
def _version() -> str:
    """Return a name for how creatures are made, which changes with the code."""
    folder = files("fieldconv.datasets.creatures")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".py"))
    return code_version(
        *(f"datasets/creatures/{name}" for name in names),
        "datasets/creature_collection.py",
        "geometry/damage/damage.py",
        "geometry/damage/lattice.py",
        "geometry/mesh/halfedge.py",
        "geometry/mesh/topology.py",
    )


def _read(
    task: str,
    species: str,
    seed: int,
    vertices: int,
    pose: float,
    difficulty: Difficulty,
    index: int,
    parts: Ints,
    version: str,
) -> Sample:
    creature = make_creature(species, seed, vertices=vertices, pose=pose, difficulty=difficulty)
    shape = EmbeddedShape(
        creature.mesh,
        index,
        np.searchsorted(parts, creature.labels),
        lambda: counterpart(creature, template(species, vertices)),
        creature,
    )
    return Sample(creature.mesh, task_named(task).embedded_target(shape))


def _template_mesh(species: str, vertices: int) -> Mesh:
    return template(species, vertices).mesh


def creature_truth(scene: Sample, model: Sample) -> Ints:
    """Return the model's vertex at each vertex of the scene, −1 where the model lacks that place."""
    return counterpart(scene.target, model.target)


def counterpart(creature: CreatureSample, other: CreatureSample) -> Ints:
    """Return `correspondence`, but −1 where the other creature has nothing near, such as a missing limb."""
    vertex = correspondence(creature, other)
    spacing = (Mesh(other.rest, other.mesh.faces).area / len(other.rest)) ** 0.5
    distance = np.linalg.norm(creature.rest - other.rest[vertex], axis=1)
    return np.where(distance <= MAX_DISTANCE * spacing, vertex, -1)
