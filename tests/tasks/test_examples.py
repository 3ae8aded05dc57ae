"""What tasks and training read of a dataset is a typed protocol, which our datasets provide."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fieldconv
from fieldconv.datasets import Creatures, PackedDataset, Packer, SurfaceDataset
from fieldconv.surface import ToSurface
from fieldconv.tasks import Examples
from tests.training.blobs import blobs

ROOT = Path(fieldconv.__file__).parent
MEMBERS = {name for name in (*vars(Examples), *Examples.__annotations__) if not name.startswith("_")}


def arguments() -> Iterator[tuple[Path, ast.arg]]:
    for room in ("tasks", "training"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.arg):
                    yield path, node


def test_no_dataset_is_passed_as_anything() -> None:
    """mypy checks that what is passed instead is an `Examples`."""
    found = [
        f"{path.relative_to(ROOT)}, line {node.lineno}"
        for path, node in arguments()
        if node.arg in ("data", "dataset", "validation")
        and ast.unparse(node.annotation or ast.Constant(None)) in ("Any", "object", "None")
    ]
    assert not found


def datasets(folder: Path) -> Iterator[SurfaceDataset]:
    yield blobs(count=3)
    yield blobs("matching", count=3)
    yield blobs("correspondence", count=3)
    yield Creatures(meshes=2, vertices=250, species="snake", pre_transform=ToSurface(0.4), cache=False)
    packer = Packer(folder)
    packer.add("train", blobs(count=3))
    packer.finish()
    yield PackedDataset(folder, cache=False, progress=False)


def test_our_datasets_have_all_of_it(tmp_path: Path) -> None:
    assert len(MEMBERS) >= 10
    for data in datasets(tmp_path):
        for part in (data, data[[0, 1]], data.prepared_with(data.settings), data.damaged(1)):
            assert all(hasattr(part, name) for name in MEMBERS)
            assert len(part.names) == len(part) == len(list(part))
            assert len(part.meshes(0)) == (2 if part.task == "matching" else 1)


def test_ones_own_preparation_has_no_settings() -> None:
    class Smaller(ToSurface):
        pass

    assert blobs(count=2).settings == ToSurface(radius=0.3).settings
    own = Creatures(meshes=2, vertices=250, species="snake", pre_transform=Smaller(0.4), cache=False)
    assert own.settings is None
    with pytest.raises(AttributeError):
        own.settings = None  # type: ignore[misc]
