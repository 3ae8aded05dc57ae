"""`fieldconv demo`: everything from generated creatures to a report, in a few minutes."""

from __future__ import annotations

import time
from pathlib import Path

import fieldconv as fc
from fieldconv import training
from fieldconv._duration import duration
from fieldconv.commands.output import print_metrics, printed_warnings


def demo_command(*, out: Path = Path("fieldconv-demo"), epochs: int = 12, meshes: int = 40) -> int:
    """Train a small network to find the parts of animals, on two cores in under three minutes, and show it.

    $ fieldconv demo

    Args:
        out: Folder for the results; a demo that is there is replaced, any other run is not.
        epochs: Passes over the training set.
        meshes: Creatures to learn from.
    """
    began = time.monotonic()
    source = {"meshes": meshes, "vertices": 500, "species": ("biped", "quadruped", "bird", "octopus")}
    network = {"samples": None, "blocks": 2, "width": 32, "echo_channels": 12, "echo_samples": 2, "rings": 4}
    changes = {**source, **network, "epochs": epochs}
    settings = training.RunSettings.assemble("segmentation", preset="quick", changes=changes)
    print(f"1. Making {meshes} creatures from code: each has its own triangulation, build and pose.")
    fc.keep_freed_memory()
    data = settings.source.open("segmentation", settings.network.surface_settings, "train")
    print(f"2. Training a field-convolution network to tell their parts: {', '.join(data.class_names)}.")
    file = out / training.FILE
    before = training.read_settings(file).get("source", {}) if file.is_file() else {}
    if before.get("species") == settings.to_dict()["source"]["species"]:  # an earlier demo
        (out / training.STATE).unlink(missing_ok=True)
    model = training.train_from(settings, out)
    print("3. Testing it on creatures it has never seen.")
    test = settings.source.open("segmentation", settings.network.surface_settings, "test")
    with printed_warnings():
        result = fc.evaluate(model, test, out=out, quiet=False)
    print_metrics(result)
    print("4. Drawing.")
    picture = _draw_demo(model, test, out)
    took, right = duration(time.monotonic() - began), f"{100 * result.metrics['accuracy']:.1f} %"
    print(f"""
Done in {took}. {right} of the vertices of unseen creatures are labelled right.

Look at
  {out / "report.html"}   training, results and shapes in 3-D, in any browser
  {picture}   truth above, prediction below
  {out / "shapes"}   coloured PLY meshes for any 3-D program

Try next
  fieldconv view {out / "shapes"}/*.ply
  fieldconv predict {out} YOUR_MESH.obj --out result
  fieldconv train segmentation --data YOUR_FOLDER --out run
  fieldconv datasets make creatures YOUR_FOLDER        (shows how to lay out your own meshes)""")
    return 0


def _draw_demo(model: fc.networks.Network, test: fc.datasets.SurfaceDataset, out: Path) -> Path:
    """Write coloured meshes of a few test creatures, and a picture of truth and prediction."""
    names = tuple(test.class_names)
    palette = fc.viz.categorical(test.num_classes)
    panels: dict[str, list[fc.viz.Panel]] = {"truth": [], "prediction": []}
    for index in range(min(4, len(test))):
        mesh = test.meshes(index)[0]
        labels = {"truth": test[index].vertex_y.numpy(), "prediction": model.predict(mesh)}
        for kind, values in labels.items():
            name = f"{mesh.name}-{kind}"
            coloured = fc.Mesh(mesh.vertices, mesh.faces, name, palette[values])
            parts = fc.viz.VertexValues(
                name="Part", key="label", kind="labels", values=values, class_names=names
            )
            fc.viz.write_shape(out / "shapes" / f"{name}.ply", coloured, [parts], about={"up": "z"})
            colouring = fc.viz.labels(kind.capitalize(), values, names)
            title = f"{mesh.name.split('-')[0]}: {kind}"
            panels[kind].append(fc.viz.Panel(mesh=mesh, title=title, colourings=[colouring]))
    both = panels["truth"] + panels["prediction"]
    return fc.viz.write_picture(both, out / "shapes.png", columns=4, size=2.5, up="z")
