"""Coarser meshes: the same surface, evenly covered, sheets kept apart."""

import numpy as np
import pytest

import shapes
from fieldconv.geometry import Mesh, coarsen


@pytest.fixture(scope="module")
def sphere() -> Mesh:
    return Mesh(*shapes.icosphere(5))


def test_a_sphere_stays_a_sphere(sphere):
    small = coarsen(sphere, 1000)
    count = len(small.mesh.vertices)
    assert 700 < count < 1400
    assert small.mesh.check().problems == []  # closed, manifold, oriented
    edges = len(small.mesh.faces) * 3 // 2
    assert count - edges + len(small.mesh.faces) == 2  # Euler's number
    radius = np.linalg.norm(small.mesh.vertices, axis=1)
    assert radius.min() > 0.98
    # Each vertex maps to a near one, and regions have similar sizes.
    away = np.linalg.norm(sphere.vertices - small.mesh.vertices[small.vertex_map], axis=1)
    spacing = np.sqrt(4 * np.pi / count)
    assert away.max() < 1.5 * spacing
    assert np.bincount(small.vertex_map).max() < 4 * len(sphere.vertices) / count
    assert np.array_equal(small.vertex_map[small.origin], np.arange(count))


def test_sheets_that_nearly_touch_stay_apart():
    """Two parallel squares a thousandth of their side apart share no vertex, however coarse."""
    side = np.linspace(0, 1, 60)
    x, y = (grid.ravel() for grid in np.meshgrid(side, side))
    corner = (np.arange(59)[:, None] * 60 + np.arange(59)).ravel()
    faces = np.concatenate(
        [np.stack([corner, corner + 1, corner + 61], 1), np.stack([corner, corner + 61, corner + 60], 1)]
    )
    sheets = np.concatenate([np.stack([x, y, 0 * x + z], 1) for z in (0, 1e-3)])
    small = coarsen(Mesh(sheets, np.concatenate([faces, faces + 3600])), 300)
    lower, upper = small.vertex_map[:3600], small.vertex_map[3600:]
    assert not set(lower[lower >= 0]) & set(upper[upper >= 0])
    assert small.mesh.check().counts["components"] == 2


def test_numbering_does_not_matter(sphere):
    order = np.random.default_rng(0).permutation(len(sphere.vertices))
    bumpy = sphere.vertices * (1 + 0.1 * np.random.default_rng(1).random((len(sphere.vertices), 1)))
    other = Mesh(bumpy[order], np.argsort(order)[sphere.faces])
    one, two = coarsen(Mesh(bumpy, sphere.faces), 800), coarsen(other, 800)
    assert len(one.mesh.vertices) == len(two.mesh.vertices)
    sets = [np.sort(np.round(found.mesh.vertices, 9).view("f8,f8,f8").ravel()) for found in (one, two)]
    assert np.array_equal(*sets)


def test_a_mesh_that_is_coarse_enough_stays_itself(sphere):
    same = coarsen(sphere, 10**6)
    assert same.mesh is sphere
    assert np.array_equal(same.vertex_map, np.arange(len(sphere.vertices)))
