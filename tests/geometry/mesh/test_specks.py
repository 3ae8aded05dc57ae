"""What counts as the surface of a mesh: neither loose vertices nor specks."""

from __future__ import annotations

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh
from fieldconv.geometry.mesh.check import surface_vertices

BALL = shapes.icosphere(2)


def beside(*others: tuple[float, float]) -> Mesh:
    """The unit sphere, and smaller ones of given radii at given distances."""
    vertices, faces = [BALL[0]], [BALL[1]]
    for radius, away in others:
        faces.append(BALL[1] + sum(map(len, vertices)))
        vertices.append(radius * BALL[0] + [away, 0, 0])
    return Mesh(np.concatenate(vertices), np.concatenate(faces))


def test_a_clean_mesh_is_kept_whole() -> None:
    assert len(surface_vertices(beside((0.5, 9)))) == 2 * len(BALL[0])


@pytest.mark.parametrize(("radius", "parts"), [(0.0099, 1), (0.0101, 2)])
def test_parts_below_a_ten_thousandth_of_the_area_are_specks(radius: float, parts: int) -> None:
    found = surface_vertices(beside((radius, 40)))
    np.testing.assert_array_equal(found, np.arange(parts * len(BALL[0])))


def test_specks_never_make_up_more_than_a_hundredth() -> None:
    """Of very many small parts only the much smaller ones are specks, and equal ones stay or go together."""
    few, many = beside(*[(0.009, k) for k in range(3, 100)]), beside(*[(0.009, k) for k in range(3, 203)])
    assert len(surface_vertices(few)) == len(BALL[0])  # 97 of 0.81 ten-thousandths
    assert len(surface_vertices(many)) == len(many.vertices)  # 200 of them
    dust = beside(*[(0.009, k) for k in range(3, 203)], (0.001, 500))
    assert len(surface_vertices(dust)) == len(dust.vertices) - len(BALL[0])


def test_loose_vertices_are_left_out_wherever_they_are() -> None:
    vertices, faces = BALL
    mesh = Mesh(np.concatenate([[[0, 0, 0]], vertices, [[90.0, 0, 0]]]), faces + 1)
    np.testing.assert_array_equal(surface_vertices(mesh), 1 + np.arange(len(vertices)))
