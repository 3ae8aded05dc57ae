"""Draw bodies.png: a hundred random bodies, coloured by part. Run as ``python docs/figures/bodies.py``."""

from pathlib import Path

import numpy as np
from creatures import camera
from PIL import Image

from fieldconv.geometry import Mesh
from fieldconv.viz import Labels, Panel, render
from recipes.bodies import PARTS, make_body, template
from recipes.bodies.sample import BodySample, BodyTemplate

SIZE, COLUMNS, BODIES = 130, 10, 100


def upright(body: BodySample, template: BodyTemplate) -> Mesh:
    """Return the body, rotated onto the template."""
    here = body.mesh.vertices - body.mesh.vertices.mean(axis=0)
    there = template.positions(body)
    left, _, right = np.linalg.svd(here.T @ (there - there.mean(axis=0)))
    turn = left @ np.diag([1, 1, np.sign(np.linalg.det(left @ right))]) @ right
    return Mesh(here @ turn, body.mesh.faces)


def main() -> None:
    rows = -(-BODIES // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * SIZE, rows * SIZE), "white")
    for seed in range(BODIES):
        body = make_body(seed)
        panel = Panel(
            mesh=upright(body, template()), colourings=[Labels(name="part", values=body.labels, names=PARTS)]
        )
        picture = Image.fromarray(render(panel, SIZE, SIZE, camera=camera(8, -65)))
        sheet.paste(picture, (seed % COLUMNS * SIZE, seed // COLUMNS * SIZE), picture)
    sheet.quantize(128).save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
