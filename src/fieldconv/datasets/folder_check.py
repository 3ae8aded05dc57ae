"""Look through a whole dataset folder: what is in it, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fieldconv.datasets.advice import advise
from fieldconv.datasets.folder_dataset import OWN, detect_benchmark, read_folder
from fieldconv.labels.collection import NOTHING_KNOWN, Collection, Pair
from fieldconv.labels.parallel import Watch, run_all


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
        What to do about them.
    advice : tuple of str
        Why numbers from this folder should not be trusted, one sentence each: too few meshes to learn from or
        to test on, classes without examples. Own folders only.
    """

    layout: str
    task: str
    groups: tuple[GroupSummary, ...]
    labels: dict[str, int]
    pairs: int
    known: float | None
    problems: tuple[str, ...]
    hint: str = ""
    advice: tuple[str, ...] = ()


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
        found = read_folder(root, task=task, split="all")
        held = read_folder(root, task=task, split="test")
        tested = {_name(held, pair) for pair in held.pairs} or {item.name for item in held.items}
        return inspect(found, watch=watch, tested=tested)
    return inspect(benchmark.read(root, split="all"), layout=benchmark.title, watch=watch)


def inspect(
    collection: Collection,
    *,
    layout: str = OWN,
    watch: Watch | None = None,
    tested: Set[str] | None = None,
) -> FolderReport:
    """Read everything in a collection, and sum up what was found.

    Parameters
    ----------
    tested : set of str, optional
        Names of the meshes or pairs of the test part, to say whether both parts are large enough.
    """
    samples, problems = run_all(collection.items, lambda item: item.read(), watch=watch)
    good = {i: sample for i, sample in enumerate(samples) if sample is not None}
    sizes: dict[str, list[int]] = {}
    for i, sample in good.items():
        sizes.setdefault(collection.items[i].group or "meshes", []).append(len(sample.mesh.vertices))
    targets = [sample.target for sample in good.values()]
    named = {collection.items[i].name: sample.target for i, sample in good.items()}
    if collection.pairs:
        pairs = [pair for pair in collection.pairs if pair.scene in good and pair.model in good]
        truths, notes = run_all(pairs, lambda p: p.truth(good[p.scene], good[p.model]), watch=watch)
        targets = [truth for truth in truths if truth is not None]
        named = dict.fromkeys((_name(collection, pair) for pair in pairs), None)
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
        ()
        if tested is None or not named
        else tuple(
            advise(named, tested, collection.class_names, what="pairs" if collection.pairs else "meshes")
        ),
    )


def _name(collection: Collection, pair: Pair) -> str:
    return f"{collection.items[pair.scene].name} {collection.items[pair.model].name}"
