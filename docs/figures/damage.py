"""Draw damage.png: each kind of damage, and combinations. Run as ``python docs/figures/damage.py``."""

from pathlib import Path

import numpy as np
from creatures import camera
from PIL import Image, ImageDraw, ImageFont

from fieldconv.datasets.creatures import PARTS, CreatureSample, Difficulty, make_creature
from fieldconv.geometry.damage import Damaged, damage
from fieldconv.viz import Labels, Panel, render

SIZE, COLUMNS, CAPTION = 250, 7, 22


def kinds() -> dict[str, tuple[CreatureSample, Damaged]]:
    biped = make_creature("biped", 12, vertices=3000)
    octopus = make_creature("octopus", 4, vertices=3000, pose=1.5)
    rng = np.random.default_rng(1)
    one = {
        "as it is": damage.no_damage(biped.mesh),
        "holes": damage.add_holes(biped.mesh, rng, 6),
        "holes, filled": (holes := damage.add_holes(biped.mesh, rng, 6)).then(damage.fill_holes(holes.mesh)),
        "cut": damage.cut(biped.mesh, rng, 0.25),
        "missing": damage.remove_tip(biped.mesh, np.random.default_rng(5), (0.1, 0.12), closed=False),
        "noise": damage.add_noise(biped.mesh, rng, 0.004),
        "ripples": damage.add_noise(biped.mesh, rng, 0.006, grain=0.05),
        "noise, smoothed": (rough := damage.add_noise(biped.mesh, rng, 0.004)).then(
            damage.smooth(rough.mesh, 0.02)
        ),
        "remeshed, uneven": damage.retriangulate(biped.mesh, rng, uneven=1.2),
        "remeshed, coarse": damage.retriangulate(biped.mesh, rng, 400),
        "decimated": damage.decimate(biped.mesh, 700),
    }
    examples = {name: (biped, result) for name, result in one.items()}
    examples["nothing fused"] = (octopus, damage.no_damage(octopus.mesh))
    examples["fused"] = (octopus, damage.fuse(octopus.mesh, rng, 0.02))
    examples["fused, gap 0.06"] = (octopus, damage.fuse(octopus.mesh, rng, 0.06))
    examples["joined"] = (biped, damage.join(biped.mesh, np.random.default_rng(2), 0.2))
    for seed in range(COLUMNS - 1):
        creature = make_creature("biped", 20 + seed, vertices=3000, difficulty=Difficulty(pose=1.2))
        examples[f"drawn by seed {seed}"] = (creature, damage.damage_mesh(creature.mesh, seed))
    return examples


def main() -> None:
    examples = kinds()
    rows = -(-len(examples) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * SIZE, rows * (SIZE + CAPTION)), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(15)
    for place, (name, (creature, result)) in enumerate(examples.items()):
        labels = Labels(name="part", values=result.carry(creature.labels), names=PARTS)
        picture = render(Panel(mesh=result.mesh, colourings=[labels]), SIZE, SIZE, camera=camera(18))
        left, top = place % COLUMNS * SIZE, place // COLUMNS * (SIZE + CAPTION)
        image = Image.fromarray(picture)
        sheet.paste(image, (left, top), image)
        draw.text((left + SIZE // 2, top + SIZE + CAPTION // 2), name, "black", font, "mm")
    sheet.quantize(160).save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
