"""Write prepared datasets into few large files; `fieldconv.datasets.packed` says what they hold."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from fieldconv._io import atomic_path, write_text
from fieldconv._progress import track
from fieldconv.datasets.packed import (
    FORMAT,
    INDEX,
    SUFFIX,
    TEMPLATE,
    copy_name,
    is_packed,
    sample_tensors,
)
from fieldconv.datasets.surface_dataset import SurfaceDataset
from fieldconv.surface.cache import write_entry
from fieldconv.surface.parts import further_row_numbers, parts_of
from fieldconv.surface.surface import settings_of

SIZE = 10**9  # bytes of a file, or little more


class Packer:
    """Packs datasets into a folder; it becomes a packed one when `finish` is called.

    Parameters
    ----------
    folder : path
        Must not hold a packed dataset already.
    size : int
        Bytes that a file may have; one surface more may be in it.

    Examples
    --------
    >>> import tempfile
    >>> from fieldconv.datasets import Creatures, open_dataset
    >>> data = Creatures("segmentation", meshes=2, vertices=250, species=["snake"], cache=False)
    >>> packer = Packer(tempfile.mkdtemp())
    >>> packer.add("train", data)
    >>> packer.finish()
    >>> packed = open_dataset(packer.folder)
    >>> len(packed), torch.equal(packed[1].y, data[1].y)
    (2, True)
    """

    def __init__(self, folder: str | Path, *, size: int = SIZE) -> None:
        self.folder, self.size = Path(folder), size
        if is_packed(folder):
            raise ValueError(f"{folder} holds a packed dataset already; choose another folder")
        if size < 1:
            raise ValueError(f"size is {size}; give a positive number of bytes")
        self.surfaces = self.bytes = self.files = 0
        self._sets: list[str] = []
        self._about: dict[str, Any] = {}

    def add(self, part: str, data: SurfaceDataset) -> None:
        """Write the part "train" or "test"; a surface at a time is in memory, besides what the data holds."""
        self._describe(data)
        used = data.shapes()
        place_of = {number: place for place, number in enumerate(used)}
        with _Files(self.folder, part, self.size) as files:
            items = []
            for number in track(used, f"Packing {part}", total=len(used)):
                item = data.item(number)
                surface = files.add(f"{part}/{item.name}/surface", surface_tensors(data, number))
                mesh = files.add(f"{part}/{item.name}/mesh", sample_tensors(item.read()))
                items.append([item.name, item.group, surface, mesh])
            rows = []
            for place, pair in enumerate(data.pairs()):
                scene, model = (data.item(number).read() for number in (pair.scene, pair.model))
                truth = torch.from_numpy(pair.truth(scene, model))
                rows.append(
                    [
                        place_of[pair.scene],
                        place_of[pair.model],
                        pair.group,
                        files.add(f"{part}/{place}/truth", {"truth": truth}),
                    ]
                )
        self._finish_set(part, files, items, rows)

    def add_copies(self, data: SurfaceDataset, kind: str, seed: int, strength: float) -> None:
        """Write copies of the part "train", reshaped or damaged, for `SurfaceDataset.reshaped` to find."""
        if data.pairs():
            raise ValueError("copies of pairs cannot be packed; they are made when they are needed")
        part = f"train-{copy_name(kind, seed, strength)}"
        copies: SurfaceDataset = getattr(data, kind)(seed, strength)
        with _Files(self.folder, part, self.size) as files:
            items = []
            for number in track(copies.shapes(), f"Packing {part}", total=len(copies)):
                name = copies.item(number).name
                place = files.add(f"{part}/{name}/surface", surface_tensors(copies, number))
                items.append([name, "", place])
        self._finish_set(part, files, items, [])

    def finish(self) -> None:
        """Write what the folder holds: from now on it is a packed dataset."""
        content = {"library": "fieldconv", "format": FORMAT, **self._about, "sets": self._sets}
        write_text(self.folder / INDEX, json.dumps(content, indent=1))

    def _describe(self, data: SurfaceDataset) -> None:
        settings = settings_of(data.pre_transform)
        if settings is None:
            raise ValueError("only surfaces that a ToSurface prepared can be packed")
        row_numbers = further_row_numbers(parts_of(settings))
        about = {
            "task": data.task,
            "class_names": list(data.class_names),
            "settings": settings.to_dict(),
            **({"row_numbers": row_numbers} if row_numbers else {}),
        }
        if self._about and self._about != about:
            raise ValueError("the parts have other classes or settings; pack them into folders of their own")
        self._about = about
        if data.template is not None:
            data.template.save(self.folder / TEMPLATE)

    def _finish_set(self, part: str, files: _Files, items: list[list[Any]], pairs: list[list[Any]]) -> None:
        content = {"files": files.names, "items": items, "pairs": pairs}
        write_text(self.folder / f"{part}.json", json.dumps(content, separators=(",", ":")))
        self._sets.append(part)
        self.surfaces += len(items)
        self.bytes += files.bytes
        self.files += len(files.names)


def surface_tensors(data: SurfaceDataset, number: int) -> dict[str, Tensor]:
    """Return the tensors of a shape's surface, with its target."""
    kept = data.surface(number).to_dict()
    return {name: value for name, value in kept.items() if isinstance(value, Tensor)}


class _Files:
    """The files of a set, one after the other."""

    def __init__(self, folder: Path, part: str, size: int) -> None:
        self.folder, self.part, self.size = folder, part, size
        self.names: list[str] = []
        self.bytes = 0
        self._open = ExitStack()
        self._file: BinaryIO | None = None

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._open.__exit__(*error)

    def add(self, name: str, tensors: dict[str, Tensor]) -> tuple[int, int, int]:
        """Write an entry; return the number of its file, where it begins there, and its size."""
        if self._file is None or self._file.tell() >= self.size:
            self._open.close()  # whole, and in its place
            self.names.append(f"{self.part}-{len(self.names):04d}{SUFFIX}")
            path = self._open.enter_context(atomic_path(self.folder / self.names[-1]))
            self._file = self._open.enter_context(open(path, "wb"))  # noqa: SIM115
        content = write_entry(name, tensors)
        begin = self._file.tell()
        self._file.write(content)
        self.bytes += len(content)
        return len(self.names) - 1, begin, len(content)
