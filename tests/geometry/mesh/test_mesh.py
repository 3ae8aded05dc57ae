from __future__ import annotations

import re
import struct
import subprocess
import sys
import time
from contextlib import nullcontext
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import shapes
from fieldconv.geometry import Mesh, MeshError

SUFFIXES = ["obj", "off", "ply", "stl", "glb"]
ORDERED = ["obj", "off", "ply", "glb"]


def coloured_sphere() -> Mesh:
    vertices, faces = shapes.icosphere(1)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(vertices))  # no order a reader might make up
    return Mesh(
        vertices[order].astype(np.float32),  # so that single precision is exact
        np.argsort(order)[faces][rng.permutation(len(faces))],
        "sphere",
        rng.integers(0, 256, (len(vertices), 4)),
        rng.integers(0, 256, (len(faces), 4)),
        {"label": rng.integers(0, 1000, len(vertices)), "curvature": rng.random(len(vertices))},
    )


def write(tmp_path, name: str, text: str | bytes):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# --- measuring -------------------------------------------------------------------------------------------


def test_areas_and_normals_of_a_cube():
    cube = Mesh(*shapes.cube())
    assert cube.area == 6
    np.testing.assert_array_equal(cube.face_areas, 0.5)
    # Each corner touches three squares, by one or two of their halves.
    touching = np.array([(cube.faces == v).sum() for v in range(8)])
    np.testing.assert_allclose(cube.vertex_areas, touching * 0.5 / 3)
    outward = np.sign(cube.vertices - 0.5)
    assert ((cube.vertex_normals * outward) > 0).all()
    np.testing.assert_allclose(np.linalg.norm(cube.vertex_normals, axis=1), 1)


def test_sphere_approaches_its_area_and_its_radial_normals():
    sphere = Mesh(*shapes.icosphere(4))
    assert len(sphere.vertices) == 2562
    assert sphere.area == pytest.approx(4 * np.pi, rel=2e-3)
    np.testing.assert_allclose(sphere.vertex_normals, sphere.vertices, atol=1e-2)


def test_normalised_has_unit_area_and_is_centred():
    vertices, faces = shapes.cone()
    moved = Mesh(vertices * 37.0 + [1e3, -20, 5], faces).normalised()
    assert moved.area == pytest.approx(1, abs=1e-12)
    centroid = moved.face_areas @ moved.vertices[moved.faces].mean(axis=1)
    np.testing.assert_allclose(centroid, 0, atol=1e-12)
    np.testing.assert_allclose(moved.vertices, Mesh(vertices, faces).normalised().vertices, atol=1e-11)


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_extreme_but_usable_sizes(scale):
    vertices, faces = shapes.icosphere(1)
    result = Mesh(vertices * scale, faces).normalised()
    np.testing.assert_allclose(result.vertices, Mesh(vertices, faces).normalised().vertices, atol=1e-12)


def test_lonely_vertex_has_no_area_and_a_finite_normal():
    vertices, faces = shapes.cube()
    mesh = Mesh(np.vstack([vertices, [5, 5, 5]]), faces)
    assert mesh.vertex_areas[8] == 0
    np.testing.assert_array_equal(mesh.vertex_normals[8], [0, 0, 1])


# --- plain arrays ----------------------------------------------------------------------------------------


def test_arrays_are_copied():
    vertices, faces = shapes.cube()
    mesh = Mesh(vertices, faces)
    vertices[:] = 0
    faces[:] = 0
    assert mesh.area == 6


def test_polygons_of_mixed_sizes_are_cut_and_keep_their_colours():
    prism_end = [(0, 0, 0), (2, 0, 0), (3, 1, 0), (2, 2, 0), (0, 2, 0), (-1, 1, 0), (0, 0, 1)]
    mesh = Mesh(prism_end, [[0, 1, 2, 3, 4, 5], [0, 1, 6]], face_colours=[(255, 0, 0), (0, 255, 0)])
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 1, 6]]
    assert mesh.face_colours.tolist() == [[255, 0, 0, 255]] * 4 + [[0, 255, 0, 255]]
    assert mesh.face_areas[:4].sum() == pytest.approx(6)  # square and two triangles of area one


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0, 0, 0]] * 3, np.zeros((0, 3), int)), "no faces"),
        (([[0, 0, 0]] * 3, []), "no faces"),
        (([[0, 0, 0]] * 3, [[0, 1]]), r"shape \(1, 2\)"),
        (([[0, 0]] * 3, [[0, 1, 2]]), r"shape \(3, 2\)"),
        (([[0, 0, 0]] * 3, [[0, 1, 3]]), "vertex 3; indices run from 0 to 2"),
        (([[0, 0, 0]] * 3, [[0, 1, -1]]), "vertex -1"),
        (([[0, 0, 0]] * 3, np.array([[0, 1, 2**63]], dtype=np.uint64)), "vertex 9223372036854775808"),
        (([[0, 0, 0]] * 3, [[0, 1.5, 2]]), "integer"),
        (([[0, 0, 0]] * 3, [["a", "b", "c"]]), "integer"),
        (([["a", "b", "c"]], [[0, 0, 0]]), "convert"),
        (([[0, 0, 0]] * 3, [[0, 1, 2]], "toe", [[1, 2, 3]]), "toe: vertex colours"),
        (([[0, 0, 0]] * 3, [[0, 1, 2]], "", None, None, {"label": [1]}), "'label'"),
    ],
)
def test_unusable_arrays_are_refused(arguments, words):
    with pytest.raises(MeshError, match=words):
        Mesh(*arguments)


