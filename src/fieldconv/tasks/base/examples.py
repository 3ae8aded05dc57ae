"""The protocol of datasets that tasks, training and evaluation read; `fieldconv.datasets` provides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, overload

from torch import Tensor

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface

Example: TypeAlias = Any
"""A `Surface` with its target, or a `PairExample` of a paired task."""


class PairMatches(Protocol):
    """Which samples of the two surfaces of a pair correspond; see `fieldconv.datasets.Matches`."""

    match: Tensor
    ball: Tensor
    scene_ball: Tensor
    samples: Tensor


class PairExample(Protocol):
    """Two surfaces, and which of their samples correspond."""

    @property
    def scene(self) -> Surface: ...

    @property
    def model(self) -> Surface: ...

    @property
    def matches(self) -> PairMatches: ...


class Examples(Protocol):
    """A dataset as tasks, training and evaluation see it."""

    name: str
    """Its name in messages and reports."""
    task: str
    """Name of the task that its targets are for."""
    class_names: tuple[str, ...]
    """Classes or parts, in the order of their numbers; empty if there are none."""
    transform: Callable[[Surface], Surface] | None
    """Applied whenever a surface is looked up, if there is one."""

    @property
    def num_classes(self) -> int:
        """Number of classes, parts or template vertices."""

    @property
    def template(self) -> Mesh | None:
        """The mesh whose vertices the targets are, if they are."""

    @property
    def names(self) -> list[str]:
        """The name of each example."""

    @property
    def settings(self) -> SurfaceSettings | None:
        """Settings with which meshes are prepared; None if a callable of the user does that."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, index: int) -> Example: ...

    @overload
    def __getitem__(self, index: Sequence[int]) -> Examples: ...

    def __iter__(self) -> Iterator[Example]: ...

    def meshes(self, index: int) -> tuple[Mesh, ...]:
        """Return the original mesh of an example, or the two meshes of a pair."""

    def prepared_with(self, settings: SurfaceSettings) -> Examples:
        """Return the same examples, their meshes prepared with other settings."""

    def reshaped(self, seed: int, strength: float) -> Examples:
        """Return the same examples, each mesh with other proportions, drawn by the seed."""

    def damaged(self, seed: int, strength: float) -> Examples:
        """Return the same examples, each mesh damaged like a scan, drawn by the seed."""
