"""Gradients of point clouds."""

import numpy as np
import pytest

from fieldconv.networks.rivals.shared.least_squares import point_gradients


@pytest.mark.parametrize("regulariser", [1e-3, 1.0])
@pytest.mark.parametrize("count", [1, 3, 15, 80])
def test_constants_have_no_gradient(count, regulariser):
    """Whatever the points: on a line, all at one place, fewer than neighbours."""
    draw = np.random.default_rng(count)
    for points in (draw.random((count, 3)), np.outer(draw.random(count), [1, 2, 3]), np.zeros((count, 3))):
        frames, normals = np.tile([0, 1.0, 0], (count, 1)), np.tile([1.0, 0, 0], (count, 1))
        found = point_gradients(points, frames, normals, regulariser=regulariser)
        assert np.isfinite(found.coefficient).all()
        size = np.bincount(found.receiver, np.abs(found.coefficient)).max()
        for part in (found.coefficient.real, found.coefficient.imag):
            assert np.abs(np.bincount(found.receiver, part)).max() <= 1e-9 * size


def test_turning_frames_turns_gradients_and_size_scales_them():
    draw = np.random.default_rng(0)
    points = np.append(draw.random((60, 2)), np.zeros((60, 1)), 1)
    frames, normals = np.tile([1.0, 0, 0], (60, 1)), np.tile([0, 0, 1.0], (60, 1))
    angle = 2 * np.pi * draw.random(60)
    turned = np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    one, two = point_gradients(points, frames, normals), point_gradients(5 * points, turned, normals)
    np.testing.assert_array_equal(one.sender, two.sender)
    expected = one.coefficient * np.exp(-1j * angle[one.receiver]) / 5
    np.testing.assert_allclose(two.coefficient, expected, atol=1e-9)
