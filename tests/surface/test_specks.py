"""Loose vertices, specks and the side that faces turn to change nothing that is measured on a surface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry import Mesh, tangent_frames
from fieldconv.surface import Surface

VERTICES, FACES = shapes.icosphere(3)
EGG = Mesh(VERTICES * [1.0, 1.3, 1.8] + 0.1 * VERTICES[:, [1, 2, 0]] ** 2, FACES)
SETTINGS: dict[str, Any] = {"radius": 0.3, "features": "balls+hks", "smoothing": 0.02, "closed": True}


def littered(mesh: Mesh, away: float) -> tuple[Mesh, np.ndarray]:
    """A mesh among loose vertices and a speck, and the number of each of its own vertices there."""
    speck = 1e-3 * np.eye(3) + [0, away, 0]
    vertices = np.concatenate(
        [[[away, 0, 0]], mesh.vertices[:100], speck, mesh.vertices[100:], [[0, 0, -away]]]
    )
    own = np.concatenate([np.arange(100) + 1, np.arange(100, len(mesh.vertices)) + 4])
    return Mesh(
        vertices, np.concatenate([own[mesh.faces[:50]], [[101, 102, 103]], own[mesh.faces[50:]]])
    ), own


@pytest.mark.parametrize("samples", [None, 150])
@pytest.mark.parametrize("away", [3.0, 100.0])
def test_what_lies_beside_the_surface_changes_nothing(samples: int | None, away: float) -> None:
    expected = Surface.from_mesh(EGG, samples=samples, operators=("discs", "coarse"), **SETTINGS)
    mesh, own = littered(EGG, away)
    found = Surface.from_mesh(mesh, samples=samples, operators=("discs", "coarse"), **SETTINGS)
    assert set(found.keys()) == set(expected.keys())
    for name in expected.keys():  # noqa: SIM118
        value = found[name]
        if name.startswith("vertex_"):
            value = value[torch.from_numpy(own)]
        elif name == "sample":
            value = torch.from_numpy(np.searchsorted(own, value.numpy()))
        assert torch.equal(value, expected[name]), name
    assert found.num_vertices == len(mesh.vertices)
    beside = np.setdiff1d(np.arange(len(mesh.vertices)), own)
    assert not found.vertex_area[beside].any()


@pytest.mark.parametrize("samples", [None, 150])
def test_a_body_inside_out_is_seen_from_outside(samples: int | None) -> None:
    expected = Surface.from_mesh(EGG, samples=samples, **SETTINGS)
    found = Surface.from_mesh(Mesh(EGG.vertices, EGG.faces[:, ::-1]), samples=samples, **SETTINGS)
    assert torch.equal(found.sample, expected.sample)
    for name in ("pos", "x", "normal", "edge_index", "vertex_sample", "vertex_weight"):
        torch.testing.assert_close(found[name], expected[name], atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(found.log.abs(), expected.log.abs(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("samples", [None, 400])
def test_vectors_of_a_body_inside_out_arrive_in_its_frames(samples: int | None) -> None:
    """The tangential part of one direction in space, taken from samples to the vertices of the given mesh."""
    mesh = Mesh(EGG.vertices, EGG.faces[:, ::-1])
    surface = Surface.from_mesh(mesh, radius=0.1, samples=samples)
    upward, frame, normal = np.array([0.0, 0.6, 0.8]), surface.frame.numpy(), surface.normal.numpy()
    at_samples = frame @ upward + 1j * (np.cross(normal, frame) @ upward)
    vectors = surface.interpolate(torch.from_numpy(at_samples.astype(np.complex64))).numpy()
    frames, normals = tangent_frames(mesh)
    assert ((normals * VERTICES).sum(1) < 0).all()
    expected = frames @ upward + 1j * (np.cross(-normals, frames) @ upward)  # seen from outside
    assert np.abs(vectors - expected).max() < (1e-5 if samples is None else 0.15)
