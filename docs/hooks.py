"""What the site does to a page besides Markdown: formulas become MathML, links to other files plain text.

``<!-- include FILE -->`` and ``<!-- include FILE PART -->`` stand for a file, or for what is between its
marks ``<!-- begin PART -->`` and ``<!-- end PART -->``.

Formulas stand in fences of kind ``math``, in LaTeX. Browsers draw MathML themselves, so nothing is loaded.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
os.environ.setdefault("PYTHONWARNINGS", "ignore:IProgress not found")  # in notebooks; says nothing to readers
_FENCE = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
_INLINE = re.compile(r"(?<![\\$\w])\$([^$\n]+)\$(?![\w$])")
_INCLUDE = re.compile(r"^<!-- include (\S+)(?: (\w+))? -->$", re.M)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.M | re.S)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's Markdown as the site's extensions understand it."""
    if page.file.src_uri.endswith(".ipynb"):
        return markdown
    here = (DOCS / page.file.src_uri).parent
    markdown = _INCLUDE.sub(lambda found: included(found[1], found[2]), markdown)
    markdown = _LINK.sub(lambda link: _outside(link, here), markdown)
    markdown = _FENCE.sub(lambda found: f"\n\n{mathml(found[1], 'block')}\n\n", markdown)
    parts = _CODE.split(markdown)  # every second one is code, and stays
    parts[::2] = [_INLINE.sub(lambda found: mathml(found[1], "inline"), part) for part in parts[::2]]
    return "".join(parts)


def included(name: str, part: str | None) -> str:
    """Return a file of the repository, or the part of it between two marks, as the site shows it."""
    text = (DOCS.parent / name).read_text(encoding="utf-8")
    if part is not None:
        text = text.split(f"<!-- begin {part} -->\n")[1].split(f"<!-- end {part} -->")[0]
    if name.endswith(".py"):
        return f"```python\n{text}```"
    # Links are meant from the root of the repository; what is not in docs/ is no page.
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?:benchmarks|examples|tests|src)\b[^)]*\)", r"\1", text)


def mathml(latex: str, display: str) -> str:
    """Return a formula as MathML."""
    from latex2mathml.converter import convert

    formula = str(convert(" ".join(latex.split()), display=display))
    # A line that began with <math> would be taken for a block of HTML, and end its paragraph.
    return f"<span>{formula}</span>" if display == "inline" else formula


def _outside(link: re.Match[str], here: Path) -> str:
    """Return the text alone of a link to a file that is not part of the site."""
    target = (here / link[2].split("#")[0]).resolve()
    if target.is_relative_to(DOCS):
        return link[0]
    if not target.exists():
        raise FileNotFoundError(f"a page links to {link[2]}, which is not there")
    return link[1]
