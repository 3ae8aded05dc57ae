"""Which folder of the package may import which; imports inside functions count.

A folder may import those that come before it in `LAYERS`. `EXCEPTIONS` lists the few imports in the other
direction, each with its reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fieldconv
from fieldconv.tasks import task_names

ROOT = Path(fieldconv.__file__).parent

LAYERS = (
    ("_arrays", "_process", "_checked", "_duration"),
    ("_compiled", "_io", "_lazy", "_memory", "_presets", "_progress", "_registry"),
    ("geometry",),  # shapes to numbers
    ("labels",),  # meshes and targets on disk
    ("surface",),  # what a network sees of a shape
    ("transforms", "testing"),
    ("ops",),
    ("nn",),
    ("networks",),
    ("tasks",),
    ("datasets",),
    ("models",),  # networks that come with the package
    ("runs",),  # what a run folder holds
    ("viz",),  # arrays and runs in, pictures and pages out
    ("training",),
    ("commands",),
    ("cli",),
)
EXCEPTIONS = {
    ("geometry/mesh/mesh.py", "viz"): "mesh.show() and its picture in a notebook",
    ("surface/surface.py", "viz"): "surface.show() and its picture in a notebook",
    ("tasks/base/prediction.py", "viz"): "prediction.show() and its picture in a notebook",
    ("tasks/base/evaluation.py", "viz"): "evaluation.report() and its table in a notebook",
    ("networks/protocol.py", "tasks"): "FCNet.for_task: the presets are the task's",
    ("networks/protocol.py", "training"): "model.predict, from_pretrained, save_pretrained, push_to_hub",
}
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}

# What a folder may import besides itself, where that is less than all folders before it.
ONLY = {
    "geometry": {"_arrays", "_compiled", "_io", "_lazy", "_process"},
    "runs": {"_arrays", "_io", "_lazy", "tasks"},
    "viz": {"_arrays", "_compiled", "_io", "_lazy", "_process", "_duration", "geometry", "tasks", "runs"},
    "nn": {"ops", "surface"},
    "labels": {"_arrays", "_compiled", "_io", "_lazy", "geometry"},
}
# (folder, other): the folder must not import the other.
FORBIDDEN = [("datasets", "networks"), ("labels", "surface")]
# The modules of tasks that `runs` and `viz` may import: types of results, no task.
RESULTS = {f"fieldconv.tasks.base.{name}" for name in ("evaluation", "metric", "metrics", "vertex_values")}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the modules of the package that a file imports anywhere, and the names it takes from them."""
    package = path.relative_to(ROOT.parent).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            home = ".".join(filter(None, (base, node.module)))
            names = [alias.name for alias in node.names]
            if home == "fieldconv":  # from fieldconv import viz
                for name in names:
                    yield f"fieldconv.{name}", []
            else:
                yield home, names


def folder_of(module: str) -> str | None:
    """Return the folder of a module of the package; None for other modules and for the package itself."""
    parts = module.split(".")
    return parts[1] if parts[0] == "fieldconv" and len(parts) > 1 and parts[1] in LEVEL else None


def test_every_file_is_in_a_layer() -> None:
    found = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in modules()}
    assert found == set(LEVEL)


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_down(path: Path) -> None:
    where = path.relative_to(ROOT).as_posix()
    folder = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for module, names in imports(path):
        other = folder_of(module)
        home = ROOT.parent.joinpath(*module.split("."))
        private = [
            n for n in names if n.startswith("_") and not (other == folder and (home / f"{n}.py").is_file())
        ]
        assert other is None or not private, f"{where} uses {module}'s own names {private}"
        if other is None or other == folder or (where, other) in EXCEPTIONS:
            continue
        assert LEVEL[other] < LEVEL[folder], f"{where} imports {module}, which is above it"
        assert other in ONLY.get(folder, {other}), f"{where} imports {module}, which {folder} must not import"
        assert (folder, other) not in FORBIDDEN, f"{where} imports {module}, which {folder} must not import"
        assert other != "testing", f"{where} imports {module}: only tests use testing tools"


@pytest.mark.parametrize("folder", ["runs", "viz"])
def test_runs_and_viz_import_results_but_no_task(folder: str) -> None:
    files = [path for path in modules() if path.relative_to(ROOT).parts[0] == folder]
    assert len(files) > 3
    for path in files:
        known = {module for module, _ in imports(path) if folder_of(module) == "tasks"}
        assert known <= RESULTS, path.name


def test_every_exception_is_used() -> None:
    used = {
        (path.relative_to(ROOT).as_posix(), folder_of(module))
        for path in modules()
        for module, _ in imports(path)
    }
    assert set(EXCEPTIONS) <= used


# Underscore names that are public in spite of it: of named tuples, notebooks and `os`. Tensors have no other
# mark than `_version`, which torch documents, of having been changed.
PUBLIC_UNDERSCORES = {"_asdict", "_exit", "_fields", "_replace", "_repr_html_", "_version"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_private_names_stay_in_their_module(path: Path) -> None:
    """``data._items`` is for those files only whose own classes have such an attribute."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.attr for node in attributes if ast.unparse(node.value) in ("self", "cls")}
    for node in attributes:
        assert not is_private(node.attr) or node.attr in own | PUBLIC_UNDERSCORES, (
            f"line {node.lineno}: {ast.unparse(node)}"
        )


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_private_of_another_package_is_used(path: Path) -> None:
    """Neither imported nor asked for by a text; no hook into import, no object made one of another class."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        where = f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)[:100]}"
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = []
        for name in names:
            first, *parts = name.split(".")
            assert first in ("fieldconv", "__future__") or not any(map(is_private, (first, *parts))), where
            assert not name.startswith(("importlib.abc", "importlib.machinery")), where
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr", "hasattr"):
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
            assert not is_private(str(name)), where
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) not in ("sys.meta_path", "sys.path_hooks"), where
            assert not (node.attr == "__class__" and isinstance(node.ctx, ast.Store)), where


def test_nothing_that_others_print_is_read() -> None:
    """It breaks with their next version."""
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and node.id in ("redirect_stdout", "redirect_stderr")
    }
    assert not readers


def test_memory_settings_are_for_commands() -> None:
    """The one exception is a module that is run as a process of its own, to measure memory there."""
    callers = {
        path.relative_to(ROOT).as_posix()
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "keep_freed_memory"
    }
    assert callers
    assert {file for file in callers if not file.startswith("commands/")} == {"training/comparison/cost.py"}


def test_no_file_but_its_own_compares_the_name_of_a_task() -> None:
    names = set(task_names())
    for path in modules():
        if path.parent == ROOT / "tasks" and path.stem in names:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            literals = {
                leaf.value for side in sides for leaf in ast.walk(side) if isinstance(leaf, ast.Constant)
            }
            assert not names & literals, f"{path.relative_to(ROOT)}, line {node.lineno}"


def test_no_table_has_the_names_of_tasks_for_keys() -> None:
    """To look a name up in a table is to compare it; networks may say how they were trained for each task."""
    names = set(task_names())
    for path in modules():
        if path.relative_to(ROOT).parts[0] in ("tasks", "networks"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            keys = node.keys if isinstance(node, ast.Dict) else []
            found = {key.value for key in keys if isinstance(key, ast.Constant)}
            if isinstance(node, ast.MatchValue):
                found = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
            assert not names & found, path.relative_to(ROOT)
