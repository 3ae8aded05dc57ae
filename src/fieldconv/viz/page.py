"""Self-contained HTML pages: text is escaped, numbers are packed, nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Collection, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv._arrays import Array
from fieldconv._io import atomic_path

Json = dict[str, Any]

# With it, the browser refuses to load anything from outside the page.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; form-action 'none'; base-uri 'none'"
)


def page(title: str, body: str, *, viewer: bool = True, fill: bool = False) -> str:
    """Return the HTML of a whole page, of a plain title and a body of HTML, perhaps with views of shapes.

    Texts from files are escaped in the body. ``fill`` lets the views fill the window.
    """
    scripts = [_asset("page.js"), _asset("tips.js"), *([_asset("viewer.js")] if viewer else [])]
    end = "\n".join(f"<script>{script}</script>" for script in scripts)
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_asset("page.css")}</style>
</head><body><main{" class=fc-solo" if fill else ""}>
{body}
</main>
{end}
</body></html>
"""


def caption(text: str) -> str:
    """Return the HTML of a text below a title or a plot; empty if the text is."""
    return f'<p class="caption">{escape(text)}</p>' if text else ""


def heading(title: str, text: str = "") -> str:
    """Return the HTML of the title of a page, and a text below it."""
    return f"<h1>{escape(title)}</h1>{caption(text)}"


def section(title: str, inside: str, text: str = "") -> str:
    """Return the HTML of a titled part of a page; ``inside`` is HTML, the others are plain text."""
    return f'<section class="part"><h2>{escape(title)}</h2>{caption(text)}{inside}</section>'


def note(text: str) -> str:
    """Return the HTML of a highlighted sentence."""
    return f'<p class="note">{escape(text)}</p>'


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, marked: Collection[tuple[int, int]] = ()
) -> str:
    """Return the HTML of a table of plain texts; marked cells (row, column) are bold."""
    top = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = ""
    for i, row in enumerate(rows):
        marks = (" class=strong" if (i, j) in marked else "" for j in range(len(row)))
        cells = (f"<td{mark}>{escape(str(cell))}</td>" for mark, cell in zip(marks, row, strict=True))
        body += f"<tr>{''.join(cells)}</tr>"
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def data_block(identifier: str, data: Json) -> str:
    """Return HTML with JSON for a script; no text in it can end the block."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{escape(identifier)}">{text}</script>'


def pack(values: Array, kind: str) -> Json:
    """Return a (n,) or (n, k) array as JSON, small: ``unpack`` in viewer.js is its inverse.

    Whole numbers become differences down the columns (neighbours are alike); the bytes are then grouped
    by significance, which deflate squeezes far better. The page reads numbers of the given kind.
    """
    array = np.array(values, dtype=f"<{kind}", order="C")
    delta = kind != "f4"
    if delta:
        array[1:] -= array[:-1].copy()  # wraps around, as does the sum that undoes it
    grouped = np.frombuffer(array.tobytes(), np.uint8).reshape(-1, array.itemsize).T.tobytes()
    squeezed = base64.b64encode(zlib.compress(grouped, 6)).decode()
    return {"kind": kind, "shape": list(array.shape), "delta": delta, "data": squeezed}


def write(path: str | Path, html: str) -> Path:
    """Write a page, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(html, encoding="utf-8")
    return Path(path)


@cache
def _asset(name: str) -> str:
    return (files("fieldconv.viz") / "assets" / name).read_text(encoding="utf-8")
