from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fieldconv.geometry import Mesh
from fieldconv.viz.filter_page import filter_sheet, response_panels, write_filters
from viz.browser import Browser
from viz.test_viewer import LOADS, NASTY

RNG = np.random.default_rng(0)


def pictures(outputs: int, inputs: int, size: int = 9) -> np.ndarray:
    """Complex pictures on the disc, NaN outside."""
    y, x = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]
    turn = np.arange(1, 1 + outputs * inputs).reshape(outputs, inputs, 1, 1)
    return np.where(np.hypot(x, y) <= 1, (x + 1j * y) * np.exp(1j * turn) * turn, np.nan)


def field(count: int, channels: int) -> np.ndarray:
    values = RNG.normal(size=(count, channels)) + 1j * RNG.normal(size=(count, channels))
    return values * np.arange(1, channels + 1)


def test_the_strongest_channels_come_first(ball: Mesh) -> None:
    [panel] = response_panels(ball, [("block 1", field(162, 9))], channels=3)
    assert panel.title == "Block 1"
    assert panel.note == "channels 8, 7, 6, strongest first"
    assert [colouring.arrows is not None for colouring in panel.colourings] == [True] * 3
    strengths = [colouring.values.mean() for colouring in panel.colourings]
    assert strengths == sorted(strengths, reverse=True)


def test_only_the_strongest_filters_are_shown(tmp_path: Path) -> None:
    page = write_filters(tmp_path / "f.html", title="t", filters=[("conv", pictures(5, 7))], most=4)
    assert "7 inputs → and 5 outputs ↓, the strongest 4 and 4 of them" in page.read_text(encoding="utf-8")


def test_filter_sheet_places_pairs_and_clears_the_outside() -> None:
    images = np.zeros((2, 3, 5, 5), dtype=complex)
    images[..., 0, 0] = np.nan
    images[1, 2] = 1.0
    sheet = filter_sheet(images, 1.0)
    assert sheet.shape == (14, 21, 4)
    assert sheet[0, 0, 3] == 0  # between the discs
    assert sheet[1, 1, 3] == 0  # NaN
    assert sheet[3, 3, 3] == 255
    strong, weak = sheet[10, 17, :3].astype(int), sheet[3, 3, :3].astype(int)
    assert np.ptp(weak) == 0  # nothing: grey
    assert np.ptp(strong) > 50  # full strength: a colour


def test_responses_need_their_mesh(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give the mesh"):
        write_filters(tmp_path / "f.html", title="t", filters=[], responses=[("a", field(3, 2))])
    assert list(tmp_path.iterdir()) == []


def test_filter_page(ball: Mesh, browser: Browser, tmp_path: Path) -> None:
    path = write_filters(
        tmp_path / "filters.html",
        title=NASTY,
        filters=[(NASTY, pictures(2, 3)), ("second", pictures(20, 20))],
        responses=[("block 1", field(162, 4)), ("block 2", field(162, 2))],
        mesh=ball,
    )
    inside = [
        hit
        for hit in LOADS.findall(path.read_text(encoding="utf-8"))
        if hit.strip().lower() not in ("src=", "src =")
    ]
    assert inside == []
    browser.open(path, ready="window.fieldconv && fieldconv.ready")
    assert browser.errors == []
    assert browser.requests == [path.as_uri()]
    broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth).length"
    assert browser.run(broken) == 0
    assert browser.run("document.querySelectorAll('img.filters').length") == 2
    assert browser.run("document.title") == NASTY
