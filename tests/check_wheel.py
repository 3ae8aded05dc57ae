"""Build the wheel, install it into an empty environment, run it there. Called by `make wheel`."""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*words: object, **options: object) -> str:
    command = [str(word) for word in words]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", **options).stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT)
        (wheel,) = Path(folder).glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        assert "fieldconv/py.typed" in names, "the wheel is not typed"
        assert not [name for name in names if name.startswith(("tests/", "docs/"))], "too much in the wheel"

        empty = Path(folder) / "empty"
        venv.create(empty, with_pip=True)
        programs = empty / ("Scripts" if os.name == "nt" else "bin")
        python = programs / "python"
        run(python, "-m", "pip", "install", "-q", "--upgrade", "pip")
        run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", "torch")
        run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel)
        away = {
            "cwd": folder,
            "env": {**os.environ, "PYTHONUTF8": "1", "FIELDCONV_CACHE": str(Path(folder) / "cache")},
        }
        assert "usage" in run(programs / "fieldconv", "--help", **away)
        code = (
            "import fieldconv as fc\n"
            "mesh = fc.Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],"
            " [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])\n"
            "mesh.save('shape.ply')\n"
            "net = fc.FCNet.for_task('segmentation', classes=3, preset='tiny')\n"
            "print(tuple(net(fc.Surface.from_mesh(mesh, radius=1.0)).shape))\n"
        )
        assert run(python, "-c", code, **away).split("\n")[0] == "(4, 3)"
        assert "Nothing is wrong" in run(programs / "fieldconv", "info", "shape.ply", **away)
    print("the wheel installs and runs on its own")


if __name__ == "__main__":
    main()
