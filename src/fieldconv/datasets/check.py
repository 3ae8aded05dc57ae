"""Look through a whole dataset folder: what is in it, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fieldconv.datasets.collection import NOTHING_KNOWN, Collection, Task
from fieldconv.datasets.layouts import faust, folder, human_seg, shrec11, shrec19, shrec19_humans
from fieldconv.datasets.parallel import Watch, run_all


class Layout(NamedTuple):
    """What a benchmark is for, how to know it, how to read it."""

    task: Task
    detect: Callable[[Path], bool]
    read: Callable[..., Collection]


# Those with tell-tale folder names first; a folder that is none of them is the user's own.
LAYOUTS = {
    "SHREC'19 humans": Layout("matching", shrec19_humans.detect, shrec19_humans.read_shrec19_humans),
    "remeshed FAUST": Layout("correspondence", faust.detect, faust.read_faust),
    "SHREC'19": Layout("matching", shrec19.detect, shrec19.read_shrec19),
    "human segmentation": Layout("segmentation", human_seg.detect, human_seg.read_human_seg),
    "SHREC'11": Layout("classification", shrec11.detect, shrec11.read_shrec11),
}
OWN = "own folder"


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
        Vertices that bear each label (segmentation); unlabelled ones under "(unknown)".
    pairs : int
    known : float
        Share of vertices with ground truth (segmentation, correspondence, matching).
    problems : tuple of str
        One sentence each; empty if the folder is as it should be.
    hint : str
    """

    layout: str
    task: Task
    groups: tuple[GroupSummary, ...]
    labels: dict[str, int]
    pairs: int
    known: float
    problems: tuple[str, ...]
    hint: str = ""


def detect_layout(root: str | Path, task: Task | None = None) -> str:
    """Name of the layout of a folder; “own folder” if it is none of the benchmarks.

    Raises
    ------
    ValueError
        If that layout is for another task.
    """
    root = Path(root)
    found = (name for name, layout in LAYOUTS.items() if root.is_dir() and layout.detect(root))
    name = next(found, OWN)
    if name != OWN and task not in (None, LAYOUTS[name].task):
        raise ValueError(f"{root} is laid out as {name}, which is for {LAYOUTS[name].task}, not {task}")
    return name


def check_folder(root: str | Path, *, task: Task | None = None, watch: Watch | None = None) -> FolderReport:
    """Read every mesh, label and map of a folder of any known layout.

    Parameters
    ----------
    root : path
    task : str, optional
        For an own folder; guessed from the layout if not given.
    watch : callable, optional
        Wrapped around the list of meshes and of pairs while they are read, such as a progress bar.
    """
    layout = detect_layout(root, task)
    if layout == OWN:
        collection = folder.read_folder(root, task=task, split="all")
    else:
        collection = LAYOUTS[layout].read(root, split="all")
    return inspect(collection, layout=layout, watch=watch)


def inspect(collection: Collection, *, layout: str = OWN, watch: Watch | None = None) -> FolderReport:
    """Read everything in a collection, and sum up what was found."""
    samples, problems = run_all(collection.items, lambda item: item.read(), watch=watch)
    good = {i: sample for i, sample in enumerate(samples) if sample is not None}
    sizes: dict[str, list[int]] = {}
    for i, sample in good.items():
        sizes.setdefault(collection.items[i].group or "meshes", []).append(len(sample.mesh.vertices))
    targets = [sample.target for sample in good.values()]
    if collection.task == "matching":
        pairs = [pair for pair in collection.pairs if pair.scene in good and pair.model in good]
        truths, notes = run_all(pairs, lambda p: p.truth(good[p.scene], good[p.model]), watch=watch)
        targets = [truth for truth in truths if truth is not None]
        problems += notes
    values = (
        np.concatenate([np.atleast_1d(target) for target in targets]) if targets else np.zeros(0, np.int64)
    )
    if collection.task != "classification" and len(values) and (values < 0).all():
        problems.append(NOTHING_KNOWN)
    labels = {}
    if collection.task == "segmentation":
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
        float((values >= 0).mean()) if len(values) else 0.0,
        tuple(dict.fromkeys([*collection.problems, *problems])),
        collection.hint,
    )
