"""Small files that mean large ones: refused in a line, or read, within a few seconds of processor time."""

import json
import os
import time
from contextlib import nullcontext

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh, MeshError

LONGEST = 5.0  # seconds of processor time


def glb(scene: dict, binary: bytes = b"") -> bytes:
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    chunks = len(text).to_bytes(4, "little") + b"JSON" + text
    if binary:
        chunks += len(binary).to_bytes(4, "little") + b"BIN\0" + binary
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(chunks)).to_bytes(4, "little") + chunks


def sphere_scene(copies: int, level: int = 4) -> tuple[dict, bytes]:
    vertices, faces = shapes.icosphere(level)
    positions, corners = vertices.astype("<f4").tobytes(), faces.astype("<u4").tobytes()
    scene = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": list(range(copies))}],
        "nodes": [{"mesh": 0, "translation": [3.0 * copy, 0, 0]} for copy in range(copies)],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(vertices), "type": "VEC3",
             "min": vertices.min(0).tolist(), "max": vertices.max(0).tolist()},
            {"bufferView": 1, "componentType": 5125, "count": faces.size, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(positions)},
            {"buffer": 0, "byteOffset": len(positions), "byteLength": len(corners)},
        ],
        "buffers": [{"byteLength": len(positions) + len(corners)}],
    }  # fmt: skip
    return scene, positions + corners


def twice_each_level(levels: int) -> dict:
    """A tree of 2^levels leaves, written in as many lines as there are levels."""
    scene, _ = sphere_scene(1, 0)
    scene["nodes"] = [{"children": [n + 1, n + 1]} for n in range(levels)] + [{"mesh": 0}]
    scene["scenes"] = [{"nodes": [0]}]
    return scene


def chain(levels: int) -> dict:
    scene, _ = sphere_scene(1, 0)
    scene["nodes"] = [{"children": [n + 1]} for n in range(levels)] + [{"mesh": 0}]
    scene["scenes"] = [{"nodes": [0]}]
    return scene


PLY = "ply\nformat {} 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
THREE = np.eye(3, dtype="<f4").tobytes()
FACES = "element face {}\nproperty list {} int vertex_indices\nend_header\n"


def ply(faces: int, count: str, rest: bytes, before: bytes = b"") -> bytes:
    header = PLY.format("binary_little_endian").encode() + before
    return header + FACES.format(faces, count).encode() + THREE + rest


BOMBS = {
    "reused.glb": lambda: glb(*sphere_scene(1500)),
    "doubling.glb": lambda: glb(twice_each_level(60), sphere_scene(1, 0)[1]),
    "chain.glb": lambda: glb(chain(9000), sphere_scene(1, 0)[1]),
    "nodes.glb": lambda: glb(*sphere_scene(50_000, 0)),
    "brackets.glb": lambda: glb({"nodes": "X"}).replace(b'"X"', b"[" * 100_000),
    "no data.glb": lambda: glb(
        {"accessors": [{"componentType": 5126, "count": 900_000, "type": "VEC3"}] * 9000}
    ),
    "huge list.ply": lambda: ply(1, "uint", b"\xff\xff\xff\x7f" + bytes(12)),
    "huge count.ply": lambda: ply(10**17, "uchar", b"\x03" + bytes(12)),
    "empty faces.ply": lambda: ply(1_000_000, "uchar", b"\3" + bytes(1_000_011)),
    "properties.ply": lambda: ply(
        1, "uchar", b"", b"".join(b"property float p%d\n" % n for n in range(100_000))
    ),
    "name.ply": lambda: ply(1, "uchar", b"", b"element " + b"n" * 10**6 + b" 5\nproperty int x\n"),
    "polygon.ply": lambda: ply(1, "uint", (1_000_000).to_bytes(4, "little") + bytes(4_000_000)),
    "polygon.obj": lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf" + b" 1 2 3" * 300_000,
    "polygon.off": lambda: b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n900000" + b" 0 1 2" * 300_000,
    "word.obj": lambda: b"v 0 0 " + b"9" * 2_000_000 + b"\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "last word.obj": lambda: b"v 0 0 0\n" * 300_000 + b"v 1 0 x\nf 1 2 3\n",
    "counts.off": lambda: b"OFF\n999999999999999999 999999999999999999 0\n0 0 0\n",
    "declared.stl": lambda: bytes(80) + b"\xff\xff\xff\xff" + bytes(50),
}
READ = ("chain.glb",)  # strange, but small and sound


@pytest.mark.parametrize("name", list(BOMBS))
def test_a_bomb_ends_soon_in_one_short_line(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    began = time.process_time()
    with nullcontext() if name in READ else pytest.raises(MeshError) as raised:
        Mesh.load(path).validate()
    assert time.process_time() - began < LONGEST
    if name not in READ:
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 800
        assert path.stem in str(raised.value)


def test_a_mesh_that_is_used_some_times_is_read_as_often(tmp_path):
    (tmp_path / "some.glb").write_bytes(glb(*sphere_scene(20, 2)))
    vertices, faces = shapes.icosphere(2)
    mesh = Mesh.load(tmp_path / "some.glb")
    assert mesh.faces.shape == (20 * len(faces), 3)
    assert np.isclose(mesh.vertices[:, 0].max(), 19 * 3 + vertices[:, 0].max())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.ply")
    with pytest.raises(MeshError, match="is not a file"):
        Mesh.load(tmp_path / "pipe.ply")


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("count", ["uchar", "ushort", "int"])
def test_faces_of_mixed_sizes_with_data_between(tmp_path, order, count):
    """Row by row, with a scalar before and after the list, against the polygons that were written."""
    draw = np.random.default_rng(5)
    polygons = [draw.integers(0, 30, size).tolist() for size in draw.integers(3, 7, 50)]
    end = "<" if order == "little" else ">"
    body = draw.normal(size=(30, 3)).astype(f"{end}f4").tobytes()
    for number, corners in enumerate(polygons):
        width = {"uchar": "u1", "ushort": "u2", "int": "i4"}[count]
        body += np.array(number, f"{end}i2").tobytes() + np.array(len(corners), end + width).tobytes()
        body += np.array(corners, f"{end}i4").tobytes() + np.array(0.5, f"{end}f8").tobytes()
    header = (
        PLY.format(f"binary_{order}_endian").replace("vertex 3", "vertex 30")
        + f"element face 50\nproperty short number\nproperty list {count} int vertex_indices\n"
        + "property double half\nend_header\n"
    )
    (tmp_path / "a.ply").write_bytes(header.encode() + body)
    expected = [[p[0], p[i], p[i + 1]] for p in polygons for i in range(1, len(p) - 1)]
    assert Mesh.load(tmp_path / "a.ply").faces.tolist() == expected
