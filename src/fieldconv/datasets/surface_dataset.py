"""Datasets of surfaces: meshes prepared once, in parallel, kept on disk, then indexed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, overload

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.utils.data import Dataset

from fieldconv.datasets.copies import damage_version, damaged_truth, read_damaged, read_reshaped
from fieldconv.datasets.fingerprint import fingerprint
from fieldconv.datasets.matches import BALL, Matches, SurfacePair, find_matches, near_samples
from fieldconv.geometry.geodesic.geodesic_discs import SOLVER_VERSION
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import NOTHING_KNOWN, Collection, Item, Pair, Sample
from fieldconv.labels.parallel import progress_bar, run_all
from fieldconv.surface.cache import SurfaceCache, mesh_digest
from fieldconv.surface.parts import parts_of
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface, ToSurface, settings_of
from fieldconv.tasks import task_named

Transform = Callable[[Surface], Surface]
PreTransform = Callable[[Mesh], Surface]
Indices = slice | Sequence[int] | Sequence[bool] | Tensor | NDArray[Any]
Own = TypeVar("Own", bound="SurfaceDataset")

WORK = "Preparing meshes"
MEMORY = 4 * 2**30  # bytes for surfaces kept in memory; the others are read when they are needed
REMEMBERED = 2  # times as many bytes as a surface itself has, the kernels remember about its edges
_VERSION = 4  # raise it when what is kept of targets changes, or how copies are reshaped
_MATCHES_VERSION = 2  # the same for matches
_DIGEST, _VERTICES = "mesh_digest", "mesh_vertices"  # of the mesh, kept with its target


class SurfaceDataset(Dataset[Any]):
    """Surfaces with targets, or pairs of surfaces.

    Each mesh is read and prepared when the dataset is made: in parallel, with a progress bar, and only the
    first time, for the result is kept on disk. All that is wrong with the files is raised at once.

    An integer gives an element; a slice, list, mask or tensor of integers gives a smaller dataset. A surface
    bears ``name`` and what its task attaches to it, usually

    - ``y`` (1,) int64, the class of a shape, or
    - ``y`` (n,), the part, template vertex or number at each sample, and ``vertex_y`` (V,), at each vertex.

    −1 means unknown. In a set for matching an element is a `SurfacePair`: a scene, a model, their `Matches`.

    Parameters
    ----------
    collection : Collection
        The meshes and targets.
    pre_transform : callable (Mesh) -> Surface, optional
        How meshes are prepared; by default `ToSurface` with the settings of the task's first preset. What a
        `ToSurface` prepares is kept on disk, what any other callable prepares in memory only.
    transform : callable (Surface) -> Surface, optional
        Applied whenever a surface is looked up, such as a random rotation; to both surfaces of a pair.
    cache : path or bool
        Folder to keep prepared surfaces in, True for the default one, False for none.
    progress : bool
        Show a progress bar, in a terminal.
    ball : float
        For pairs: geodesic radius, at unit area, within which a match counts as right.
    memory : int
        Bytes for surfaces that stay in memory; those on disk beyond are read when they are needed.
    work : str
        What the progress bar says.

    Attributes
    ----------
    task : str
        Its name.
    class_names : tuple of str
        Classes or parts, in the order of their numbers; empty if there are none.
    num_classes : int
        Number of classes, parts or template vertices.
    template : Mesh or None
        Whose vertices the targets are, if they are.

    Raises
    ------
    DatasetError
    """

    def __init__(
        self,
        collection: Collection,
        *,
        pre_transform: PreTransform | None = None,
        transform: Transform | None = None,
        cache: str | Path | bool = True,
        progress: bool = True,
        ball: float = BALL,
        memory: int = MEMORY,
        work: str = WORK,
    ) -> None:
        self.name = collection.name
        self.task = collection.task
        self._task = task_named(collection.task)
        self.class_names = collection.class_names
        self.pre_transform = pre_transform or ToSurface(**self._task.surface_settings.to_dict())
        self.transform = transform
        self.ball = ball
        self._progress, self._work = progress, work
        self._template = collection.template
        self._items, self._pairs = collection.items, collection.pairs
        self._store = SurfaceCache(None if cache is True else cache) if cache is not False else None
        self._samples: dict[str, Sample] = {}  # a mesh of a pair is needed more than once in what follows
        self._surfaces = self._prepare_all(collection, progress, memory)
        self._matches = self._match_all(collection, progress) if self._task.paired else []
        self._samples.clear()
        self._indices = list(range(len(self._matches or self._surfaces)))

    @property
    def num_classes(self) -> int:
        return len(self.template.vertices) if self.template is not None else len(self.class_names)

    @cached_property
    def template(self) -> Mesh | None:
        return self._template() if self._template is not None else None

    @property
    def names(self) -> list[str]:
        """Name of the mesh, or of scene and model, of each element."""
        return [" → ".join(self._items[part].name for part in self._parts(i)) for i in self._indices]

    def holding_out(self: Own, chosen: Callable[[list[str]], NDArray[np.bool_]]) -> tuple[Own, Own]:
        """Return the elements without any of the chosen shapes, and those of such shapes only.

        ``chosen`` takes the names of all shapes and returns which of them are held out.
        """
        parts = [self._parts(i) for i in self._indices]
        used = sorted({part for element in parts for part in element})
        inside = dict(zip(used, chosen([self._items[part].name for part in used]), strict=True))
        kept, held = (
            [all(inside[p] == side for p in element) for element in parts] for side in (False, True)
        )
        return self[np.array(kept, bool)], self[np.array(held, bool)]

    def meshes(self, index: int) -> tuple[Mesh, ...]:
        """Return the original mesh of an element, or the two meshes of a pair."""
        return tuple(self._items[part].read().mesh for part in self._parts(self._indices[index]))

    def shapes(self) -> list[int]:
        """Return the numbers of the shapes that elements are made of; those of pairs once each, ascending."""
        if not self._task.paired:
            return list(self._indices)
        return sorted({part for i in self._indices for part in self._parts(i)})

    def pairs(self) -> list[Pair]:
        """Return the pair of each element, whose scene and model are numbers of shapes; none of others."""
        return [self._pairs[i] for i in self._indices] if self._task.paired else []

    def item(self, number: int) -> Item:
        """Return how a shape is called and read, by its number."""
        return self._items[number]

    def surface(self, number: int) -> Surface:
        """Return a shape as it was prepared, with its target, by its number."""
        kept = self._surfaces[number]
        return copy.copy(kept) if kept is not None else self._prepare(self._items[number])

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self: Own, index: Indices) -> Own: ...
    def __getitem__(self, index: int | Indices) -> Any:
        if isinstance(index, slice):
            return self._subset(self._indices[index])
        chosen = np.asarray(index)
        if chosen.ndim == 0:
            position = self._indices[int(chosen)]
            surfaces = [self._transformed(part) for part in self._parts(position)]
            if not self._task.paired:
                return surfaces[0]
            return SurfacePair(surfaces[0], surfaces[1], copy.copy(self._matches[position]))
        if chosen.dtype == bool:
            if chosen.shape != (len(self),):
                raise IndexError(f"the mask has shape {chosen.shape}; expected ({len(self)},)")
            chosen = np.flatnonzero(chosen)
        return self._subset([self._indices[int(i)] for i in chosen])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.task}, {len(self)})"

    def prepared_with(self: Own, settings: SurfaceSettings) -> Own:
        """Return the same elements, their meshes prepared with other settings."""
        return self._remade(lambda number, item: item, ToSurface.of(settings))

    def reshaped(self: Own, seed: int, strength: float = 1.0) -> Own:
        """Return the same elements, each mesh with other proportions, drawn by the seed.

        See `fieldconv.geometry.damage.reshape`.
        """
        # Only one shape of each mesh is used at a time: what is on disk need not be in memory too.
        return self._remade(
            self._reshaping(seed, strength),
            self.pre_transform,
            memory=0,
            work=f"Preparing reshaped copy {seed} of each mesh",
        )

    def damaged(self: Own, seed: int, strength: float = 1.0) -> Own:
        """Return the same elements, each mesh damaged as scans are, drawn by the seed.

        Targets are carried over. See `fieldconv.geometry.damage.damage`.
        """

        def truth(pair: Pair) -> Pair:
            return replace(pair, truth=partial(damaged_truth, pair.truth))

        return self._remade(
            self._damaging(seed, strength),
            self.pre_transform,
            memory=0,
            change_pair=truth,
            work=f"Preparing damaged copy {seed} of each mesh",
        )

    def _reshaping(self, seed: int, strength: float) -> Callable[[int, Item], Item]:
        def other(number: int, item: Item) -> Item:
            return replace(item, read=partial(read_reshaped, item.read, seed, number, strength))

        return other

    def _damaging(self, seed: int, strength: float) -> Callable[[int, Item], Item]:
        version = damage_version()
        settings = settings_of(self.pre_transform)
        samples = settings.samples if settings is not None else None

        def other(number: int, item: Item) -> Item:
            read = partial(read_damaged, item.read, self.task, seed, number, strength, samples, version)
            return replace(item, read=read)

        return other

    def _remade(
        self: Own,
        change: Callable[[int, Item], Item],
        pre_transform: PreTransform,
        memory: int = MEMORY,
        change_pair: Callable[[Pair], Pair] = lambda pair: pair,
        work: str = WORK,
    ) -> Own:
        """The same elements of changed items, prepared anew."""
        used = sorted({part for i in self._indices for part in self._parts(i)})
        place = {part: number for number, part in enumerate(used)}
        pairs = [change_pair(pair) for pair in self.pairs()]
        remade = copy.copy(self)  # of the same class
        SurfaceDataset.__init__(
            remade,
            Collection(
                self.name,
                self.task,
                tuple(change(part, self._items[part]) for part in used),
                self.class_names,
                tuple(replace(pair, scene=place[pair.scene], model=place[pair.model]) for pair in pairs),
                template=self._template,
            ),
            pre_transform=pre_transform,
            transform=self.transform,
            cache=self._store.folder if self._store is not None else False,
            progress=self._progress,
            ball=self.ball,
            memory=memory,
            work=work,
        )
        return remade if self._task.paired else remade._subset([place[i] for i in self._indices])

    def shuffle(self: Own, seed: int = 0) -> Own:
        """Return the same elements in an order drawn by the seed."""
        return self._subset([self._indices[i] for i in np.random.default_rng(seed).permutation(len(self))])

    def _subset(self: Own, positions: list[int]) -> Own:
        part = copy.copy(self)
        part._indices = positions
        return part

    def _parts(self, position: int) -> tuple[int, ...]:
        """The surfaces of an element."""
        if not self._task.paired:
            return (position,)
        return self._pairs[position].scene, self._pairs[position].model

    def _transformed(self, item: int) -> Surface:
        surface = self.surface(item)
        return self.transform(surface) if self.transform is not None else surface

    # Made once

    def _prepare_all(self, collection: Collection, progress: bool, memory: int) -> list[Surface | None]:
        """Every surface, or None where there is no room for it, so that it stays on disk."""
        room, known, lock = memory, False, Lock()

        def work(item: Item) -> Surface | None:
            nonlocal room, known
            if collection.problems:  # the contents are still read, to find the problems there as well
                item.read()
                return None
            surface = self._prepare(item)
            size = sum(value.nbytes for value in surface.to_dict().values() if isinstance(value, Tensor))
            with lock:
                known = known or _any_known(surface)
                room -= (1 + REMEMBERED) * size
                # What could not be read back quickly stays in any case.
                return surface if room > 0 or self._key(item) is None else None

        watch = progress_bar(self._work) if progress else None
        surfaces, problems = run_all(collection.items, work, watch=watch)  # type: ignore[arg-type]
        if collection.problems or problems:
            raise collection.error(problems)
        if not surfaces:
            raise collection.error(["is empty"])
        if not known:
            raise collection.error([NOTHING_KNOWN])
        return surfaces

    def _prepare(self, item: Item) -> Surface:
        kept = self._kept(item)
        surface = kept if kept is not None else self._made(item)
        surface.name = item.name
        return surface

    def _kept(self, item: Item) -> Surface | None:
        """The surface of an item with its target, if all of it is on disk."""
        key, settings = self._key(item), settings_of(self.pre_transform)
        if self._store is None or key is None or settings is None:
            return None
        target = self._store.load(key)
        if target is None or _DIGEST not in target:
            return None
        digest, vertices = bytes(target.pop(_DIGEST).tolist()).hex(), int(target.pop(_VERTICES))
        surface = self._store.find_by_digest(digest, vertices, settings)
        if surface is not None:
            for name, value in target.items():
                surface[name] = value
        return surface

    def _made(self, item: Item) -> Surface:
        """The surface of an item with its target, made anew; what can be kept on disk is."""
        key, sample = self._key(item), self._read(item)
        settings = settings_of(self.pre_transform)
        if self._store is not None and settings is not None:
            surface = self._store.surface(sample.mesh, settings)
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
        if item.name in self._samples:
            return self._samples[item.name]
        sample = item.read()
        if self._task.paired:
            self._samples[item.name] = sample
        return sample

    def _match_all(self, collection: Collection, progress: bool) -> list[Matches]:
        if not collection.pairs:
            raise collection.error(["has no pairs"])

        @lru_cache(maxsize=16)  # a shape is in many pairs
        def near(shape: int) -> csr_array:
            return near_samples(self.surface(shape), self._read(self._items[shape]).mesh, self.ball)

        def match(pair: Pair) -> Matches:
            items = self._items[pair.scene], self._items[pair.model]
            sources = [*(self._key(item) for item in items), fingerprint(pair.truth)]
            key = (
                ["matches", _MATCHES_VERSION, SOLVER_VERSION, self.ball, *sources]
                if None not in sources
                else None
            )
            found = self._store.load(key) if self._store is not None and key is not None else None
            if found is not None:
                return Matches(**found)
            scene, model = (self._read(item) for item in items)
            surfaces = self.surface(pair.scene), self.surface(pair.model)
            truth = pair.truth(scene, model)
            matches = find_matches(*surfaces, near(pair.model), truth, near(pair.scene))
            if self._store is not None and key is not None:
                self._store.save(key, matches.to_dict())
            return matches

        watch = progress_bar("Matching pairs") if progress else None
        matches, problems = run_all(collection.pairs, match, watch=watch)
        if problems:
            raise collection.error(problems)
        return [found for found in matches if found is not None]

    def _key(self, item: Item) -> object | None:
        """The key under which the target of an item is kept on disk; None if it is not kept."""
        settings = settings_of(self.pre_transform)
        if self._store is None or settings is None:
            return None
        source = fingerprint(item.read)
        samples = parts_of(settings)[0].key(settings)  # which they are: some targets are read there
        return [_VERSION, self.task, *samples, source] if source else None


def _any_known(surface: Surface) -> bool:
    """Whether a target is known at any vertex; whole numbers below zero are not."""
    target = surface.vertex_y if "vertex_y" in surface else None
    return target is None or target.dtype != torch.int64 or bool((target >= 0).any())
