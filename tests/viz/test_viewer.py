"""Pages as text: self-contained, escaped, small."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fieldconv.geometry import Mesh
from fieldconv.viz import Panel, page, write_page
from fieldconv.viz import panels as pan

NASTY = "</script><img src=x onerror=alert(1)>\"'&\u2028`${1}"
LOADS = re.compile(
    r"https?://|//\w+\.\w+/|\bsrc\s*=|\bhref\s*=|@import|\burl\(|\bfetch\(|XMLHttpRequest|importScripts|<link|<iframe|\bimport\(",
    re.IGNORECASE,
)


class Tags(HTMLParser):
    """Names of a page's elements, and the text of its data blocks."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.data: list[str] = []
        self._inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self._inside = ("type", "application/json") in attrs

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data.append(data)


def page_data(html: str) -> dict[str, Any]:
    """Return the JSON of the first group of views of a page."""
    data: dict[str, Any] = json.loads(Tags(html).data[0])
    return data


def all_kinds(mesh: Mesh, name: str = "x") -> Panel:
    """Return a panel with every kind of colouring."""
    count = len(mesh.vertices)
    colourings = [
        pan.labels(name, np.arange(count) % 3, [name, "b", "c"]),
        pan.scalar("Height", mesh.vertices[:, 1]),
        pan.field("Field", mesh.vertices, arrows=pan.field_arrows(mesh, mesh.vertices)),
        pan.error("Error", np.abs(mesh.vertices[:, 0])),
        pan.match_colours("Correspondence", mesh, np.arange(count)),
        pan.disc_panels(mesh, 0, 0.5)[0].colourings[0],
    ]
    return Panel(mesh=mesh, title=name, note=name, colourings=colourings)


def test_page_loads_nothing_from_elsewhere(ball: Mesh, tmp_path: Path) -> None:
    html = write_page([all_kinds(ball), all_kinds(ball)], tmp_path / "page.html").read_text(encoding="utf-8")
    html = re.sub(r'"data":"[A-Za-z0-9+/=]*"', "", html)
    assert LOADS.findall(html) == []
    assert "default-src 'none'" in html


def test_names_from_files_are_escaped(ball: Mesh, tmp_path: Path) -> None:
    safe = Tags(
        write_page([all_kinds(ball)], tmp_path / "a.html", title="t", caption="c").read_text(encoding="utf-8")
    )
    nasty = Tags(
        write_page([all_kinds(ball, NASTY)], tmp_path / "b.html", title=NASTY, caption=NASTY).read_text(
            encoding="utf-8"
        )
    )
    assert nasty.names == safe.names
    [panel] = json.loads(nasty.data[0])["panels"]
    assert panel["title"] == NASTY
    assert panel["colourings"][0]["names"][0] == NASTY


def unpack(spec: dict) -> np.ndarray:
    """Undo `pack`, step by step as in viewer.js."""
    kind = np.dtype(f"<{spec['kind']}")
    grouped = np.frombuffer(zlib.decompress(base64.b64decode(spec["data"])), np.uint8)
    count = len(grouped) // kind.itemsize
    values = np.ascontiguousarray(grouped.reshape(kind.itemsize, count).T).view(kind).ravel().copy()
    columns = spec["shape"][1] if len(spec["shape"]) > 1 else 1
    if spec["delta"]:
        for i in range(columns, count):
            values[i : i + 1] += values[i - columns : i - columns + 1]
    return values.reshape(spec["shape"])


@given(
    arrays(
        np.int64, array_shapes(min_dims=1, max_dims=2, max_side=7), elements=st.integers(-(2**31), 2**31 - 1)
    )
)
def test_packed_whole_numbers_come_back(values: np.ndarray) -> None:
    np.testing.assert_array_equal(unpack(page.pack(values, "i4")), values)
    np.testing.assert_array_equal(unpack(page.pack(values % 2**16, "u2")), values % 2**16)


@given(arrays(np.float32, array_shapes(min_dims=1, max_dims=2, max_side=7)))
def test_packed_numbers_come_back(values: np.ndarray) -> None:
    np.testing.assert_array_equal(unpack(page.pack(values, "f4")), values)


def test_positions_are_exact_to_a_step_of_the_box(ball: Mesh, tmp_path: Path) -> None:
    html = write_page([Panel(mesh=ball)], tmp_path / "p.html").read_text(encoding="utf-8")
    [mesh] = page_data(html)["meshes"]
    stored = mesh["low"] + unpack(mesh["points"]) / 65535 * np.array(mesh["size"])
    np.testing.assert_allclose(stored, ball.vertices, atol=2 / 65535)
    np.testing.assert_array_equal(unpack(mesh["faces"]), ball.faces)


def test_panels_share_their_mesh(ball: Mesh, tmp_path: Path) -> None:
    html = write_page([Panel(mesh=ball), Panel(mesh=ball)], tmp_path / "p.html").read_text(encoding="utf-8")
    assert len(page_data(html)["meshes"]) == 1


def test_no_panels() -> None:
    with pytest.raises(ValueError, match="nothing to show"):
        write_page([], "never.html")
