"""Remeshed FAUST: 100 bodies of about 5,000 vertices, each with its own triangulation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from fieldconv.datasets.benchmarks.benchmark import Benchmark, Published
from fieldconv.labels.collection import (
    Collection,
    Item,
    Sample,
    fill_geodesically,
    first_preimage,
    load_mesh,
    mesh_files,
)
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.label_files import read_vertex_map
from fieldconv.labels.splits import check_split

TRAIN, TEST = range(80), range(80, 100)


class FAUST(Benchmark):
    """Remeshed FAUST, 100 bodies: correspondence with the vertices of a template.

    Laid out as ``shapes/tr_reg_000.off`` … and ``corres/tr_reg_000.vts`` … Line k of every ``.vts`` file
    names (from 1) the vertex of that shape at the same point of the body. So the target of vertex v is the
    template's entry in the first line in which the shape's entry is v. Vertices that no line names take the
    target of the geodesically nearest one that is named.
    Other parameters are those of `Benchmark`.

    Parameters
    ----------
    indices : iterable of int, optional
        These shapes instead of a split (train: 0–79, test: 80–99), such as ``range(70, 80)`` to validate.
    template : int
        The shape whose vertices are the targets; 0 by default.
    """

    key, title, task_name = "faust", "remeshed FAUST", "correspondence"
    folders = ("shapes", "corres")
    hint = (
        "The set is laid out as shapes/tr_reg_000.off … tr_reg_099.off and corres/tr_reg_000.vts …; it can "
        "be had from github.com/llorz/SGA18_orientation_BCICP_dataset and "
        "github.com/LIX-shape-analysis/GeomFmaps."
    )
    published = Published("within_0.05", "published as curves only")

    @classmethod
    def read(
        cls,
        root: str | Path,
        *,
        split: str = "train",
        indices: Iterable[int] | None = None,
        template: int = 0,
    ) -> Collection:
        check_split(split)
        root = Path(root)
        problems: list[str] = []
        items: list[Item] = []
        shapes = {_number(path): path for path in mesh_files(root / "shapes") if _number(path) >= 0}
        template_path = shapes.get(template)
        template_map = root / "corres" / f"{template_path.stem}.vts" if template_path else Path()
        if not shapes:
            problems.append("no shapes/tr_reg_*.off")
        elif template_path is None:
            problems.append(f"the template shapes/tr_reg_{template:03d}.off is missing")
        elif not template_map.is_file():
            problems.append(f"corres/{template_map.name}, the map of the template, is missing")
        wanted = sorted(shapes) if split == "all" else TRAIN if split == "train" else TEST
        if indices is not None:
            wanted = sorted(set(indices))
        for number in wanted if shapes else ():
            path = shapes.get(number)
            if path is None:
                problems.append(f"shapes/tr_reg_{number:03d}.off is missing")
                continue
            map_path = root / "corres" / f"{path.stem}.vts"
            name = path.relative_to(root).as_posix()
            if not map_path.is_file():
                problems.append(f"{name}: its ground truth corres/{map_path.name} is missing")
            elif template_path is not None:
                read = partial(_read, path, map_path, template_path, template_map)
                items.append(Item(name, read, group="faust"))
        make_template = partial(load_mesh, template_path) if template_path else None
        return cls.collection(root, items, problems, template=make_template)


def _number(path: Path) -> int:
    digits = re.search(r"(\d+)$", path.stem)
    return int(digits[1]) if digits else -1


def _read(path: Path, map_path: Path, template_path: Path, template_map: Path) -> Sample:
    mesh = load_mesh(path)
    ids = read_vertex_map(map_path, num_targets=len(mesh.vertices), base=1)
    template_ids = read_vertex_map(template_map, base=1)
    if len(ids) != len(template_ids):
        raise DatasetError(
            str(map_path), [f"has {len(ids)} lines; expected {len(template_ids)}, as in {template_map.name}"]
        )
    line = first_preimage(ids, len(mesh.vertices))
    return Sample(mesh, fill_geodesically(mesh, np.where(line >= 0, template_ids[line], -1)))
