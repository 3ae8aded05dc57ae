"""Datasets of surfaces: meshes prepared once, in parallel, kept on disk, then indexed as PyG datasets are."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.utils.data import Dataset
from torch_geometric.data import Data

from fieldconv.cache import SurfaceCache
from fieldconv.datasets.collection import NOTHING_KNOWN, Collection, Item, Pair, Sample
from fieldconv.datasets.parallel import progress_bar, run_all
from fieldconv.geometry.geodesics import geodesic_discs
from fieldconv.geometry.mesh import Mesh
from fieldconv.geometry.reshape import reshaped
from fieldconv.settings import SurfaceSettings
from fieldconv.surface import Surface, ToSurface

Transform = Callable[[Surface], Surface]
PreTransform = Callable[[Mesh], Surface]
Indices = slice | Sequence[int] | Sequence[bool] | Tensor | NDArray[Any]
Own = TypeVar("Own", bound="SurfaceDataset")

PAPER_SETTINGS = {
    "classification": SurfaceSettings(radius=0.2),
    "segmentation": SurfaceSettings(radius=0.2, samples=1024),
    "correspondence": SurfaceSettings(radius=0.05),
    "matching": SurfaceSettings(radius=0.1, samples=2048),
}
BALL = 0.05  # geodesic radius within which a match counts as right, at unit area
MEMORY = 4 * 2**30  # bytes for surfaces kept in memory; the others are read when they are needed
REMEMBERED = 2  # times as many bytes as a surface itself has, the kernels remember about its edges
_VERSION = 1  # raise it when what is kept with a surface changes, or how copies are reshaped


class Matches(Data):  # type: ignore[misc]
    """Which samples of a scene and a model correspond (supplement C of the paper).

    Attributes
    ----------
    match : (2, C) int64
        A sample of the scene, and the sample of the model geodesically nearest to where it truly is.
    ball : (2, K) int64
        All samples of the model within a geodesic ball of 0.05 around there: what counts as right.
    truth : (n_scene,) int64
        The model's vertex at each sample of the scene, −1 where unknown; not shifted in batches.
    samples : (1, 2) int64
        Number of samples of the scene and of the model.
    """

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self.samples.T if key in ("match", "ball") else 0

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 1 if key in ("match", "ball") else 0


class SurfacePair(NamedTuple):
    """A pair for matching; a PyG ``DataLoader`` makes a pair of batches of several."""

    scene: Surface
    model: Surface
    matches: Matches


class SurfaceDataset(Dataset[Any]):
    """Surfaces with targets, or, for matching, pairs of surfaces.

    Each mesh is read and prepared when the dataset is made: in parallel, with a progress bar, and only the
    first time, for the result is kept on disk. All that is wrong with the files is raised at once.

    An integer gives an element; a slice, list, mask or tensor of integers gives a smaller dataset. A surface
    bears ``name``, ``vertex_area`` (V,) float32, the share of the area at each vertex, and as target

    - classification: ``y`` (1,) int64, the class;
    - segmentation: ``y`` (n,) int64, the part at each sample; ``vertex_y`` (V,), at each vertex of the mesh;
    - correspondence: the same, with the template's vertex instead of a part.

    −1 means unknown. For matching an element is a `SurfacePair`: a scene, a model, and their `Matches`.

    Parameters
    ----------
    collection : Collection
        The meshes and targets.
    pre_transform : callable (Mesh) -> Surface, optional
        How meshes are prepared; by default `ToSurface` with the paper's settings for the task. What a
        `ToSurface` prepares is kept on disk, what any other callable prepares in memory only.
    transform : callable (Surface) -> Surface, optional
        Applied whenever a surface is looked up, such as a random rotation; to both surfaces of a pair.
    cache : path or bool
        Folder to keep prepared surfaces in, True for the default one, False for none.
    progress : bool
        Show a progress bar, in a terminal.
    ball : float
        For matching: geodesic radius, at unit area, within which a match counts as right.
    memory : int
        Bytes for surfaces that stay in memory; those on disk beyond are read when they are needed.

    Attributes
    ----------
    task : str
    class_names : tuple of str
        Classes or parts, in the order of their numbers; empty for correspondence and matching.
    num_classes : int
        Of classes, parts or template vertices.
    template : Mesh or None
        For correspondence, whose vertices the targets are.

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
    ) -> None:
        self.name = collection.name
        self.task = collection.task
        self.class_names = collection.class_names
        self.pre_transform = pre_transform or ToSurface(**PAPER_SETTINGS[self.task].to_dict())
        self.transform = transform
        self.ball = ball
        self._progress = progress
        self._template = collection.template
        self._items, self._pairs = collection.items, collection.pairs
        self._store = SurfaceCache(None if cache is True else cache) if cache is not False else None
        self._samples: dict[str, Sample] = {}  # a mesh of a pair is needed more than once in what follows
        self._surfaces = self._prepare_all(collection, progress, memory)
        self._matches = self._match_all(collection, progress) if self.task == "matching" else []
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
        """The elements without any of the shapes chosen by their names, and those of such shapes only."""
        parts = [self._parts(i) for i in self._indices]
        used = sorted({part for element in parts for part in element})
        inside = dict(zip(used, chosen([self._items[part].name for part in used]), strict=True))
        kept, held = (
            [all(inside[p] == side for p in element) for element in parts] for side in (False, True)
        )
        return self[np.array(kept, bool)], self[np.array(held, bool)]

    def meshes(self, index: int) -> tuple[Mesh, ...]:
        """The original mesh, or for matching the two meshes, of an element."""
        return tuple(self._items[part].read().mesh for part in self._parts(self._indices[index]))

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
            if self.task != "matching":
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
        """The same elements, their meshes prepared with other settings."""
        return self._remade(lambda number, item: item, ToSurface(**settings.to_dict()))

    def reshaped(self: Own, seed: int, strength: float = 1.0) -> Own:
        """The same elements, each mesh with other proportions, drawn by the seed.

        See `fieldconv.geometry.reshape`.
        """

        def other(number: int, item: Item) -> Item:
            return replace(item, read=partial(_read_reshaped, item.read, seed, number, strength))

        # Only one shape of each mesh is used at a time: what is on disk need not be in memory too.
        return self._remade(other, self.pre_transform, memory=0)

    def _remade(
        self: Own, change: Callable[[int, Item], Item], pre_transform: PreTransform, memory: int = MEMORY
    ) -> Own:
        """The same elements of changed items, prepared anew."""
        used = sorted({part for i in self._indices for part in self._parts(i)})
        place = {part: number for number, part in enumerate(used)}
        matching = self.task == "matching"
        pairs = [self._pairs[i] for i in self._indices] if matching else []
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
        )
        return remade if matching else remade._subset([place[i] for i in self._indices])

    def shuffle(self: Own, seed: int = 0) -> Own:
        """The same elements in an order drawn by the seed."""
        return self._subset([self._indices[i] for i in np.random.default_rng(seed).permutation(len(self))])

    def _subset(self: Own, positions: list[int]) -> Own:
        part = copy.copy(self)
        part._indices = positions
        return part

    def _parts(self, position: int) -> tuple[int, ...]:
        """The surfaces of an element."""
        if self.task != "matching":
            return (position,)
        return self._pairs[position].scene, self._pairs[position].model

    def _transformed(self, item: int) -> Surface:
        surface = self._surface(item)
        return self.transform(surface) if self.transform is not None else surface

    def _surface(self, item: int) -> Surface:
        kept = self._surfaces[item]
        return copy.copy(kept) if kept is not None else self._prepare(self._items[item])

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
                known = known or "vertex_y" not in surface or bool((surface.vertex_y >= 0).any())
                room -= (1 + REMEMBERED) * size
                # What could not be read back quickly stays in any case.
                return surface if room > 0 or self._key(item) is None else None

        watch = progress_bar("Preparing meshes") if progress else None
        surfaces, problems = run_all(collection.items, work, watch=watch)  # type: ignore[arg-type]
        if collection.problems or problems:
            raise collection.error(problems)
        if not surfaces:
            raise collection.error(["is empty"])
        if not known:
            raise collection.error([NOTHING_KNOWN])
        return surfaces

    def _prepare(self, item: Item) -> Surface:
        key = self._key(item)
        surface = self._load(key)
        if surface is None:
            sample = self._read(item)
            surface = self._precomputed(sample.mesh) or self.pre_transform(sample.mesh)
            _attach(surface, sample, self.task)
            self._save(key, surface)
        surface.name = item.name
        return surface

    def _precomputed(self, mesh: Mesh) -> Surface | None:
        """What `fieldconv precompute` has left."""
        if self._store is None or type(self.pre_transform) is not ToSurface:
            return None
        return self._store.find(mesh, self.pre_transform.settings)

    def _read(self, item: Item) -> Sample:
        if item.name in self._samples:
            return self._samples[item.name]
        sample = item.read()
        if self.task == "matching":
            self._samples[item.name] = sample
        return sample

    def _match_all(self, collection: Collection, progress: bool) -> list[Matches]:
        if not collection.pairs:
            raise collection.error(["has no pairs"])

        @lru_cache(maxsize=16)  # a model is in many pairs
        def near(model: int) -> csr_array:
            return near_samples(self._surface(model), self._read(self._items[model]).mesh, self.ball)

        def match(pair: Pair) -> Matches:
            items = self._items[pair.scene], self._items[pair.model]
            sources = [*(self._key(item) for item in items), fingerprint(pair.truth)]
            key = ["matches", self.ball, *sources] if None not in sources else None
            found = self._load(key)
            if found is not None:
                return Matches(**found.to_dict())
            scene, model = (self._read(item) for item in items)
            surfaces = self._surface(pair.scene), self._surface(pair.model)
            matches = find_matches(*surfaces, near(pair.model), pair.truth(scene, model))
            self._save(key, Surface(**matches.to_dict()))
            return matches

        watch = progress_bar("Matching pairs") if progress else None
        matches, problems = run_all(collection.pairs, match, watch=watch)
        if problems:
            raise collection.error(problems)
        return [found for found in matches if found is not None]

    def _key(self, item: Item) -> object | None:
        """Under what a prepared item is kept on disk; None if it is not."""
        if self._store is None or type(self.pre_transform) is not ToSurface:
            return None
        source = fingerprint(item.read)
        return [_VERSION, self.task, self.pre_transform.settings.to_dict(), source] if source else None

    def _load(self, key: object | None) -> Surface | None:
        return self._store.load(key) if self._store is not None and key is not None else None

    def _save(self, key: object | None, surface: Surface) -> None:
        if self._store is not None and key is not None:
            self._store.save(key, surface)


