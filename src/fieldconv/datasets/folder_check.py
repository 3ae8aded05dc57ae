"""Check a whole dataset folder: what is in it, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fieldconv.datasets.folder_dataset import OWN, DataFolder, read_folder
from fieldconv.labels.collection import NOTHING_KNOWN, Collection, Pair
from fieldconv.labels.parallel import Watch, run_all

MIN_TO_TRAIN = 10
MIN_TO_TEST = 5  # reports give no interval for fewer


@dataclass(frozen=True)
class GroupSummary:
    """Meshes of one class or source: how many, and their smallest, median and largest number of vertices."""

    name: str
    meshes: int
    vertices: tuple[int, int, int]


@dataclass(frozen=True)
class FolderReport:
    """The content of a folder and its problems, one sentence each, as `check_folder` returns them."""

    layout: str
    task: str
    groups: tuple[GroupSummary, ...]
    labels: dict[str, int]  # vertices of each label; those without one are "(unknown)"
    pairs: int
    known: float | None  # share of vertices with ground truth; None if it is not about vertices
    problems: tuple[str, ...]
    hint: str = ""  # what to do about the problems
    advice: tuple[str, ...] = ()  # why numbers from an own folder should not be trusted


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
    folder = DataFolder.recognise(root)
    task, benchmark = folder.task_for(task), folder.benchmark
    if benchmark is not None:
        collection, tested = benchmark.read(root, split="all"), None
    else:
        collection = read_folder(folder.own, task=task, split="all")
        held = read_folder(folder.own, task=task, split="test")
        tested = {_name(held, pair) for pair in held.pairs} or {item.name for item in held.items}
    samples, problems = run_all(collection.items, lambda item: item.read(), watch=watch)
    good = {i: sample for i, sample in enumerate(samples) if sample is not None}
    sizes: dict[str, list[int]] = {}
    for i, sample in good.items():
        sizes.setdefault(collection.items[i].group or "meshes", []).append(len(sample.mesh.vertices))
    what = "meshes"
    target_of = {collection.items[i].name: sample.target for i, sample in good.items()}
    targets = list(target_of.values())
    if collection.pairs:
        what = "pairs"
        pairs = [pair for pair in collection.pairs if pair.scene in good and pair.model in good]
        truths, notes = run_all(pairs, lambda p: p.truth(good[p.scene], good[p.model]), watch=watch)
        target_of = dict.fromkeys((_name(collection, pair) for pair in pairs), None)
        targets = [truth for truth in truths if truth is not None]
        problems += notes
    known, labels = None, {}
    per_vertex = [np.asarray(target) for target in targets if np.ndim(target) > 0]
    if per_vertex and all(values.dtype.kind in "iub" for values in per_vertex):
        values = np.concatenate(per_vertex)
        known = float((values >= 0).mean()) if len(values) else 0.0
        if len(values) and known == 0:
            problems.append(NOTHING_KNOWN)
        if collection.class_names:
            labels = {name: int((values == i).sum()) for i, name in enumerate(collection.class_names)}
            if (values < 0).any():
                labels["(unknown)"] = int((values < 0).sum())
    advice: tuple[str, ...] = ()
    if tested is not None and target_of:
        advice = tuple(_advice(target_of, tested, collection.class_names, what))
    return FolderReport(
        layout=OWN if benchmark is None else benchmark.title,
        task=collection.task,
        groups=tuple(
            GroupSummary(name, len(count), (min(count), int(np.median(count)), max(count)))
            for name, count in sizes.items()
        ),
        labels=labels,
        pairs=len(collection.pairs),
        known=known,
        problems=tuple(dict.fromkeys([*collection.problems, *problems])),
        hint=collection.hint,
        advice=advice,
    )


def _name(collection: Collection, pair: Pair) -> str:
    return f"{collection.items[pair.scene].name} {collection.items[pair.model].name}"


def _advice(
    targets: Mapping[str, object], tested: Set[str], names: Sequence[str], what: str
) -> Iterator[str]:
    """Yield a sentence for each reason why numbers from this set should not be trusted.

    ``targets`` are by the name of the mesh or pair; ``names``, of classes, are empty where there are none.

    Examples
    --------
    >>> targets = {f"{k}.obj": k % 2 for k in range(20)}
    >>> print("\\n".join(_advice(targets, {"18.obj"}, ["cat", "dog"], "meshes")))
    1 of 20 meshes to test on: too few to say how well a network does; 5 or more allow an interval.
    Never tested, because none of the meshes to test on has them: dog.
    """
    trained = [name for name in targets if name not in tested]
    held = [name for name in targets if name in tested]
    if len(trained) < MIN_TO_TRAIN:
        yield (
            f"{len(trained)} of {len(targets)} {what} to learn from: enough to try the commands, too few for "
            "a network that is any good on new ones."
        )
    if len(held) < MIN_TO_TEST:
        yield (
            f"{len(held)} of {len(targets)} {what} to test on: too few to say how well a network does; "
            f"{MIN_TO_TEST} or more allow an interval."
        )
    present = {name: set(np.unique(np.asarray(target)).tolist()) for name, target in targets.items() if names}
    in_training, in_test = (
        [sum(k in present[name] for name in side) for k in range(len(names))] for side in (trained, held)
    )
    classes: dict[str, list[str]] = {}  # by what is wrong with them
    for name, often, tested_often in zip(names, in_training, in_test, strict=True):
        if not often and not tested_often:
            sentence = "No vertex of any mesh has these, which the list of classes names"
        elif not often:
            sentence = "Cannot be learnt, because only the test part has them"
        elif held and not tested_often:
            sentence = f"Never tested, because none of the {what} to test on has them"
        else:
            continue
        classes.setdefault(sentence, []).append(name)
    if single := [name for name, often in zip(names, in_training, strict=True) if often == 1]:
        classes["Learnt from a single mesh"] = single
    for sentence, concerned in classes.items():
        yield f"{sentence}: {', '.join(concerned)}."
