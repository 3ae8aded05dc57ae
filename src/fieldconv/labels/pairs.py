"""Read lists of pairs of meshes, and folders of pairs with their ground truth."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from fieldconv._arrays import Ints
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
)
from fieldconv.labels.label_files import read_vertex_map
from fieldconv.labels.own_folder import (
    SIDES,
    TEMPLATE,
    Entry,
    OwnFolder,
    by_name,
    check_length,
    read_map,
    template_files,
)
from fieldconv.labels.splits import split_groups

Truth = Callable[[Sample, Sample], Ints]


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
    targets = None if template is None else len(template.vertices)
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
            read = partial(_read_mesh, entry.path, maps[entry.name], targets, folder.index_base)
            items.setdefault(entry.name, Item(entry.name, read))
        truth = partial(_truth_file, path, folder.index_base) if path else partial(_truth_common, template)
        pairs.append((scene.name, model.name, truth))
    return pairs


def _read_mesh(path: Path, map_path: Path | None, num_targets: int | None, base: int) -> Sample:
    return Sample(load_mesh(path), None) if map_path is None else read_map(path, map_path, num_targets, base)


def _truth_file(path: Path, base: int, scene: Sample, model: Sample) -> Ints:
    ids = read_vertex_map(path, num_targets=len(model.mesh.vertices), base=base)
    check_length(path, ids, scene.mesh)
    return ids


def _truth_common(template: Mesh | None, scene: Sample, model: Sample) -> Ints:
    """Go to the common template and back; template vertices the model lacks go to the nearest it has."""
    if template is None:
        back = first_preimage(model.target, int(max(scene.target.max(), model.target.max())) + 1)
    else:
        back = fill_geodesically(template, first_preimage(model.target, len(template.vertices)))
    return np.where(scene.target >= 0, back[scene.target], -1)
