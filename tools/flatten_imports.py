"""Import public names from the namespaces that show them: tests, docs, examples, benchmarks and recipes.

    python tools/flatten_imports.py

``from fieldconv.geometry.mesh.mesh import Mesh`` becomes ``from fieldconv.geometry import Mesh``, so that the
next move of a file breaks nothing. Names that no namespace shows are left. Kept until the redesign is done.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
PLACES = ("tests/", "docs/", "examples/", "benchmarks/", "recipes/", "README.md", "CONTRIBUTING.md")
LEFT = ("tests/plugin/heights/", "tests/fixtures/")


def public() -> dict[tuple[str, str], str]:
    """(module, name) → the namespace that shows it: in its own room if there is one."""
    found: dict[tuple[str, str], str] = {}
    stubs = [
        *SRC.rglob("__init__.pyi"),
        *(SRC / "fieldconv" / r / "__init__.py" for r in ("nn", "ops", "tasks/base")),
    ]
    stubs.append(SRC / "fieldconv" / "datasets" / "creatures" / "__init__.py")
    for path in sorted(stubs, key=lambda p: -len(p.parts)):
        space = ".".join(path.parent.relative_to(SRC).parts)
        if space == "fieldconv":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.ImportFrom)
                and (node.module or "").startswith("fieldconv.")
                and node.module != space
            ):
                for alias in node.names:
                    key = (node.module, alias.name)
                    own = node.module.startswith(space + ".")
                    if (own or key not in found) and not alias.name.startswith("_"):
                        found[key] = space
    chained = {key: found.get((space, key[1]), space) for key, space in found.items()}
    return chained


def flattened(text: str, known: dict[tuple[str, str], str]) -> str:
    lines = text.splitlines(keepends=True)
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom) and not n.level]
    for node in sorted(nodes, key=lambda n: -n.lineno):
        homes: dict[str, list[str]] = {}
        for alias in node.names:
            home = known.get((node.module or "", alias.name), node.module or "")
            homes.setdefault(home, []).append(alias.name + (f" as {alias.asname}" if alias.asname else ""))
        if list(homes) != [node.module]:
            indent = " " * node.col_offset
            lines[node.lineno - 1 : node.end_lineno] = [
                f"{indent}from {home} import {', '.join(names)}\n" for home, names in homes.items()
            ]
    return "".join(lines)


def in_prose(text: str, known: dict[tuple[str, str], str]) -> str:
    def change(match: re.Match[str]) -> str:
        names = [name.strip() for name in match[2].split(",")]
        homes = {known.get((match[1], name.split(" as ")[0]), match[1]) for name in names}
        return f"from {homes.pop()} import {match[2]}" if len(homes) == 1 else match[0]

    return re.sub(r"from (fieldconv[\w.]+) import ([\w]+(?: as \w+)?(?:, \w+(?: as \w+)?)*)", change, text)


def main() -> None:
    known = public()
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if not name.startswith(PLACES) or name.startswith(LEFT) or not path.is_file():
            continue
        if path.suffix in (".py", ".md", ".ipynb"):
            text = path.read_text(encoding="utf-8")
            new = flattened(text, known) if path.suffix == ".py" else in_prose(text, known)
            if new != text:
                path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
