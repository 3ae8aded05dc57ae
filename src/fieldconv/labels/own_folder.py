"""List a user's own folder of meshes: the files, their side of the split, and the files of their targets.

The task reads the targets: `Task.read_folder`. Folders ``train/`` and ``test/``, or lists ``train.txt`` and
``test.txt`` of mesh names, divide a folder; without them a seed does. Ids count from 0, −1 means unknown.
Tasks on pairs of meshes need a list of pairs, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fieldconv._arrays import Array, Ints
from fieldconv._io import read_text
from fieldconv.geometry.mesh.files import MESH_SUFFIXES
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import (
    Collection,
    Item,
    Pair,
    Sample,
    fill_geodesically,
    first_preimage,
    load_mesh,
    mesh_files,
    natural_order,
    subfolders,
)
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.label_files import LABEL_SUFFIXES, read_numbers, read_vertex_map
from fieldconv.labels.parallel import attempt
from fieldconv.labels.splits import check_split, split_groups

Result = TypeVar("Result")
Truth = Callable[[Sample, Sample], Ints]

SIDES = ("train", "test")
TARGET_FOLDERS = ("labels", "seg", "maps")
TEMPLATE = "template"  # name of its mesh file


@dataclass(frozen=True)
class Entry:
    """A mesh file, its side of the split (empty: the seed decides) and its class folder."""

    path: Path
    name: str
    side: str = ""
    group: str = ""


@dataclass
class OwnFolder:
    """A folder of meshes, for the readers of tasks."""

    root: Path
    split: str = "train"  # or test or all
    test_fraction: float = 0.2  # share of each class that is the test split, if the folder has no sides
    seed: int = 0  # of the split, if the folder has no sides
    index_base: int = 0  # first id in vertex maps, 0 or 1
    problems: list[str] = field(default_factory=list)  # a sentence each; readers append to it and go on
    # Results of `entries`, with class folders and without: entries and problems; `part` shares it.
    listed: dict[bool, tuple[list[Entry], list[str]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_split(self.split)

    def part(self, split: str, **options: Any) -> OwnFolder:
        """Return another part of the folder, or another division of it, without listing its files again."""
        return replace(self, split=split, problems=[], **options)

    def entries(self, task: str, *, by_class: bool = False) -> list[Entry]:
        """Return the mesh files; those of class folders only with ``by_class``."""
        if by_class not in self.listed:
            lister = replace(self, problems=[])
            self.listed[by_class] = lister._list(task, by_class), lister.problems
        entries, problems = self.listed[by_class]
        self.problems += problems
        return entries

    def _list(self, task: str, by_class: bool) -> list[Entry]:
        sides = [side for side in SIDES if (self.root / side).is_dir()]
        entries: list[Entry] = []
        for side in sides or [""]:
            base = self.root / side
            if by_class:
                entries += self._in_classes(base, side)
                continue
            skip = set(template_files(self.root))
            below = [p for p in base.rglob("*") if p.suffix.lower() in MESH_SUFFIXES and p not in skip]
            found = [self.entry(path, side) for path in sorted(below, key=natural_order)]
            entries += [entry for entry in found if "/." not in f"/{entry.name}"]
        if not entries:
            self.problems.append(f"no meshes ({', '.join(MESH_SUFFIXES)}) for {task}")
        return entries if sides else self._by_lists(entries)

    def entry(self, path: Path, side: str = "", group: str = "") -> Entry:
        """Return the entry of a mesh file, named by its path below the root."""
        return Entry(path, path.relative_to(self.root).as_posix(), side, group)

    def _in_classes(self, base: Path, side: str) -> list[Entry]:
        entries: list[Entry] = []
        for path in mesh_files(base):
            name = self.entry(path).name
            self.problems.append(f"{name}: lies in no class folder; expected <class>/{path.name}")
        for folder in subfolders(base):
            paths = mesh_files(folder)
            if not paths:
                name = folder.relative_to(self.root).as_posix()
                self.problems.append(f"{name}/: no meshes ({', '.join(MESH_SUFFIXES)})")
            entries += [self.entry(path, side, folder.name) for path in paths]
        return entries

    def _by_lists(self, entries: list[Entry]) -> list[Entry]:
        """Return the meshes that train.txt and test.txt name with their sides; all if there are no lists."""
        lists = [side for side in SIDES if (self.root / f"{side}.txt").is_file()]
        known = by_name(entries)
        sided: dict[str, Entry] = {}
        for side in lists:
            for number, line in enumerate(read_text(self.root / f"{side}.txt").splitlines(), start=1):
                name = line.split("#")[0].strip()
                if not name:
                    continue
                entry = known.get(name)
                if entry is None:
                    self.problems.append(f"{side}.txt, line {number}: there is no mesh {name}")
                elif entry.name in sided:
                    self.problems.append(f"{side}.txt, line {number}: {name} is listed already")
                else:
                    sided[entry.name] = Entry(entry.path, entry.name, side, entry.group)
        return list(sided.values()) if lists else entries

    def note_shared_names(self, entries: Sequence[Entry]) -> None:
        """Note meshes that differ in their suffix only: their files of targets would share one name."""
        first: dict[Path, Entry] = {}
        for entry in entries:
            other = first.setdefault(entry.path.with_suffix(""), entry)
            if other is not entry:
                self.problems.append(f"{other.name} and {entry.path.name} share one name; keep one of them")

    def target_file(self, entry: Entry) -> Path | None:
        """Return the file of a mesh's targets: beside it, or in a folder of them beside it or at the root."""
        here = entry.path.parent
        folders = [here, *(base / name for base in (here, self.root) for name in TARGET_FOLDERS)]
        for folder in dict.fromkeys(folders):
            candidates = [folder / f"{entry.path.stem}{suffix}" for suffix in LABEL_SUFFIXES]
            present = [path for path in candidates if path.is_file()]
            if len(present) > 1:
                names = ", ".join(path.name for path in present)
                self.problems.append(f"{entry.name}: several label files ({names}); keep one of them")
            if present:
                return present[0]
        return None

    def items_with_targets(
        self, entries: Sequence[Entry], read: Callable[[Path, Path], Sample], what: str, *, files: str
    ) -> list[Item]:
        """Return an item for each mesh that has a file of targets; note those that have none.

        ``read`` takes the paths of a mesh and of its targets. ``what`` names the targets in messages,
        ``files`` the suffixes of their files, the usual one first, such as ".txt .npy .csv".
        """
        suffix, *others = files.split()
        instead = f" (or {', '.join(others)})" if others else ""
        items = []
        for entry in entries:
            path = self.target_file(entry)
            if path is None:
                expected = entry.path.with_suffix(suffix).relative_to(self.root).as_posix()
                self.problems.append(f"{entry.name}: no {what}; expected {expected}{instead}")
            else:
                items.append(Item(entry.name, partial(read, entry.path, path), entry.side))
        return items

    def attempt(self, read: Callable[[], Result]) -> Result | None:
        """Return ``read()``, or note why it fails and return None."""
        result, notes = attempt(read)
        self.problems += notes
        return result

    def collect(self, task: str, entries: Sequence[Entry], items: Sequence[Item], **more: Any) -> Collection:
        """Return the collection of the items on this side of the split; ``more`` are its other fields."""
        if any(entry.side for entry in entries):
            kept = [entry for entry in entries if self.split in ("all", entry.side)]
            if not kept:
                self.problems.append(
                    f"no meshes in the {self.split} split; expected some in {self.split}/ or {self.split}.txt"
                )
        else:
            groups = [entry.group for entry in entries]
            chosen = split_groups(groups, self.split, test_fraction=self.test_fraction, seed=self.seed)
            kept = [entries[i] for i in chosen]
        names = {entry.name for entry in kept}
        own = tuple(item for item in items if item.name in names)
        return Collection(f"folder {self.root}", task, own, **more)


