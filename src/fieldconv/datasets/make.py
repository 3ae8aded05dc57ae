"""Write embedded creatures as a folder of meshes, in the layout that `FolderDataset` reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fieldconv._io import atomic_path
from fieldconv.datasets.collection import Collection, Ints, Item, Sample, Task
from fieldconv.datasets.creature_collection import creature_collection
from fieldconv.datasets.parallel import Watch, run_all
from fieldconv.datasets.problems import DatasetError

ABOUT: dict[str, str] = {
    "classification": "Each folder in train/ and test/ is a class.",
    "segmentation": (
        "Beside each mesh a .txt file has the label of each vertex: a line of classes.txt, counted from 0."
    ),
    "correspondence": (
        "Beside each mesh a .txt file has, for each vertex, the vertex of template.obj (from 0; −1: none)."
    ),
    "matching": (
        "Lines of pairs.txt are a scene and a model; maps/<scene>.<model>.txt has, for each vertex of the\n"
        "scene, the vertex of the model (from 0; −1: none)."
    ),
}


def make_folder(
    out: str | Path,
    task: Task = "segmentation",
    *,
    meshes: int = 60,
    vertices: int = 1000,
    species: str | Sequence[str] | None = None,
    pose: float = 1.0,
    difficulty: str = "clean",
    test_fraction: float = 0.2,
    seed: int = 0,
    watch: Watch | None = None,
) -> Path:
    """Write ``meshes`` creatures for a task into the folder ``out``, in train/ and test/.

    Parameters
    ----------
    out : path
        A new or empty folder.
    task : {"classification", "segmentation", "correspondence", "matching"}
    meshes : int
        Together.
    test_fraction : float
        Share of them in test/.
    vertices, species, pose, difficulty, seed
        As for `fieldconv.datasets.Creatures`.
    watch : callable, optional
        Wrapped around the list of meshes while they are made, such as a progress bar.

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
    tested = max(round(meshes * test_fraction), 2 if task == "matching" and test_fraction > 0 else 0)
    for side, count in (("train", meshes - tested), ("test", tested)):
        if count == 0:
            continue
        collection = creature_collection(
            task,
            split=side,
            meshes=count,
            vertices=vertices,
            species=species,
            pose=pose,
            difficulty=difficulty,
            seed=seed,
        )
        _write_side(out, side, collection, watch)
    if task == "segmentation":
        _write_lines(out / "classes.txt", collection.class_names)
    if collection.template is not None:
        collection.template().save(out / "template.obj")
    _write_lines(out / "README.txt", [f"Creatures for {task}, made by fieldconv (seed {seed}).", ABOUT[task]])
    return out


def _write_side(out: Path, side: str, collection: Collection, watch: Watch | None) -> None:
    items = collection.items

    def write(item: Item) -> Sample:
        sample = item.read()
        _write_sample(out / side, collection.task, item, sample)
        return sample

    made, problems = run_all(items, write, watch=watch)
    if problems:
        raise DatasetError(str(out), problems)
    samples = [sample for sample in made if sample is not None]
    lines = []
    for pair in collection.pairs:
        scene, model = items[pair.scene].name, items[pair.model].name
        truth = pair.truth(samples[pair.scene], samples[pair.model])
        _write_integers(out / side / "maps" / f"{scene}.{model}.txt", truth)
        lines.append(f"{scene} {model}")
    if lines:
        _write_lines(out / side / "pairs.txt", lines)


def _write_sample(folder: Path, task: Task, item: Item, sample: Sample) -> None:
    if task == "classification":
        folder = folder / item.group
    folder.mkdir(parents=True, exist_ok=True)
    sample.mesh.save(folder / f"{item.name}.obj")
    if task in ("segmentation", "correspondence"):
        _write_integers(folder / f"{item.name}.txt", sample.target)


def _write_integers(path: Path, values: Ints) -> None:
    with atomic_path(path) as temporary:
        np.savetxt(temporary, values, fmt="%d")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
