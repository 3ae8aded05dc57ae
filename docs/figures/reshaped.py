"""Draw reshaped.png: creatures with other proportions. Run as ``python docs/figures/reshaped.py``."""

from pathlib import Path

from creatures import camera
from PIL import Image

from fieldconv.datasets.creatures import PARTS, make_creature
from fieldconv.geometry import reshape
from fieldconv.viz import Labels, Panel, render

SIZE, COPIES = 220, 3


def main() -> None:
    sheet = Image.new("RGB", (2 * (1 + COPIES) * SIZE, SIZE), "white")
    for place, species in enumerate(("biped", "quadruped")):
        creature = make_creature(species, 1, vertices=2500)
        meshes = [creature.mesh.normalised(), *(reshape(creature.mesh, seed) for seed in range(COPIES))]
        for number, mesh in enumerate(meshes):
            panel = Panel(mesh=mesh, colourings=[Labels(name="part", values=creature.labels, names=PARTS)])
            picture = Image.fromarray(render(panel, SIZE, SIZE, camera=camera(18)))
            sheet.paste(picture, ((place * (1 + COPIES) + number) * SIZE, 0), picture)
    sheet.quantize(160).save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
