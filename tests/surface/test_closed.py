"""Surfaces whose holes are closed inside: nearly those of the whole shape, at the vertices that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fieldconv.geometry import Mesh
from fieldconv.geometry.damage import damage
from fieldconv.surface import Surface, SurfaceCache, SurfaceSettings
from tests.shapes import icosphere

VERTICES, FACES = icosphere(3)
EGG = Mesh(VERTICES * [1.0, 1.3, 1.8], FACES)
TORN = damage.add_holes(EGG, np.random.default_rng(1), 3, (0.02, 0.05))


def test_a_mesh_without_holes_is_prepared_as_ever() -> None:
    settings: dict[str, Any] = {"radius": 0.3, "features": "hks+rim", "operators": ("discs", "coarse")}
    one, two = (Surface.from_mesh(EGG, closed=closed, **settings) for closed in (False, True))
    assert set(one.keys()) == set(two.keys())
    assert all(torch.equal(one[key], two[key]) for key in one.keys())  # noqa: SIM118
    assert not one.x[:, 16].any()


def test_signatures_hardly_notice_holes() -> None:
    whole = Surface.from_mesh(EGG, features="hks", operators=()).x[torch.from_numpy(TORN.nearest)]
    away = {}
    for closed in (False, True):
        found = Surface.from_mesh(TORN.mesh, features="hks", operators=(), closed=closed).x
        away[closed] = float((found - whole).abs().max())
    assert away[True] < 0.2 * away[False]


def test_paths_lead_across_closed_holes() -> None:
    whole = Surface.from_mesh(EGG, radius=0.3)
    number = torch.full((len(EGG.vertices),), -1)
    number[torch.from_numpy(TORN.nearest)] = torch.arange(len(TORN.nearest))
    here = (number[whole.edge_index] >= 0).all(0)
    pairs = {}
    for closed in (False, True):
        found = Surface.from_mesh(TORN.mesh, radius=0.3, closed=closed)
        assert found.num_nodes == found.num_vertices == len(TORN.mesh.vertices)
        assert int(found.edge_index.max()) < found.num_nodes
        pairs[closed] = set(map(tuple, found.edge_index.T.tolist()))
    true = set(map(tuple, number[whole.edge_index[:, here]].T.tolist()))
    assert len(true ^ pairs[True]) < 0.3 * len(true ^ pairs[False])


@pytest.mark.parametrize("samples", [None, 200])
def test_samples_are_vertices_of_the_mesh(samples: int | None) -> None:
    surface = Surface.from_mesh(
        TORN.mesh, samples=samples, features="heat", operators=("discs", "coarse"), closed=True
    )
    count = len(TORN.mesh.vertices)
    assert int(surface.sample.max()) < count
    assert surface.vertex_sample.shape == (count, 4)
    torch.testing.assert_close(surface.vertex_weight.sum(1), torch.ones(count))
    back = surface.interpolate(surface.pos)
    scaled = TORN.mesh.normalised().vertices
    size = (TORN.mesh.area / surface_area_closed()) ** 0.5
    shift = np.median(back.numpy() - size * scaled, axis=0)
    assert np.abs(back.numpy() - size * scaled - shift).max() < (0.06 if samples else 1e-5)


def surface_area_closed() -> float:
    from fieldconv.geometry import close_holes

    return float(close_holes(TORN.mesh).area)


def test_a_rim_is_seen_up_to_a_radius_away() -> None:
    n = 21
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).reshape(-1, 1)
    sheet = Mesh(np.stack([x, y, 0 * x], -1).reshape(-1, 3), corner + np.array([0, 1, n + 1, n]))
    near = Surface.from_mesh(sheet, radius=0.25, features="rim", operators=()).x[:, 0].reshape(n, n)
    away = np.minimum.reduce([x, 1 - x, y, 1 - y])
    np.testing.assert_allclose(near, np.maximum(0, 1 - away / 0.25), atol=1e-5)
    # Closed, the sheet has two sides: at unit area all is shorter by √2.
    near = Surface.from_mesh(sheet, radius=0.25, features="rim", operators=(), closed=True).x[:, 0]
    np.testing.assert_allclose(near.reshape(n, n), np.maximum(0, 1 - away / 2**0.5 / 0.25), atol=1e-5)


def test_open_and_closed_surfaces_are_kept_apart(tmp_path: object) -> None:
    cache = SurfaceCache(str(tmp_path))
    opened, closed = (SurfaceSettings(features="hks", closed=closed) for closed in (False, True))
    cache.surface(TORN.mesh, opened)
    assert not cache.has(TORN.mesh, closed)
    assert not torch.equal(cache.surface(TORN.mesh, closed).x, cache.surface(TORN.mesh, opened).x)
