"""Anyone's own meshes in a folder.

classification
    ``<class>/*.obj``
segmentation
    ``*.obj`` with labels in ``<name>.txt`` (or .npy, .csv, .seg, .eseg; beside the mesh or in ``labels/``),
    in a PLY property ``label``, or as vertex colours; names of the parts in ``classes.txt``, if wanted
correspondence
    ``template.obj``, and ``*.obj`` with the template's vertex of each vertex in ``<name>.txt``
matching
    ``*.obj``, ``pairs.txt`` with lines of a scene and a model, and for each vertex of the scene the model's
    vertex in ``maps/<scene>.<model>.txt``; or vertex maps as for correspondence

Any of them may be divided into ``train/`` and ``test/``, or by the lists ``train.txt`` and ``test.txt`` of
mesh names (``train_pairs.txt`` and ``test_pairs.txt`` for matching); else a seed divides it. Any mesh format
does. Ids count from 0, −1 means unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from fieldconv.datasets.collection import (
    TASKS,
    Collection,
    Ints,
    Item,
    Pair,
    Sample,
    Task,
    fill_geodesically,
    first_preimage,
    load_mesh,
    mesh_files,
    natural_order,
    subfolders,
)
from fieldconv.datasets.labels import (
    LABEL_SUFFIXES,
    colour_labels,
    mesh_labels,
    read_integers,
    read_vertex_map,
    vertex_labels,
)
from fieldconv.datasets.pairs import read_pairs
from fieldconv.datasets.parallel import attempt
from fieldconv.datasets.problems import DatasetError
from fieldconv.datasets.splits import check_split, split_groups
from fieldconv.geometry.mesh import Mesh
from fieldconv.geometry.meshfiles import MESH_SUFFIXES

Result = TypeVar("Result")

SIDES = ("train", "test")
LABEL_FOLDERS = ("labels", "seg", "maps")
MOST_COLOURS = 256
HINT = "`fieldconv datasets make creatures OUT --task TASK` writes a folder that shows the layout."


@dataclass(frozen=True)
class _Entry:
    """A mesh file, the side of the split it is on (empty: the seed decides) and its class folder."""

    path: Path
    name: str
    side: str = ""
    group: str = ""


def guess_task(root: str | Path) -> Task:
    """The task that the layout of a folder fits."""
    root = Path(root)
    bases = [root, *(root / side for side in SIDES)]
    if any(
        (base / name).is_file()
        for base in bases
        for name in ("pairs.txt", "train_pairs.txt", "test_pairs.txt")
    ):
        return "matching"
    if _template_files(root):
        return "correspondence"
    if any(mesh_files(base) for base in bases):
        return "segmentation"
    return "classification"


def read_folder(
    root: str | Path,
    *,
    task: Task | None = None,
    split: str = "train",
    test_fraction: float = 0.2,
    seed: int = 0,
    index_base: int = 0,
) -> Collection:
    """Read the folder ``root``; the layouts are at the top of this module.

    Parameters
    ----------
    root : path
    task : {"classification", "segmentation", "correspondence", "matching"}, optional
        Guessed from the layout if not given.
    split : {"train", "test", "all"}
    test_fraction, seed : float, int
        How to divide a folder that does not do so itself: this share of each class, drawn by the seed, is
        the test split.
    index_base : {0, 1}
        What the ids in vertex maps count from.
    """
    check_split(split)
    root = Path(root)
    if task is not None and task not in TASKS:
        raise ValueError(f"task is {task!r}; choose one of {', '.join(TASKS)}")
    if not root.is_dir():
        return Collection(f"folder {root}", task or "classification", problems=("no such folder",))
    task = task or guess_task(root)
    problems: list[str] = []
    if task == "matching":
        collection = _read_matching(root, split, test_fraction, seed, index_base, problems)
    else:
        entries = _entries(root, task, problems)
        if task == "classification":
            collection = _read_classification(root, entries, problems)
        elif task == "segmentation":
            collection = _read_segmentation(root, entries, problems)
        else:
            collection = _read_correspondence(root, entries, index_base, problems)
        if any(entry.side for entry in entries):
            kept = [entry for entry in entries if split in ("all", entry.side)]
            if not kept:
                problems.append(f"no meshes in the {split} split; expected some in {split}/ or {split}.txt")
        else:
            groups = [entry.group for entry in entries]
            kept = [entries[i] for i in split_groups(groups, split, test_fraction=test_fraction, seed=seed)]
        names = {entry.name for entry in kept}
        collection = replace(collection, items=tuple(item for item in collection.items if item.name in names))
    return replace(collection, problems=tuple(dict.fromkeys(problems)), hint=HINT if problems else "")


def _note(read: Callable[[], Result], problems: list[str]) -> Result | None:
    """``read()``; if it fails, note why and give None."""
    result, notes = attempt(read)
    problems += notes
    return result


# Which meshes there are, and on which side of the split


def _entries(root: Path, task: Task, problems: list[str]) -> list[_Entry]:
    sides = [side for side in SIDES if (root / side).is_dir()]
    entries: list[_Entry] = []
    for side in sides or [""]:
        base = root / side
        if task == "classification":
            for path in mesh_files(base):
                problems.append(
                    f"{path.relative_to(root)}: lies in no class folder; expected <class>/{path.name}"
                )
            for folder in subfolders(base):
                paths = mesh_files(folder)
                if not paths:
                    problems.append(f"{folder.relative_to(root)}/: no meshes ({', '.join(MESH_SUFFIXES)})")
                entries += [_entry(root, path, side, folder.name) for path in paths]
        else:
            skip = set(_template_files(root))
            below = (p for p in base.rglob("*") if p.suffix.lower() in MESH_SUFFIXES and p not in skip)
            visible = (
                p for p in below if not any(part.startswith(".") for part in p.relative_to(root).parts)
            )
            entries += [_entry(root, path, side) for path in sorted(visible, key=natural_order)]
    if not entries:
        problems.append(f"no meshes ({', '.join(MESH_SUFFIXES)}) for {task}")
    return entries if sides else _by_lists(root, entries, problems)


def _entry(root: Path, path: Path, side: str, group: str = "") -> _Entry:
    return _Entry(path, path.relative_to(root).as_posix(), side, group)


def _by_lists(root: Path, entries: list[_Entry], problems: list[str]) -> list[_Entry]:
    """Put the meshes that train.txt and test.txt name on their sides; leave all as they are without lists."""
    lists = [side for side in SIDES if (root / f"{side}.txt").is_file()]
    known = _by_name(entries)
    sided: dict[str, _Entry] = {}
    for side in lists:
        for number, line in enumerate((root / f"{side}.txt").read_text().splitlines(), start=1):
            name = line.split("#")[0].strip()
            if not name:
                continue
            entry = known.get(name)
            if entry is None:
                problems.append(f"{side}.txt, line {number}: there is no mesh {name}")
            elif entry.name in sided:
                problems.append(f"{side}.txt, line {number}: {name} is listed already")
            else:
                sided[entry.name] = _Entry(entry.path, entry.name, side, entry.group)
    return list(sided.values()) if lists else entries


def _by_name(entries: Sequence[_Entry]) -> dict[str, _Entry]:
    """Entries by relative path, with or without suffix, and by bare file name where that is unique."""
    short: dict[str, list[_Entry]] = {}
    full: dict[str, _Entry] = {}
    for entry in entries:
        for name in (entry.path.stem, entry.path.name):
            short.setdefault(name, []).append(entry)
        full[entry.name] = full[entry.name.removesuffix(entry.path.suffix)] = entry
    return {name: found[0] for name, found in short.items() if len(found) == 1} | full


def _note_shared_names(entries: Sequence[_Entry], problems: list[str]) -> None:
    first: dict[Path, _Entry] = {}
    for entry in entries:
        other = first.setdefault(entry.path.with_suffix(""), entry)
        if other is not entry:
            problems.append(f"{other.name} and {entry.path.name} share one name; keep one of them")


# Classification


def _read_classification(root: Path, entries: list[_Entry], problems: list[str]) -> Collection:
    trained = {entry.group for entry in entries if entry.side != "test"}
    for group in sorted({entry.group for entry in entries} - trained) if trained else ():
        problems.append(f"test/{group}: class {group!r} is unknown, for it has no meshes to train on")
    classes = sorted(trained or {entry.group for entry in entries}, key=natural_order)
    index = {name: i for i, name in enumerate(classes)}
    items = [
        Item(entry.name, partial(_read_class, entry.path, index[entry.group]), entry.group)
        for entry in entries
        if entry.group in index
    ]
    return Collection(f"folder {root}", "classification", tuple(items), class_names=tuple(classes))


def _read_class(path: Path, label: int) -> Sample:
    return Sample(load_mesh(path), np.int64(label))


# Segmentation


def _read_segmentation(root: Path, entries: list[_Entry], problems: list[str]) -> Collection:
    _note_shared_names(entries, problems)
    named = _read_classes(root, problems)
    found: dict[str, Path | None] = {}
    values: dict[str, set[int]] = {}
    coloured = False
    for entry in entries:
        label_path = _beside(root, entry, problems)
        labels = None
        if label_path is not None:
            labels = _note(partial(read_integers, label_path), problems)
        elif (mesh := _note(partial(load_mesh, entry.path), problems)) is not None:
            labels = _note(partial(mesh_labels, mesh), problems)
            if labels is None:
                labels = colour_labels(mesh)
                coloured = coloured or labels is not None
            if labels is None:
                expected = entry.path.with_suffix(".txt").relative_to(root)
                problems.append(
                    f"{entry.name}: no labels; expected {expected} (or .npy, .csv, .seg, .eseg), a PLY "
                    "property 'label', or vertex colours"
                )
        if labels is not None:
            found[entry.name] = label_path
            values[entry.name] = set(np.unique(labels).tolist()) - {-1}
    trained = set().union(*(values[e.name] for e in entries if e.name in values and e.side != "test"))
    present = trained or set().union(*values.values())
    if coloured and not named and len(present) > MOST_COLOURS:
        problems.append(f"{len(present)} different vertex colours; expected one colour for each part")
    classes = named or {value: _shown(value, coloured) for value in sorted(present)}
    reason = "it is not in classes.txt" if named else "no training mesh bears it"
    order = np.array(list(classes), dtype=np.int64)
    items = []
    for entry in entries:
        unknown = sorted(values.get(entry.name, set()) - set(classes))
        if unknown:
            problems.append(f"{entry.name}: label {_shown(unknown[0], coloured)} is unknown, for {reason}")
        elif entry.name in found:
            read = partial(_read_labels, entry.path, found[entry.name], order)
            items.append(Item(entry.name, read, entry.side))
    return Collection(f"folder {root}", "segmentation", tuple(items), class_names=tuple(classes.values()))


def _shown(value: int, colour: bool) -> str:
    return f"#{value:06x}" if colour else str(value)


def _read_classes(root: Path, problems: list[str]) -> dict[int, str]:
    """classes.txt: a name per line, for the labels 0, 1, …; or a label (an integer or #rrggbb) and a name."""
    path = root / "classes.txt"
    if not path.is_file():
        return {}
    lines = [line.strip() for line in path.read_text().splitlines() if line.strip()]
    split = [line.split(maxsplit=1) for line in lines]
    if all(len(fields) == 2 and _label_value(fields[0]) is not None for fields in split):
        classes = {_label_value(value): name for value, name in split}
    else:
        classes = dict(enumerate(lines))
    if len(classes) < len(lines):
        problems.append("classes.txt: a label is listed twice")
    return {value: name for value, name in classes.items() if value is not None}


def _label_value(text: str) -> int | None:
    try:
        return int(text[1:], 16) if text.startswith("#") else int(text)
    except ValueError:
        return None


def _beside(root: Path, entry: _Entry, problems: list[str]) -> Path | None:
    """The label file of a mesh: beside it, or in a folder of labels beside it or at the root."""
    folders = [entry.path.parent] + [
        base / name for base in (entry.path.parent, root) for name in LABEL_FOLDERS
    ]
    for folder in dict.fromkeys(folders):
        present = [folder / f"{entry.path.stem}{s}" for s in LABEL_SUFFIXES]
        present = [path for path in present if path.is_file()]
        if len(present) > 1:
            names = ", ".join(path.name for path in present)
            problems.append(f"{entry.name}: several label files ({names}); keep one of them")
        if present:
            return present[0]
    return None


def _read_labels(path: Path, label_path: Path | None, order: Ints) -> Sample:
    """Labels as positions in ``order``, which holds the values that stand in the files."""
    mesh = load_mesh(path)
    if label_path is not None:
        labels = vertex_labels(mesh, read_integers(label_path), source=str(label_path))
    else:
        own = mesh_labels(mesh)
        own = colour_labels(mesh) if own is None else own
        if own is None:
            raise DatasetError(str(path), ["has no labels any more"])
        labels = own
    if not len(order):  # no mesh has any label
        return Sample(mesh, np.full(len(labels), -1))
    ranks = np.argsort(order)
    place = ranks[np.searchsorted(order, labels, sorter=ranks).clip(max=len(order) - 1)]
    known = order[place] == labels
    unknown = ~known & (labels != -1)
    if unknown.any():
        vertex = int(unknown.argmax())
        raise DatasetError(str(path), [f"vertex {vertex} has the label {labels[vertex]}, which no class has"])
    return Sample(mesh, np.where(known, place, -1))


# Correspondence


def _template_files(root: Path) -> list[Path]:
    return [path for path in mesh_files(root) if path.stem == "template"]


def _read_correspondence(root: Path, entries: list[_Entry], base: int, problems: list[str]) -> Collection:
    _note_shared_names(entries, problems)
    templates = _template_files(root)
    template = _note(partial(load_mesh, templates[0]), problems) if templates else None
    if len(templates) != 1:
        problems.append(f"{len(templates)} template meshes; expected one, template.obj")
    items = []
    for entry in entries:
        map_path = _beside(root, entry, problems)
        if map_path is None:
            expected = entry.path.with_suffix(".txt").relative_to(root)
            problems.append(f"{entry.name}: no vertex map; expected {expected} (or .npy, .csv)")
        elif template is not None:
            items.append(
                Item(
                    entry.name,
                    partial(_read_map, entry.path, map_path, len(template.vertices), base),
                    entry.side,
                )
            )
    return Collection(
        f"folder {root}",
        "correspondence",
        tuple(items),
        template=partial(load_mesh, templates[0]) if template is not None else None,
    )


def _read_map(path: Path, map_path: Path, num_targets: int | None, base: int) -> Sample:
    mesh = load_mesh(path)
    ids = read_vertex_map(map_path, num_targets=num_targets, base=base)
    _check_length(map_path, ids, mesh)
    return Sample(mesh, ids)


def _check_length(path: Path, ids: Ints, mesh: Mesh) -> None:
    if len(ids) != len(mesh.vertices):
        raise DatasetError(
            str(path),
            [f"has {len(ids)} entries; expected {len(mesh.vertices)}, one per vertex of {mesh.name}"],
        )


# Matching


def _read_matching(
    root: Path, split: str, test_fraction: float, seed: int, base: int, problems: list[str]
) -> Collection:
    sides = [side for side in SIDES if (root / side).is_dir()]
    folders = [root / side for side in sides if split in ("all", side)] if sides else [root]
    if not folders:
        problems.append(f"{split}/ is missing")
    items: list[Item] = []
    pairs: list[Pair] = []
    for folder in folders:
        entries = [_entry(root, path, "") for path in mesh_files(folder) if path.stem != "template"]
        if not entries:
            problems.append(f"no meshes ({', '.join(MESH_SUFFIXES)}) in {folder}")
        _note_shared_names(entries, problems)
        listed = _listed_pairs(root, folder, split, problems)
        if folder == root and not any((root / f"{side}_pairs.txt").is_file() for side in SIDES):
            kept = split_groups([""] * len(listed), split, test_fraction=test_fraction, seed=seed)
            listed = [listed[i] for i in kept]
        _resolve_pairs(root, folder, entries, listed, base, items, pairs, problems)
    return Collection(f"folder {root}", "matching", tuple(items), pairs=tuple(pairs))


def _listed_pairs(
    root: Path, folder: Path, split: str, problems: list[str]
) -> list[tuple[str, int, list[str]]]:
    """(file, line, fields) of the pairs of one side."""
    names = [f"{side}_pairs.txt" for side in SIDES if split in ("all", side)]
    files = [folder / name for name in names if (folder / name).is_file()] or [folder / "pairs.txt"]
    listed = []
    for path in files:
        shown = path.relative_to(root).as_posix()
        if path.is_file():
            listed += [(shown, line, fields) for line, fields in read_pairs(path, problems, name=shown)]
        else:
            problems.append(f"{shown} is missing; expected lines of two mesh names: scene, model")
    return listed


def _resolve_pairs(
    root: Path,
    folder: Path,
    entries: list[_Entry],
    listed: list[tuple[str, int, list[str]]],
    base: int,
    items: list[Item],
    pairs: list[Pair],
    problems: list[str],
) -> None:
    """Find the meshes and the ground truth of each listed pair."""
    known = _by_name(entries)
    templates = _template_files(folder) or _template_files(root)
    template = _note(partial(load_mesh, templates[0]), problems) if templates else None
    place: dict[str, int] = {}
    common: dict[str, Path | None] = {}
    for shown, line, fields in listed:
        two = [known.get(name) for name in fields[:2]]
        for name, entry in zip(fields, two, strict=False):
            if entry is None:
                problems.append(f"{shown}, line {line}: there is no mesh {name}")
        scene, model = two
        if scene is None or model is None:
            continue
        for entry in (scene, model):
            if entry.name not in common:
                common[entry.name] = _beside(root, entry, problems)
        stems = f"{scene.path.stem}.{model.path.stem}"
        candidates = [folder / "maps" / f"{stems}{suffix}" for suffix in (".txt", ".npy", ".csv")]
        if len(fields) > 2:
            candidates = [folder / fields[2]]
        truth = next((path for path in candidates if path.is_file()), None)
        if truth is None and (len(fields) > 2 or None in (common[scene.name], common[model.name])):
            expected = candidates[0].relative_to(root)
            problems.append(f"{shown}, line {line}: no ground truth; expected {expected}")
            continue
        for entry in (scene, model):
            if entry.name not in place:
                place[entry.name] = len(items)
                count = len(template.vertices) if template is not None else None
                items.append(
                    Item(entry.name, partial(_read_common, entry.path, common[entry.name], count, base))
                )
        given = partial(_truth_file, truth, base) if truth else partial(_truth_common, template)
        pairs.append(Pair(place[scene.name], place[model.name], given))


def _read_common(path: Path, map_path: Path | None, num_targets: int | None, base: int) -> Sample:
    return Sample(load_mesh(path), None) if map_path is None else _read_map(path, map_path, num_targets, base)


def _truth_file(path: Path, base: int, scene: Sample, model: Sample) -> Ints:
    ids = read_vertex_map(path, num_targets=len(model.mesh.vertices), base=base)
    _check_length(path, ids, scene.mesh)
    return ids


def _truth_common(template: Mesh | None, scene: Sample, model: Sample) -> Ints:
    """Go to the common template and back; template vertices the model lacks go to the nearest it has."""
    count = (
        len(template.vertices)
        if template is not None
        else int(max(scene.target.max(), model.target.max())) + 1
    )
    back = first_preimage(model.target, count)
    if template is not None:
        back = fill_geodesically(template, back)
    return np.where(scene.target >= 0, back[scene.target], -1)
