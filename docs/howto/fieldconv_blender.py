"""Label the parts of the selected mesh in Blender with a trained fieldconv network.

Set the two paths, select a mesh, press "Run". For Blender 3.2 and newer, whose Python needs no other modules:
the network runs in a process of its own, and results come back as a table.
"""

import csv
import shutil
import subprocess
import tempfile
from pathlib import Path

import bpy

FIELDCONV = shutil.which("fieldconv") or "/path/to/venv/bin/fieldconv"
RUN = "/path/to/RUN"  # the folder that `fieldconv train … --out RUN` wrote


def write_ply(mesh, path):
    """Write a mesh's vertices and polygons, in their order."""
    lines = ["ply", "format ascii 1.0", f"element vertex {len(mesh.vertices)}"]
    lines += [f"property double {axis}" for axis in "xyz"]
    lines += [f"element face {len(mesh.polygons)}", "property list uchar int vertex_indices", "end_header"]
    lines += [" ".join(repr(float(number)) for number in vertex.co) for vertex in mesh.vertices]
    for polygon in mesh.polygons:
        lines.append(" ".join(str(number) for number in (len(polygon.vertices), *polygon.vertices)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def predict(mesh):
    """Return for each vertex its label, the name of the part, and the confidence."""
    with tempfile.TemporaryDirectory() as folder:
        write_ply(mesh, Path(folder) / "shape.ply")
        command = [
            FIELDCONV,
            "predict",
            RUN,
            str(Path(folder) / "shape.ply"),
            "--out",
            str(Path(folder) / "result"),
        ]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or "fieldconv failed")
        with open(Path(folder) / "result" / "shape.csv", encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
    return [(int(row["label"]), row["name"] or row["label"], float(row["probability"])) for row in rows]


def colour(number, count):
    """Return a colour that differs from its neighbours' by its hue."""
    from colorsys import hsv_to_rgb

    return (0.5, 0.5, 0.5, 1.0) if number < 0 else (*hsv_to_rgb(number / max(count, 1), 0.65, 0.9), 1.0)


def paint(shape, found):
    """Keep labels as vertex groups, their colours and the confidence as attributes."""
    mesh = shape.data
    names = {label: name for label, name, _ in found if label >= 0}
    for label, name in sorted(names.items()):
        group = shape.vertex_groups.get(name) or shape.vertex_groups.new(name=name)
        group.add([vertex for vertex, row in enumerate(found) if row[0] == label], 1.0, "REPLACE")
    attributes = {"fieldconv": "FLOAT_COLOR", "fieldconv confidence": "FLOAT"}
    for name, kind in attributes.items():
        if name in mesh.attributes:
            mesh.attributes.remove(mesh.attributes[name])
        mesh.attributes.new(name, kind, "POINT")
    for vertex, (label, _, sure) in enumerate(found):
        mesh.attributes["fieldconv"].data[vertex].color = colour(label, max(names, default=0) + 1)
        mesh.attributes["fieldconv confidence"].data[vertex].value = sure
    mesh.attributes.active_color = mesh.attributes["fieldconv"]


def main():
    """Label the active object."""
    shape = bpy.context.active_object
    if shape is None or shape.type != "MESH":
        raise RuntimeError("select a mesh first")
    if shape.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")  # else its vertices may be out of date
    paint(shape, predict(shape.data))
    print(f"fieldconv: labelled {len(shape.data.vertices)} vertices of {shape.name}")


if __name__ == "__main__":
    main()
