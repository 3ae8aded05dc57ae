"""Meshes to look at, and one browser for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fieldconv.geometry.mesh import Mesh
from shapes import icosphere
from viz.browser import Browser, find_chromium


@pytest.fixture
def ball() -> Mesh:
    """Unit sphere with 162 vertices."""
    return Mesh(*icosphere(2), name="ball")


@pytest.fixture(scope="session")
def shared_browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip("no Chromium on this machine: the browser tests are left out (install chromium)")
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(shared_browser: Browser) -> Browser:
    shared_browser.size(1400, 900)
    return shared_browser
