"""Datasets in few large files, read when their turn comes: what `fieldconv pack` writes.

A packed folder holds

- ``packed.json``: what is in it: the task, its classes, how meshes were prepared, the sets;
- ``SET.json``: where each surface, mesh and ground truth of a set is;
- ``SET-0000.surfaces`` …: entries as in the cache, one after the other: each has a digest and bears its name;
- ``template.ply``, if targets are vertices of a template.

The sets are ``train`` and ``test``, and copies of ``train`` to learn from as well, such as
``train-reshaped-1-1``. Nothing in them is code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fieldconv._arrays import Ints
from fieldconv._io import read_text
from fieldconv.datasets.copies import damage_version
from fieldconv.datasets.prepared import Kind
from fieldconv.datasets.surface_dataset import SurfaceDataset
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import Collection, Item, Pair, Sample
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.splits import check_split
from fieldconv.surface.cache import read_entry
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface, ToSurface

INDEX, TEMPLATE, SUFFIX = "packed.json", "template.ply", ".surfaces"
FORMAT = 1
_DAMAGE = (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


class Place(NamedTuple):
    """Where an entry is, and the name that it must bear."""

    path: Path
    begin: int
    size: int
    name: str


@dataclass(frozen=True)
class Packed:
    """What ``packed.json`` says."""

    folder: Path
    task: str
    class_names: tuple[str, ...]
    settings: SurfaceSettings
    sets: tuple[str, ...]
    row_numbers: dict[str, str]


def is_packed(folder: str | Path) -> bool:
    """Return whether a folder is a packed one."""
    return (Path(folder) / INDEX).is_file()


def read_index(folder: str | Path) -> Packed:
    """Return what a packed folder holds; raise DatasetError if it cannot be read."""
    folder = Path(folder)
    try:
        content = json.loads(read_text(folder / INDEX))
        if content["library"] != "fieldconv" or content["format"] != FORMAT:
            raise ValueError("it is of another version of fieldconv")
        return Packed(
            folder,
            str(content["task"]),
            tuple(map(str, content["class_names"])),
            SurfaceSettings(**content["settings"]),
            tuple(map(str, content["sets"])),
            {str(name): str(rows) for name, rows in content.get("row_numbers", {}).items()},
        )
    except _DAMAGE as error:
        raise _damaged(folder / INDEX, error) from None


def _read_set(packed: Packed, name: str) -> tuple[list[list[Any]], list[list[Any]], Callable[..., Place]]:
    """Rows of items and of pairs, and a function that turns an entry of the index into a `Place`."""
    path = packed.folder / f"{name}.json"
    try:
        content = json.loads(read_text(path))
        items, pairs, files = content["items"], content["pairs"], content["files"]
        # Whatever an index says, nothing beside it is read.
        paths = [packed.folder / Path(str(file)).name for file in files]

        def place(entry: str, number: int, begin: int, size: int) -> Place:
            return Place(paths[number], int(begin), int(size), entry)

        for row in items:
            place(str(row[0]), *row[2])
        return items, pairs, place
    except _DAMAGE as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> DatasetError:
    reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
    return DatasetError(str(path), [f"it cannot be read ({reason}); copy it anew, or pack again"])


def read_place(place: Place) -> dict[str, Tensor]:
    """Return the tensors of an entry; raise DatasetError if it is damaged."""
    stored = b""
    try:
        if place.begin >= 0 and 0 < place.size <= place.path.stat().st_size - place.begin:
            with open(place.path, "rb") as file:
                file.seek(place.begin)
                stored = file.read(place.size)
    except OSError as error:
        raise DatasetError(str(place.path), [error.strerror or str(error)]) from None
    tensors = read_entry(stored, place.name)
    if tensors is None:
        raise DatasetError(str(place.path), [f"{place.name} is damaged; copy the file anew, or pack again"])
    return tensors


def sample_tensors(sample: Sample) -> dict[str, Tensor]:
    """Return a mesh and its target as tensors; raise ValueError if the target is nothing of that kind.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]], "square")
    >>> sorted(sample_tensors(Sample(square, np.array([0, 0, 1, 1]))))
    ['faces', 'name', 'target.0', 'vertices']
    """
    mesh, target = sample
    tensors = {
        "vertices": torch.from_numpy(mesh.vertices),
        "faces": torch.from_numpy(mesh.faces),
        "name": torch.tensor(list(mesh.name.encode()), dtype=torch.uint8),
    }
    several = isinstance(target, tuple)
    values = () if target is None else target if several else (target,)
    try:
        tensors |= {
            f"target.{number}": torch.from_numpy(np.array(value)) for number, value in enumerate(values)
        }
    except TypeError:
        raise ValueError(f"a target of type {type(target).__name__} cannot be packed") from None
    return tensors | ({"several": torch.ones(1, dtype=torch.bool)} if several else {})


def packed_sample(path: Path, begin: int, size: int, name: str) -> Sample:
    """Return the mesh and target that were packed there."""
    tensors = read_place(Place(path, begin, size, name))
    mesh = Mesh(
        tensors["vertices"].numpy(),
        tensors["faces"].numpy(),
        bytes(tensors["name"].tolist()).decode(errors="replace"),
    )
    count = sum(key.startswith("target.") for key in tensors)
    values = tuple(tensors[f"target.{number}"].numpy()[()] for number in range(count))
    if "several" in tensors:
        return Sample(mesh, values)
    return Sample(mesh, values[0] if values else None)


def packed_truth(path: Path, begin: int, size: int, name: str, scene: Sample, model: Sample) -> Ints:
    """Return the ground truth of a pair that was packed there."""
    truth: Ints = read_place(Place(path, begin, size, name))["truth"].numpy()
    return truth


class PackedSurfaces:
    """The surfaces of some sets of a packed folder; read when they are asked for.

    Parameters
    ----------
    packed : Packed
    places : mapping of str to Place
        Where the surface of each shape is.
    copied : str
        The set of which copies may be there as well.
    """

    def __init__(self, packed: Packed, places: Mapping[str, Place], copied: str = "") -> None:
        self.packed, self.places, self.copied = packed, places, copied

    @property
    def settings(self) -> SurfaceSettings:
        """How all of them were prepared."""
        return self.packed.settings

    def find(self, name: str, settings: SurfaceSettings) -> Surface | None:
        """Return the surface of a shape if it is as these settings would make it."""
        place, before = self.places.get(name), self.settings
        if place is None or replace(settings, samples=before.samples, fewest=before.fewest) != before:
            return None
        surface = Surface(self.packed.row_numbers, **read_place(place))
        count = surface.num_vertices
        return surface if settings.in_effect(count) == before.in_effect(count) else None

    def copies(self, kind: Kind, seed: int, strength: float) -> PackedSurfaces | None:
        """Return the surfaces of reshaped or damaged copies; None if there are none."""
        part = f"{self.copied}-{copy_name(kind, seed, strength)}"
        if part not in self.packed.sets:
            return None
        rows, _, place = _read_set(self.packed, part)
        return PackedSurfaces(
            self.packed, {row[0]: place(f"{part}/{row[0]}/surface", *row[2]) for row in rows}
        )


class PackedDataset(SurfaceDataset):
    """A dataset that `fieldconv pack` wrote. Surfaces are read when they are asked for.

    What was read stays in memory up to ``memory`` bytes, counting what kernels remember about edges; the
    rest is read again each time. If meshes are to be prepared in another way than they were packed, that is
    done as for any other folder.

    Parameters
    ----------
    root : path
    task : str, optional
        An error if it was packed for another.
    split : {"train", "test", "all"}
    **options
        As for `SurfaceDataset`.
    """

    def __init__(
        self,
        root: str | Path,
        task: str | None = None,
        *,
        split: Literal["train", "test", "all"] = "train",
        **options: Any,
    ) -> None:
        check_split(split)
        packed = read_index(root)
        name = f"packed folder {root}"
        if task not in (None, packed.task):
            raise DatasetError(name, [f"it was packed for {packed.task}, not for {task}"])
        sets = ["train", "test"] if split == "all" else [split]
        missing = [part for part in sets if part not in packed.sets]
        if missing:
            raise DatasetError(name, [f"it has no {missing[0]} part"])
        places: dict[str, Place] = {}
        items: list[Item] = []
        pairs: list[Pair] = []
        for part in sets:
            _add(packed, part, places, items, pairs)
        if len(places) != len(items):
            raise DatasetError(name, ["several of its meshes have one name; pack it again"])
        template = Path(root) / TEMPLATE
        collection = Collection(
            name,
            packed.task,
            tuple(items),
            packed.class_names,
            tuple(pairs),
            template=partial(Mesh.load, template) if template.is_file() else None,
        )
        options.setdefault("pre_transform", ToSurface.of(packed.settings))
        super().__init__(collection, stored=PackedSurfaces(packed, places, copied=split), **options)


def _add(packed: Packed, part: str, places: dict[str, Place], items: list[Item], pairs: list[Pair]) -> None:
    """Add what is in a set."""
    rows, paired, place = _read_set(packed, part)
    first = len(items)
    try:
        for name, group, surface, mesh in rows:
            places[name] = place(f"{part}/{name}/surface", *surface)
            read = partial(packed_sample, *place(f"{part}/{name}/mesh", *mesh))
            items.append(Item(str(name), read, str(group)))
        for number, (scene, model, group, truth) in enumerate(paired):
            known = partial(packed_truth, *place(f"{part}/{number}/truth", *truth))
            pairs.append(Pair(first + scene, first + model, known, str(group)))
    except _DAMAGE as error:
        raise _damaged(packed.folder / f"{part}.json", error) from None


def copy_name(kind: str, seed: int, strength: float) -> str:
    """Return what a set of copies of ``train`` is called, after "train-".

    Examples
    --------
    >>> copy_name("reshaped", 1, 0.3)
    'reshaped-1-0.3'
    """
    version = f"-{damage_version()}" if kind == "damaged" else ""
    return f"{kind}-{seed}-{strength:g}{version}"
