"""Files that list pairs of meshes, and folders of them: which there are, and what corresponds."""

from __future__ import annotations

import re
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
    Entry,
    OwnFolder,
    by_name,
    check_length,
    read_map,
    template_files,
)
from fieldconv.labels.splits import split_groups


def read_pairs(path: Path, problems: list[str], *, name: str | None = None) -> list[tuple[int, list[str]]]:
    """Read lines of two names (scene and model, maybe a third field), separated by commas or blanks.

    Blank lines and lines that begin with ``#`` are passed over; others with too few fields are noted.

    Returns
    -------
    list of (line number, fields)
    """
    shown = name or path.name
    rows = []
    try:
        lines = read_text(path).splitlines()
    except (OSError, ValueError) as error:
        problems.append(f"{shown}: cannot be read ({error})")
        return []
    for number, line in enumerate(lines, start=1):
        fields = re.split(r"[,;\s]+", line.split("#")[0].strip())
        if fields == [""]:
            continue
        if len(fields) < 2:
            problems.append(f"{shown}, line {number} is {line.strip()!r}; expected two names")
        else:
            rows.append((number, fields))
    if not rows and not problems:
        problems.append(f"{shown} lists no pairs")
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
    places = [root / side for side in sides if split in ("all", side)] if sides else [root]
    if not places:
        folder.problems.append(f"{split}/ is missing")
    items: list[Item] = []
    pairs: list[Pair] = []
    for place in places:
        entries = [folder.entry(path) for path in mesh_files(place) if path.stem != "template"]
        if not entries:
            folder.problems.append(f"no meshes ({', '.join(MESH_SUFFIXES)}) in {place}")
        folder.note_shared_names(entries)
        listed = _listed_pairs(folder, place)
        if place == root and not any((root / f"{side}_pairs.txt").is_file() for side in SIDES):
            groups = [""] * len(listed)
            kept = split_groups(groups, split, test_fraction=folder.test_fraction, seed=folder.seed)
            listed = [listed[i] for i in kept]
        _resolve_pairs(folder, place, entries, listed, items, pairs)
    return Collection(f"folder {root}", task, tuple(items), pairs=tuple(pairs))


def _listed_pairs(folder: OwnFolder, place: Path) -> list[tuple[str, int, list[str]]]:
    """(file, line, fields) of the pairs of one side."""
    names = [f"{side}_pairs.txt" for side in SIDES if folder.split in ("all", side)]
    files = [place / name for name in names if (place / name).is_file()] or [place / "pairs.txt"]
    listed = []
    for path in files:
        shown = path.relative_to(folder.root).as_posix()
        if path.is_file():
            rows = read_pairs(path, folder.problems, name=shown)
            listed += [(shown, line, fields) for line, fields in rows]
        else:
            folder.problems.append(f"{shown} is missing; expected lines of two mesh names: scene, model")
    return listed


def _resolve_pairs(
    folder: OwnFolder,
    place_of_meshes: Path,
    entries: list[Entry],
    listed: list[tuple[str, int, list[str]]],
    items: list[Item],
    pairs: list[Pair],
) -> None:
    """Find the meshes and the ground truth of each listed pair."""
    root, base = folder.root, folder.index_base
    known = by_name(entries)
    templates = template_files(place_of_meshes) or template_files(root)
    template = folder.attempt(partial(load_mesh, templates[0])) if templates else None
    place: dict[str, int] = {}
    common: dict[str, Path | None] = {}
    for shown, line, fields in listed:
        two = [known.get(name) for name in fields[:2]]
        for name, entry in zip(fields, two, strict=False):
            if entry is None:
                folder.problems.append(f"{shown}, line {line}: there is no mesh {name}")
        scene, model = two
        if scene is None or model is None:
            continue
        for entry in (scene, model):
            if entry.name not in common:
                common[entry.name] = folder.beside(entry)
        stems = f"{scene.path.stem}.{model.path.stem}"
        candidates = [place_of_meshes / "maps" / f"{stems}{suffix}" for suffix in (".txt", ".npy", ".csv")]
        if len(fields) > 2:
            candidates = [place_of_meshes / fields[2]]
        truth = next((path for path in candidates if path.is_file()), None)
        if truth is None and (len(fields) > 2 or None in (common[scene.name], common[model.name])):
            expected = candidates[0].relative_to(root).as_posix()
            folder.problems.append(f"{shown}, line {line}: no ground truth; expected {expected}")
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
    return Sample(load_mesh(path), None) if map_path is None else read_map(path, map_path, num_targets, base)


def _truth_file(path: Path, base: int, scene: Sample, model: Sample) -> Ints:
    ids = read_vertex_map(path, num_targets=len(model.mesh.vertices), base=base)
    check_length(path, ids, scene.mesh)
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
