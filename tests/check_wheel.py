"""Build the wheel and the sdist, install each where nothing else is, run it there. Called by `make wheel`."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CODE = """
import fieldconv as fc
corners = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
mesh = fc.Mesh(corners, [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
mesh.save("shape.ply")
net = fc.FCNet.for_task("segmentation", classes=3, preset="tiny")
print(fc.__version__, *net(fc.Surface.from_mesh(mesh, radius=1.0)).shape)
mesh.show().save("shape.html")
"""


def run(*words: object, **options: Any) -> str:
    command = [str(word) for word in words]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--outdir", folder, ROOT)  # the wheel is made of the sdist
        (wheel,) = Path(folder).glob("*.whl")
        (sdist,) = Path(folder).glob("*.tar.gz")
        version = wheel.name.split("-")[1]
        check_contents(wheel, sdist)

        empty = Path(folder) / "empty"
        venv.create(empty, with_pip=True)
        python = empty / ("Scripts" if os.name == "nt" else "bin") / "python"
        run(python, "-m", "pip", "install", "-q", "--upgrade", "pip")
        run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", "torch")
        for made in (wheel, sdist):
            # The second time nothing but the package itself is new.
            run(python, "-m", "pip", "uninstall", "-q", "-y", "fieldconv")
            run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", made)
            check_runs(python, Path(folder), version)
            print(f"{made.name} ({made.stat().st_size / 1e6:.1f} MB) installs and runs on its own")


def check_contents(wheel: Path, sdist: Path) -> None:
    """What must be in, and what must not."""
    names = zipfile.ZipFile(wheel).namelist()
    assert "fieldconv/py.typed" in names, "the wheel is not typed"
    assert "fieldconv/viz/assets/viewer.js" in names, "the wheel lacks what pages need"
    assert "fieldconv/presets.yaml" in names, "the wheel lacks the presets"
    assert not [name for name in names if name.startswith(("tests/", "docs/"))], "too much in the wheel"
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    for needed in (
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "pyproject.toml",
        "tests/conftest.py",
    ):
        assert needed in inside, f"the sdist lacks {needed}"
    assert not [name for name in inside if name.startswith(("site/", ".venv", "runs/"))], (
        "too much in the sdist"
    )


def check_runs(python: Path, folder: Path, version: str) -> None:
    """The package runs where nothing else of this checkout is."""
    away: dict[str, Any] = {
        "cwd": folder,
        "env": {**os.environ, "PYTHONUTF8": "1", "FIELDCONV_CACHE": str(folder / "cache")},
    }
    program = python.with_name("fieldconv")
    assert "usage" in run(program, "--help", **away)
    assert run(program, "--version", **away).split() == ["fieldconv", version]
    assert run(python, "-c", CODE, **away).split() == [version, "4", "3"]
    assert "Nothing is wrong" in run(program, "info", "shape.ply", **away)


if __name__ == "__main__":
    main()
