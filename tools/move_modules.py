"""Move modules to other folders, and rewrite every place that names them. Kept until the redesign is done.

    python tools/move_modules.py     # moves files with git, then rewrites imports, paths and dotted names

Run once, from a clean checkout. `MOVES` is the table: old path → new path, below ``src/fieldconv``, a folder
or a file. Relative imports become absolute ones. `TESTS` moves test files alike.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "fieldconv"
TEXT = (".py", ".pyi", ".md", ".toml", ".yml", ".yaml", ".ipynb", ".cff")
HISTORY = ("CHANGELOG.md", "tools/move_modules.py", "tests/fixtures/", "tests/plugin/heights/")


def below(folder: str, *names: str) -> dict[str, str]:
    """Modules of ``geometry`` that move into one of its folders under their own names."""
    return {f"geometry/{name}.py": f"geometry/{folder}/{name}.py" for name in names}


MOVES = {
    # geometry
    **below("mesh", "mesh", "numbering", "oddities", "topology", "halfedge", "specks"),
    "geometry/meshcheck.py": "geometry/mesh/check.py",
    "geometry/meshfiles": "geometry/mesh/files",
    "geometry/shapefile.py": "geometry/shapefile.py",
    **below("geodesic", "discs", "charts", "unfolding", "front", "heat", "distances", "heap"),
    "geometry/geodesics.py": "geometry/geodesic/geodesic_discs.py",
    "geometry/spectral.py": "geometry/spectral/signatures.py",
    "geometry/refine.py": "geometry/spectral/map_refinement.py",
    **below("spectral", "lanczos", "embedding", "balls"),
    **below("resample", "sampling", "coarsen", "subdivide", "remesh", "pointcloud"),
    "geometry/closing.py": "geometry/resample/close_holes.py",
    "geometry/bridge.py": "geometry/damage/build_bridge.py",
    **below("damage", "damage", "voxels", "lattice", "reshape"),
    # labels
    "folders/labels.py": "labels/label_files.py",
    "folders/own.py": "labels/own_folder.py",
    "folders": "labels",
    # surface and operations
    "surface/packing.py": "surface/codec.py",
    "ops/echo.py": "ops/echo_votes.py",
    "ops/tangent_relu.py": "ops/magnitude_relu.py",
    **{
        f"ops/compiled/{name}.py": f"ops/compiled/{name}_kernels.py"
        for name in ("aggregate", "convolve", "direction", "echo", "lift", "relu_linear", "matmul")
    },
    "ops/compiled/edges.py": "ops/compiled/sorted_edges.py",
    "ops/compiled/tangent_relu.py": "ops/compiled/magnitude_relu_kernels.py",
    **{
        f"ops/portable/{name}.py": f"ops/portable/{name}_torch.py"
        for name in ("aggregate", "convolve", "echo", "lift")
    },
    "ops/portable/tangent_relu.py": "ops/portable/magnitude_relu_torch.py",
    # networks
    "networks/base.py": "networks/protocol.py",
    **{
        f"networks/{name}.py": f"networks/rivals/{name}.py"
        for name in (
            "acscnn",
            "deltaconv",
            "diffusionnet",
            "gathering",
            "gemcnn",
            "hsn",
            "mdgcnn",
            "pointnet2",
        )
    },
    "networks/scalar.py": "networks/rivals/shared/scalar.py",
    "geometry/anisotropic.py": "networks/rivals/shared/anisotropic.py",
    "geometry/least_squares.py": "networks/rivals/shared/least_squares.py",
    "geometry/gradient.py": "geometry/spectral/vertex_gradients.py",
    # tasks, datasets, training, pictures
    "tasks/base/distances.py": "tasks/base/template_distances.py",
    "tasks/base/labels.py": "tasks/base/label_task.py",
    "datasets/base.py": "datasets/surface_dataset.py",
    "datasets/benchmarks/base.py": "datasets/benchmarks/benchmark.py",
    "datasets/check.py": "datasets/folder_check.py",
    "datasets/creatures/remesh.py": "datasets/creatures/even_triangles.py",
    "training/prediction.py": "training/apply.py",
    "training/evaluating.py": "training/measure.py",
    "training/calibrating.py": "training/temperature.py",
    "training/report.py": "training/evidence.py",
    "training/progress.py": "training/run_progress.py",
    "training/comparison/run.py": "training/comparison/compare_networks.py",
    "viz/report.py": "viz/report_page.py",
    "viz/comparison.py": "viz/comparison_page.py",
    "viz/filters.py": "viz/filter_page.py",
}

# What makes the bodies that ship with the package: out of it, to recipes/bodies.
RECIPE = {
    "src/fieldconv/datasets/bodies": "recipes/bodies",
    "src/fieldconv/datasets/body_dataset.py": "recipes/bodies/dataset.py",
    "benchmarks/make_bodies.py": "recipes/bodies/make.py",
    "benchmarks/train_bodies.py": "recipes/bodies/train.py",
    "benchmarks/ship_bodies.py": "recipes/bodies/ship.py",
    "benchmarks/bodies_card.md": "recipes/bodies/card.md",
    "tests/datasets/test_bodies.py": "recipes/bodies/tests/test_bodies.py",
    "tests/datasets/test_body_dataset.py": "recipes/bodies/tests/test_dataset.py",
}
RECIPE_NAMES = {
    "fieldconv.datasets.bodies": "recipes.bodies",
    "fieldconv.datasets.body_dataset": "recipes.bodies.dataset",
}

TESTS = {
    "tests/folders/test_labels.py": "tests/labels/test_label_files.py",
    "tests/folders": "tests/labels",
    **{
        f"tests/geometry/test_{name}.py": f"tests/geometry/{folder}/test_{new}.py"
        for folder, names in {
            "mesh": ("mesh", "numbering", "specks", "odd_meshes", "bombs"),
            "geodesic": ("front", "heat", "heap", "distances", ("geodesics", "geodesic_discs")),
            "spectral": (
                "balls",
                "embedding",
                "lanczos",
                ("refine", "map_refinement"),
                ("spectral", "signatures"),
            ),
            "resample": ("coarsen", "pointcloud", "sampling", "subdivide", ("closing", "close_holes")),
            "damage": ("damage", "reshape"),
        }.items()
        for name, new in ((n, n) if isinstance(n, str) else n for n in names)
    },
    "tests/geometry/test_shapefile.py": "tests/geometry/test_shapefile.py",
    "tests/geometry/test_anisotropic.py": "tests/networks/rivals/test_anisotropic.py",
    "tests/geometry/test_least_squares.py": "tests/networks/rivals/test_least_squares.py",
    "tests/geometry/test_gradient.py": "tests/geometry/spectral/test_vertex_gradients.py",
    **{
        f"tests/networks/test_{name}.py": f"tests/networks/rivals/test_{name}.py"
        for name in (
            "acscnn",
            "deltaconv",
            "diffusionnet",
            "disc_networks",
            "gathering",
            "gemcnn",
            "hsn",
            "mdgcnn",
            "pointnet2",
            "rivals",
        )
    },
    "tests/networks/test_base.py": "tests/networks/test_protocol.py",
    "tests/surface/test_packing.py": "tests/surface/test_codec.py",
    "tests/ops/test_echo.py": "tests/ops/test_echo_votes.py",
    "tests/ops/test_tangent_relu.py": "tests/ops/test_magnitude_relu.py",
    "tests/tasks/test_distances.py": "tests/tasks/test_template_distances.py",
    "tests/tasks/test_labels.py": "tests/tasks/test_label_task.py",
    "tests/training/test_calibrating.py": "tests/training/test_temperature.py",
    "tests/viz/test_report.py": "tests/viz/test_report_page.py",
    "tests/viz/test_filters.py": "tests/viz/test_filter_page.py",
}


def dotted(path: str) -> str:
    return "fieldconv." + path.removesuffix(".py").replace("/", ".")


def new_names(moves: dict[str, str]) -> dict[str, str]:
    """Old dotted name → new one, for every module in the table and below its folders."""
    found: dict[str, str] = {}
    for old, new in moves.items():
        if old.endswith(".py"):
            found[dotted(old)] = dotted(new)
        else:
            for path in sorted((SRC / old).rglob("*.py")):
                inside = path.relative_to(SRC / old).as_posix()
                if f"{old}/{inside}" not in moves:
                    name = inside.removesuffix(".py").removesuffix("__init__").rstrip("/")
                    found.setdefault(dotted(f"{old}/{name}".rstrip("/")), dotted(f"{new}/{name}".rstrip("/")))
    return found


def absolute(path: Path, text: str) -> str:
    """Relative imports of a file of the package as absolute ones."""
    package = ("fieldconv", *path.relative_to(SRC).parent.parts)

    def change(match: re.Match[str]) -> str:
        dots, module = len(match[2]), match[3]
        base = ".".join(package[: len(package) - dots + 1])
        return f"{match[1]}from {base}{'.' + module if module else ''} import"

    return re.sub(r"^([ \t]*)from (\.+)([\w.]*) import", change, text, flags=re.MULTILINE)


def from_package(text: str, names: dict[str, str]) -> str:
    """``from fieldconv.a import module, Name`` where the module moves: a line of its own for it."""
    lines = text.splitlines(keepends=True)
    for node in sorted(ast.walk(ast.parse(text)), key=lambda n: -getattr(n, "lineno", 0)):
        if (
            not isinstance(node, ast.ImportFrom)
            or not (node.module or "").startswith("fieldconv")
            or node.level
        ):
            continue
        moved = [a for a in node.names if f"{node.module}.{a.name}" in names]
        if not moved:
            continue
        indent = " " * node.col_offset
        stay = [a for a in node.names if a not in moved]
        written = []
        if stay:
            text_of = ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in stay)
            written.append(f"{indent}from {node.module} import {text_of}\n")
        for a in moved:
            home, _, name = names[f"{node.module}.{a.name}"].rpartition(".")
            bound = a.asname or a.name
            written.append(f"{indent}from {home} import {name}{'' if bound == name else f' as {bound}'}\n")
        lines[node.lineno - 1 : node.end_lineno] = written
    return "".join(lines)


def rewrite(names: dict[str, str], paths: dict[str, str]) -> None:
    word = re.compile(
        r"(?<![\w.])(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")(?!\w)"
    )
    place = re.compile(
        r"(?<![\w.])((?:src/fieldconv/)?)("
        + "|".join(map(re.escape, sorted(paths, key=len, reverse=True)))
        + r")(?![\w])"
    )
    for path in files():
        text = before = path.read_text(encoding="utf-8")
        if path.suffix == ".py" and path.is_relative_to(SRC):
            text = absolute(path, text)
        text = word.sub(lambda m: names[m[1]], text)
        if path.suffix == ".py":
            text = from_package(text, names)
        text = place.sub(lambda m: m[1] + paths[m[2]], text)
        if text != before:
            path.write_text(text, encoding="utf-8")


def files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout
    return [
        ROOT / name
        for name in listed.splitlines()
        if name.endswith((*TEXT, "Makefile", ".ci/run"))
        and not name.startswith(HISTORY)
        and (ROOT / name).is_file()
    ]


def move(old: Path, new: Path) -> None:
    if old.is_dir() and new.exists():
        for inside in sorted(old.iterdir()):
            if inside.name != "__pycache__":
                move(inside, new / inside.name)
        return
    new.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", str(old), str(new)], cwd=ROOT, check=True)


def main() -> None:
    names = {**RECIPE_NAMES, **new_names(MOVES)}
    paths = {**MOVES, **{o.removeprefix("src/fieldconv/"): n for o, n in RECIPE.items()}, **TESTS}
    paths = {o: n for o, n in paths.items() if o.endswith((".py", ".md")) or "/" in o}
    rewrite(names, paths)
    for old, new in MOVES.items():
        move(SRC / old, SRC / new)
    for old, new in {**RECIPE, **TESTS}.items():
        move(ROOT / old, ROOT / new)


if __name__ == "__main__":
    main()
