from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fieldconv.geometry import Mesh
from fieldconv.tasks.correspondence import template_distances
from shapes import icosphere


@pytest.fixture(scope="module")
def sphere() -> Mesh:
    return Mesh(*icosphere(3), name="sphere")


def test_great_circles_on_a_sphere(sphere: Mesh) -> None:
    distances = template_distances(sphere)
    unit = sphere.vertices / np.linalg.norm(sphere.vertices, axis=1, keepdims=True)
    angle = np.arccos(np.clip(unit @ unit.T, -1, 1))
    circle = angle / np.sqrt(4 * np.pi)  # radius of the sphere of area 1
    assert np.abs(distances - circle).max() < 0.025  # at the antipode, of 0.886
    assert np.abs(distances - circle).mean() < 0.004
    assert np.all(np.diag(distances) == 0)


def test_kept_for_the_next_time_and_made_again_if_damaged(sphere: Mesh, tmp_path: Path) -> None:
    first = template_distances(sphere, tmp_path)
    (kept,) = tmp_path.glob("??/*.surface")
    assert np.array_equal(template_distances(sphere, tmp_path), first)
    kept.write_bytes(kept.read_bytes()[:1000])
    assert np.array_equal(template_distances(sphere, tmp_path), first)
    assert len(kept.read_bytes()) > 1000


def test_other_components_are_infinitely_far() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    two = Mesh(np.concatenate([vertices, vertices + 5]), [[0, 1, 2], [3, 4, 5]])
    distances = template_distances(two)
    assert np.isinf(distances[:3, 3:]).all()
    assert np.isfinite(distances[:3, :3]).all()