@pytest.mark.parametrize("use", ["area", "face_areas", "vertex_areas", "vertex_normals", "normalised"])
@pytest.mark.parametrize(
    ("vertices", "words"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], "vertex 2 is not finite"),
        ([[0, 0, 0], [np.inf, 0, 0], [0, 1, 0]], "vertex 1 is not finite"),
        ([[0, 0, 0], [1, 1, 1], [2, 2, 2]], "degenerate"),
        ([[7, 7, 7]] * 3, "degenerate"),
        ([[0, 0, 0], [1e308, 0, 0], [-1e308, 1e308, 0]], "rescale"),
        ([[0, 0, 0], [1e-300, 0, 0], [0, 1e-300, 0]], "rescale"),
    ],
)
def test_measuring_what_has_no_measure_is_refused(use, vertices, words):
    mesh = Mesh(vertices, [[0, 1, 2]], "hand")
    mesh.check()  # describing it is not
    with pytest.raises(MeshError, match=f"hand: .*{words}"):
        getattr(mesh, use)()


# --- files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ORDERED)
def test_round_trip_keeps_the_order_of_vertices(tmp_path, suffix):
    mesh = Mesh(*shapes.two_components())
    # Duplicate and unreferenced vertices shift all labels after them if a reader tidies up.
    vertices = np.vstack([[[4, 4, 4]], mesh.vertices, mesh.vertices[:3]]).astype(np.float32)
    mesh = Mesh(vertices, mesh.faces + 1)
    mesh.save(tmp_path / f"a.{suffix}")
    loaded = Mesh.load(tmp_path / f"a.{suffix}")
    np.testing.assert_array_equal(loaded.vertices, mesh.vertices)
    np.testing.assert_array_equal(loaded.faces, mesh.faces)
    assert loaded.name == "a"
    assert [p.name for p in tmp_path.iterdir()] == [f"a.{suffix}"]


