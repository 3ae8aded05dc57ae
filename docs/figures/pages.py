"""Draw viewer.png and report.png: the pages of `fieldconv demo`, as Chromium shows them.

fieldconv demo
python docs/figures/pages.py fieldconv-demo
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import fieldconv as fc
from fieldconv.viz import view

HERE = Path(__file__).parent
SPECIES = ("biped", "quadruped", "bird")
SETTLED = "document.readyState === 'complete' && fieldconv.ready"


def main(demo: Path) -> None:
    sys.path.insert(0, str(HERE.parents[1] / "tests" / "viz"))
    from browser import Browser

    model = fc.load(demo)
    with tempfile.TemporaryDirectory() as folder, Browser(timeout=120) as browser:
        for species in SPECIES:
            [mesh] = sorted((demo / "shapes").glob(f"{species}-*-truth.ply"))[:1]
            fc.predict(model, mesh, out=folder, name=species)
        files = [Path(folder) / f"{species}.ply" for species in SPECIES]
        page = view(files, out=Path(folder) / "viewer.html", open=False)
        browser.size(1200, 600)
        browser.open(page, ready=SETTLED)
        draw(browser, "viewer.png")
        browser.size(1200, 900)
        browser.open(demo / "report.html", ready=SETTLED)
        end = "document.querySelectorAll('section.part')[3].getBoundingClientRect().top + scrollY"
        browser.size(1200, round(browser.run(end)))  # results, training and parts
        draw(browser, "report.png")


def draw(browser: Any, name: str) -> None:
    """Write a picture of the window."""
    browser.settle()
    Image.open(io.BytesIO(browser.screenshot())).convert("RGB").save(HERE / name, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
