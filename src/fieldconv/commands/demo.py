"""`fieldconv demo`: everything from generated creatures to a report, in a few minutes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from fieldconv.commands.results import print_metrics, printed_warnings


def demo_command(*, out: Path = Path("fieldconv-demo"), epochs: int = 12, meshes: int = 40) -> int:
    """Train a small network to find the parts of animals, on two cores in under three minutes, and show it.

    $ fieldconv demo

    Args:
        out: Folder for the results; a demo that is there is replaced, any other run is not.
        epochs: Passes over the training set.
        meshes: Creatures to learn from.
    """
    from fieldconv import keep_freed_memory
    from fieldconv._duration import duration
    from fieldconv.training.checkpoint import STATE
    from fieldconv.training.measure import evaluate
    from fieldconv.training.run import train_from
    from fieldconv.training.settings import FILE, RunSettings, read_settings

    began = time.monotonic()
    source = {"meshes": meshes, "vertices": 500, "species": ("biped", "quadruped", "bird", "octopus")}
    network = {"samples": None, "blocks": 2, "width": 32, "echo_channels": 12, "echo_samples": 2, "rings": 4}
    changes = {**source, **network, "epochs": epochs}
    settings = RunSettings.assemble("segmentation", preset="quick", changes=changes)
    print(f"1. Making {meshes} creatures from code: each has its own triangulation, build and pose.")
    keep_freed_memory()
    data = settings.source.open("segmentation", settings.network.surface_settings, "train")
    print(f"2. Training a field-convolution network to tell their parts: {', '.join(data.class_names)}.")
    before = read_settings(out / FILE).get("source", {}) if (out / FILE).is_file() else {}
    if before.get("species") == settings.to_dict()["source"]["species"]:  # a demo, too
        (out / STATE).unlink(missing_ok=True)
    model = train_from(settings, out)
    print("3. Testing it on creatures it has never seen.")
    test = settings.source.open("segmentation", settings.network.surface_settings, "test")
    with printed_warnings():
        result = evaluate(model, test, out=out, quiet=False)
    print_metrics(result)
    print("4. Drawing.")
    shown = _draw_demo(model, test, out)
    took, right = duration(time.monotonic() - began), f"{100 * result.metrics['accuracy']:.1f} %"
    print(f"""
Done in {took}. {right} of the vertices of unseen creatures are labelled right.

Look at
  {out / "report.html"}   training, results and shapes in 3-D, in any browser
  {shown}   truth above, prediction below
  {out / "shapes"}   coloured PLY meshes for any 3-D program

Try next
  fieldconv view {out / "shapes"}/*.ply
  fieldconv predict {out} YOUR_MESH.obj --out result
  fieldconv train segmentation --data YOUR_FOLDER --out run
  fieldconv datasets make creatures YOUR_FOLDER        (shows how to lay out your own meshes)""")
    return 0


def _draw_demo(model: Any, test: Any, out: Path) -> Path:
    """Coloured meshes of a few test creatures, and a picture of truth and prediction."""
    from fieldconv.geometry.mesh.mesh import Mesh
    from fieldconv.tasks.base.vertex_values import VertexValues
    from fieldconv.viz.colours import categorical
    from fieldconv.viz.panels import Panel, labels
    from fieldconv.viz.picture import write_picture
    from fieldconv.viz.values import write_shape

    palette = categorical(test.num_classes)
    panels: dict[str, list[Panel]] = {"truth": [], "prediction": []}
    for index in range(min(4, len(test))):
        mesh = test.meshes(index)[0]
        found = {"truth": test[index].vertex_y.numpy(), "prediction": model.predict(mesh)}
        for kind, values in found.items():
            name = f"{mesh.name}-{kind}"
            coloured = Mesh(mesh.vertices, mesh.faces, name, palette[values])
            known = VertexValues(
                name="Part", key="label", kind="labels", values=values, class_names=tuple(test.class_names)
            )
            write_shape(out / "shapes" / f"{name}.ply", coloured, [known], about={"up": "z"})
            parts = labels(kind.capitalize(), values, test.class_names)
            panels[kind].append(
                Panel(mesh=mesh, title=f"{mesh.name.split('-')[0]}: {kind}", colourings=[parts])
            )
    shown = panels["truth"] + panels["prediction"]
    return write_picture(shown, out / "shapes.png", columns=4, size=2.5, up="z")
