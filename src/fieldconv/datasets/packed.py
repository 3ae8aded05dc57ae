"""Datasets in few large files, read when they are needed: what `fieldconv pack` writes.

A packed folder holds

- ``packed.json``: the task, its classes, the settings of surfaces, the names of the sets;
- ``SET.json``: where each surface, mesh and ground truth of a set is;
- ``SET-0000.surfaces`` …: entries as in the cache, one after the other, each with a digest and its name;
- ``template.ply``, if targets are vertices of a template.

The sets are ``train``, ``test``, and copies of ``train``, such as ``train-reshaped-1-1``. Nothing in them is
code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fieldconv._arrays import Ints
from fieldconv._io import atomic_path, read_text, write_text
from fieldconv._progress import track
from fieldconv.datasets.copies import damage_version
from fieldconv.datasets.prepared import Kind
from fieldconv.datasets.surface_dataset import SurfaceDataset
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import Collection, Item, Pair, Sample
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.splits import Split, check_split
from fieldconv.surface.cache import read_entry, write_entry
from fieldconv.surface.parts import further_row_numbers, parts_of
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface, ToSurface, settings_of

INDEX, TEMPLATE, SUFFIX = "packed.json", "template.ply", ".surfaces"
FORMAT = 1
SIZE = 10**9  # bytes of a file, which its last entry may exceed
_Rows = list[list[Any]]
_DAMAGE = (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


class Place(NamedTuple):
    """Where an entry is, and the name that it must have."""

    path: Path
    begin: int
    size: int
    name: str


@dataclass(frozen=True)
class Packed:
    """The content of ``packed.json``."""

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
            SurfaceSettings.from_dict(content["settings"]),
            tuple(map(str, content["sets"])),
            {str(name): str(rows) for name, rows in content.get("row_numbers", {}).items()},
        )
    except _DAMAGE as error:
        raise _unreadable(folder / INDEX, error) from None


def _read_set(packed: Packed, part: str) -> tuple[dict[str, Place], list[Item], list[Pair]]:
    """Return where the surfaces of a set are, its items and its pairs; copies have surfaces only."""
    path = packed.folder / f"{part}.json"
    try:
        content = json.loads(read_text(path))
        # An index cannot name files of other folders.
        paths = [packed.folder / Path(str(file)).name for file in content["files"]]

        def place(entry: str, number: int, begin: int, size: int) -> Place:
            return Place(paths[number], int(begin), int(size), f"{part}/{entry}")

        places, items = {}, []
        for name, group, surface, *mesh in content["items"]:
            places[name] = place(f"{name}/surface", *surface)
            if mesh:
                read = partial(packed_sample, *place(f"{name}/mesh", *mesh[0]))
                items.append(Item(str(name), read, str(group)))
        pairs = []
        for number, (scene, model, group, entry) in enumerate(content["pairs"]):
            truth = partial(packed_truth, *place(f"{number}/truth", *entry))
            pairs.append(Pair(int(scene), int(model), truth, str(group)))
        return places, items, pairs
    except _DAMAGE as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> DatasetError:
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


def _sample_tensors(sample: Sample) -> dict[str, Tensor]:
    """Return a mesh and its target as tensors; raise ValueError if the target cannot be one or several."""
    mesh, target = sample
    tensors = {
        "vertices": torch.from_numpy(mesh.vertices),
        "faces": torch.from_numpy(mesh.faces),
        "name": torch.tensor(list(mesh.name.encode()), dtype=torch.uint8),
    }
    if isinstance(target, tuple):
        tensors["several"] = torch.ones(1, dtype=torch.bool)
    elif target is not None:
        target = (target,)
    try:
        for number, value in enumerate(target or ()):
            tensors[f"target.{number}"] = torch.from_numpy(np.array(value))
    except TypeError:
        raise ValueError(f"a target of type {type(sample.target).__name__} cannot be packed") from None
    return tensors


def packed_sample(path: Path, begin: int, size: int, name: str) -> Sample:
    """Return a packed mesh and its target."""
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
    """Return the packed ground truth of a pair."""
    return np.asarray(read_place(Place(path, begin, size, name))["truth"].numpy(), np.int64)


class PackedSurfaces:
    """The surfaces of some sets of a packed folder, by name; ``copied`` is the set that may have copies."""

    def __init__(self, packed: Packed, places: Mapping[str, Place], copied: str = "") -> None:
        self.packed, self.places, self.copied = packed, places, copied

    def find(self, name: str, settings: SurfaceSettings) -> Surface | None:
        """Return the surface of a shape; None if these settings would give another one."""
        place, packed = self.places.get(name), self.packed.settings
        alike = replace(settings, samples=packed.samples, min_vertices=packed.min_vertices)
        if place is None or alike != packed:
            return None
        surface = Surface(self.packed.row_numbers, **read_place(place))
        count = surface.num_vertices
        return surface if settings.in_effect(count) == packed.in_effect(count) else None

    def copies(self, kind: Kind, seed: int, strength: float) -> PackedSurfaces | None:
        """Return the surfaces of reshaped or damaged copies; None if there are none."""
        part = f"{self.copied}-{copy_name(kind, seed, strength)}"
        if part not in self.packed.sets:
            return None
        return PackedSurfaces(self.packed, _read_set(self.packed, part)[0])


class PackedDataset(SurfaceDataset):
    """A dataset that `fieldconv pack` wrote. Surfaces are read when they are needed.

    They stay in memory up to ``memory`` bytes, counting what kernels store about edges; the others are read
    again each time. Other settings than those of the packed surfaces prepare the meshes as for any folder.

    Parameters
    ----------
    root : path
    task : str, optional
        Raises an error if it was packed for another.
    split : {"train", "test", "all"}
    **options
        As for `SurfaceDataset`.
    """

    def __init__(
        self,
        root: str | Path,
        task: str | None = None,
        *,
        split: Split = "train",
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
            part_places, part_items, part_pairs = _read_set(packed, part)
            first = len(items)
            places |= part_places
            items += part_items
            pairs += [replace(p, scene=first + p.scene, model=first + p.model) for p in part_pairs]
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


class Packer:
    """Packs datasets into a folder, which is a packed dataset once `finish` is called.

    Parameters
    ----------
    folder : path
        Must not hold a packed dataset already.
    size : int
        Bytes after which a new file begins.

    Examples
    --------
    >>> import tempfile
    >>> from fieldconv.datasets import Creatures, open_dataset
    >>> data = Creatures("segmentation", meshes=2, vertices=250, species=["snake"], cache=False)
    >>> packer = Packer(tempfile.mkdtemp())
    >>> packer.add("train", data)
    >>> packer.finish()
    >>> packed = open_dataset(packer.folder)
    >>> len(packed), torch.equal(packed[1].y, data[1].y)
    (2, True)
    """

    def __init__(self, folder: str | Path, *, size: int = SIZE) -> None:
        self.folder, self.size = Path(folder), size
        if is_packed(folder):
            raise ValueError(f"{folder} holds a packed dataset already; choose another folder")
        if size < 1:
            raise ValueError(f"size is {size}; give a positive number of bytes")
        self.surfaces = self.bytes = self.files = 0
        self._sets: list[str] = []
        self._about: Mapping[str, object] = {}

    def add(self, part: str, data: SurfaceDataset) -> None:
        """Write the part "train" or "test", a surface at a time."""
        self._describe(data)
        used = data.shapes()
        place_of = {number: place for place, number in enumerate(used)}
        with _Files(self.folder, part, self.size) as files:
            items = []
            for number in track(used, f"Packing {part}", total=len(used)):
                item = data.item(number)
                surface = files.add(f"{part}/{item.name}/surface", _surface_tensors(data, number))
                mesh = files.add(f"{part}/{item.name}/mesh", _sample_tensors(item.read()))
                items.append([item.name, item.group, surface, mesh])
            pairs = []
            for number, pair in enumerate(data.pairs()):
                truth = pair.truth(data.item(pair.scene).read(), data.item(pair.model).read())
                entry = files.add(f"{part}/{number}/truth", {"truth": torch.from_numpy(truth)})
                pairs.append([place_of[pair.scene], place_of[pair.model], pair.group, entry])
        self._finish_set(part, files, items, pairs)

    def add_copies(self, data: SurfaceDataset, kind: str, seed: int, strength: float) -> None:
        """Write reshaped or damaged copies of the part "train", which training then need not make."""
        if data.pairs():
            raise ValueError("copies of pairs cannot be packed; they are made when they are needed")
        part = f"train-{copy_name(kind, seed, strength)}"
        copies: SurfaceDataset = getattr(data, kind)(seed, strength)
        with _Files(self.folder, part, self.size) as files:
            items = []
            for number in track(copies.shapes(), f"Packing {part}", total=len(copies)):
                name = copies.item(number).name
                place = files.add(f"{part}/{name}/surface", _surface_tensors(copies, number))
                items.append([name, "", place])
        self._finish_set(part, files, items, [])

    def finish(self) -> None:
        """Write the index, which makes the folder a packed dataset."""
        content = {"library": "fieldconv", "format": FORMAT, **self._about, "sets": self._sets}
        write_text(self.folder / INDEX, json.dumps(content, indent=1))

    def _describe(self, data: SurfaceDataset) -> None:
        settings = settings_of(data.pre_transform)
        if settings is None:
            raise ValueError("only surfaces that a ToSurface prepared can be packed")
        row_numbers = further_row_numbers(parts_of(settings))
        about = {
            "task": data.task,
            "class_names": list(data.class_names),
            "settings": settings.to_dict(),
            **({"row_numbers": row_numbers} if row_numbers else {}),
        }
        if self._about and self._about != about:
            raise ValueError("the parts have other classes or settings; pack them into folders of their own")
        self._about = about
        if data.template is not None:
            data.template.save(self.folder / TEMPLATE)

    def _finish_set(self, part: str, files: _Files, items: _Rows, pairs: _Rows) -> None:
        content = {"files": files.names, "items": items, "pairs": pairs}
        write_text(self.folder / f"{part}.json", json.dumps(content, separators=(",", ":")))
        self._sets.append(part)
        self.surfaces += len(items)
        self.bytes += files.bytes
        self.files += len(files.names)


def _surface_tensors(data: SurfaceDataset, number: int) -> dict[str, Tensor]:
    surface = data.surface(number).to_dict()
    return {name: value for name, value in surface.items() if isinstance(value, Tensor)}


class _Files(ExitStack):
    """The files of a set, one after the other."""

    def __init__(self, folder: Path, part: str, size: int) -> None:
        super().__init__()
        self.folder, self.part, self.size = folder, part, size
        self.names: list[str] = []
        self.bytes = 0
        self._file: BinaryIO | None = None

    def add(self, name: str, tensors: dict[str, Tensor]) -> tuple[int, int, int]:
        """Write an entry; return the number of its file, where it begins there, and its size."""
        if self._file is None or self._file.tell() >= self.size:
            self.close()  # moves the last file into place
            self.names.append(f"{self.part}-{len(self.names):04d}{SUFFIX}")
            path = self.enter_context(atomic_path(self.folder / self.names[-1]))
            self._file = self.enter_context(open(path, "wb"))  # noqa: SIM115
        content = write_entry(name, tensors)
        begin = self._file.tell()
        self._file.write(content)
        self.bytes += len(content)
        return len(self.names) - 1, begin, len(content)


def copy_name(kind: str, seed: int, strength: float) -> str:
    """Return the name of a set of copies of ``train``, such as reshaped-1-0.3, without "train-"."""
    version = f"-{damage_version()}" if kind == "damaged" else ""
    return f"{kind}-{seed}-{strength:g}{version}"
