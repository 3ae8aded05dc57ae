"""Tables in the docs that benchmarks write."""

from __future__ import annotations

from pathlib import Path

from fieldconv._io import atomic_path

DOCS = Path(__file__).parents[1] / "docs"


def fill_table(page: Path, name: str, text: str) -> None:
    """Write the text between the marks ``<!-- table: name -->`` and ``<!-- end of table -->`` of the page."""
    begin, end = f"<!-- table: {name} -->\n", "<!-- end of table -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    after = rest.split(end, 1)[1]
    with atomic_path(page) as temporary:
        temporary.write_text(f"{before}{begin}{text.rstrip()}\n\n{end}{after}", encoding="utf-8")
