"""GLB, by trimesh: single precision."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from fieldconv.geometry.mesh.files.common import Contents, MeshError

KEEPS = {"vertex colours"}

ADVICE = "the file is not a whole GLB file with triangles; fetch or export it again"
MAX_NODES = 10_000
MAX_VERTICES = 3_000_000  # of a file that uses a mesh more than once
COMPRESSIONS = ("KHR_draco_mesh_compression", "EXT_meshopt_compression")
APPEARANCE = ("materials", "textures", "images", "samplers", "animations", "skins", "cameras")


def read(data: bytes) -> Contents:
    import io

    import trimesh

    try:
        if data[:4] != b"glTF":
            raise MeshError(ADVICE)
        length = int.from_bytes(data[12:16], "little")
        scene = json.loads(data[20 : 20 + length])
        _check(scene, len(data))
        plain = _without_appearance(scene, data[20 + length :])
        mesh = trimesh.load(io.BytesIO(plain), file_type="glb", force="mesh", process=False)
        visual = mesh.visual
        coloured = visual.kind == "vertex"
        return Contents(
            np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3),
            np.array(mesh.faces, dtype=np.int64).reshape(-1, 3),
            np.array(visual.vertex_colors, dtype=np.uint8) if coloured else None,
        )
    except MeshError:
        raise
    except Exception as error:  # trimesh raises anything on damaged files
        raise MeshError(ADVICE) from error


def _check(scene: dict[str, Any], size: int) -> None:
    """Raise MeshError for a scene that is far larger than its file."""
    packed = [name for name in scene.get("extensionsRequired", ()) if name in COMPRESSIONS]
    if packed:
        raise MeshError(f"the file is compressed ({packed[0]}); export it without compression")
    accessors, meshes, nodes = (scene.get(key, []) for key in ("accessors", "meshes", "nodes"))
    counts = [accessor["count"] for accessor in accessors]
    # trimesh allocates what is declared.
    without_data = sum(accessor["count"] for accessor in accessors if "bufferView" not in accessor)
    if max([*counts, without_data]) > size:
        raise MeshError(ADVICE)
    parents = [child for node in nodes for child in node.get("children", ())]
    if len(set(parents)) < len(parents):
        raise MeshError("a node of the scene has several parents; export the file again")
    vertices = [
        sum(counts[primitive["attributes"]["POSITION"]] for primitive in mesh["primitives"])
        for mesh in meshes
    ]
    used = [node["mesh"] for node in nodes if "mesh" in node]
    total = sum(vertices[mesh] for mesh in used)
    if len(nodes) > MAX_NODES or (total > MAX_VERTICES and total > 2 * sum(vertices)):
        raise MeshError(
            f"the scene has {len(nodes):,} nodes, with {total:,} vertices of which the file holds "
            f"{sum(vertices):,}; export one mesh instead of many copies"
        )


def _without_appearance(scene: dict[str, Any], rest: bytes) -> bytes:
    """Return the file without materials and pictures, which trimesh would read and join."""
    for key in APPEARANCE:
        scene.pop(key, None)
    for mesh in scene.get("meshes", ()):
        for primitive in mesh["primitives"]:
            primitive.pop("material", None)
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    head = b"glTF" + (2).to_bytes(4, "little") + (20 + len(text) + len(rest)).to_bytes(4, "little")
    return head + len(text).to_bytes(4, "little") + b"JSON" + text + rest


def write(contents: Contents) -> bytes:
    import trimesh

    mesh = trimesh.Trimesh(contents.vertices, contents.faces, process=False, validate=False)
    if contents.vertex_colours is not None:
        mesh.visual = trimesh.visual.ColorVisuals(mesh, vertex_colors=contents.vertex_colours)
    return bytes(mesh.export(file_type="glb"))
