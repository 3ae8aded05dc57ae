"""How large the package is: lines, code and docstrings of each folder, and what the house keeps few.

    python benchmarks/count_lines.py [FOLDER] [--depth 2]

*Lines* are those of the files. *Code* leaves out blank lines, comments, docstrings and imports. The last line
counts the mentions of `Any` and the imports inside functions.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SKIPPED = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def count(text: str) -> Counter[str]:
    """Return the counts of one file.

    Examples
    --------
    >>> sorted(count('import os\\n\\n# why\\nx: Any = os\\n').items())
    [('Any', 1), ('code', 1), ('docstrings', 0), ('inner imports', 0), ('lines', 4)]
    """
    tree = ast.parse(text)
    docstrings: set[int] = set()
    imports: set[int] = set()
    inner = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner += sum(isinstance(below, ast.Import | ast.ImportFrom) for below in ast.walk(node))
    written: set[int] = set()
    names = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        names += token.type == tokenize.NAME and token.string == "Any"
        if token.type not in SKIPPED:
            written.update(range(token.start[0], token.end[0] + 1))
    return Counter(
        {
            "lines": len(text.splitlines()),
            "code": len(written - docstrings - imports),
            "docstrings": len(docstrings),
            "Any": names,
            "inner imports": inner,
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "src")
    parser.add_argument("--depth", type=int, default=2, help="folders below it that have a row of their own")
    options = parser.parse_args()
    rows: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    for path in sorted(options.folder.rglob("*.py")):
        counts = count(path.read_text(encoding="utf-8")) + Counter(files=1)
        row = "/".join(path.relative_to(options.folder).parts[:-1][: options.depth]) or "."
        rows.setdefault(row, Counter()).update(counts)
        total.update(counts)
    columns = ("files", "lines", "code", "docstrings")
    print(f"{'folder':28}" + "".join(f"{name:>12}" for name in columns))
    for name, row in [*rows.items(), ("all", total)]:
        print(f"{name:28}" + "".join(f"{row[column]:12,}" for column in columns))
    print(f"Any: {total['Any']:,}; imports inside functions: {total['inner imports']:,}")


if __name__ == "__main__":
    main()
