"""Write embedded creatures as a folder of meshes, in the layout that `FolderDataset` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fieldconv._io import write_text
from fieldconv.datasets.creature_collection import creature_collection
from fieldconv.labels.collection import Collection, Item, Sample
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.label_files import write_numbers
from fieldconv.labels.parallel import Watch, run_all
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Task


def make_folder(
    out: str | Path,
    task: str = "segmentation",
    *,
    meshes: int = 60,
    test_fraction: float = 0.2,
    seed: int = 0,
    watch: Watch | None = None,
    **creatures: Any,
) -> Path:
    """Write ``meshes`` creatures for a task into the folder ``out``, in train/ and test/.

    Parameters
    ----------
    out : path
        A new or empty folder.
    task : str
    meshes : int
        Together.
    test_fraction : float
        Share of them in test/.
    watch : callable, optional
        Wrapped around the list of meshes while they are made, such as a progress bar.
    seed, **creatures
        As for `fieldconv.datasets.Creatures`: vertices, species, pose and difficulty.

    Returns
    -------
    Path
        The folder.
    """
    if meshes < 1:
        raise ValueError(f"{meshes} meshes; give at least 1")
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DatasetError(str(out), ["is there already and not empty"], hint="Choose a new folder.")
    kind = task_named(task)
    tested = max(round(meshes * test_fraction), 2 if kind.paired and test_fraction > 0 else 0)
    for side, count in (("train", meshes - tested), ("test", tested)):
        if count == 0:
            continue
        collection = creature_collection(task, split=side, meshes=count, seed=seed, **creatures)
        _write_side(out / side, kind, collection, watch)
    kind.write_common(out, collection)
    write_text(out / "README.txt", f"Creatures for {task}, made by fieldconv (seed {seed}).\n{kind.layout}\n")
    return out


def _write_side(folder: Path, task: Task, collection: Collection, watch: Watch | None) -> None:
    items = collection.items

    def write(item: Item) -> Sample:
        sample = item.read()
        task.write_sample(folder, item, sample)
        return sample

    folder.mkdir(parents=True, exist_ok=True)
    made, problems = run_all(items, write, watch=watch)
    if problems:
        raise DatasetError(str(folder), problems)
    samples = [sample for sample in made if sample is not None]
    lines = []
    for pair in collection.pairs:
        scene, model = items[pair.scene].name, items[pair.model].name
        truth = pair.truth(samples[pair.scene], samples[pair.model])
        write_numbers(folder / "maps" / f"{scene}.{model}.txt", truth)
        lines.append(f"{scene} {model}\n")
    if lines:
        write_text(folder / "pairs.txt", "".join(lines))