def near_samples(surface: Surface, mesh: Mesh, ball: float = BALL) -> csr_array:
    """(V, n) bool: which samples are within the geodesic ball around each vertex."""
    samples = surface.sample.numpy()
    discs = geodesic_discs(mesh.normalised(), ball, samples)
    sample = np.repeat(np.arange(len(samples)), np.diff(discs.offsets))
    inside = np.ones(len(sample), bool)
    return csr_array((inside, (discs.targets, sample)), (surface.num_vertices, len(samples)))


def find_matches(scene: Surface, model: Surface, near: csr_array, truth: NDArray[np.int64]) -> Matches:
    """Which samples correspond, by the model's vertex at each vertex of the scene, (V_scene,), −1: none.

    ``near`` are the `near_samples` of the model.
    """
    image = truth[scene.sample.numpy()]
    known = np.flatnonzero(image >= 0)
    nearest = model.vertex_sample[:, 0].numpy()[image[known]]
    samples = model.sample.numpy()
    chosen, right = near[image[known]].nonzero()
    return Matches(
        match=torch.from_numpy(np.stack([known, nearest])),
        ball=torch.from_numpy(np.stack([known[chosen], right])),
        truth=torch.from_numpy(image),
        samples=torch.tensor([[len(scene.sample), len(samples)]]),
    )


