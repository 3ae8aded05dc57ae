"""Human bodies made from code, as a dataset."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv.datasets import SurfaceDataset
from fieldconv.datasets.surface_dataset import Own
from fieldconv.geometry import Mesh
from fieldconv.labels import Collection, Item, Sample
from fieldconv.tasks import EmbeddedShape, task_named
from fieldconv.tasks.template_points import embed_template
from recipes.bodies.parts import FINE_PARTS, PARTS
from recipes.bodies.sample import BodySample, BodyTemplate


class Bodies(SurfaceDataset):
    """Human bodies of all ages, builds and poses, meshed and damaged as scans are; see docs/bodies.md.

    Parameters
    ----------
    task : str
        Such as "template-points" (places on the template, with parts at two levels), "segmentation" (the
        eight parts) or "correspondence" (vertices of the template).
    folder : path
        Where bodies are kept as files. Those that are not there are made, for which anny is needed.
    seeds : iterable of int
        One body for each.
    **options
        As for `SurfaceDataset`.

    Examples
    --------
    >>> data = Bodies("template-points", folder="bodies", seeds=range(10))  # doctest: +SKIP
    >>> data[0].y.shape  # doctest: +SKIP
    torch.Size([512, 3])
    """

    def __init__(
        self,
        task: str = "template-points",
        *,
        folder: str | Path,
        seeds: Iterable[int] = range(100),
        **options: Any,
    ) -> None:
        super().__init__(body_collection(task, Path(folder), seeds), **options)

    def reshaped(self: Own, seed: int, strength: float = 1.0) -> Own:
        """Return these bodies themselves: they come in all proportions already."""
        return self


@lru_cache(maxsize=4)
def body_template(folder: Path) -> Mesh:
    """Return the template of a folder of bodies, laid out and with its parts; made if it is not there."""
    path = folder / "template.ply"
    if not path.is_file():
        shape = _template(folder)
        labels = {"label_0": shape.labels.astype(np.uint8), "label_1": shape.fine.astype(np.uint8)}
        embed_template(Mesh(shape.mesh.vertices, shape.mesh.faces, "body template", vertex_data=labels)).save(
            path
        )
    return Mesh.load(path)


@lru_cache(maxsize=4)
def _template(folder: Path) -> BodyTemplate:
    path = folder / "template.npz"
    if not path.is_file():
        from recipes.bodies import template

        folder.mkdir(parents=True, exist_ok=True)
        template().save(path)
    return BodyTemplate.load(path)


def body_collection(task: str, folder: Path, seeds: Iterable[int]) -> Collection:
    """Return the bodies of these seeds with the targets of a task."""
    kind = task_named(task)
    if kind.paired:
        raise ValueError(f"there are no bodies for {task}, which learns from pairs")
    items = [
        Item(f"body-{seed:06d}", partial(_read, task, folder, folder / f"body-{seed:06d}.npz", seed))
        for seed in seeds
    ]
    parts = (*PARTS, *FINE_PARTS) if kind.one_template else PARTS  # the template has both levels
    template = partial(body_template, folder) if kind.one_template else None
    names = kind.embedded_classes(("person",), parts)
    return Collection(f"bodies in {folder}", task, tuple(items), names, template=template)


def _read(task: str, folder: Path, path: Path, seed: int) -> Sample:
    if not path.is_file():
        from recipes.bodies import make_body

        folder.mkdir(parents=True, exist_ok=True)
        make_body(seed).save(path)
    body = BodySample.load(path)
    shape = EmbeddedShape(
        body.mesh,
        kind=0,
        part=body.labels,
        place=lambda: _template(folder).nearest(body),
        made=body,
        point=lambda: _template(folder).positions(body).astype(np.float32),
    )
    return Sample(body.mesh, task_named(task).embedded_target(shape))
