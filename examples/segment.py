"""Learn the parts of animals, test it on unseen ones, and colour a mesh by what the network says."""

from pathlib import Path

import fieldconv as fc
from fieldconv.viz import categorical


def main(out: Path = Path("segment-run"), epochs: int = 10, meshes: int = 40, vertices: int = 500) -> float:
    species = ["biped", "quadruped", "bird"]
    data = fc.datasets.Creatures("segmentation", meshes=meshes, vertices=vertices, species=species)
    test = fc.datasets.Creatures("segmentation", split="test", meshes=3, vertices=vertices, species=species)

    model = fc.FCNet.for_task("segmentation", classes=data.num_classes, preset="quick", blocks=2, width=24)
    fc.train(model, data, preset="quick", epochs=epochs, out=out)
    accuracy = fc.evaluate(model, test).metrics["accuracy"]
    print(f"{accuracy:.1%} of the vertices of unseen creatures are right")

    mesh = test.meshes(0)[0]
    labels = model.predict(mesh)  # or model.predict("shape.obj")
    colours = categorical(data.num_classes)[labels]
    fc.Mesh(mesh.vertices, mesh.faces, vertex_colours=colours).save(out / "predicted.ply")
    return accuracy


if __name__ == "__main__":
    main()
