"""Look through a whole dataset folder: what is in it, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from fieldconv.datasets.collection import Collection, Sample, Task, read_or_note
from fieldconv.datasets.layouts import faust, folder, human_seg, shrec11, shrec19, shrec19_humans

Thing = TypeVar("Thing")
Watch = Callable[[Sequence[Thing]], Iterable[Thing]]

# Those with tell-tale folder names first; a folder that is none of them is the user's own.
LAYOUTS: dict[str, tuple[Callable[[Path], bool], Callable[..., Collection]]] = {
    "SHREC'19 humans": (shrec19_humans.detect, shrec19_humans.read_shrec19_humans),
    "remeshed FAUST": (faust.detect, faust.read_faust),
    "SHREC'19": (shrec19.detect, shrec19.read_shrec19),
    "human segmentation": (human_seg.detect, human_seg.read_human_seg),
    "SHREC'11": (shrec11.detect, shrec11.read_shrec11),
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


def detect_layout(root: str | Path) -> str:
    """Name of the layout of a folder; “own folder” if it is none of the benchmarks."""
    root = Path(root)
    if not root.is_dir():
        return OWN
    return next((name for name, (detect, _) in LAYOUTS.items() if detect(root)), OWN)


def check_folder(
    root: str | Path, *, task: Task | None = None, watch: Watch[object] | None = None
) -> FolderReport:
    """Read every mesh, label and map of a folder of any known layout.

    Parameters
    ----------
    root : path
    task : str, optional
        For an own folder; guessed from the layout if not given.
    watch : callable, optional
        Wrapped around the list of meshes and of pairs while they are read, such as a progress bar.
    """
    layout = detect_layout(root)
    if layout == OWN:
        collection = folder.read_folder(root, task=task, split="all")
    else:
        collection = LAYOUTS[layout][1](root, split="all")
        if task is not None and task != collection.task:
            raise ValueError(f"{root} is laid out as {layout}, which is for {collection.task}, not {task}")
    return inspect(collection, layout=layout, watch=watch)


def inspect(collection: Collection, *, layout: str = OWN, watch: Watch[object] | None = None) -> FolderReport:
    """Read everything in a collection, and sum up what was found."""
    problems = list(collection.problems)
    samples: list[Sample | None] = []
    watched: Watch[object] = watch or (lambda things: things)
    for item in watched(collection.items):
        samples.append(read_or_note(item.read, problems))  # type: ignore[attr-defined]
    good = [(item, sample) for item, sample in zip(collection.items, samples, strict=True) if sample]
    sizes: dict[str, list[int]] = {}
    for item, sample in good:
        sizes.setdefault(item.group or "meshes", []).append(len(sample.mesh.vertices))
    targets = [sample.target for _, sample in good]
    if collection.task == "matching":
        targets = []
        for pair in watched(collection.pairs):
            scene, model = samples[pair.scene], samples[pair.model]  # type: ignore[attr-defined]
            if scene is not None and model is not None:
                truth = read_or_note(lambda: pair.truth(scene, model), problems)  # type: ignore[attr-defined]  # noqa: B023
                targets += [truth] if truth is not None else []
    values = (
        np.concatenate([np.atleast_1d(target) for target in targets]) if targets else np.zeros(0, np.int64)
    )
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
        tuple(dict.fromkeys(problems)),
        collection.hint,
    )
