import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.geometry import Mesh
from fieldconv.labels import (
    DatasetError,
    colour_labels,
    edges_in_file_order,
    mesh_labels,
    read_integers,
    read_labels,
    read_numbers,
    read_vertex_map,
    vertex_labels,
)
from handmade import TETRAHEDRON, strip


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "3\n1\n2\n"),
        ("a.seg", "# a comment\n3\n\n1\n2"),
        ("a.eseg", "3.0\n1.0\n2.0\n"),
        ("a.csv", "3\n1\n2\n"),
        ("a.csv", "label\n3\n1\n2\n"),
        ("a.csv", "vertex,label\n2,2\n0,3\n1,1\n"),
        ("a.csv", "0,3\n1,1\n2,2\n"),
        ("a.csv", "Vertex, Label, confidence\n0,3,.9\n1,1,.8\n2,2,.7\n"),
    ],
)
def test_every_text_format_reads_the_same_labels(tmp_path, name, text):
    assert read_integers(write(tmp_path / name, text)).tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("value", "kind"),
    [(-2, np.int64), (-(2**63), np.int64), (2**31, np.int64), (2**64 - 1, np.uint64), (np.inf, np.float64),
     (np.nan, np.float32), (0.5, np.float64), (1e300, np.float64)],
)  # fmt: skip
def test_a_label_that_is_none_names_its_vertex(tmp_path, value, kind):
    labels = np.arange(9).astype(kind)
    labels[[4, 7]] = value
    np.save(tmp_path / "a.npy", labels)
    with pytest.raises(DatasetError, match="the label of vertex 4 is") as error:
        read_labels(tmp_path / "a.npy", {})
    assert "\n" not in str(error.value)


def test_labels_from_none_to_the_largest(tmp_path):
    np.save(tmp_path / "a.npy", np.array([-1, 0, 2**31 - 1]))
    assert read_labels(tmp_path / "a.npy", {}).tolist() == [-1, 0, 2**31 - 1]
    mesh = Mesh(np.eye(3), [[0, 1, 2]], "shape", vertex_data={"label": np.array([0, 1, -7])})
    with pytest.raises(DatasetError, match="shape: the label of vertex 2 is -7"):
        mesh_labels(mesh)


def test_a_map_below_none_is_refused(tmp_path):
    path = write(tmp_path / "a.txt", "1\n0\n-1\n")
    assert read_vertex_map(path, base=1).tolist() == [0, -1, -1]
    with pytest.raises(DatasetError, match="entry 2 is -9"):
        read_vertex_map(write(tmp_path / "b.txt", "1\n-9\n"), base=1)


def test_npy_of_any_integer_type_is_read(tmp_path):
    for dtype in (np.uint8, np.int32, np.float32):
        np.save(tmp_path / "a.npy", np.array([3, 1, 2], dtype))
        assert read_integers(tmp_path / "a.npy").tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "1\n2\nx\n", "line 3 is 'x'; expected one integer"),
        ("a.txt", "1\n2.5\n", "line 2 is '2.5'"),
        ("a.txt", "1\n2 3\n", "line 2 is '2 3'"),
        ("a.csv", "vertex,label\n0,1\n1\n", "line 3 has 1 columns; expected 'vertex,label'"),
        ("a.csv", "vertex,label\n0,1\n0,2\n", "does not name each of 0…1 exactly once"),
        ("a.csv", "id,part\n0,1\n", "names no column 'label'"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path, name, text, expected):
    path = write(tmp_path / name, text)
    with pytest.raises(DatasetError) as raised:
        read_integers(path)
    assert str(path) in str(raised.value)
    assert expected in str(raised.value)


def test_an_object_array_is_refused_not_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DatasetError, match=r"a\.npy"):
        read_integers(tmp_path / "a.npy")


