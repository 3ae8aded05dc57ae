"""Meshes sparser than what a network learnt: subdivided inside, results carried back to their vertices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fieldconv.geometry import Mesh, tangent_frames
from fieldconv.surface import Surface, SurfaceCache, SurfaceSettings, ToSurface
from tests.shapes import icosphere

POINTS, FACES = icosphere(2)
MESH = Mesh(POINTS * [1.0, 1.2, 1.5], FACES)


def test_a_sparse_mesh_has_as_many_samples_as_a_dense_one() -> None:
    surface = Surface.from_mesh(MESH, samples=500, features="hks", min_vertices=400)
    assert (surface.num_nodes, surface.num_vertices) == (500, len(MESH.vertices))
    assert int(surface.sample.max()) < len(MESH.vertices)
    assert surface.vertex_sample.shape == (len(MESH.vertices), 4)
    unit = MESH.normalised()
    height = surface.interpolate(surface.pos[:, 2]).numpy()
    assert np.abs(height - unit.vertices[:, 2]).max() < 0.03
    assert float(surface.vertex_area.sum()) == pytest.approx(1)


def test_vectors_come_back_in_the_frames_of_the_vertices() -> None:
    """A field that is constant in space, seen in the frames of the samples and of all vertices."""

    def seen(frame: np.ndarray, normal: np.ndarray) -> np.ndarray:
        return frame[:, 2] + 1j * np.cross(normal, frame)[:, 2]

    surface = Surface.from_mesh(MESH, samples=500, min_vertices=400)
    field = seen(surface.frame.numpy().astype(np.float64), surface.normal.numpy().astype(np.float64))
    found = surface.interpolate(torch.from_numpy(field.astype(np.complex64))).numpy()
    assert np.abs(found - seen(*tangent_frames(MESH.normalised()))).mean() < 0.05


def test_neighbourhoods_are_those_of_the_dense_mesh() -> None:
    points, faces = icosphere(4)
    dense = Mesh(points * [1.0, 1.2, 1.5], faces)
    one = Surface.from_mesh(dense, samples=500, features="hks")
    two = Surface.from_mesh(MESH, samples=500, features="hks", min_vertices=400)
    assert two.num_edges == pytest.approx(one.num_edges, rel=0.05)
    assert float(two.x.mean()) == pytest.approx(float(one.x.mean()), rel=0.02)


def test_enough_vertices_are_left_as_they_are() -> None:
    few, none = (Surface.from_mesh(MESH, min_vertices=count) for count in (len(MESH.vertices), None))
    assert all(torch.equal(few[key], none[key]) for key in few.keys())  # noqa: SIM118
    with pytest.raises(ValueError, match="min_vertices"):
        SurfaceSettings(min_vertices=0)


def test_what_is_kept_is_not_mixed_up(tmp_path: str) -> None:
    cache = SurfaceCache(tmp_path)
    sizes = [
        cache.surface(MESH, SurfaceSettings(samples=500, min_vertices=min_vertices)).num_nodes
        for min_vertices in (None, 400, None)
    ]
    assert sizes == [len(MESH.vertices), 500, len(MESH.vertices)]


def test_names_of_version_0_2_0_are_understood() -> None:
    expected = SurfaceSettings(samples=500, min_vertices=400, sampling_seed=3)
    old = {"samples": 500, "fewest": 400, "sampling": 3}
    assert SurfaceSettings.from_dict(old) == ToSurface(**old).settings == expected
    assert Surface.from_mesh(MESH, **old).num_nodes == 500
    with pytest.raises(TypeError, match="smallest"):
        Surface.from_mesh(MESH, smallest=400)