@pytest.mark.parametrize("suffix", ["obj", "off", "ply"])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(vertices=hnp.arrays(np.float64, (4, 3), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_positions_survive_to_the_last_bit(tmp_path, suffix, vertices):
    mesh = Mesh(vertices, [[0, 1, 2], [3, 2, 1]])
    mesh.save(tmp_path / f"a.{suffix}")
    np.testing.assert_array_equal(Mesh.load(tmp_path / f"a.{suffix}").vertices, vertices)


KEPT = {
    "ply": {"vertex colours", "face colours", "vertex data"},
    "off": {"vertex colours", "face colours"},
    "obj": {"vertex colours"},
    "glb": {"vertex colours"},
    "stl": set(),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_colours_and_data_survive_where_the_format_has_a_place_and_a_warning_says_where_not(tmp_path, suffix):
    mesh = coloured_sphere()
    path = tmp_path / f"a.{suffix}"
    if suffix == "ply":
        mesh.save(path)
    else:
        with pytest.warns(UserWarning, match=r"save as \.ply") as record:
            mesh.save(path)
        for part in ("vertex colours", "face colours", "vertex data"):
            assert (part in str(record[0].message)) == (part not in KEPT[suffix])
    loaded = Mesh.load(path)
    if "vertex colours" in KEPT[suffix]:
        np.testing.assert_array_equal(loaded.vertex_colours, mesh.vertex_colours)
    if "face colours" in KEPT[suffix]:
        np.testing.assert_array_equal(loaded.face_colours, mesh.face_colours)
    if "vertex data" in KEPT[suffix]:
        assert loaded.vertex_data.keys() == mesh.vertex_data.keys()
        for name, values in mesh.vertex_data.items():
            np.testing.assert_array_equal(loaded.vertex_data[name], values)


def test_ply_keeps_every_kind_of_number(tmp_path):
    vertices, faces = shapes.cube()
    data = {
        "flag": np.arange(8) % 2 == 0,
        "big": np.arange(8) + 2**40,
        "half": np.arange(8, dtype=np.float16) / 2,
        **{
            k: np.arange(8).astype(k)
            for k in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32")
        },
    }
    Mesh(vertices, faces, vertex_data=data).save(tmp_path / "a.ply")
    loaded = Mesh.load(tmp_path / "a.ply").vertex_data
    for name, values in data.items():
        np.testing.assert_array_equal(loaded[name], values)


@pytest.mark.parametrize(
    "data",
    [
        {"two words": np.zeros(8)},
        {"x": np.zeros(8)},
        {"red": np.zeros(8)},
        {"wide": np.zeros((8, 2))},
        {"text": ["a"] * 8},
    ],
)
def test_what_ply_cannot_hold_is_refused_and_nothing_written(tmp_path, data):
    with pytest.raises(MeshError, match=next(iter(data))):
        Mesh(*shapes.cube(), vertex_data=data).save(tmp_path / "a.ply")
    assert not list(tmp_path.iterdir())


def test_stl_joins_equal_corners(tmp_path):
    cube = Mesh(*shapes.cube())
    cube.save(tmp_path / "a.stl")
    loaded = Mesh.load(tmp_path / "a.stl")
    np.testing.assert_array_equal(loaded.vertices[loaded.faces], cube.vertices[cube.faces])
    assert len(loaded.vertices) == 8
    # In order of first appearance.
    assert loaded.faces[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("loops", ["{}", "{}\n", "SOLID x\n{}\nENDSOLID x"])
def test_text_stl(tmp_path, loops):
    facet = "facet normal 0 0 1\nouter loop\nvertex {}\nvertex {}\nvertex {}\nendloop\nendfacet\n"
    body = facet.format("0 0 0", "1 0 0", "0 1 0") + facet.format("1 0 -0.0", "1e0 1 0", "0 1 0.")
    text = loops.format(body) if "SOLID" in loops else "solid a\n" + loops.format(body) + "endsolid a"
    mesh = Mesh.load(write(tmp_path, "a.stl", text))
    assert len(mesh.vertices) == 4
    assert mesh.faces.tolist() == [[0, 1, 2], [1, 3, 2]]


def test_binary_stl_that_begins_with_solid(tmp_path):
    Mesh(*shapes.cube()).save(tmp_path / "a.stl")
    data = (tmp_path / "a.stl").read_bytes()
    mesh = Mesh.load(write(tmp_path, "b.stl", b"solid facet".ljust(80) + data[80:]))
    assert mesh.area == 6


OBJ = """# a square and a triangle
mtllib none.mtl
o thing
v 0 0 0
v 1 0 0 # second
\tv 1 1 0
v 0 1.0e0 0
vt 0 0
vn 0 0 1
{faces}
v 9 9 9
l 1 2
"""


@pytest.mark.parametrize(
    "faces",
    [
        "f 1 2 3 4",
        "f 1/1 2/1 3/1 4/1",
        "f 1//1 2//1 3//1 4//1",
        "f 1/1/1 2/2/1 3/3/1 4/4/1",
        "f -4 -3 -2 -1",
        "f -4/-1/-1 2 -2 4",
        "g side\nusemtl red\ns off\nf 1 2 3\nf 1 3 4",
        "f 1 2 \\\n3 4",
        "f 1 2 \\\r\n3 4",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_obj_dialects(tmp_path, faces, newline):
    if newline != "\n" and "\\" in faces:
        pytest.skip("a continued line has its own line end")
    mesh = Mesh.load(write(tmp_path, "a.obj", OBJ.format(faces=faces).replace("\n", newline)))
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [9, 9, 9]]
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert mesh.vertex_colours is None


@pytest.mark.parametrize(
    ("colour", "expected"),
    [("1 0 0.2", [255, 0, 51, 255]), ("255 0 51", [255, 0, 51, 255]), ("1 0 0.2 0.6", [255, 0, 51, 153])],
)
def test_obj_colours(tmp_path, colour, expected):
    text = f"v 0 0 0 {colour}\nv 1 0 0 {colour}\nv 0 1 0 {colour}\nf 1 2 3\n"
    assert Mesh.load(write(tmp_path, "a.obj", text)).vertex_colours.tolist() == [expected] * 3


def test_obj_with_some_colours_is_read_without(tmp_path):
    mesh = Mesh.load(write(tmp_path, "a.obj", "v 0 0 0 1 0 0\nv 1 0 0\nv 0 1 0 1\nf 1 2 3\n"))
    assert mesh.vertex_colours is None
    assert mesh.area == 0.5


SQUARE = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n"


@pytest.mark.parametrize(
    "text",
    [
        "OFF\n4 1 0\n" + SQUARE + "4 0 1 2 3\n",
        "OFF 4 1 0\n" + SQUARE + "4 0 1 2 3",
        "OFF4 1 0\n" + SQUARE + "4 0 1 2 3",
        "OFF\n4 2\n" + SQUARE + "3 0 1 2\n3 0 2 3\n",
        "# made by hand\n\nOFF # here\n# and here\n4 1 0\n\n"
        + SQUARE.replace("1 0 0", "1 0 0 # b")
        + "4 0 1 2 3\n",
        "\ufeffOFF\r\n4 1 0\r\n" + SQUARE.replace("\n", "\r\n") + "4  0\t1 2 3  \r\n\r\n",
        "OFF\n4 3 0\n" + SQUARE + "2 0 1\n3 0 1 2\n3 0 2 3\n",
        "OFF\n4 1 0\n" + SQUARE + "4 0 1 2 3 7\n",
        "NOFF\n4 1 0\n" + SQUARE.replace("\n", " 0 0 1\n") + "4 0 1 2 3\n",
    ],
)
def test_off_dialects(tmp_path, text):
    mesh = Mesh.load(write(tmp_path, "a.off", text))
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert mesh.vertex_colours is None
    assert mesh.face_colours is None


@pytest.mark.parametrize("head", ["COFF", "OFF"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [("255 0 51", [255, 0, 51, 255]), ("1 0 1 9", [1, 0, 1, 9]), ("1.0 0.0 0.2 0.6", [255, 0, 51, 153])],
)
def test_off_colours(tmp_path, head, text, expected):
    vertices = SQUARE.replace("\n", f" {text}\n")
    mesh = Mesh.load(write(tmp_path, "a.off", f"{head}\n4 2 0\n{vertices}3 0 1 2\n4 0 1 2 3 {text}\n"))
    assert mesh.vertex_colours.tolist() == [expected] * 4
    assert mesh.face_colours.tolist() == [[255] * 4, expected, expected]


PLY_HEADER = """ply
format {style} 1.0
comment element vertex 99
obj_info nothing
element vertex 4
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
property ushort label
element camera 1
property float view_x
property list uchar short views
element face {faces}
property float quality
property list uchar {index} vertex_indices
property list uchar float texcoord
property float red
property float green
property float blue
element empty 7
end_header
"""
PLY_VERTICES = [
    (0, 0, 0, 1, 2, 3, 7),
    (1, 0, 0, 4, 5, 6, 300),
    (1, 1, 0, 7, 8, 9, 65535),
    (0, 1, 0, 255, 0, 0, 0),
]


def ply_of(style: str, polygons: list[list[int]], index: str) -> bytes:
    """The same little scene in any style; built with struct, independent of the library."""
    header = PLY_HEADER.format(style=style, faces=len(polygons), index=index).encode()
    if style == "ascii":
        lines = [" ".join(map(str, v)) for v in PLY_VERTICES] + ["0.5 2 -1 -2"]
        for p in polygons:
            texcoord = " ".join(["0.5"] * len(p))
            lines.append(f"0.25 {len(p)} {' '.join(map(str, p))} {len(p)} {texcoord} 1 0 0.2")
        return header + ("\n".join(lines) + "\n").encode()
    order = "<" if "little" in style else ">"
    code = {"int": "i", "uint": "I", "uchar": "B", "short": "h"}[index]
    body = b"".join(struct.pack(order + "3f3BH", *v) for v in PLY_VERTICES)
    body += struct.pack(order + "fB2h", 0.5, 2, -1, -2)
    for p in polygons:
        body += struct.pack(order + "fB", 0.25, len(p)) + struct.pack(f"{order}{len(p)}{code}", *p)
        body += struct.pack(f"{order}B{len(p)}f3f", len(p), *[0.5] * len(p), 1, 0, 0.2)
    return header + body


@pytest.mark.parametrize("style", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("index", ["int", "uint", "uchar", "short"])
@pytest.mark.parametrize("polygons", [[[0, 1, 2], [0, 2, 3]], [[0, 1, 2, 3]], [[0, 1, 2], [3, 0, 1, 2]]])
def test_ply_of_every_style(tmp_path, style, index, polygons):
    mesh = Mesh.load(write(tmp_path, "a.ply", ply_of(style, polygons, index)))
    assert mesh.vertices.tolist() == [list(v[:3]) for v in PLY_VERTICES]
    assert mesh.vertex_colours.tolist() == [[*v[3:6], 255] for v in PLY_VERTICES]
    assert mesh.vertex_data["label"].tolist() == [v[6] for v in PLY_VERTICES]
    assert mesh.vertex_data["label"].dtype == np.uint16
    assert mesh.faces.tolist() == [[p[0], p[i], p[i + 1]] for p in polygons for i in range(1, len(p) - 1)]
    assert mesh.face_colours.tolist() == [[255, 0, 51, 255]] * len(mesh.faces)


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_ply_line_ends(tmp_path, newline):
    text = ply_of("ascii", [[0, 1, 2]], "int").decode().replace("\n", newline)
    assert Mesh.load(write(tmp_path, "a.ply", text)).faces.tolist() == [[0, 1, 2]]


def test_suffix_in_capitals_and_text_path(tmp_path):
    Mesh(*shapes.cube()).save(str(tmp_path / "A.PLY"))
    assert Mesh.load(str(tmp_path / "A.PLY")).area == 6


def test_trimesh_reads_what_we_write(tmp_path):
    import trimesh

    mesh = coloured_sphere()
    for suffix in ("ply", "off", "obj", "stl", "glb"):
        with pytest.warns() if suffix != "ply" else nullcontext():
            mesh.save(tmp_path / f"a.{suffix}")
        other = trimesh.load(tmp_path / f"a.{suffix}", process=False, force="mesh")
        np.testing.assert_allclose(
            np.asarray(other.vertices)[other.faces], mesh.vertices[mesh.faces], atol=1e-6, err_msg=suffix
        )


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.ply"
    Mesh(*shapes.cube()).save(path)
    before = path.read_bytes()

    def full_disk(self, data):
        with open(self, "wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="no space"):
        Mesh(*shapes.icosphere(1)).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# --- bad files -------------------------------------------------------------------------------------------

BAD = {
    "empty.off": ("", "empty"),
    "blank.obj": (" \n\n", "empty"),
    "empty.ply": ("", "empty"),
    "empty.stl": ("", "empty"),
    "empty.glb": ("", "empty"),
    "comment.obj": ("# nothing\n", "no faces"),
    "comment.off": ("# nothing\n", "begins with OFF"),
    "points.obj": ("v 0 0 0\nv 1 0 0\n", "no faces"),
    "points.off": ("OFF\n1 0 0\n0 0 0\n", "no faces"),
    "lines.off": ("OFF\n2 1 0\n0 0 0\n1 0 0\n2 0 1\n", "no faces"),
    "points.ply": (
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
        "end_header\n0 0 0\n",
        "no faces",
    ),
    "range.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 4\n", "line 5: a face names vertex 4.* 1 to 3"),
    "zero.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "line 4: a face names vertex 0"),
    "back.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -4 1 2\n", "line 4: a face names"),
    "word.obj": ("v 0 0 0\nv 1 zero 0\nv 0 1 0\nf 1 2 3\n", "line 2: 'zero' is not a number"),
    "facew.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 c\n", "line 4: 'c' is not a number"),
    "short.obj": ("v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n", "line 1: a vertex has 2 numbers"),
    "shorter.obj": ("v 0 0 0\nv 1 0 0\nv 0\nf 1 2 3\n", "line 3: a vertex has 1 numbers"),
    "novertex.obj": ("f 1 2 3\n", "line 1: a face names vertex 1"),
    "range.off": ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "line 6: a face names vertex 3.* 0 to 2"),
    "huge.off": ("OFF\n999999999999 999999999999 0\n0 0 0\n", "truncated"),
    "huger.off": ("OFF\n" + "9" * 5000 + " 1 0\n", "not a count"),
    "negative.off": ("OFF\n-3 1 0\n", "not a count"),
    "counts.off": ("OFF\n", "truncated"),
    "cut.off": ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n", "truncated"),
    "cutface.off": ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1", "line 6: .*fewer corners"),
    "hugeface.off": ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n1e300 0 1 2", "line 6: .*fewer corners"),
    "nanface.off": ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 nan", "line 6: a face names vertex nan"),
    "ragged.off": ("OFF\n3 1 0\n0 0 0\n1 0 0 9\n0 1 0\n3 0 1 2", "line 4: a vertex has 4"),
    "word.off": ("OFF\n3 1 0\n0 0 0\n1 x 0\n0 1 0\n3 0 1 2", "line 4: 'x' is not a number"),
    "glued.off": ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1-2 0\n3 0 1 2", "line 5: '1-2' is not a number"),
    "binary.off": ("OFF BINARY\n\0\0\0", "binary OFF"),
    "notoff.off": ("v 0 0 0", "begins with OFF"),
    "notply.ply": ("OFF\n", "begins with a line 'ply'"),
    "cuthead.ply": ("ply\nformat ascii 1.0\nelement vertex 3\n", "truncated"),
    "noformat.ply": ("ply\nelement vertex 3\nend_header\n", "no format"),
    "badline.ply": ("ply\nformat ascii 1.0\nelement vertex many\nend_header\n", "'many'.*not a count"),
    "badtype.ply": (
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty real x\nend_header\n",
        "property real x",
    ),
    "orphan.ply": ("ply\nformat ascii 1.0\nproperty float x\nend_header\n", "property float x"),
    "twice.ply": (
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty list uchar int x\nend_header\n",
        "a property of vertex twice",
    ),
    "noxyz.ply": ("ply\nformat ascii 1.0\nelement vertex 0\nend_header\n", "no vertex positions"),
    "notstl.stl": ("hello", "truncated"),
    "cut.stl": ("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n", "truncated"),
    "huge.stl": (b"\0" * 80 + b"\xff\xff\xff\xff" + b"\0" * 50, "truncated"),
    "none.stl": (b"\0" * 84, "no faces"),
    "notglb.glb": ("hello", "not a whole GLB"),
    "mesh.fbx": ("hello", "unknown mesh format '.fbx'; use one of .obj, .off, .ply, .stl, .glb"),
    "mesh": ("hello", "unknown mesh format"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_in_one_sentence_that_names_them(tmp_path, name):
    text, words = BAD[name]
    path = write(tmp_path, name, text)
    with pytest.raises(MeshError, match=words) as caught:
        Mesh.load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert len(message) < len(str(path)) + 160


def huge_ply(style: str, element: str) -> bytes:
    count = {"vertex": 3, "face": 1} | {element: 99_999_999_999}
    body = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + struct.pack("<B3i", 3, 0, 1, 2)
    if style == "ascii":
        body = b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
    return (
        f"ply\nformat {style} 1.0\nelement vertex {count['vertex']}\nproperty float x\nproperty float y\n"
        f"property float z\nelement face {count['face']}\nproperty list uchar int vertex_index\nend_header\n"
    ).encode() + body


@pytest.mark.parametrize("style", ["ascii", "binary_little_endian"])
@pytest.mark.parametrize("element", ["vertex", "face"])
def test_a_huge_count_in_a_tiny_ply_is_refused_at_once(tmp_path, style, element):
    with pytest.raises(MeshError, match="truncated"):
        Mesh.load(write(tmp_path, "a.ply", huge_ply(style, element)))


def test_a_huge_list_in_a_tiny_ply_is_refused(tmp_path):
    header = (
        b"ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
        b"property float z\nelement face 2\nproperty list int int vertex_indices\nend_header\n" + b"\0" * 12
    )
    for count in (2**31 - 1, -1):
        with pytest.raises(MeshError, match="truncated"):
            Mesh.load(write(tmp_path, "a.ply", header + struct.pack("<4i", count, 0, 0, 0)))


def test_a_huge_count_in_a_tiny_glb_is_refused(tmp_path):
    Mesh(*shapes.cube()).save(tmp_path / "a.glb")
    data = (tmp_path / "a.glb").read_bytes()
    grown = re.sub(rb'"count":\d+', lambda m: b'"count":' + b"9" * (len(m[0]) - 8), data)
    assert grown != data
    with pytest.raises(MeshError, match="not a whole GLB"):
        Mesh.load(write(tmp_path, "b.glb", grown))


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(MeshError, match=r"none\.obj does not exist"):
        Mesh.load(tmp_path / "none.obj")
    (tmp_path / "folder.obj").mkdir()
    with pytest.raises(MeshError, match="is a folder"):
        Mesh.load(tmp_path / "folder.obj")
    with pytest.raises(MeshError, match="unknown mesh format"):
        Mesh.load(tmp_path)
    with pytest.raises(MeshError, match="unknown mesh format"):
        Mesh(*shapes.cube()).save(tmp_path / "a.txt")


def test_nan_positions_load_so_that_they_can_be_repaired(tmp_path):
    path = write(tmp_path, "a.off", "OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n1 nan 0\n3 0 1 2\n3 2 1 3\n")
    mesh = Mesh.load(path)
    assert mesh.check().nan_vertices.tolist() == [3]
    with pytest.raises(MeshError, match="a: the position of vertex 3 is not finite"):
        _ = mesh.area
    assert mesh.repair().mesh.area == 0.5


@pytest.fixture(scope="module")
def valid_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valid")
    plain = Mesh(*shapes.cube())
    for suffix in SUFFIXES:
        plain.save(folder / f"a.{suffix}")
    coloured_sphere().save(folder / "b.ply")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    files["c.ply"] = ply_of("ascii", [[0, 1, 2], [0, 2, 3]], "int")
    files["d.ply"] = ply_of("binary_big_endian", [[0, 1, 2], [3, 0, 1, 2]], "int")
    files["e.obj"] = OBJ.format(faces="f 1/1/1 2/2/1 -2 4").encode()
    files["f.off"] = (
        b"COFF 4 1 0 # x\n" + SQUARE.encode().replace(b"\n", b" 1 2 3\n") + b"4 0 1 2 3 0.5 0.5 0.5\n"
    )
    return files


def load_or_refuse(path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        mesh = Mesh.load(path)
    except MeshError:
        return
    assert mesh.faces.min() >= 0
    assert mesh.faces.max() < len(mesh.vertices)
    mesh.check()


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutilated_files_load_or_raise_mesh_error(tmp_path, valid_files, data):
    name = data.draw(st.sampled_from(sorted(valid_files)))
    content = bytearray(valid_files[name])
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        patch = data.draw(
            st.one_of(st.binary(max_size=6), st.sampled_from([b"-1", b"99999999", b"nan", b"\n"]))
        )
        content[at : at + data.draw(st.integers(0, 6))] = patch
        if not content:
            break
    keep = data.draw(st.integers(0, len(content))) if data.draw(st.booleans()) else len(content)
    load_or_refuse(tmp_path / name, bytes(content[:keep]))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suffix=st.sampled_from(SUFFIXES),
    head=st.sampled_from(
        [b"", b"OFF\n", b"ply\nformat ascii 1.0\n", b"solid facet", b"v 0 0 0\nf ", b"glTF"]
    ),
    tail=st.binary(max_size=200),
)
def test_random_bytes_load_or_raise_mesh_error(tmp_path, suffix, head, tail):
    load_or_refuse(tmp_path / f"a.{suffix}", head + tail)


@pytest.mark.parametrize("suffix", ["obj", "off", "ply"])
def test_every_truncation_is_noticed(tmp_path, suffix):
    Mesh(*shapes.cube()).save(tmp_path / f"a.{suffix}")
    data = (tmp_path / f"a.{suffix}").read_bytes()
    faces = Mesh(*shapes.cube()).faces
    for keep in range(len(data) - (1 if suffix == "ply" else 3)):
        try:
            mesh = Mesh.load(write(tmp_path, f"b.{suffix}", data[:keep]))
        except MeshError:
            continue
        # OBJ declares no counts: whole lines may be missing, but what is there is right.
        assert suffix == "obj"
        assert 0 < len(mesh.faces) < 12 or keep > len(data) - 3
        np.testing.assert_array_equal(mesh.faces[:-1], faces[: len(mesh.faces) - 1])


def test_large_text_files_load_fast(tmp_path):
    mesh = Mesh(*shapes.torus(around=200, across=100))
    for suffix in ("off", "obj"):
        mesh.save(tmp_path / f"a.{suffix}")
        start = time.perf_counter()
        loaded = Mesh.load(tmp_path / f"a.{suffix}")
        assert time.perf_counter() - start < 5  # about 0.1 s on an idle core
        np.testing.assert_array_equal(loaded.vertices, mesh.vertices)


def test_import_is_light():
    code = """import sys; from fieldconv.geometry import Mesh
print([m for m in ('trimesh', 'torch') if m in sys.modules])"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert result.stdout.strip() == "[]"


# --- check -----------------------------------------------------------------------------------------------

#                        components, loops, boundary edges, non-manifold edges and vertices, orientable
TOPOLOGY = {
    "icosphere": (1, 0, 0, 0, 0, True),
    "cube": (1, 0, 0, 0, 0, True),
    "torus": (1, 0, 0, 0, 0, True),
    "plane": (1, 1, 4, 0, 0, True),
    "grid": (1, 1, 14, 0, 0, True),
    "cylinder": (1, 2, 24, 0, 0, True),
    "cone": (1, 2, 24, 0, 0, True),
    "mobius": (1, 1, 80, 0, 0, False),
    "book": (1, 1, 30, 4, 0, True),
    "bowtie": (1, 2, 6, 0, 1, True),
    "two_components": (2, 0, 0, 0, 0, True),
}


@pytest.mark.parametrize("name", TOPOLOGY)
def test_topology_of_known_shapes(name):
    report = Mesh(*getattr(shapes, name)()).check()
    found = (
        report.components,
        report.boundary_loops,
        len(report.boundary_edges),
        len(report.non_manifold_edges),
        len(report.non_manifold_vertices),
        report.orientable,
    )
    assert found == TOPOLOGY[name]
    assert bool(report.problems) == (name in ("mobius", "book", "bowtie"))


def test_euler_characteristic_of_the_shapes():
    # V − E + F: 2 for spheres, 0 for the torus, cylinder and Möbius strip, 1 for discs.
    expected = {"icosphere": 2, "cube": 2, "torus": 0, "cylinder": 0, "cone": 0, "mobius": 0, "plane": 1}
    for name, characteristic in expected.items():
        vertices, faces = getattr(shapes, name)()
        edges = {frozenset(pair) for face in faces.tolist() for pair in combinations(face, 2)}
        assert len(vertices) - len(edges) + len(faces) == characteristic


@pytest.mark.parametrize(("shape", "chart"), [("cylinder", "cylinder_chart"), ("cone", "cone_chart")])
def test_charts_of_developable_shapes_keep_edge_lengths(shape, chart):
    vertices, faces = getattr(shapes, shape)()
    flat, period = getattr(shapes, chart)()
    a, b = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).T
    turn = 0 if shape == "cylinder" else 1
    step = flat[a] - flat[b]
    step[:, turn] -= period * np.round(step[:, turn] / period)
    length = np.hypot(*step.T)
    if shape == "cone":
        r, s = flat[a, 0], flat[b, 0]
        length = np.sqrt(r**2 + s**2 - 2 * r * s * np.cos(step[:, 1]))
    np.testing.assert_allclose(np.linalg.norm(vertices[a] - vertices[b], axis=1), length, rtol=1e-9)


def spoilt_cube() -> Mesh:
    vertices, faces = shapes.cube()
    vertices = np.vstack([vertices, vertices[[3]], [[np.nan, 0, 0], [5, 5, 5], [0.5, 0, 0]]])
    faces = np.vstack(
        [
            faces[:3],
            faces[3][::-1],  # turned over
            faces[4:],
            faces[5][[1, 2, 0]],  # the same again
            [0, 0, 1],  # names a vertex twice
            [0, 11, 4],  # flat: 11 is halfway from 0 to 4
            [0, 1, 9],  # NaN corner
        ]
    )
    faces[0] = np.where(faces[0] == 3, 8, faces[0])  # the twin of vertex 3: a slit
    return Mesh(
        vertices, faces, vertex_data={"label": np.arange(12)}, face_colours=np.tile(np.arange(16)[:, None], 3)
    )


def test_check_finds_each_defect():
    report = spoilt_cube().check()
    assert report.nan_vertices.tolist() == [9]
    assert report.unreferenced_vertices.tolist() == [10]
    assert report.duplicate_vertices.tolist() == [8]
    assert report.duplicate_faces.tolist() == [12]
    assert report.degenerate_faces.tolist() == [13, 14]
    assert len(report.inconsistent_edges) > 0
    assert len(report.non_manifold_edges) > 0
    text = str(report)
    for words in ("1 vertex with NaN", "1 unreferenced vertex", "1 duplicate face", "2 degenerate faces"):
        assert words in text
    assert report.counts["degenerate_faces"] == 2
    assert all(type(value) is int for value in report.counts.values())


def test_inconsistent_edges_are_those_of_the_turned_face():
    vertices, faces = shapes.icosphere(1)
    faces[17] = faces[17][::-1]
    report = Mesh(vertices, faces).check()
    a, b, c = sorted(faces[17].tolist())
    assert sorted(report.inconsistent_edges.tolist()) == [[a, b], [a, c], [b, c]]
    assert report.orientable
    assert not report.inside_out


@pytest.mark.parametrize("name", ["icosphere", "torus", "cube", "two_components"])
def test_inside_out(name):
    vertices, faces = getattr(shapes, name)()
    assert not Mesh(vertices + 100, faces).check().inside_out
    assert Mesh(vertices + 100, faces[:, ::-1]).check().inside_out
    repair = Mesh(vertices + 100, faces[:, ::-1]).repair()
    assert repair.actions == ["turned the whole mesh outward"]
    assert not repair.mesh.check().problems


soups = st.integers(4, 9).flatmap(
    lambda n: st.tuples(
        hnp.arrays(
            np.float64, (n, 3), elements=st.sampled_from([0.0, 1.0, 2.0, -0.0, np.nan]), fill=st.nothing()
        ),
        hnp.arrays(np.int64, st.tuples(st.integers(1, 14), st.just(3)), elements=st.integers(0, n - 1)),
    )
)


def naive_report(mesh: Mesh) -> dict[str, int]:
    """The definitions, word by word, in loops."""
    faces = [tuple(f) for f in mesh.faces.tolist()]
    proper = [f for f in faces if len(set(f)) == 3]
    used = {v for f in faces for v in f}
    half = [(f[i], f[(i + 1) % 3]) for f in proper for i in range(3)]
    sides: dict[frozenset, list] = {}
    for a, b in half:
        sides.setdefault(frozenset((a, b)), []).append((a, b))

    groups = {v: {v} for v in used}
    for f in faces:
        joined = groups[f[0]] | groups[f[1]] | groups[f[2]]
        for v in joined:
            groups[v] = joined

    def fans(v: int) -> int:
        left = [i for i, f in enumerate(proper) if v in f]
        count = 0
        while left:
            count += 1
            front = [left.pop()]
            while front:
                at = front.pop()
                near = [i for i in left if len(set(proper[i]) & set(proper[at]) - {v}) > 0]
                left = [i for i in left if i not in near]
                front += near
        return count

    points = [tuple(p) for p in (mesh.vertices + 0.0).tolist()]
    return {
        "components": len({frozenset(g) for g in groups.values()}),
        "boundary_edges": sum(len(s) == 1 for s in sides.values()),
        "non_manifold_edges": sum(len(s) > 2 for s in sides.values()),
        "non_manifold_vertices": sum(fans(v) > 1 for v in used),
        "inconsistent_edges": sum(len(s) == 2 and s[0] == s[1] for s in sides.values()),
        "duplicate_faces": len(faces) - len({tuple(sorted(f)) for f in faces}),
        "duplicate_vertices": sum(p in points[:i] for i, p in enumerate(points) if not np.isnan(p).any()),
        "unreferenced_vertices": len(points) - len(used),
        "nan_vertices": sum(np.isnan(p).any() for p in points),
    }


@settings(max_examples=150, deadline=None)
@given(soups)
def test_check_agrees_with_the_definitions(soup):
    mesh = Mesh(*soup)
    counts = mesh.check().counts
    for key, value in naive_report(mesh).items():
        assert counts[key] == value, key


# --- repair ----------------------------------------------------------------------------------------------


def test_repair_of_the_spoilt_cube_gives_the_cube():
    spoilt = spoilt_cube()
    repair = spoilt.repair()
    mesh = repair.mesh
    assert mesh.area == 6
    np.testing.assert_array_equal(mesh.vertices, shapes.cube()[0])
    report = mesh.check()
    assert report.problems == []
    assert report.boundary_loops == 0
    # Labels and colours follow.
    np.testing.assert_array_equal(mesh.vertices, spoilt.vertices[repair.vertex_map])
    np.testing.assert_array_equal(mesh.vertex_data["label"], repair.vertex_map)
    assert mesh.face_colours[:, 0].tolist() == list(range(12))
    # Old vertex 8 went into its twin; 9 (NaN), 10 and 11 (now without faces) are gone.
    assert repair.new_vertex.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 3, -1, -1, -1]
    words = " / ".join(repair.actions)
    for expected in (
        "NaN",
        "merged 1 duplicate vertex",
        "degenerate",
        "1 duplicate face",
        "turned over 1 face",
    ):
        assert expected in words


@pytest.mark.parametrize("name", [n for n in TOPOLOGY if n != "mobius"])
def test_a_clean_mesh_is_left_alone(name):
    mesh = Mesh(*getattr(shapes, name)())
    repair = mesh.repair()
    assert repair.actions == []
    np.testing.assert_array_equal(repair.mesh.vertices, mesh.vertices)
    np.testing.assert_array_equal(repair.mesh.faces, mesh.faces)
    np.testing.assert_array_equal(repair.vertex_map, np.arange(len(mesh.vertices)))


@pytest.mark.parametrize("name", ["icosphere", "torus", "cylinder", "two_components"])
def test_a_soup_of_triangles_turned_at_random_becomes_the_mesh_again(name):
    mesh = Mesh(*getattr(shapes, name)())
    rng = np.random.default_rng(0)
    corners = mesh.vertices[mesh.faces]
    turned = rng.random(len(corners)) < 0.3
    corners[turned] = corners[turned][:, ::-1]
    repair = Mesh(corners.reshape(-1, 3), np.arange(corners.size // 3).reshape(-1, 3)).repair()
    assert len(repair.mesh.vertices) == len(mesh.vertices)
    assert repair.mesh.check().problems == []
    assert repair.mesh.check().boundary_loops == mesh.check().boundary_loops
    np.testing.assert_allclose(repair.mesh.area, mesh.area)
    # Fewest are turned: the same normals as before.
    order = np.lexsort(mesh.vertices.T), np.lexsort(repair.mesh.vertices.T)
    np.testing.assert_allclose(repair.mesh.vertex_normals[order[1]], mesh.vertex_normals[order[0]], atol=1e-9)


def test_a_mobius_strip_keeps_its_faces_and_says_so():
    mesh = Mesh(*shapes.mobius())
    assert "not orientable" in mesh.check().problems
    repair = mesh.repair()
    np.testing.assert_array_equal(repair.mesh.faces, mesh.faces)
    assert repair.actions == []


def test_a_surface_that_touches_itself_is_not_joined():
    # Two spheres that share the place of one inner vertex: merging it would make it non-manifold.
    vertices, faces = shapes.icosphere(1)
    both = np.vstack([vertices, 2 * vertices[:1] - vertices])
    both[len(vertices)] = both[0]
    repair = Mesh(both, np.vstack([faces, faces[:, ::-1] + len(vertices)])).repair()
    assert len(repair.mesh.vertices) == len(both)
    assert len(repair.mesh.check().non_manifold_vertices) == 0


def test_a_flat_face_is_swapped_so_that_no_slit_opens():
    # Above the edge 0–1 one triangle, below it two that meet in its middle 3; the flat face 0 3 1 joins them.
    vertices = [(0, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 0), (1, -1, 0)]
    mesh = Mesh(vertices, [(0, 1, 2), (0, 3, 1), (4, 3, 0), (4, 1, 3)])
    repair = mesh.repair()
    report = repair.mesh.check()
    assert repair.actions == ["swapped the longest edge of 1 face of no area"]
    assert report.problems == []
    assert (report.components, report.boundary_loops, len(report.boundary_edges)) == (1, 1, 4)
    assert repair.mesh.area == 2
    assert (repair.mesh.vertex_normals == [0, 0, 1]).all()


def test_a_chain_of_flat_faces_is_swapped():
    vertices = [(0, 0, 0), (4, 0, 0), (2, 2, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (2, -2, 0)]
    flat = [(0, 3, 1), (3, 4, 1), (4, 5, 1)]
    below = [(6, 3, 0), (6, 4, 3), (6, 5, 4), (6, 1, 5)]
    repair = Mesh(vertices, [(0, 1, 2), *flat, *below]).repair()
    report = repair.mesh.check()
    assert report.problems == []
    assert (report.boundary_loops, len(report.boundary_edges)) == (1, 4)
    assert repair.mesh.area == 8


def test_a_folded_pair_of_faces_that_sticks_out_is_dropped_whole():
    vertices, faces = shapes.icosphere(1)
    a, b, _ = faces[0].tolist()
    fin = len(vertices)  # a double triangle on the edge a–b: dropping one half would leave the other
    vertices = np.vstack([vertices, [[3, 3, 3]]])
    mesh = Mesh(vertices, np.vstack([faces, [(a, b, fin), (b, a, fin)]]))
    repair = mesh.repair()
    assert repair.actions == [
        "dropped 1 pair of faces folded onto each other",
        "dropped 1 unreferenced vertex",
    ]
    np.testing.assert_array_equal(repair.mesh.faces, faces)


def test_of_a_sheet_with_two_sides_one_is_kept():
    vertices, faces = shapes.grid()
    repair = Mesh(vertices, np.vstack([faces, faces[:, ::-1]])).repair()
    np.testing.assert_array_equal(repair.mesh.faces, faces)


def test_where_orientation_is_impossible_few_edges_disagree():
    vertices, faces = shapes.mobius()
    turned = np.random.default_rng(0).random(len(faces)) < 0.5
    faces[turned] = faces[turned][:, ::-1]
    report = Mesh(vertices, faces).repair().mesh.check()
    assert not report.orientable
    assert len(report.inconsistent_edges) <= 9  # the strip is four squares wide: eight faces and a corner


@pytest.mark.parametrize(
    ("vertices", "faces"),
    [
        ([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [[0, 1, 2]]),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 1]]),
        ([[0, 0, 0], [np.nan, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
    ],
)
def test_what_cannot_be_repaired_is_refused(vertices, faces):
    with pytest.raises(MeshError, match="every face is degenerate or has NaN"):
        Mesh(vertices, faces).repair()


@settings(max_examples=200, deadline=None)
@given(soups)
def test_repair_mends_every_soup(soup):
    mesh = Mesh(*soup)
    try:
        repair = mesh.repair()
    except MeshError:
        return
    report = repair.mesh.check()
    for cured in ("nan_vertices", "unreferenced_vertices", "degenerate_faces", "duplicate_faces"):
        assert report.counts[cured] == 0, cured
    assert not report.orientable or not len(report.inconsistent_edges)
    assert repair.mesh.validate() is repair.mesh
    np.testing.assert_array_equal(repair.mesh.vertices, mesh.vertices[repair.vertex_map])
    kept = np.flatnonzero(repair.new_vertex >= 0)
    np.testing.assert_array_equal(mesh.vertices[kept], repair.mesh.vertices[repair.new_vertex[kept]])
    np.testing.assert_array_equal(repair.new_vertex[repair.vertex_map], np.arange(len(repair.vertex_map)))
    again = repair.mesh.repair()
    assert again.actions == []
