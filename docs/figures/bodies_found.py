"""Draw bodies_found.png: parts that the network for bodies predicts on unseen generated bodies.

Run as ``python docs/figures/bodies_found.py FOLDER`` with the folder of recipes/bodies/make.py. Of the 20
test bodies it shows the four best, the four in the middle and the four worst: truth above, prediction in the
middle, confidence below. Captions are the accuracy.
"""

import sys
from pathlib import Path

import numpy as np
from creatures import camera
from PIL import Image, ImageDraw

import fieldconv as fc
from bodies import upright
from fieldconv.viz import Labels, Panel, render, scalar
from recipes.bodies.parts import PARTS
from recipes.bodies.sample import BodySample, BodyTemplate

SIZE, TEST_SEEDS = 150, range(1280, 1300)


def main(folder: Path) -> None:
    template, network = BodyTemplate.load(folder / "template.npz"), fc.load("bodies")
    rows = []
    for seed in TEST_SEEDS:
        body = BodySample.load(folder / f"body-{seed:06d}.npz")
        prediction = fc.predict(network, body.mesh, descriptors=False)
        rows.append((float((prediction.labels == body.labels).mean()), seed, body, prediction))
    rows.sort(key=lambda row: -row[0])
    middle = len(rows) // 2 - 2
    chosen = [*rows[:4], *rows[middle : middle + 4], *rows[-4:]]
    sheet = Image.new("RGB", (len(chosen) * SIZE, 3 * SIZE + 20), "white")
    write = ImageDraw.Draw(sheet)
    for column, (accuracy, _, body, prediction) in enumerate(chosen):
        mesh = upright(body, template)
        confidence = prediction.scores.max(axis=1)
        colourings = [
            Labels(name="truth", values=body.labels, names=PARTS),
            Labels(name="prediction", values=prediction.labels, names=PARTS),
            scalar("confidence", confidence, limits=(0.0, 1.0)),
        ]
        for row, colouring in enumerate(colourings):
            picture = Image.fromarray(
                render(Panel(mesh=mesh, colourings=[colouring]), SIZE, SIZE, camera=camera(8, -65))
            )
            sheet.paste(picture, (column * SIZE, row * SIZE), picture)
        write.text((column * SIZE + 50, 3 * SIZE + 4), f"{100 * accuracy:.1f} %", fill="black")
    sheet.quantize(200).save(Path(__file__).with_suffix(".png"), optimize=True)
    print(f"mean of {len(rows)}: {np.mean([row[0] for row in rows]):.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
