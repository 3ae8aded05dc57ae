"""Draw creatures.png: one row per species, coloured by part. Run as ``python docs/figures/creatures.py``."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from fieldconv.datasets.creatures import PARTS, SPECIES, make_creature, template
from fieldconv.viz import Camera, Labels, Panel, render

SIZE, MARGIN, POSES, BLOCKS = 156, 96, 5, 2
ELEVATIONS = {"hand": 75, "starfish": 55, "snake": 50, "crab": 45, "spider": 35, "lizard": 45, "turtle": 40}


def camera(elevation: float, azimuth: float = 55.0) -> Camera:
    """Return a camera that looks at the creature's front from its left."""
    e, a = np.radians([elevation, azimuth])
    backward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return Camera(np.stack([right, np.cross(backward, right), backward]))


def main() -> None:
    rows = -(-len(SPECIES) // BLOCKS)
    width = MARGIN + POSES * SIZE
    sheet = Image.new("RGB", (BLOCKS * width, rows * SIZE), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(15)
    for k, species in enumerate(SPECIES):
        left, top = k // rows * width, k % rows * SIZE
        draw.text((left + MARGIN - 6, top + SIZE // 2), species, "black", font, "rm")
        view = camera(ELEVATIONS.get(species, 18))
        for j in range(POSES):
            creature = make_creature(species, j, vertices=2500) if j else template(species, vertices=2500)
            panel = Panel(
                mesh=creature.mesh, colourings=[Labels(name="part", values=creature.labels, names=PARTS)]
            )
            picture = Image.fromarray(render(panel, SIZE, SIZE, camera=view))
            sheet.paste(picture, (left + MARGIN + j * SIZE, top), picture)
    sheet.quantize(160).save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
