"""Learn descriptors, find which points of two shapes correspond, and carry colours from one to the other."""

from pathlib import Path

import fieldconv as fc
from fieldconv.viz import position_colours


def main(
    out: Path = Path("match-run"),
    epochs: int = 10,
    meshes: int = 20,
    vertices: int = 500,
    **network: object,
) -> float:
    data = fc.datasets.Creatures("matching", meshes=meshes, vertices=vertices, species=["quadruped"])
    test = fc.datasets.Creatures("matching", split="test", meshes=2, vertices=vertices, species=["quadruped"])

    model = fc.FCNet.for_task("matching", preset="quick", **{"blocks": 4, "radius": 0.2, **network})
    fc.train(model, data, preset="quick", epochs=epochs)
    metrics = fc.evaluate(model, test).metrics
    learnt, heat = metrics["mean_average_precision"], metrics["hks_mean_average_precision"]
    print(f"mean average precision {learnt:.2f}; of heat kernel signatures {heat:.2f}")

    scene, other = test.meshes(0)
    target, confidence, _ = fc.match(model, scene, other)
    print(f"the first vertex of the scene is vertex {target[0]} of the other, confidence {confidence[0]:.2f}")
    colours = position_colours(other.vertices)
    fc.Mesh(other.vertices, other.faces, vertex_colours=colours).save(out / "other.ply")
    fc.Mesh(scene.vertices, scene.faces, vertex_colours=colours[target]).save(out / "scene.ply")
    return learnt


if __name__ == "__main__":
    main()
