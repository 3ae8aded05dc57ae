"""Draw bodies_scope.png: predictions of the network for bodies on other shapes.

Run as ``python docs/figures/bodies_scope.py``. Parts above, confidence in the place on the template below. It
prints the mean confidence of each shape and the note of `predict`.
"""

from pathlib import Path

import numpy as np
from creatures import camera
from PIL import Image, ImageDraw

import fieldconv as fc
from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry import subdivide
from fieldconv.geometry.damage import damage
from fieldconv.training.apply import task_of
from fieldconv.viz import Labels, Panel, render, scalar

SIZE = 170


def ball() -> fc.Mesh:
    """Return a sphere of about 1,500 vertices."""
    corners = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
    faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
    mesh = subdivide(fc.Mesh(corners, faces), 1500).mesh
    return fc.Mesh(mesh.vertices / np.linalg.norm(mesh.vertices, axis=1, keepdims=True), mesh.faces)


def shapes(person: fc.Mesh) -> dict[str, fc.Mesh]:
    """Return the template itself, and shapes that are out of scope."""
    rng, up = np.random.default_rng(0), person.vertices[:, 2]
    second = person.vertices + np.array([0.9 * np.ptp(person.vertices[:, 0]), 0, 0])
    count = len(person.vertices)
    return {
        "a person": person,
        "two people": fc.Mesh(
            np.vstack([person.vertices, second]), np.vstack([person.faces, person.faces + count])
        ),
        "upper half": damage.cut(person, rng, float((up < np.median(up)).mean()), direction=[0, 0, -1]).mesh,
        "quadruped": make_creature("quadruped", 3, vertices=3000).mesh,
        "bird": make_creature("bird", 3, vertices=3000).mesh,
        "octopus": make_creature("octopus", 3, vertices=3000).mesh,
        "ball": ball(),
    }


def main() -> None:
    network = fc.load("bodies")
    template = network.template
    assert template is not None
    every = shapes(fc.Mesh(template.vertices, template.faces))
    sheet = Image.new("RGB", (len(every) * SIZE, 2 * SIZE + 22), "white")
    write = ImageDraw.Draw(sheet)
    for column, (name, mesh) in enumerate(every.items()):
        prediction = fc.predict(network, mesh, descriptors=False)
        task = task_of(network)
        confidence = task.shown_confidence(prediction).values
        print(f"{name:12} mean confidence {confidence.mean():.2f}  {task.note(prediction) or 'no note'}")
        parts = Labels(name="prediction", values=prediction.labels, names=prediction.class_names[:8])
        for row, colouring in enumerate((parts, scalar("confidence", confidence, limits=(0.0, 1.0)))):
            panel = Panel(mesh=mesh, colourings=[colouring])
            picture = Image.fromarray(render(panel, SIZE, SIZE, camera=camera(8, -65)))
            sheet.paste(picture, (column * SIZE, row * SIZE), picture)
        write.text(
            (column * SIZE + 30, 2 * SIZE + 4), f"{name}, {100 * confidence.mean():.0f} %", fill="black"
        )
    sheet.quantize(200).save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
