"""Files of shapes: meshes, points that are joined to one, and what is neither."""

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh, MeshError, load_shape


def ball() -> tuple[np.ndarray, np.ndarray]:
    return shapes.icosphere(3)


@pytest.mark.parametrize("suffix", [".xyz", ".ply", ".obj", ".off"])
def test_points_of_a_ball_are_joined_to_a_ball(tmp_path, suffix):
    points, _ = ball()
    path = tmp_path / f"scan{suffix}"
    rows = [" ".join(map(repr, row)) for row in points.tolist()]
    header = {
        ".xyz": [str(len(points))],
        ".off": ["OFF", f"{len(points)} 0 0"],
        ".obj": [],
        ".ply": ["ply", "format ascii 1.0", f"element vertex {len(points)}"]
        + [f"property double {axis}" for axis in "xyz"]
        + ["end_header"],
    }[suffix]
    rows = [f"v {row}" for row in rows] if suffix == ".obj" else rows
    path.write_text("\n".join(header + rows) + "\n", encoding="utf-8")
    with pytest.raises(MeshError):
        Mesh.load(path)
    mesh = load_shape(path)
    assert np.array_equal(mesh.vertices, points)  # all of them, in order
    assert mesh.name == "scan"
    assert mesh.area == pytest.approx(4 * np.pi, rel=0.02)
    assert (np.einsum("ij,ij->i", mesh.vertex_normals, points) > 0.9).all()


def test_normals_say_which_side_is_outside(tmp_path):
    points, _ = ball()
    np.savetxt(tmp_path / "inside.xyz", np.hstack([points, -points]), encoding="utf-8")
    mesh = load_shape(tmp_path / "inside.xyz")
    assert (np.einsum("ij,ij->i", mesh.vertex_normals, points) < -0.9).all()


def test_colours_of_points_are_kept(tmp_path):
    points, _ = ball()
    np.savetxt(
        tmp_path / "red.xyz", np.hstack([points, np.tile([255, 0, 0], (len(points), 1))]), encoding="utf-8"
    )
    assert load_shape(tmp_path / "red.xyz").vertex_colours[0].tolist() == [255, 0, 0, 255]


def test_a_mesh_with_faces_is_not_triangulated(tmp_path):
    mesh = Mesh(*ball(), vertex_data={"label": np.arange(642)})
    mesh.save(tmp_path / "ball.ply")
    again = load_shape(tmp_path / "ball.ply")
    assert np.array_equal(again.faces, mesh.faces)
    assert np.array_equal(again.vertex_data["label"], np.arange(642))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<!DOCTYPE html><html>404</html>", "web page"),
        (b"\n  <html lang=en>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        (b"PK\x03\x04 and so on", "unpack"),
        (b"\x1f\x8b\x08", "unpack"),
    ],
)
@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply", ".off", ".glb"])
def test_files_of_other_kinds_are_named(tmp_path, data, message, suffix):
    path = tmp_path / f"shape{suffix}"
    path.write_bytes(data)
    with pytest.raises(MeshError, match=message):
        Mesh.load(path)


def test_points_on_a_line_are_refused_by_name(tmp_path):
    np.savetxt(tmp_path / "line.xyz", np.outer(np.arange(40.0), [1, 2, 3]), encoding="utf-8")
    with pytest.raises(MeshError, match=r"line\.xyz"):
        load_shape(tmp_path / "line.xyz")
