"""Look through a whole dataset folder: what is in it, and everything that is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fieldconv.datasets.folder import OWN, detect_benchmark, read_folder
from fieldconv.folders.collection import NOTHING_KNOWN, Collection
from fieldconv.folders.parallel import Watch, run_all


@dataclass(frozen=True)
class GroupSummary:
    """Meshes of one class or source: how many, and their smallest, median and largest number of vertices."""

    name: str
    meshes: int
    vertices: tuple[int, int, int]


@dataclass(frozen=True)
class FolderReport:
    """What `check_folder` found.

    Attributes
    ----------
    layout : str
    task : str
    groups : tuple of GroupSummary
    labels : dict of str to int
        Vertices that bear each label, where vertices bear labels; unlabelled ones under "(unknown)".
    pairs : int
    known : float or None
        Share of vertices with ground truth; None if vertices have none.
    problems : tuple of str
        One sentence each; empty if the folder is as it should be.
    hint : str
    """

    layout: str
    task: str
    groups: tuple[GroupSummary, ...]
    labels: dict[str, int]
    pairs: int
    known: float | None
    problems: tuple[str, ...]
    hint: str = ""


def check_folder(root: str | Path, *, task: str | None = None, watch: Watch | None = None) -> FolderReport:
    """Read every mesh, label and map of a folder of any known layout.

    Parameters
    ----------
    root : path
    task : str, optional
        For an own folder; guessed from the layout if not given.
    watch : callable, optional
        Wrapped around the list of meshes and of pairs while they are read, such as a progress bar.
    """
    benchmark = detect_benchmark(root, task)
    if benchmark is None:
        return inspect(read_folder(root, task=task, split="all"), watch=watch)
    return inspect(benchmark.read(root, split="all"), layout=benchmark.title, watch=watch)


def inspect(collection: Collection, *, layout: str = OWN, watch: Watch | None = None) -> FolderReport:
    """Read everything in a collection, and sum up what was found."""
    samples, problems = run_all(collection.items, lambda item: item.read(), watch=watch)
    good = {i: sample for i, sample in enumerate(samples) if sample is not None}
    sizes: dict[str, list[int]] = {}
    for i, sample in good.items():
        sizes.setdefault(collection.items[i].group or "meshes", []).append(len(sample.mesh.vertices))
    targets = [sample.target for sample in good.values()]
    if collection.pairs:
        pairs = [pair for pair in collection.pairs if pair.scene in good and pair.model in good]
        truths, notes = run_all(pairs, lambda p: p.truth(good[p.scene], good[p.model]), watch=watch)
        targets = [truth for truth in truths if truth is not None]
        problems += notes
    per_vertex = [np.asarray(target) for target in targets if np.ndim(target) > 0]
    known = None
    labels = {}
    if per_vertex and all(values.dtype.kind in "iub" for values in per_vertex):
        values = np.concatenate(per_vertex)
        known = float((values >= 0).mean()) if len(values) else 0.0
        if len(values) and known == 0:
            problems.append(NOTHING_KNOWN)
        if collection.class_names:
            labels = {name: int((values == i).sum()) for i, name in enumerate(collection.class_names)}
            if (values < 0).any():
                labels["(unknown)"] = int((values < 0).sum())
    return FolderReport(
        layout,
        collection.task,
        tuple(
            GroupSummary(name, len(count), (min(count), int(np.median(count)), max(count)))
            for name, count in sizes.items()
        ),
        labels,
        len(collection.pairs),
        known,
        tuple(dict.fromkeys([*collection.problems, *problems])),
        collection.hint,
    )
