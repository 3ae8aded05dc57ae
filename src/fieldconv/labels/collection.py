"""Datasets without torch: named meshes with their targets, pairs of them, and problems."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from fieldconv._arrays import Ints
from fieldconv.geometry.mesh.files import MESH_SUFFIXES
from fieldconv.geometry.mesh.mesh import Mesh, MeshError
from fieldconv.geometry.resample.sampling import nearest_samples
from fieldconv.labels.errors import DatasetError

NOTHING_KNOWN = "no vertex of any mesh has a label or a known place; check the ground truth"


class Sample(NamedTuple):
    """A mesh and its target.

    The target depends on the task: a class index (), a label, number or template vertex per vertex (V,), or,
    for pairs, whatever `Pair.truth` needs. −1 means unknown.
    """

    mesh: Mesh
    target: Any


@dataclass(frozen=True)
class Item:
    """One mesh of a dataset, read when it is needed."""

    name: str
    """Unique in the dataset."""
    read: Callable[[], Sample]
    """Return the mesh and its target; raise `DatasetError` if a file is malformed."""
    group: str = ""
    """Class, source or part of the set, for splits and summaries."""


@dataclass(frozen=True)
class Pair:
    """Two items, by index, and the ground truth between them.

    ``truth(scene, model)`` returns (V_scene,) int64: the vertex of the model for each vertex of the scene, −1
    if unknown.
    """

    scene: int
    model: int
    truth: Callable[[Sample, Sample], Ints]
    group: str = ""


@dataclass(frozen=True)
class Collection:
    """A whole dataset, or one side of its split."""

    name: str
    task: str
    """Name of the task that the targets are for."""
    items: tuple[Item, ...] = ()
    class_names: tuple[str, ...] = ()
    """Names of the classes or parts, if any."""
    pairs: tuple[Pair, ...] = ()
    """Pairs of shapes, for matching."""
    template: Callable[[], Mesh] | None = None
    """Return the template, for correspondence."""
    problems: tuple[str, ...] = ()
    """A sentence for each thing that is wrong with the folder."""
    hint: str = ""
    """What to do about them."""

    def error(self, problems: Sequence[str] = ()) -> DatasetError:
        """Return all problems as one exception."""
        return DatasetError(self.name, [*self.problems, *problems], hint=self.hint)


def natural_order(path: str | PurePath) -> tuple[list[tuple[str, int]], str]:
    """Sort key that puts 2 before 10, the same on every system."""
    name = path.as_posix() if isinstance(path, PurePath) else path
    parts = re.findall(r"(\D+|^)(\d*)", name)
    return [(text, int(digits or -1)) for text, digits in parts], name


def mesh_files(folder: str | Path) -> list[Path]:
    """Return the mesh files in a folder, in natural order, without hidden ones."""
    folder = Path(folder)
    if not folder.is_dir():
        return []
    found = [p for p in folder.iterdir() if p.suffix.lower() in MESH_SUFFIXES and not p.name.startswith(".")]
    return sorted(found, key=natural_order)


def subfolders(folder: str | Path) -> list[Path]:
    """Return the folders in a folder, in natural order, without hidden ones."""
    found = [p for p in Path(folder).iterdir() if p.is_dir() and not p.name.startswith(".")]
    return sorted(found, key=natural_order)


def load_mesh(path: Path) -> Mesh:
    """Read a mesh; if it cannot be used, raise a `DatasetError` of one line that names the file."""
    try:
        return Mesh.load(path).validate()
    except (MeshError, OSError, ValueError) as error:
        text = " ".join(str(error).split())
        text = text.removeprefix(f"{path}: ").removeprefix(f"{path.stem}: ")
        raise DatasetError(path, text) from None


def fill_geodesically(mesh: Mesh, values: Ints) -> Ints:
    """Return values with each −1 replaced by that of the geodesically nearest vertex that has one.

    Vertices on components without a value keep −1.
    """
    known = np.flatnonzero(values >= 0)
    if len(known) in (0, len(values)):
        return values
    nearest = nearest_samples(mesh, known, k=1)[0][:, 0]
    filled = np.where(nearest >= 0, values[known[nearest]], -1)
    return np.where(values >= 0, values, filled)


def first_preimage(ids: Ints, count: int) -> Ints:
    """Return (count,) the first place of each of 0…count−1 in ``ids``, −1 for absent ones.

    Examples
    --------
    >>> first_preimage(np.array([2, 0, 2]), 4).tolist()
    [1, -1, 0, -1]
    """
    place = np.full(count, -1, dtype=np.int64)
    valid = np.flatnonzero(ids >= 0)[::-1]  # backwards, so that the first of several stays
    place[ids[valid]] = valid
    return place