def naive_edges(faces):
    edges = []
    for face in faces:
        for a, b in ((0, 1), (1, 2), (2, 0)):
            edge = sorted((face[a], face[b]))
            if edge not in edges:
                edges.append(edge)
    return edges


@given(st.lists(st.permutations(range(6)).map(lambda p: p[:3]), min_size=1, max_size=12))
def test_edges_are_counted_as_the_format_says(faces):
    assert edges_in_file_order(np.array(faces)).tolist() == naive_edges(faces)


def naive_vote(mesh, cells, labels, weights):
    result = []
    for vertex in range(len(mesh.vertices)):
        votes = {}
        for cell, label, weight in zip(cells, labels, weights, strict=True):
            if vertex in cell:
                votes[label] = votes.get(label, 0.0) + weight
        result.append(max(sorted(votes), key=votes.get) if votes else -1)
    return result


@given(st.integers(0, 2**32 - 1))
def test_votes_are_weighted_by_area(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = strip(4)
    mesh = Mesh(np.array(vertices) + rng.uniform(-0.3, 0.3, (len(vertices), 3)), faces)
    by_face = rng.integers(1, 4, len(faces))
    assert vertex_labels(mesh, by_face).tolist() == naive_vote(mesh, faces, by_face, mesh.face_areas)
    edges = naive_edges(faces)
    by_edge = rng.integers(1, 4, len(edges))
    weights = [
        sum(area / 3 for f, area in zip(faces, mesh.face_areas, strict=True) if {*e} <= {*f}) for e in edges
    ]
    assert vertex_labels(mesh, by_edge).tolist() == naive_vote(mesh, edges, by_edge, weights)


def test_vertex_labels_stay_and_loose_vertices_are_unknown():
    vertices, faces = strip(2)
    mesh = Mesh([*vertices, (9, 9, 9)], faces)
    assert vertex_labels(mesh, np.arange(7)).tolist() == list(range(7))
    assert vertex_labels(mesh, np.full(4, 5)).tolist() == [5] * 6 + [-1]


def test_faces_without_area_still_label_their_vertices():
    mesh = Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 2, 0)], [(0, 1, 2), (1, 3, 4)])
    assert mesh.face_areas[1] == 0
    assert vertex_labels(mesh, np.array([6, 4])).tolist() == [6, 6, 6, 4, 4]


def test_a_wrong_count_says_what_was_expected():
    mesh = Mesh(*strip(3), name="ladder")
    with pytest.raises(DatasetError, match=r"ladder\.txt: has 5 labels; expected 8 .* 6 .* or 13"):
        vertex_labels(mesh, np.zeros(5, np.int64), source="ladder.txt")


def test_labels_in_the_mesh_itself():
    mesh = Mesh(*TETRAHEDRON, vertex_data={"label": np.array([1, 0, 2, 1], np.uint8)})
    assert mesh_labels(mesh).tolist() == [1, 0, 2, 1]
    assert mesh_labels(Mesh(*TETRAHEDRON)) is None
    colours = np.array([[255, 0, 0, 255], [0, 255, 0, 255], [255, 0, 0, 0], [0, 0, 1, 255]], np.uint8)
    assert colour_labels(Mesh(*TETRAHEDRON, vertex_colours=colours)).tolist() == [
        0xFF0000,
        0xFF00,
        0xFF0000,
        1,
    ]
    assert colour_labels(Mesh(*TETRAHEDRON, vertex_colours=np.full((4, 4), 200, np.uint8))) is None