def _attach(surface: Surface, sample: Sample, task: str) -> None:
    """Put the target on a surface."""
    if task == "classification":
        surface.y = torch.tensor([int(sample.target)])
    elif task != "matching":
        surface.vertex_y = torch.from_numpy(np.ascontiguousarray(sample.target, np.int64))
        surface.y = surface.vertex_y[surface.sample]
    areas = sample.mesh.vertex_areas
    surface.vertex_area = torch.from_numpy((areas / areas.sum()).astype(np.float32))


def _read_reshaped(read: Callable[[], Sample], seed: int, number: int, strength: float) -> Sample:
    sample = read()
    return sample._replace(mesh=reshaped(sample.mesh, [seed, number], strength))


def fingerprint(reader: Callable[..., Any]) -> list[Any] | None:
    """What a reader's result depends on: its function and arguments, and of files the size and time.

    None for readers of which that cannot be said: they are not plain functions, or have unusual arguments.
    """
    function, arguments = reader, ()  # type: tuple[Any, tuple[Any, ...]]
    if isinstance(reader, partial):
        function, arguments = reader.func, (*reader.args, *sorted(reader.keywords.items()))
    if not isinstance(function, FunctionType) or function.__closure__ or "<lambda>" in function.__qualname__:
        return None
    try:
        return [function.__module__, function.__qualname__, [_describe(value) for value in arguments]]
    except TypeError:
        return None


def _describe(value: Any) -> Any:
    """As JSON."""
    if callable(value):
        inner = fingerprint(value)
        if inner is None:
            raise TypeError(f"{value} may give anything")
        return inner
    if isinstance(value, Path):
        found = value.stat() if value.is_file() else None
        return [str(value.resolve()), found and [found.st_size, found.st_mtime_ns]]
    if isinstance(value, Mesh):
        return hashlib.sha256(value.vertices.tobytes() + value.faces.tobytes()).hexdigest()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return repr(value)
    json.dumps(value)
    return value
