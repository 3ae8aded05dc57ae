"""What the site does to a page besides Markdown: formulas become MathML, links to other files plain text.

Formulas stand in fences of kind ``math``, in LaTeX. Browsers draw MathML themselves, so nothing is loaded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
_FENCE = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
_INLINE = re.compile(r"(?<![\\$\w])\$([^$\n]+)\$(?![\w$])")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.M | re.S)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's Markdown as the site's extensions understand it."""
    if page.file.src_uri.endswith(".ipynb"):
        return markdown
    here = (DOCS / page.file.src_uri).parent
    markdown = _LINK.sub(lambda link: _outside(link, here), markdown)
    markdown = _FENCE.sub(lambda found: f"\n\n{mathml(found[1], 'block')}\n\n", markdown)
    parts = _CODE.split(markdown)  # every second one is code, and stays
    parts[::2] = [_INLINE.sub(lambda found: mathml(found[1], "inline"), part) for part in parts[::2]]
    return "".join(parts)


def mathml(latex: str, display: str) -> str:
    """Return a formula as MathML."""
    from latex2mathml.converter import convert

    return str(convert(" ".join(latex.split()), display=display))


def _outside(link: re.Match[str], here: Path) -> str:
    """Return the text alone of a link to a file that is not part of the site."""
    target = (here / link[2].split("#")[0]).resolve()
    if target.is_relative_to(DOCS):
        return link[0]
    if not target.exists():
        raise FileNotFoundError(f"a page links to {link[2]}, which is not there")
    return link[1]
