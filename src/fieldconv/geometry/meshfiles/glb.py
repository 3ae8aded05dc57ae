"""GLB, by trimesh: single precision."""

from __future__ import annotations

import numpy as np

from .common import Contents, MeshError

KEEPS = {"vertex colours"}


def read(data: bytes) -> Contents:
    import io
    import json

    import trimesh

    advice = "the file is not a whole GLB file with triangles; fetch or export it again"
    try:
        scene = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
        # trimesh allocates what is declared.
        if any(accessor["count"] > len(data) for accessor in scene.get("accessors", ())):
            raise MeshError(advice)
        mesh = trimesh.load(io.BytesIO(data), file_type="glb", force="mesh", process=False)
        visual = mesh.visual
        coloured = visual.kind == "vertex"
        return Contents(
            np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3),
            np.array(mesh.faces, dtype=np.int64).reshape(-1, 3),
            np.array(visual.vertex_colors, dtype=np.uint8) if coloured else None,
        )
    except MeshError:
        raise
    except Exception as error:  # trimesh raises whatever its parsing runs into
        raise MeshError(advice) from error


def write(contents: Contents) -> bytes:
    import trimesh

    mesh = trimesh.Trimesh(contents.vertices, contents.faces, process=False, validate=False)
    if contents.vertex_colours is not None:
        mesh.visual = trimesh.visual.ColorVisuals(mesh, vertex_colors=contents.vertex_colours)
    return bytes(mesh.export(file_type="glb"))
