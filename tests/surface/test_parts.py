"""The operators a surface can carry, against closed forms; one's own among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry import Mesh
from fieldconv.surface import (
    Part,
    Preparation,
    Surface,
    SurfaceCache,
    SurfaceSettings,
    register_operator,
)
from fieldconv.surface.parts import make_parts, parts_of, single

BOTH = ("eigenbasis", "eigengradients")


def uneven_square(side: int = 30) -> shapes.Shape:
    """The unit square in cells of uneven sizes; its area is one already."""
    vertices, faces = shapes.grid(side + 1, side + 1)
    inner = ((vertices[:, :2] > 0) & (vertices[:, :2] < side)).all(axis=1)
    vertices[inner, :2] += np.random.default_rng(0).uniform(-0.2, 0.2, (int(inner.sum()), 2))
    return vertices / side, faces


@pytest.fixture(scope="module")
def square() -> Mesh:
    return Mesh(*uneven_square())


@pytest.fixture(scope="module")
def spectral(square: Mesh) -> Surface:
    return Surface.from_mesh(square, operators=BOTH, eigenfunctions=12)


def in_space(surface: Any, vectors: torch.Tensor) -> torch.Tensor:
    """(n, k, 3) tangent vectors (n, k) in space."""
    across = torch.linalg.cross(surface.normal, surface.frame)
    return vectors.real[..., None] * surface.frame[:, None] + vectors.imag[..., None] * across[:, None]


@pytest.mark.parametrize("shape", [uneven_square, shapes.torus, shapes.icosphere])
def test_eigenfunctions_are_orthonormal_in_the_areas_of_all_vertices(shape: Any) -> None:
    mesh = Mesh(*shape())
    surface = Surface.from_mesh(mesh, operators=("eigenbasis",), eigenfunctions=20)
    phi, areas = surface.eigenfunctions.double(), surface.mass.double()
    assert phi.shape == (len(mesh.vertices), 20)
    gram = phi.T @ (areas[:, None] * phi)
    torch.testing.assert_close(gram, torch.eye(20, dtype=torch.float64), atol=0.03, rtol=0)
    preparation = Preparation(mesh, SurfaceSettings(eigenfunctions=20))
    basis = preparation.basis(20)  # with its own areas, exactly
    gram = basis.functions.T @ (basis.areas[:, None] * basis.functions)
    np.testing.assert_allclose(gram, np.eye(20), atol=1e-8)
    np.testing.assert_allclose(phi, basis.functions[preparation.sampling.chosen], atol=1e-5)


def test_eigenvalues_of_a_square(spectral: Surface) -> None:
    """π²(i² + j²) at unit area."""
    i, j = np.mgrid[:6, :6]
    expected = np.sort((np.pi**2 * (i**2 + j**2)).ravel())[:12]
    assert spectral.eigenvalues.shape == (1, 12)
    np.testing.assert_allclose(spectral.eigenvalues[0], expected, rtol=0.02, atol=1e-4)


def test_eigenvalues_of_a_sphere_of_unit_area() -> None:
    """l(l + 1) / R² with 4πR² = 1, however large the mesh was."""
    vertices, faces = shapes.icosphere(3)
    surface = Surface.from_mesh(Mesh(7 * vertices, faces), operators=("eigenbasis",), eigenfunctions=9)
    expected = 4 * np.pi * np.array([0, *[2] * 3, *[6] * 5])
    np.testing.assert_allclose(surface.eigenvalues[0], expected, rtol=0.02, atol=1e-4)


def test_eigengradients_of_a_square(spectral: Surface, square: Mesh) -> None:
    """The fourth eigenfunction is ±2 cos(πx) cos(πy)."""
    x, y = torch.from_numpy(square.vertices[:, :2]).T
    function = 2 * torch.cos(torch.pi * x) * torch.cos(torch.pi * y)
    sign = torch.sign((function * spectral.eigenfunctions[:, 3]).sum())
    assert (function * sign - spectral.eigenfunctions[:, 3]).abs().max() < 0.1
    slope = -2 * torch.pi * sign
    expected = torch.stack(
        [
            slope * torch.sin(torch.pi * x) * torch.cos(torch.pi * y),
            slope * torch.cos(torch.pi * x) * torch.sin(torch.pi * y),
            torch.zeros_like(x),
        ],
        1,
    )
    found = in_space(spectral, spectral.eigengradients[:, 3:4])[:, 0]
    error = (found - expected).norm(dim=1)
    assert error.mean() < 0.03 * expected.norm(dim=1).max()
    assert error.max() < 0.15 * expected.norm(dim=1).max()  # at the border triangles lie on one side only


def test_eigengradients_turn_with_the_frames(spectral: Surface, square: Mesh) -> None:
    """With other frames, other complex numbers are the same vectors in space."""
    rolled = Mesh(square.vertices, square.faces[::-1, [1, 2, 0]])
    other = Surface.from_mesh(rolled, operators=BOTH, eigenfunctions=12)
    turned = (other.frame - spectral.frame).norm(dim=1) > 0.1
    assert turned.float().mean() > 0.3
    sign = torch.sign((other.eigenfunctions * spectral.eigenfunctions).sum(0))
    one, two = (in_space(s, s.eigengradients) for s in (spectral, other))
    # Of equal eigenvalues any mixture will do; the first three functions that have one of their own.
    alone = [3, 8]
    torch.testing.assert_close((sign[:, None] * two)[:, alone], one[:, alone], atol=1e-2, rtol=0)
    assert (other.eigengradients - spectral.eigengradients)[turned][:, alone].abs().max() > 1


def test_samples_take_their_rows(square: Mesh, spectral: Surface) -> None:
    few = Surface.from_mesh(square, samples=100, operators=BOTH, eigenfunctions=12)
    assert few.eigenfunctions.shape == few.eigengradients.shape == (100, 12)
    for name in ("eigenfunctions", "eigengradients"):
        torch.testing.assert_close(few[name], spectral[name][few.sample])
    torch.testing.assert_close(few.eigenvalues, spectral.eigenvalues)


def test_a_surface_has_what_was_asked_for(square: Mesh) -> None:
    coarse = Mesh(*shapes.icosphere(1))
    bare = Surface.from_mesh(coarse, operators=())
    assert not {"edge_index", "log", "transport", "weight", "radius", "eigenfunctions"} & set(bare.keys())
    only_basis = Surface.from_mesh(coarse, operators=("eigenbasis",))
    assert "eigengradients" not in only_basis
    everything = Surface.from_mesh(coarse, operators=("discs", *BOTH), features="wks")
    assert {"edge_index", "eigenvalues", "eigengradients"} <= set(everything.keys())
    names = [part.name for part in parts_of(SurfaceSettings(features="hks+xyz+wks", operators=BOTH))]
    assert names == ["samples", "hks", "wks", *BOTH]


@pytest.mark.parametrize("operator", ["disks", "samples+discs", ""])
def test_an_unknown_operator_is_one_line(operator: str) -> None:
    with pytest.raises(ValueError, match="unknown operator") as caught:
        Surface.from_mesh(Mesh(*shapes.icosphere(1)), operators=("discs", operator))
    message = str(caught.value)
    assert "\n" not in message
    assert repr(operator) in message
    assert all(name in message for name in ("discs", "eigenbasis", "eigengradients"))


def test_an_operator_of_ones_own(tmp_path: Any) -> None:
    made = []

    def heights(preparation: Preparation) -> dict[str, torch.Tensor]:
        made.append(preparation.settings.radius)
        z = preparation.mesh.vertices[preparation.sampling.chosen, 2]
        return {"height": single(z * preparation.settings.radius)}

    part = Part("heights", ("samples", "radius"), heights)
    assert register_operator(part) is part
    mesh = Mesh(*shapes.icosphere(2))
    surface = Surface.from_mesh(mesh, 0.3, samples=40, operators=("heights",))
    torch.testing.assert_close(surface.height, 0.3 * surface.pos[:, 2])
    assert "edge_index" not in surface

    # The cache knows it by the settings that it depends on, and by its version.
    cache, made[:] = SurfaceCache(tmp_path), []
    for radius, eigenfunctions in ((0.3, 10), (0.3, 20), (0.4, 10), (0.3, 10)):
        settings = SurfaceSettings(radius, 40, operators=("heights",), eigenfunctions=eigenfunctions)
        kept = cache.surface(mesh, settings)
        torch.testing.assert_close(kept.height, radius * kept.pos[:, 2])
    assert made == [0.3, 0.4]
    register_operator(Part("heights", ("samples", "radius"), heights, version=2))
    cache.surface(mesh, SurfaceSettings(0.3, 40, operators=("heights",)))
    assert made == [0.3, 0.4, 0.3]


def test_parts_are_made_in_the_order_asked_for() -> None:
    settings = SurfaceSettings(features="wks+hks", operators=("eigenbasis",), eigenfunctions=5)
    made = make_parts(Preparation(Mesh(*shapes.icosphere(1)), settings), parts_of(settings))
    assert list(made) == ["samples", "wks", "hks", "eigenbasis"]
