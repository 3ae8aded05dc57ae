"""Datasets of surfaces, indexed by elements."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np
from torch import Tensor
from torch.utils.data import Dataset

from fieldconv._arrays import Array, Bools
from fieldconv.datasets.matches import SurfacePair
from fieldconv.datasets.prepared import MEMORY, PreparedShapes, PreTransform
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import Collection, Item, Pair
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface
from fieldconv.tasks.base.examples import Example

if TYPE_CHECKING:
    from fieldconv.datasets.packed import PackedSurfaces

Transform = Callable[[Surface], Surface]
Indices = slice | Sequence[int] | Sequence[bool] | Tensor | Array
Own = TypeVar("Own", bound="SurfaceDataset")


class SurfaceDataset(Dataset[Example]):
    """Surfaces with targets, or pairs of surfaces.

    Each mesh is read and prepared when the dataset is created: in parallel, with a progress bar, and only the
    first time, for the result is stored on disk. A `DatasetError` lists all problems of the files.

    An integer gives an element; a slice, list, mask or tensor of integers gives a smaller dataset. A surface
    has ``name`` and what its task attaches to it, usually

    - ``y`` (1,) int64, the class of a shape, or
    - ``y`` (n,), the part, template vertex or number at each sample, and ``vertex_y`` (V,), at each vertex.

    −1 means unknown. In a set for matching an element is a `SurfacePair`: a scene, a model, their `Matches`.

    Parameters
    ----------
    collection : Collection
        The meshes and targets.
    pre_transform : callable (Mesh) -> Surface, optional
        How meshes are prepared; by default `ToSurface` with the settings of the task's first preset. Surfaces
        that a `ToSurface` prepares are stored on disk, those of any other callable in memory only.
    transform : callable (Surface) -> Surface, optional
        Applied whenever a surface is looked up, such as a random rotation; to both surfaces of a pair.
    cache : path or bool
        Folder for prepared surfaces, True for the default one, False for none.
    progress : bool
        Show a progress bar, in a terminal.
    memory : int
        Bytes for surfaces in memory; the others are read from disk when they are needed.
    stored : PackedSurfaces, optional
        Surfaces that were prepared before, such as those of a packed folder.

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
    """

    def __init__(
        self,
        collection: Collection,
        *,
        pre_transform: PreTransform | None = None,
        transform: Transform | None = None,
        cache: str | Path | bool = True,
        progress: bool = True,
        memory: int = MEMORY,
        stored: PackedSurfaces | None = None,
    ) -> None:
        self.name = collection.name
        self.task = collection.task
        self.class_names = collection.class_names
        self.transform = transform
        self._shapes = PreparedShapes(
            collection,
            pre_transform=pre_transform,
            cache=cache,
            progress=progress,
            memory=memory,
            stored=stored,
        )
        self._indices = list(range(len(self._shapes)))

    @property
    def pre_transform(self) -> PreTransform:
        """Return how meshes are prepared."""
        return self._shapes.pre_transform

    @property
    def settings(self) -> SurfaceSettings | None:
        """Settings with which meshes are prepared; None if that is done by one's own callable."""
        return self._shapes.settings

    @property
    def num_classes(self) -> int:
        return len(self.template.vertices) if self.template is not None else len(self.class_names)

    @cached_property
    def template(self) -> Mesh | None:
        make = self._shapes.collection.template
        return make() if make is not None else None

    @property
    def names(self) -> list[str]:
        """Name of the mesh, or of scene and model, of each element."""
        return [" → ".join(self.item(part).name for part in self._shapes.parts(i)) for i in self._indices]

    def hold_out(self: Own, choose: Callable[[list[str]], Bools]) -> tuple[Own, Own]:
        """Return the elements without any of the chosen shapes, and those of such shapes only.

        ``choose`` takes the names of all shapes and returns which of them are held out.
        """
        used = sorted(set(self.shapes()))
        is_held = dict(zip(used, choose([self.item(part).name for part in used]), strict=True))
        others, held = (
            [all(is_held[part] == side for part in self._shapes.parts(i)) for i in self._indices]
            for side in (False, True)
        )
        return self[np.array(others, bool)], self[np.array(held, bool)]

    def meshes(self, index: int) -> tuple[Mesh, ...]:
        """Return the original mesh of an element, or the two meshes of a pair."""
        return tuple(self.item(part).read().mesh for part in self._shapes.parts(self._indices[index]))

    def shapes(self) -> list[int]:
        """Return the numbers of the shapes of all elements; those of pairs once each, ascending."""
        if not self._shapes.paired:
            return list(self._indices)
        return sorted({part for i in self._indices for part in self._shapes.parts(i)})

    def pairs(self) -> list[Pair]:
        """Return the pair of each element, if elements are pairs; scene and model are numbers of shapes."""
        return [self._shapes.collection.pairs[i] for i in self._indices] if self._shapes.paired else []

    def item(self, number: int) -> Item:
        """Return the item of a shape, by its number."""
        return self._shapes.collection.items[number]

    def surface(self, number: int) -> Surface:
        """Return a prepared shape with its target, by its number."""
        return self._shapes.surface(number)

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self: Own, index: Indices) -> Own: ...
    def __getitem__(self, index: int | Indices) -> Example | SurfaceDataset:
        if isinstance(index, slice):
            return self._of(self._shapes, self._indices[index])
        chosen = np.asarray(index)
        if chosen.ndim == 0:
            element = self._indices[int(chosen)]
            surfaces = [self.surface(part) for part in self._shapes.parts(element)]
            if self.transform is not None:
                surfaces = [self.transform(surface) for surface in surfaces]
            if not self._shapes.paired:
                return surfaces[0]
            return SurfacePair(surfaces[0], surfaces[1], self._shapes.matches(element))
        if chosen.dtype == bool:
            if chosen.shape != (len(self),):
                raise IndexError(f"the mask has shape {chosen.shape}; expected ({len(self)},)")
            chosen = np.flatnonzero(chosen)
        return self._of(self._shapes, [self._indices[int(i)] for i in chosen])

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.task}, {len(self)})"

    def shuffle(self: Own, seed: int = 0) -> Own:
        """Return the same elements in an order drawn by the seed."""
        order = np.random.default_rng(seed).permutation(len(self))
        return self._of(self._shapes, [self._indices[i] for i in order])

    def prepared_with(self: Own, settings: SurfaceSettings) -> Own:
        """Return the same elements, their meshes prepared with other settings."""
        return self._of(*self._shapes.prepared_with(self._indices, settings))

    def reshaped(self: Own, seed: int, strength: float = 1.0) -> Own:
        """Return the same elements, each mesh put through `geometry.reshape`, drawn by the seed."""
        return self._of(*self._shapes.copies("reshaped", self._indices, seed, strength))

    def damaged(self: Own, seed: int, strength: float = 1.0) -> Own:
        """Return the same elements, each mesh damaged as scans are (`geometry.damage`), drawn by the seed."""
        return self._of(*self._shapes.copies("damaged", self._indices, seed, strength))

    def _of(self: Own, shapes: PreparedShapes, indices: list[int]) -> Own:
        """Return a dataset of the same class, with these elements."""
        other = copy.copy(self)
        other._shapes, other._indices = shapes, indices
        return other