def by_name(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return entries by relative path, with or without suffix, and by file name where that is unique."""
    short: dict[str, list[Entry]] = {}
    full: dict[str, Entry] = {}
    for entry in entries:
        for name in (entry.path.stem, entry.path.name):
            short.setdefault(name, []).append(entry)
        full[entry.name] = full[entry.name.removesuffix(entry.path.suffix)] = entry
    return {name: found[0] for name, found in short.items() if len(found) == 1} | full


def template_files(root: Path) -> list[Path]:
    """Return the mesh files called template in a folder."""
    return [path for path in mesh_files(root) if path.stem == TEMPLATE]


def read_with_targets(path: Path, target_path: Path | None, read: Callable[[Path], Array]) -> Sample:
    """Return a mesh with what ``read`` reads from a file of targets, an entry per vertex, or None."""
    mesh = load_mesh(path)
    if target_path is None:
        return Sample(mesh, None)
    values = read(target_path)
    _check_length(target_path, values, mesh)
    return Sample(mesh, values)


def _check_length(path: Path, values: Array, mesh: Mesh) -> None:
    """Raise DatasetError if a file has not one entry per vertex."""
    if len(values) != len(mesh.vertices):
        expected = f"expected {len(mesh.vertices)}, one per vertex of {mesh.name}"
        raise DatasetError(path, f"has {len(values)} entries; {expected}")


def read_values(folder: OwnFolder, task: str) -> Collection:
    """Return a collection of meshes with files of a number, or a row of numbers, for each vertex."""
    entries = folder.entries(task)
    folder.note_shared_names(entries)
    read = partial(read_with_targets, read=read_numbers)
    items = folder.items_with_targets(entries, read, "values", files=".txt .npy .csv")
    return folder.collect(task, entries, items)


def read_pairs(path: Path, problems: list[str], *, name: str | None = None) -> list[tuple[int, list[str]]]:
    """Read lines of two names (scene and model, maybe a third field), separated by commas or blanks.

    Blank lines and lines that begin with ``#`` are skipped; others with too few fields are noted.

    Returns
    -------
    list of (line number, fields)
    """
    name = name or path.name
    rows = []
    try:
        lines = read_text(path).splitlines()
    except (OSError, ValueError) as error:
        problems.append(f"{name}: cannot be read ({error})")
        return []
    for number, line in enumerate(lines, start=1):
        fields = re.split(r"[,;\s]+", line.split("#")[0].strip())
        if fields == [""]:
            continue
        if len(fields) < 2:
            problems.append(f"{name}, line {number} is {line.strip()!r}; expected two names")
        else:
            rows.append((number, fields))
    if not rows and not problems:
        problems.append(f"{name} lists no pairs")
    return rows


def lists_pairs(root: Path) -> bool:
    """Return whether a folder, or one of its sides, has a list of pairs."""
    names = ("pairs.txt", "train_pairs.txt", "test_pairs.txt")
    bases = (root, *(root / side for side in SIDES))
    return any((base / name).is_file() for base in bases for name in names)


def read_pair_folder(folder: OwnFolder, task: str) -> Collection:
    """Return the pairs that a folder lists, with a vertex of the model for each vertex of the scene.

    That is in maps/<scene>.<model>.txt, or in a file that the line of the pair names; or both meshes have
    vertex maps to one template.
    """
    root, split = folder.root, folder.split
    sides = [side for side in SIDES if (root / side).is_dir()]
    bases = [root / side for side in sides if split in ("all", side)] if sides else [root]
    if not bases:
        folder.problems.append(f"{split}/ is missing")
    items: dict[str, Item] = {}
    pairs: list[tuple[str, str, Truth]] = []
    for base in bases:
        entries = [folder.entry(path) for path in mesh_files(base) if path.stem != TEMPLATE]
        if not entries:
            folder.problems.append(f"no meshes ({', '.join(MESH_SUFFIXES)}) in {base}")
        folder.note_shared_names(entries)
        lines = _pair_lines(folder, base)
        if base == root and not any((root / f"{side}_pairs.txt").is_file() for side in SIDES):
            groups = [""] * len(lines)
            chosen = split_groups(groups, split, test_fraction=folder.test_fraction, seed=folder.seed)
            lines = [lines[i] for i in chosen]
        pairs += _read_pairs_of(folder, base, entries, lines, items)
    number = {name: k for k, name in enumerate(items)}
    numbered = tuple(Pair(number[scene], number[model], truth) for scene, model, truth in pairs)
    return Collection(f"folder {root}", task, tuple(items.values()), pairs=numbered)


def _pair_lines(folder: OwnFolder, base: Path) -> list[tuple[str, list[str]]]:
    """Return (file and line, fields) of the pairs of one side."""
    names = [f"{side}_pairs.txt" for side in SIDES if folder.split in ("all", side)]
    files = [base / name for name in names if (base / name).is_file()] or [base / "pairs.txt"]
    lines = []
    for path in files:
        name = path.relative_to(folder.root).as_posix()
        if path.is_file():
            rows = read_pairs(path, folder.problems, name=name)
            lines += [(f"{name}, line {line}", fields) for line, fields in rows]
        else:
            folder.problems.append(f"{name} is missing; expected lines of two mesh names: scene, model")
    return lines


def _read_pairs_of(
    folder: OwnFolder,
    base: Path,
    entries: list[Entry],
    lines: list[tuple[str, list[str]]],
    items: dict[str, Item],
) -> list[tuple[str, str, Truth]]:
    """Return scene, model and ground truth of each listed pair; add their meshes to ``items``."""
    known = by_name(entries)
    templates = template_files(base) or template_files(folder.root)
    template = folder.attempt(partial(load_mesh, templates[0])) if templates else None
    count = None if template is None else len(template.vertices)
    read_map = partial(read_vertex_map, num_targets=count, base=folder.index_base)
    maps: dict[str, Path | None] = {}
    pairs: list[tuple[str, str, Truth]] = []
    for where, fields in lines:
        scene, model = (known.get(name) for name in fields[:2])
        for name, entry in zip(fields, (scene, model), strict=False):
            if entry is None:
                folder.problems.append(f"{where}: there is no mesh {name}")
        if scene is None or model is None:
            continue
        for entry in (scene, model):
            if entry.name not in maps:
                maps[entry.name] = folder.target_file(entry)
        stems = f"{scene.path.stem}.{model.path.stem}"
        candidates = [base / "maps" / f"{stems}{suffix}" for suffix in (".txt", ".npy", ".csv")]
        if len(fields) > 2:
            candidates = [base / fields[2]]
        path = next((path for path in candidates if path.is_file()), None)
        if path is None and (len(fields) > 2 or None in (maps[scene.name], maps[model.name])):
            expected = candidates[0].relative_to(folder.root).as_posix()
            folder.problems.append(f"{where}: no ground truth; expected {expected}")
            continue
        for entry in (scene, model):
            read = partial(read_with_targets, entry.path, maps[entry.name], read_map)
            items.setdefault(entry.name, Item(entry.name, read))
        truth = partial(_truth_file, path, folder.index_base) if path else partial(_truth_common, template)
        pairs.append((scene.name, model.name, truth))
    return pairs


def _truth_file(path: Path, base: int, scene: Sample, model: Sample) -> Ints:
    ids = read_vertex_map(path, num_targets=len(model.mesh.vertices), base=base)
    _check_length(path, ids, scene.mesh)
    return ids


def _truth_common(template: Mesh | None, scene: Sample, model: Sample) -> Ints:
    """Go to the common template and back; template vertices the model lacks go to the nearest it has."""
    if template is None:
        back = first_preimage(model.target, int(max(scene.target.max(), model.target.max())) + 1)
    else:
        back = fill_geodesically(template, first_preimage(model.target, len(template.vertices)))
    return np.where(scene.target >= 0, back[scene.target], -1)
