"""Small datasets for all four tasks: spheres with one or two horns, whose ground truth is known."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv.datasets import SurfaceDataset
from fieldconv.geometry import Mesh
from fieldconv.labels import Collection, Item, Pair, Sample
from fieldconv.surface import ToSurface
from shapes import icosphere


def blob(seed: int, horns: int) -> tuple[Mesh, np.ndarray]:
    """A sphere of 162 vertices with horns, bent a little by the seed; and how far up each vertex was."""
    vertices, faces = icosphere(2)
    draw = np.random.default_rng(seed)
    height = vertices[:, 2].copy()
    grown = vertices * (1 + 1.5 * np.clip(height - 0.7, 0, None)[:, None])
    if horns == 2:
        grown = grown * (1 + 1.5 * np.clip(-height - 0.7, 0, None)[:, None])
    grown = grown * draw.uniform(0.9, 1.1, 3) + 0.05 * np.sin(3 * grown[:, [1, 2, 0]] + draw.uniform(0, 6, 3))
    return Mesh(grown, faces, name=f"blob-{seed}"), height


def read(task: str, seed: int) -> Sample:
    horns = 1 + seed % 2 if task == "classification" else 1
    mesh, height = blob(seed, horns)
    if task == "classification":
        return Sample(mesh, horns - 1)
    if task == "segmentation":
        return Sample(mesh, np.digitize(height, [-0.3, 0.6]))
    return Sample(mesh, np.arange(len(mesh.vertices)))


def template() -> Mesh:
    return blob(1000, 1)[0]


def identity(scene: Sample, model: Sample) -> np.ndarray:
    return np.arange(len(scene.mesh.vertices))


def blobs(
    task: str = "segmentation", count: int = 4, first: int = 0, cache: Path | bool = False, **settings: Any
) -> SurfaceDataset:
    items = tuple(Item(f"blob-{i}", partial(read, task, i)) for i in range(first, first + count))
    names = {"classification": ("one", "two"), "segmentation": ("foot", "belly", "head")}.get(task, ())
    pairs = tuple(Pair(i, (i + 1) % count, identity) for i in range(count)) if task == "matching" else ()
    collection = Collection(
        f"blobs from {first}",
        task,  # type: ignore[arg-type]
        items,
        class_names=names,
        pairs=pairs,
        template=template if task == "correspondence" else None,
    )
    pre = ToSurface(**{"radius": 0.3, **settings})
    return SurfaceDataset(collection, pre_transform=pre, cache=cache, progress=False)


def tiny_network(task: str, data: SurfaceDataset, **changes: Any) -> Any:
    """A network of a few hundred weights, the same at every call."""
    import torch

    from fieldconv.networks import FCNet

    torch.manual_seed(0)
    classes = None if task == "matching" else data.num_classes
    if task == "correspondence":
        changes = {"bottleneck": 8, "dense": 16, **changes}
    return FCNet.for_task(
        task,
        classes=classes,
        preset="tiny",
        **{"samples": None, "radius": 0.3, "width": 6, **changes},
    )
