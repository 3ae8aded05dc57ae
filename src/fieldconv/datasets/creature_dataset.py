"""The embedded benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from fieldconv.datasets.creature_collection import creature_collection
from fieldconv.datasets.creatures import Difficulty
from fieldconv.datasets.surface_dataset import Own, SurfaceDataset


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
        split: Literal["train", "test", "all"] = "train",
        meshes: int | None = None,
        vertices: int = 1000,
        species: str | Sequence[str] | None = None,
        pose: float = 1.0,
        difficulty: str | Difficulty = "clean",
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(
            creature_collection(
                task,
                split=split,
                meshes=meshes,
                vertices=vertices,
                species=species,
                pose=pose,
                difficulty=difficulty,
                seed=seed,
            ),
            **options,
        )

    def reshaped(self: Own, seed: int, strength: float = 1.0) -> Own:
        """Return these creatures unchanged: they come in all proportions already."""
        return self
