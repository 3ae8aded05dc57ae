"""A mesh, and one browser for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fieldconv.geometry import Mesh
from shapes import icosphere
from viz.browser import Browser, find_chromium

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and "no Chromium" in str(report.longrepr):
        _skipped.append(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report skipped browser tests even if pytest does not."""
    if _skipped:
        terminalreporter.write_line(
            f"{len(_skipped)} browser tests were skipped: there is no Chromium on this machine."
        )


@pytest.fixture
def ball() -> Mesh:
    """Unit sphere with 162 vertices."""
    return Mesh(*icosphere(2), name="ball")


@pytest.fixture(scope="session")
def shared_browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip("no Chromium on this machine; install the package chromium to run the browser tests")
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(shared_browser: Browser) -> Browser:
    shared_browser.size(1400, 900)
    return shared_browser
