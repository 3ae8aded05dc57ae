from __future__ import annotations

import numpy as np
import pytest

from fieldconv.geometry import Mesh
from fieldconv.viz.camera import guess_up


def box(low: list[float], high: list[float]) -> Mesh:
    corners = np.array([low, [high[0], low[1], low[2]], [low[0], high[1], low[2]], high])
    return Mesh(corners, [[0, 1, 2], [1, 2, 3]])


@pytest.mark.parametrize(
    ("low", "high", "up"),
    [
        ([-0.5, 0, -0.2], [0.5, 1.7, 0.2], "y"),  # a person on the ground
        ([-0.5, -0.2, 0], [0.5, 0.2, 1.3], "z"),
        ([-0.05, -0.4, -0.5], [1.8, 0.3, 0.5], "x"),
        ([-0.6, -0.3, 0.05], [0.7, 0.2, 1.2], "z"),  # an animal longer than high, its feet near zero
        ([-0.4, -0.1, -1.0], [0.4, 0.2, 0.8], "z"),  # a person about the origin
        ([-0.4, -1.2, -0.1], [0.5, 0.9, 0.3], "y"),
        ([0, 0, 0], [0.45, 1.0, 0.2], "y"),  # in the first octant: by its height
        ([-0.9, -0.4, -0.3], [0.9, 0.4, 0.3], "y"),  # long along x: lying, as far as anybody knows
        ([-1, -1, -1], [1, 1, 1], "y"),
    ],
)
def test_up_is_guessed_from_the_box(low: list[float], high: list[float], up: str) -> None:
    assert guess_up(box(low, high)) == up
