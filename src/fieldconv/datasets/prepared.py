"""The shapes of a collection as surfaces, prepared in parallel and stored in memory and on disk."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from fieldconv._progress import track
from fieldconv.datasets.copies import damage_version, damaged_truth, read_damaged, read_reshaped
from fieldconv.datasets.matches import BALL, Matches, find_matches, near_samples
from fieldconv.geometry.geodesic.geodesic_discs import SOLVER_VERSION
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import NOTHING_KNOWN, Collection, Item, Pair, Sample
from fieldconv.labels.parallel import Watch, run_all
from fieldconv.surface.cache import SurfaceCache, mesh_digest
from fieldconv.surface.parts import parts_of
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface, ToSurface, settings_of
from fieldconv.tasks import task_named

if TYPE_CHECKING:
    from fieldconv.datasets.packed import PackedSurfaces

PreTransform = Callable[[Mesh], Surface]
Kind = Literal["reshaped", "damaged"]

MEMORY = 4 * 2**30  # bytes for surfaces in memory; the others are read when they are needed
KERNEL_SHARE = 2  # kernels store about the edges of a surface this many times the bytes of the surface
_VERSION = 4  # raise it when stored targets change, or how copies are reshaped
_MATCHES_VERSION = 2  # the same for matches
_DIGEST, _VERTICES = "mesh_digest", "mesh_vertices"  # of the mesh, stored with its target


class PreparedShapes:
    """The shapes of a collection as surfaces with targets, and the matches of its pairs.

    Parameters are those of `SurfaceDataset`, and the text beside the progress bar. If ``stored`` has all
    surfaces with the settings asked for, none is read before it is needed.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        pre_transform: PreTransform | None = None,
        cache: str | Path | bool = True,
        progress: bool = True,
        memory: int = MEMORY,
        stored: PackedSurfaces | None = None,
        work: str = "Preparing meshes",
    ) -> None:
        self.collection = collection
        self._task = task_named(collection.task)
        self.paired = self._task.paired
        self.pre_transform = pre_transform or ToSurface.of(self._task.surface_settings)
        self.settings = settings_of(self.pre_transform)
        self._store = SurfaceCache(None if cache is True else cache) if cache is not False else None
        self._progress = progress
        self._free = memory  # bytes
        self._stored = stored
        self._samples: dict[str, Sample] = {}  # of pairs, whose meshes are needed again below
        self._surfaces: list[Surface | None] = [None] * len(collection.items)
        self._prepare_all(work)
        self._matches = self._match_all() if self.paired else []
        self._samples.clear()

    def __len__(self) -> int:
        """Return the number of elements: pairs, or else shapes."""
        return len(self._matches) if self.paired else len(self._surfaces)

    def parts(self, element: int) -> tuple[int, ...]:
        """Return the numbers of the shapes of an element: its own, or those of scene and model."""
        if not self.paired:
            return (element,)
        pair = self.collection.pairs[element]
        return pair.scene, pair.model

    def surface(self, number: int) -> Surface:
        """Return a prepared shape with its target, by its number."""
        surface = self._surfaces[number]
        if surface is None:
            surface = self._prepare(self.collection.items[number])
            if self._fits(surface):
                self._surfaces[number] = surface
        return copy.copy(surface)

    def matches(self, element: int) -> Matches:
        """Return which samples of a pair correspond."""
        return copy.copy(self._matches[element])

    def prepared_with(
        self, elements: Sequence[int], settings: SurfaceSettings
    ) -> tuple[PreparedShapes, list[int]]:
        """Return the shapes of some elements, prepared with other settings, and those elements' numbers."""
        return self._again(elements, self.collection.items, ToSurface.of(settings))

    def copies(
        self, kind: Kind, elements: Sequence[int], seed: int, strength: float
    ) -> tuple[PreparedShapes, list[int]]:
        """Return reshaped or damaged copies of the shapes of some elements, and those elements' numbers."""
        stored = None
        if self._stored is not None and not self.paired:
            stored = self._stored.copies(kind, seed, strength)
        damaged = kind == "damaged"
        samples = self.settings.samples if self.settings is not None else None

        def reader(number: int, read: Callable[[], Sample]) -> Callable[[], Sample]:
            if damaged:
                task, version = self.collection.task, damage_version()
                return partial(read_damaged, read, task, seed, number, strength, samples, version)
            return partial(read_reshaped, read, seed, number, strength)

        return self._again(
            elements,
            [replace(item, read=reader(i, item.read)) for i, item in enumerate(self.collection.items)],
            self.pre_transform,
            damaged=damaged,
            # Training uses one copy of each mesh at a time, so that those on disk need no memory.
            memory=0,
            stored=stored,
            work=f"Preparing {kind} copy {seed} of each mesh",
        )

    def _again(
        self,
        elements: Sequence[int],
        items: Sequence[Item],
        pre_transform: PreTransform,
        *,
        damaged: bool = False,
        **options: Any,
    ) -> tuple[PreparedShapes, list[int]]:
        """Return the shapes of some elements, read by other items, and those elements' numbers."""
        used = sorted({part for element in elements for part in self.parts(element)})
        place = {part: number for number, part in enumerate(used)}
        pairs = tuple(
            replace(
                pair,
                scene=place[pair.scene],
                model=place[pair.model],
                truth=partial(damaged_truth, pair.truth) if damaged else pair.truth,
            )
            for pair in (self.collection.pairs[element] for element in elements if self.paired)
        )
        other = PreparedShapes(
            replace(self.collection, items=tuple(items[part] for part in used), pairs=pairs, hint=""),
            pre_transform=pre_transform,
            cache=self._store.folder if self._store is not None else False,
            progress=self._progress,
            **options,
        )
        return other, list(range(len(pairs))) if self.paired else [place[one] for one in elements]

    def _prepare_all(self, text: str) -> None:
        """Prepare every shape; keep in memory what fits."""
        collection = self.collection
        all_stored = self._stored is not None and self._stored.packed.settings == self.settings
        if all_stored and collection.items and not collection.problems:
            return
        any_known, lock = False, Lock()

        def work(number: int) -> None:
            nonlocal any_known
            item = collection.items[number]
            if collection.problems:  # read the contents nevertheless, to report their problems too
                item.read()
                return
            surface = self._prepare(item)
            with lock:
                any_known = any_known or _any_known(surface)
                # A surface that is not on disk stays in memory in any case.
                if self._fits(surface) or self._key(item) is None:
                    self._surfaces[number] = surface

        _, problems = run_all(range(len(collection.items)), work, watch=self._watch(text))
        if collection.problems or problems:
            raise collection.error(problems)
        if not collection.items:
            raise collection.error(["is empty"])
        if not any_known:
            raise collection.error([NOTHING_KNOWN])

    def _watch(self, text: str) -> Watch | None:
        return partial(track, what=text) if self._progress else None

    def _fits(self, surface: Surface) -> bool:
        """Whether a surface fits into memory; if so, its bytes are taken."""
        size = sum(value.nbytes for value in surface.to_dict().values() if isinstance(value, Tensor))
        needed = (1 + KERNEL_SHARE) * size
        if needed > self._free:
            return False
        self._free -= needed
        return True

    def _prepare(self, item: Item) -> Surface:
        surface = None
        if self._stored is not None and self.settings is not None:
            surface = self._stored.find(item.name, self.settings)
        if surface is None:
            surface = self._load(item)
        if surface is None:
            surface = self._make(item)
        surface.name = item.name
        return surface

    def _load(self, item: Item) -> Surface | None:
        """Return the surface of an item with its target, if all of it is in the cache."""
        key = self._key(item)
        if self._store is None or key is None or self.settings is None:
            return None
        target = self._store.load(key)
        if target is None or _DIGEST not in target:
            return None
        digest, vertices = bytes(target.pop(_DIGEST).tolist()).hex(), int(target.pop(_VERTICES))
        surface = self._store.find_by_digest(digest, vertices, self.settings)
        if surface is not None:
            for name, value in target.items():
                surface[name] = value
        return surface

    def _make(self, item: Item) -> Surface:
        """Make the surface of an item with its target, and store what can be stored."""
        key, sample = self._key(item), self._read(item)
        if self._store is not None and self.settings is not None:
            surface = self._store.surface(sample.mesh, self.settings)
        else:
            surface = self.pre_transform(sample.mesh)
        if "vertex_area" not in surface:  # one's own preparation
            areas = sample.mesh.vertex_areas
            surface.vertex_area = torch.from_numpy((areas / areas.sum()).astype(np.float32))
        before = set(surface)
        self._task.attach(surface, sample)
        if self._store is not None and key is not None:
            target = {name: surface[name] for name in surface if name not in before}
            target[_DIGEST] = torch.tensor(list(bytes.fromhex(mesh_digest(sample.mesh))), dtype=torch.uint8)
            target[_VERTICES] = torch.tensor(len(sample.mesh.vertices))
            self._store.save(key, target)
        return surface

    def _read(self, item: Item) -> Sample:
        sample = self._samples.get(item.name) or item.read()
        if self.paired:
            self._samples[item.name] = sample
        return sample

    def _match_all(self) -> list[Matches]:
        items, pairs = self.collection.items, self.collection.pairs
        if not pairs:
            raise self.collection.error(["has no pairs"])

        @lru_cache(maxsize=16)  # a shape is in many pairs
        def near(shape: int) -> csr_array:
            return near_samples(self.surface(shape), self._read(items[shape]).mesh)

        def match(pair: Pair) -> Matches:
            two = items[pair.scene], items[pair.model]
            sources = [*(self._key(item) for item in two), fingerprint(pair.truth)]
            key = None if None in sources else ["matches", _MATCHES_VERSION, SOLVER_VERSION, BALL, *sources]
            stored = self._store.load(key) if self._store is not None and key is not None else None
            if stored is not None:
                return Matches(**stored)
            scene, model = (self._read(item) for item in two)
            surfaces = self.surface(pair.scene), self.surface(pair.model)
            truth = pair.truth(scene, model)
            matches = find_matches(*surfaces, near(pair.model), truth, near(pair.scene))
            if self._store is not None and key is not None:
                self._store.save(key, matches.to_dict())
            return matches

        matches, problems = run_all(pairs, match, watch=self._watch("Matching pairs"))
        if problems:
            raise self.collection.error(problems)
        return [match for match in matches if match is not None]

    def _key(self, item: Item) -> object | None:
        """Return the key under which the target of an item is stored; None if it is not."""
        if self._store is None or self.settings is None:
            return None
        source = fingerprint(item.read)
        samples = parts_of(self.settings)[0].key(self.settings)  # some targets are read at the samples
        return [_VERSION, self.collection.task, *samples, source] if source else None


