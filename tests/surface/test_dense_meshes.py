"""Meshes far denser than their samples: the same surface at a bounded price; too much is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry import Mesh, tangent_frames
from fieldconv.networks import FCNet
from fieldconv.surface import Preparation, Surface, SurfaceSettings, parts
from fieldconv.surface.parts import make_parts, parts_of


@pytest.fixture(scope="module")
def mesh() -> Mesh:
    vertices, faces = shapes.icosphere(5)
    return Mesh(vertices * (1 + 0.2 * np.sin(3 * vertices[:, [0]])), faces)


def coarsened(mesh: Mesh, vertices: int, **settings: Any) -> Surface:
    """The surface of a mesh that is made coarser to so many vertices first."""
    asked = SurfaceSettings(**settings)
    return Surface.assemble(
        make_parts(Preparation(mesh, asked, coarse_vertices=vertices), parts_of(asked)), asked
    )


def test_results_come_back_to_every_vertex(mesh: Mesh) -> None:
    surface = coarsened(mesh, 2000, samples=400)
    unit = mesh.normalised()
    assert (surface.num_nodes, surface.num_vertices) == (400, len(mesh.vertices))
    # Samples are vertices of the given mesh, near where they were measured.
    assert np.linalg.norm(surface.pos.numpy() - unit.vertices[surface.sample.numpy()], axis=1).max() < 0.02
    height = surface.interpolate(surface.pos[:, 2]).numpy()
    assert np.abs(height - unit.vertices[:, 2]).max() < 0.03

    # A vector field that is constant in space, seen in the frames of the samples and of all vertices.
    def seen(frame: np.ndarray, normal: np.ndarray) -> np.ndarray:
        return frame[:, 2] + 1j * np.cross(normal, frame)[:, 2]

    field = seen(surface.frame.numpy().astype(np.float64), surface.normal.numpy().astype(np.float64))
    found = surface.interpolate(torch.from_numpy(field.astype(np.complex64))).numpy()
    expected = seen(*tangent_frames(unit))
    assert np.abs(found - expected).mean() < 0.05
    np.testing.assert_allclose(surface.vertex_area.numpy().sum(), 1, rtol=1e-5)


def test_vertices_read_where_they_lie() -> None:
    """Vertices of a square region of side a that read what its middle does are off by a/4 in the mean."""
    side, draw = 60, np.random.default_rng(0)
    points = np.stack([*np.meshgrid(np.arange(side), np.arange(side)), np.zeros((side, side))], -1) / side
    points[..., :2] += draw.uniform(-0.3, 0.3, (side, side, 2)) / side
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    square = np.stack([corner, corner + 1, corner + side + 1, corner + side], 1)
    mesh = Mesh(points.reshape(-1, 3), np.concatenate([square[:, :3], square[:, [0, 2, 3]]])).normalised()
    inside = (np.abs(mesh.vertices[:, :2] - mesh.vertices[:, :2].mean(0)) < 0.35).all(1)

    def error(surface: Surface) -> float:
        found = surface.interpolate(surface.pos).numpy()[inside, :2]
        # A coarser mesh ends a little before the rim; at unit area it is larger than the given one.
        linear = np.column_stack([mesh.vertices[inside, :2], np.ones(inside.sum())])
        return float(np.abs(linear @ np.linalg.lstsq(linear, found)[0] - found).mean())

    assert error(Surface.from_mesh(mesh, radius=0.1, samples=100)) < 0.001
    assert error(coarsened(mesh, 400, radius=0.1, samples=100)) < 0.3 / 4 / np.sqrt(400)


def test_neighbourhoods_are_those_of_the_dense_mesh(mesh: Mesh) -> None:
    coarse, whole = (coarsened(mesh, vertices, samples=400) for vertices in (2000, 10**9))
    assert coarse.num_edges == pytest.approx(whole.num_edges, rel=0.02)
    assert float(coarse.log.abs().mean()) == pytest.approx(float(whole.log.abs().mean()), rel=0.02)


def test_what_does_not_fit_is_refused_in_one_line(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "available_memory", lambda: 10**8)
    with pytest.raises(
        ValueError, match=r"10,242 samples with radius 0.3 have about 30 million pairs"
    ) as refused:
        Surface.from_mesh(mesh, radius=0.3)
    assert "\n" not in str(refused.value)
    fewer = int(str(refused.value).split("--samples ")[1].split(")")[0])
    assert Surface.from_mesh(mesh, radius=0.3, samples=fewer).num_nodes == fewer  # as it says


def test_a_network_keeps_to_the_density_it_learnt() -> None:
    model = FCNet.for_task("segmentation", classes=2, preset="tiny", samples=None)
    assert model.surface_settings().samples is None
    model.density = 500
    assert model.surface_settings().samples == 750
    assert model.surface_settings().min_vertices == 400
    assert model.surface_settings(100).samples == 100
    sampled = FCNet.for_task("segmentation", classes=2, preset="tiny", samples=64)
    sampled.density = 50
    assert sampled.surface_settings().samples == 64


def test_answers_take_more_samples_than_were_learnt_on() -> None:
    def answer(
        task: str = "segmentation",
        samples: int | None = None,
        density: int | None = 500,
        any_density: bool = True,
    ) -> object:
        model = FCNet.for_task(task, classes=2, preset="tiny", samples=samples)
        model.density, model.any_density = density, any_density
        return model.answer_settings().samples

    assert answer() == 1500
    assert answer(samples=500) == 1500
    assert answer(samples=2000) == 2000  # set to more on purpose
    assert answer(any_density=False) == 750
    assert answer(density=1500) == 3072
    assert answer(density=3000) == 4500  # more would take long
    assert answer(density=None) is None
    assert answer("classification") == 750
    model = FCNet.for_task("segmentation", classes=2, preset="tiny", samples=None)
    model.density, model.any_density = 500, True
    assert model.answer_settings().min_vertices == 1500
    assert model.answer_settings(100) == model.surface_settings(100)
