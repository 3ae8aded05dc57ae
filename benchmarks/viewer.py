"""Measure how smoothly the viewer turns a mesh of 200,000 vertices in a browser without a graphics card.

    python benchmarks/viewer.py

Needs Chromium. Prints, for two sizes of the window and for numbers and classes at the vertices, the frames
a second of the turns, the processor time of a frame in all processes of the browser, and the load
of the machine before and after.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "viz"))
from browser import Browser

from fieldconv.geometry import Mesh
from fieldconv.viz import Panel, panels, write_page

FRAMES, TURNS = 40, 6
WINDOWS = ((1280, 900), (1920, 1080))
TURN = (
    "(async () => { const view = fieldconv.viewers[0].views[0]; const start = performance.now();"
    f"for (let k = 0; k < {FRAMES}; k++) {{ view.turnBy(6, 2); await new Promise(requestAnimationFrame); }}"
    "return performance.now() - start; })()"
)


def torus(around: int = 500, across: int = 400) -> Mesh:
    """Return a dented torus."""
    u, v = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    s, t = 2 * np.pi * u / around, 2 * np.pi * v / across
    wide = 1 + (0.4 + 0.05 * np.cos(7 * s + 5 * t)) * np.cos(t)
    vertices = np.stack([wide * np.cos(s), wide * np.sin(s), 0.4 * np.sin(t)], -1).reshape(-1, 3)
    a = np.arange(around * across).reshape(around, across)
    b, c, d = np.roll(a, -1, 0), np.roll(a, (-1, -1), (0, 1)), np.roll(a, -1, 1)
    return Mesh(
        vertices, np.concatenate([np.stack(abc, -1).reshape(-1, 3) for abc in ((a, b, c), (a, c, d))])
    )


def processor_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process and all below it."""
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return sum(time.user + time.system for time in times)


def main() -> None:
    mesh = torus()
    elevation = mesh.vertices[:, 2]
    classes = np.digitize(elevation, [-0.2, 0.0, 0.2])
    colourings = {"numbers": panels.scalar("Height", elevation), "classes": panels.labels("Part", classes)}
    with tempfile.TemporaryDirectory() as folder, Browser(timeout=300) as browser:
        program = psutil.Process(browser._process.pid)
        for (width, height), (what, colouring) in itertools.product(WINDOWS, colourings.items()):
            browser.size(width, height)
            page = write_page([Panel(mesh=mesh, colourings=[colouring])], Path(folder) / f"{what}.html")
            browser.open(page, ready="window.fieldconv && fieldconv.ready")
            browser.run(TURN)  # the first turn compiles shaders and makes the coarse mesh
            load, busy, rates = os.getloadavg()[0], processor_seconds(program), []
            for _ in range(TURNS):
                rates.append(1000 * FRAMES / browser.run(TURN))
            spent = 1000 * (processor_seconds(program) - busy) / (FRAMES * TURNS)
            print(
                f"{width} x {height}, {what}: {np.median(rates):.0f} frames a second "
                f"({min(rates):.0f} to {max(rates):.0f}, "
                f"{TURNS} turns of {FRAMES}), {spent:.0f} ms of processor time a frame; "
                f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores"
            )


if __name__ == "__main__":
    main()