def _any_known(surface: Surface) -> bool:
    """Whether a target is known at any vertex; negative integers mean unknown."""
    target = surface.vertex_y if "vertex_y" in surface else None
    return target is None or target.dtype != torch.int64 or bool((target >= 0).any())


def fingerprint(reader: Callable[..., object]) -> list[object] | None:
    """Return what a reader's result depends on: its function and arguments, and the size and time of files.

    None for a reader that is no plain function or has unusual arguments.
    """
    function: object = reader
    arguments: tuple[object, ...] = ()
    if isinstance(reader, partial):
        function, arguments = reader.func, (*reader.args, *sorted(reader.keywords.items()))
    if not isinstance(function, FunctionType) or function.__closure__ or "<lambda>" in function.__qualname__:
        return None
    try:
        return [function.__module__, function.__qualname__, [_describe(value) for value in arguments]]
    except TypeError:
        return None


def _describe(value: object) -> object:
    """Return a value that JSON can hold."""
    if callable(value):
        inner = fingerprint(value)
        if inner is None:
            raise TypeError(f"{value} has no fingerprint")
        return inner
    if isinstance(value, Path):
        about = value.stat() if value.is_file() else None
        return [str(value.resolve()), about and [about.st_size, about.st_mtime_ns]]
    if isinstance(value, Mesh):
        return hashlib.sha256(value.vertices.tobytes() + value.faces.tobytes()).hexdigest()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return repr(value)
    json.dumps(value)
    return value
