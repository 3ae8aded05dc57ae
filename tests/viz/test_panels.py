from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.geometry import Mesh
from fieldconv.viz import colours as col
from fieldconv.viz import panels as pan


def test_values_must_match_the_vertices(ball: Mesh) -> None:
    with pytest.raises(ValueError, match="'Height' has 3 values but the mesh has 162 vertices"):
        pan.Panel(mesh=ball, colourings=[pan.scalar("Height", [1.0, 2.0, 3.0])])


def test_classes_without_names_are_numbered() -> None:
    assert pan.labels("Part", [0, 3], ["head"]).names == ["head", "1", "2", "3"]


def test_scalars_of_both_signs_are_centred_on_zero() -> None:
    shown = pan.scalar("x", [-1.0, 4.0, np.nan, np.inf])
    assert shown.limits == (-4.0, 4.0)
    np.testing.assert_array_equal(shown.ramp, col.ramp("diverging"))


def test_a_vertex_map_shows_colours_of_the_source(ball: Mesh) -> None:
    turn = np.arange(162)[::-1].copy()
    turn[5] = -1
    carried = pan.match_colours("Correspondence", ball, turn)
    own = col.position_colours(ball.vertices)
    np.testing.assert_array_equal(carried.values[7], own[turn[7]])
    np.testing.assert_array_equal(carried.values[5], col.PLAIN)
    with pytest.raises(ValueError, match="names vertex 162 but ball has 162 vertices, numbered from 0"):
        pan.match_colours("Correspondence", ball, turn + 1)


@given(st.integers(1, 400), st.integers(1, 200), st.integers(0, 5))
def test_spread_points_are_distinct_and_not_too_many(count: int, most: int, seed: int) -> None:
    points = np.random.default_rng(seed).random((count, 3))
    picked = pan.spread_points(points, most)
    assert 1 <= len(picked) <= max(most, 1)
    assert len(np.unique(picked)) == len(picked)


def test_complex_vectors_lie_in_the_tangent_plane(ball: Mesh) -> None:
    vectors = np.exp(1j * np.linspace(0, 6, 162)) * np.linspace(0.1, 1, 162)
    space = pan.vectors_in_space(ball, vectors)
    np.testing.assert_allclose(np.linalg.norm(space, axis=1), np.abs(vectors), rtol=1e-6)
    assert np.abs((space * ball.vertex_normals).sum(axis=1)).max() < 1e-6


def test_disc_shows_polar_coordinates_of_the_sphere(ball: Mesh) -> None:
    """On the unit sphere the geodesic distance of two points is the angle between them."""
    log, _ = (panel.colourings[0] for panel in pan.disc_panels(ball, 17, 0.8))
    assert isinstance(log, pan.Polar)
    inside = ~np.isnan(log.values[:, 0])
    true = np.arccos(np.clip(ball.vertices @ ball.vertices[17], -1, 1))
    np.testing.assert_allclose(np.linalg.norm(log.values[inside], axis=1), true[inside], rtol=0.02, atol=1e-6)
    assert inside[17]
    assert not inside[true > 0.85].any()


def test_disc_arrows_are_tangent_and_equally_long(ball: Mesh) -> None:
    arrows = pan.disc_panels(ball, 17, 0.8)[1].colourings[0].arrows
    assert arrows is not None
    length = np.linalg.norm(arrows.vectors, axis=1)
    np.testing.assert_allclose(length, length[0])
    assert (
        np.abs((arrows.vectors * ball.vertex_normals[arrows.vertices]).sum(axis=1)).max() < 1e-6 * length[0]
    )


def test_disc_of_a_missing_vertex(ball: Mesh) -> None:
    with pytest.raises(ValueError, match="ball has no vertex 162; choose one of 0…161"):
        pan.disc_panels(ball, 162, 0.2)