def test_vertex_maps_count_from_their_base(tmp_path):
    path = write(tmp_path / "a.vts", "1\n4\n0\n2\n")
    assert read_vertex_map(path, num_targets=4, base=1).tolist() == [0, 3, -1, 1]
    assert read_vertex_map(path, num_targets=5, base=0).tolist() == [1, 4, 0, 2]
    with pytest.raises(DatasetError, match="entry 2 is 4; expected ids 0…3"):
        read_vertex_map(path, num_targets=4, base=0)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2, np.nan, 3]),
        np.array([1, 2, np.inf]),
        np.array([1, 2, -np.inf]),
        np.array([1, 2, 2.5, 7], np.float32),
        np.array([1, 2, 1e30]),
        np.array([1, 2, 2**63], np.uint64),
    ],
)
def test_what_is_no_integer_is_named_by_its_vertex(tmp_path, values):
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(DatasetError, match="the label of vertex 2 is"):
        read_integers(tmp_path / "a.npy")
    mesh = Mesh(np.eye(len(values), 3), [[0, 1, 2]], vertex_data={"label": values})
    with pytest.raises(DatasetError, match="vertex 2"):
        mesh_labels(mesh)


def test_integers_that_no_float_can_hold_stay_as_they_are(tmp_path):
    exact = 2**53 + 1
    assert read_integers(write(tmp_path / "a.txt", f"{exact}\n1.0\n")).tolist() == [exact, 1]
    assert read_integers(write(tmp_path / "a.csv", f"label\n{exact}\n")).tolist() == [exact]
    for text in (f"{2**63}", f"{-(2**63) - 1}", "1e300", "nan", "inf", "1_000", "٣", "9" * 5000):
        for name in ("b.txt", "b.csv"):
            with pytest.raises(DatasetError, match=r"line 2 is .*expected one integer") as raised:
                read_integers(write(tmp_path / name, f"{'label' if name == 'b.csv' else '7'}\n{text}\n"))
            assert len(str(raised.value)) < 400 + len(str(tmp_path))


DAMAGED = {
    "overflow.npy": b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '<i8', 'fortran_order': False, 'shape': (900000000000,), }".ljust(117) + b"\n" + bytes(80),
    "nested.npy": b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000,
    "zip.npy": b"PK\x03\x04" + bytes(50),
    "field.csv": b"label\n" + b"1" * 200_000 + b"\n",
    "zero.csv": b"label\n1\0\n",
    "header.csv": b"vertex,label," + b"x" * 2_000_000 + b"\n0\n",
    "bytes.txt": bytes(range(256)) * 50,
    "bytes.npy": bytes(range(256)) * 50,
    "long.txt": b"x" * 5_000_000,
}  # fmt: skip


@pytest.mark.parametrize("name", list(DAMAGED))
def test_damaged_label_files_are_one_short_line(tmp_path, name):
    (tmp_path / name).write_bytes(DAMAGED[name])
    with pytest.raises(DatasetError) as raised:
        read_integers(tmp_path / name)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 700 + len(str(tmp_path))
    with pytest.raises(DatasetError) as raised:  # as `train` reads it
        read_labels(tmp_path / name, {"cat": 0})
    assert "\n" not in str(raised.value)
    with contextlib.suppress(DatasetError):  # and nothing else
        read_numbers(tmp_path / name)


def test_an_archive_is_no_label_file(tmp_path):
    np.savez(tmp_path / "a.npz", labels=np.arange(3))
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    with pytest.raises(DatasetError, match=r"\.npz archive"):
        read_integers(tmp_path / "a.npy")


def test_as_many_labels_as_faces_need_no_table_of_all_pairs():
    """One label for each of 40,000 faces on 20,000 vertices would be a table of six gigabytes."""
    side = 142
    vertices = np.stack([*np.meshgrid(np.arange(side), np.arange(side)), np.zeros((side, side))], -1).reshape(
        -1, 3
    )
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    faces = np.concatenate([corner[:, None] + [0, 1, side], corner[:, None] + [1, side + 1, side]])
    labels = vertex_labels(Mesh(vertices, faces), np.arange(len(faces)))
    around = [np.flatnonzero((faces == vertex).any(1)) for vertex in (0, 500, 20_000)]
    assert [labels[vertex] in faces_here for vertex, faces_here in zip((0, 500, 20_000), around, strict=True)]
    assert labels[0] == 0
