"""What the documentation shows runs, and what it links to is there."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import fieldconv

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
# These name files, accounts or optional packages that only their reader has.
NOT_RUN = {"README.md", "docs/bodies.md", "docs/data.md", "docs/networks.md", "docs/training.md"}


def snippets(page: str) -> list[str]:
    """The blocks of Python on a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)


RUN = [page for page in PAGES if snippets(page) and page not in NOT_RUN]


def run(code: str, folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("page", RUN)
def test_snippets_run(page: str, tmp_path: Path) -> None:
    shown = run("\n\n".join(snippets(page)), tmp_path)
    if page == "docs/extending.md":
        assert "mean_error" in shown


def test_a_simple_task_is_few_lines() -> None:
    tasks = [code for code in snippets("docs/extending.md") if "(Task)" in code or "(PairTask)" in code]
    assert len(tasks) == 2
    assert all(len(code.splitlines()) <= 34 for code in tasks)


@pytest.mark.parametrize("page", sorted(NOT_RUN))
def test_snippets_that_need_files_name_what_there_is(page: str) -> None:
    """They cannot run here; but they parse, and every name of the package in them exists."""
    for code in snippets(page):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fieldconv"):
                home = __import__(str(node.module), fromlist=[alias.name for alias in node.names])
                assert all(hasattr(home, alias.name) for alias in node.names)
            elif (
                isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "fc"
            ):
                assert hasattr(fieldconv, node.attr), node.attr


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_run_from_start_to_end(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a notebook would: what ends a cell shows itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    book = json.loads(path.read_text(encoding="utf-8"))
    names = vars(types.ModuleType("__main__"))
    for number, cell in enumerate(book["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], f"cell {number} is kept with its outputs; clear them"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)  # noqa: S307
            if hasattr(shown, "_repr_html_"):
                assert shown._repr_html_()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    for address in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", address):
            continue
        path, _, place = address.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page} links to {address}"
        if place and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
            slugs = {
                re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
            }
            assert place in slugs, f"{page} links to {address}"


def test_every_page_is_in_the_navigation() -> None:
    import yaml

    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        children = entry.values() if isinstance(entry, dict) else entry
        return [page for child in children for page in pages(child)]  # type: ignore[union-attr]

    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = pages([list(part.values()) for part in settings["nav"]])
    docs = ROOT / "docs"
    there = [
        path.relative_to(docs).as_posix() for kind in ("md", "ipynb") for path in docs.rglob(f"*.{kind}")
    ]
    assert sorted(listed) == sorted(there)


def test_one_version_everywhere() -> None:
    project = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    cited = re.search(r"^version: (.*)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert project is not None
    assert cited is not None
    assert project[1] == cited[1] == fieldconv.__version__
    assert f"## {fieldconv.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_blender_script_labels_a_mesh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for Blender and the program: what it writes can be read, what it reads is painted."""
    import numpy as np

    from fieldconv.geometry import Mesh

    square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])

    class Group:
        def __init__(self, name: str) -> None:
            self.name, self.vertices = name, []

        def add(self, vertices: list[int], weight: float, how: str) -> None:
            self.vertices += vertices

    class Groups(dict):  # type: ignore[type-arg]
        def new(self, name: str) -> Group:
            return self.setdefault(name, Group(name))

    class Attributes(dict):  # type: ignore[type-arg]
        active_color = None

        def new(self, name: str, kind: str, domain: str) -> None:
            self[name] = types.SimpleNamespace(data=[types.SimpleNamespace() for _ in range(4)])

    mesh = types.SimpleNamespace(
        vertices=[types.SimpleNamespace(co=place) for place in square.vertices],
        polygons=[types.SimpleNamespace(vertices=[0, 1, 2, 3])],
        attributes=Attributes(),
    )
    shape = types.SimpleNamespace(
        type="MESH", mode="OBJECT", data=mesh, vertex_groups=Groups(), name="square"
    )
    blender = types.ModuleType("bpy")
    blender.context = types.SimpleNamespace(active_object=shape)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bpy", blender)
    names = vars(types.ModuleType("script"))
    exec((ROOT / "docs" / "howto" / "fieldconv_blender.py").read_text(encoding="utf-8"), names)

    def predict(command: list[str], **_: object) -> types.SimpleNamespace:
        read, out = Mesh.load(command[3]), Path(command[5])
        assert np.array_equal(read.vertices, square.vertices)
        assert len(read.faces) == 2
        out.mkdir()
        rows = "vertex,label,name,probability\n0,1,leg,0.5\n1,0,head,1\n2,1,leg,0.25\n3,-1,,0\n"
        (out / "shape.csv").write_text(rows, encoding="utf-8")
        return types.SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(names["subprocess"], "run", predict)
    names["main"]()
    assert {name: group.vertices for name, group in shape.vertex_groups.items()} == {
        "head": [1],
        "leg": [0, 2],
    }
    sure = [point.value for point in mesh.attributes["fieldconv confidence"].data]
    assert sure == [0.5, 1.0, 0.25, 0.0]
    colours = [point.color for point in mesh.attributes["fieldconv"].data]
    assert colours[0] == colours[2] != colours[1]


def test_guarantees_name_tests_that_there_are() -> None:
    page = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
