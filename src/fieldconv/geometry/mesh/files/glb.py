"""GLB, by trimesh: single precision."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from fieldconv.geometry.mesh.files.common import Contents, MeshError

KEEPS = {"vertex colours"}

ADVICE = "the file is not a whole GLB file with triangles; fetch or export it again"
MOST_NODES = 10_000
MOST_VERTICES = 3_000_000  # of a file that uses a mesh more than once
UNPACKED = ("KHR_draco_mesh_compression", "EXT_meshopt_compression")
LOOKS = ("materials", "textures", "images", "samplers", "animations", "skins", "cameras")


def read(data: bytes) -> Contents:
    import io

    import trimesh

    try:
        if data[:4] != b"glTF":
            raise MeshError(ADVICE)
        length = int.from_bytes(data[12:16], "little")
        scene = json.loads(data[20 : 20 + length])
        _check(scene, len(data))
        plain = _without_looks(scene, data[20 + length :])
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
    except Exception as error:  # trimesh raises whatever its parsing runs into
        raise MeshError(ADVICE) from error


def _check(scene: dict[str, Any], size: int) -> None:
    """Raise MeshError for a scene that would be far larger than its file."""
    packed = [name for name in scene.get("extensionsRequired", ()) if name in UNPACKED]
    if packed:
        raise MeshError(f"the file is compressed ({packed[0]}); export it without compression")
    accessors, meshes, nodes = (scene.get(key, []) for key in ("accessors", "meshes", "nodes"))
    counts = [accessor["count"] for accessor in accessors]
    # trimesh allocates what is declared.
    if (
        any(count > size for count in counts)
        or sum(
            count for count, accessor in zip(counts, accessors, strict=True) if "bufferView" not in accessor
        )
        > size
    ):
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
    if len(nodes) > MOST_NODES or (total > MOST_VERTICES and total > 2 * sum(vertices)):
        raise MeshError(
            f"the scene has {len(nodes):,} nodes, with {total:,} vertices of which the file holds "
            f"{sum(vertices):,}; export one mesh instead of many copies"
        )


def _without_looks(scene: dict[str, Any], rest: bytes) -> bytes:
    """The same file without materials and pictures, which would be read and joined as well."""
    for key in LOOKS:
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
