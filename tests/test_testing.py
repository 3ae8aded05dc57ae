from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fieldconv.geometry import Mesh, eigenbasis
from fieldconv.networks import FCNet
from fieldconv.nn import FieldConv
from fieldconv.surface import Surface
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import (
    assert_equivariant,
    move,
    moved_features,
    renumber,
    scale,
    turn_frames,
    turn_vectors,
)
from tests import shapes
from tests.nn.surfaces import flat_surface, random_field


class LooksAtFrames(nn.Module):
    """Real and imaginary part treated as two plain numbers."""

    in_channels = 2

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return torch.complex(x.real.relu(), x.imag.relu())


class LooksAtPositions(nn.Module):
    def forward(self, surface: Any) -> Tensor:
        return surface.pos[:, 0]


class ReturnsFeatures(nn.Module):
    """What it was given."""

    def forward(self, surface: Any) -> Tensor:
        return surface.x


class ReturnsInput(nn.Module):
    """What it was given, as a layer."""

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return x


class MeasuresDistances(nn.Module):
    """Mean distance in space to the neighbours, from input features that are positions."""

    def forward(self, surface: Any) -> Tensor:
        q, p = surface.edge_index
        distance = (surface.x[q, :3] - surface.x[p, :3]).norm(dim=1)
        return torch.zeros(len(surface.x)).to(distance).index_add(0, p, distance) / p.bincount()


class LooksAtNumbers(nn.Module):
    in_channels = 2

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return x * torch.linspace(0, 1, len(x), dtype=torch.float64)[:, None]


class LooksAtSize(nn.Module):
    in_channels = 2

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return x * surface.area.sum()


class BreaksInBackground(nn.Module):
    in_channels = 2

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return x * float("nan")


class ForgetsTransport(FieldConv):
    """A field convolution that adds up vectors of different tangent planes as if frames were one."""

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        flat = surface.clone()
        flat.transport = torch.ones_like(surface.transport)
        return super().forward(x, flat)


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (LooksAtFrames(), "tangent frames"),
        (LooksAtPositions(), "place of the shape"),
        (LooksAtNumbers(), "order of the samples"),
        (LooksAtSize(), "size of the shape"),
        (ForgetsTransport(2, 2).double(), "tangent frames"),
        (BreaksInBackground(), "tangent frames"),
    ],
)
def test_finds_the_fault(module: nn.Module, reason: str) -> None:
    with pytest.raises(AssertionError, match=f"{type(module).__name__} depends on the .*{reason}"):
        assert_equivariant(module, flat_surface())


def on_positions(features: str) -> Any:
    """A bumpy sphere whose input features are named by ``features``."""
    vertices, faces = shapes.icosphere(1)
    vertices = vertices * (1 + 0.2 * np.random.default_rng(0).random((len(vertices), 1)))
    return Surface.from_mesh(Mesh(vertices, faces), radius=0.4, features=features)


@pytest.mark.parametrize("features", ["xyz", "normals", "hks+normals+xyz"])
@pytest.mark.parametrize("module", [ReturnsFeatures(), ReturnsInput()], ids=lambda m: type(m).__name__)
def test_raw_coordinates_depend_on_the_place(module: nn.Module, features: str) -> None:
    surface = on_positions(features)
    given = surface.x if isinstance(module, ReturnsInput) else None
    with pytest.raises(AssertionError, match=r"place of the shape.*give positions='kept'"):
        assert_equivariant(module, surface, features=given)
    assert_equivariant(module, surface, features=given, positions="kept")
    errors = assert_equivariant(module, surface, features=given, tolerance=100)
    assert errors["frames"] == errors["numbering"] == 0
    assert errors["motion"] > 0.1
    assert (errors["scale"] > 0.1) == ("xyz" in features)  # normals do not grow


def test_distances_depend_on_the_size_only() -> None:
    surface = on_positions("xyz+hks")
    assert_equivariant(MeasuresDistances(), surface, changes=["frames", "motion", "numbering"])
    with pytest.raises(AssertionError, match=r"size of the shape.*positions='kept'"):
        assert_equivariant(MeasuresDistances(), surface)


@pytest.mark.parametrize("positions", ["moved", "kept"])
def test_positions_read_from_the_surface_are_always_found(positions: Any) -> None:
    """Input features may be kept, but the shape itself is moved all the same."""
    with pytest.raises(AssertionError, match="place of the shape"):
        assert_equivariant(LooksAtPositions(), on_positions("xyz"), positions=positions)


def test_a_network_on_coordinates_depends_on_the_place_and_one_on_signatures_does_not() -> None:
    torch.manual_seed(0)
    for_positions = FCNet.for_task("segmentation", classes=3, preset="tiny", features="xyz")
    with pytest.raises(AssertionError, match="place of the shape"):
        assert_equivariant(for_positions, on_positions("xyz"), tolerance=1e-3)
    assert_equivariant(for_positions, on_positions("xyz"), tolerance=1e-3, positions="kept")
    for_signatures = FCNet.for_task("segmentation", classes=3, preset="tiny", features="hks")
    assert_equivariant(for_signatures, on_positions("hks"), tolerance=1e-3)


def test_wrong_word_for_positions() -> None:
    with pytest.raises(ValueError, match="choose one of moved, kept"):
        assert_equivariant(ReturnsFeatures(), on_positions("xyz"), positions="carried")  # type: ignore[arg-type]


def test_checks_only_what_is_asked() -> None:
    errors = assert_equivariant(LooksAtPositions(), flat_surface(), changes=["frames", "numbering"])
    assert list(errors) == ["frames", "numbering"]
    with pytest.raises(ValueError, match="frames, motion, numbering, scale"):
        assert_equivariant(LooksAtPositions(), flat_surface(), changes=["mirror"])


def test_asks_for_features_it_cannot_guess() -> None:
    with pytest.raises(ValueError, match="in_channels"):
        assert_equivariant(nn.Bilinear(2, 2, 2), flat_surface())


def test_takes_nested_outputs_and_batches() -> None:
    class Nested(nn.Module):
        def __init__(self, fault: bool) -> None:
            super().__init__()
            self.conv, self.fault = FieldConv(3, 2).double(), fault

        def forward(self, x: Tensor, surface: Any) -> Any:
            y = self.conv(x, surface)
            return {"field": y, "more": [y.abs(), y.real if self.fault else y.abs(), "text"]}

    batch = surface_batch([flat_surface(12), flat_surface(20, seed=1)])
    features = random_field(batch, 3)
    assert_equivariant(Nested(False), batch, features=features, tolerance=1e-10)
    with pytest.raises(AssertionError, match="frames"):
        assert_equivariant(Nested(True), batch, features=features)
    net = FCNet.for_task("classification", classes=5, preset="tiny").double()
    assert_equivariant(net, batch, tolerance=1e-10)


def test_leaves_module_and_surface_as_they_were() -> None:
    surface, conv = flat_surface(), FieldConv(2, 2).double()
    before = surface.clone()
    conv.train()
    assert_equivariant(conv, surface)
    assert conv.training
    assert all(torch.equal(surface[key], before[key]) for key in before.to_dict())


def test_turned_frames_see_the_same_vectors() -> None:
    """A vector in space is frame · components, before and after."""
    surface = flat_surface()
    angles = torch.rand(30, dtype=torch.float64) * 6
    turned = turn_frames(surface, angles)
    x = random_field(surface, 2)

    def in_space(s: Any, x: Tensor) -> Tensor:
        across = torch.linalg.cross(s.normal, s.frame)
        return x.real[..., None] * s.frame[:, None] + x.imag[..., None] * across[:, None]

    torch.testing.assert_close(in_space(turned, turn_vectors(x, angles)), in_space(surface, x))
    # The logarithm, too, is a vector: at q, it leads to p.
    q, p = surface.edge_index
    log = torch.zeros(30, 30, dtype=torch.complex128).index_put((q, p), turned.log)
    steps = in_space(turned, log)
    torch.testing.assert_close(steps[q, p], surface.pos[p] - surface.pos[q])
    # Transport on a plane keeps vectors.
    carried = torch.zeros(30, 30, dtype=torch.complex128).index_put(
        (p, q), turned.transport * turn_vectors(x, angles)[q, 0]
    )
    torch.testing.assert_close(in_space(turned, carried)[p, q], in_space(surface, x)[q, 0])


def test_vertices_read_the_same_vectors_from_turned_frames() -> None:
    """Frames at the vertices stay: what they read of a tangent vector field must stay as well."""
    surface = Surface.from_mesh(Mesh(*shapes.icosphere(2)), samples=40)
    x = torch.randn(40, 2, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    angles = torch.linspace(0, 6, 40)
    turned = turn_frames(surface, angles)
    torch.testing.assert_close(turned.interpolate(turn_vectors(x, angles)), surface.interpolate(x))


def test_renumbering_is_undone_by_its_inverse() -> None:
    surface = flat_surface()
    order = torch.randperm(30)
    changed = renumber(surface, order)
    torch.testing.assert_close(changed.pos, surface.pos[order])
    q, p = changed.edge_index
    assert (p[1:] * 30 + q[1:] > p[:-1] * 30 + q[:-1]).all()
    back = renumber(changed, torch.argsort(order))
    assert all(torch.equal(back[key], surface[key]) for key in surface.to_dict())


def test_moving_and_scaling() -> None:
    surface = flat_surface()
    rotation = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    moved = move(surface, rotation, torch.tensor([1.0, 2, 3]))
    torch.testing.assert_close(
        moved.pos,
        torch.stack([1 - surface.pos[:, 1], 2 + surface.pos[:, 0], 3 + surface.pos[:, 2]], 1),
    )
    torch.testing.assert_close(moved.frame[:, :2], surface.frame[:, :2] @ rotation[:2, :2].T.double())
    assert torch.equal(moved.x, surface.x)
    assert torch.equal(moved.log, surface.log)
    twice = scale(surface, 2.0)
    torch.testing.assert_close(twice.log, 2 * surface.log)
    torch.testing.assert_close(twice.radius, 2 * surface.radius)
    torch.testing.assert_close(twice.area, 4 * surface.area)
    assert torch.equal(twice.x, surface.x)
    assert torch.equal(twice.weight, surface.weight)


def test_positions_and_normals_are_found_among_the_features() -> None:
    """Between other columns, twice, next to each other; almost the same does not count."""
    surface = on_positions("xyz")
    pos, normal, other = surface.pos, surface.normal, torch.rand(len(surface.pos), 2)
    x = torch.cat([other, pos, normal, other[:, :1], pos, pos + 1e-3, pos[:, :2]], 1)
    rotation = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    moved = move(surface, rotation, torch.tensor([1.0, 2, 3]))
    expected = torch.cat([other, moved.pos, moved.normal, other[:, :1], moved.pos, pos + 1e-3, pos[:, :2]], 1)
    torch.testing.assert_close(moved_features(x, surface, moved), expected)


def spectral() -> Any:
    mesh = Mesh(*shapes.torus(around=16, across=8))
    return Surface.from_mesh(mesh, operators=("eigenbasis", "eigengradients"), eigenfunctions=10)


def test_operators_of_the_spectrum_change_with_the_surface() -> None:
    """Without discs, too. A shape twice as large has the eigenpairs that a twice as large mesh has."""
    surface = spectral()
    count = len(surface.pos)
    angles = torch.linspace(0, 6, count)
    turned = turn_frames(surface, angles)
    torch.testing.assert_close(turned.eigengradients, turn_vectors(surface.eigengradients, angles))
    assert torch.equal(turned.eigenfunctions, surface.eigenfunctions)
    order = torch.randperm(count)
    renumbered = renumber(surface, order)
    for name in ("eigenfunctions", "eigengradients", "pos"):
        assert torch.equal(renumbered[name], surface[name][order])
    assert torch.equal(renumbered.eigenvalues, surface.eigenvalues)
    mesh = Mesh(*shapes.torus(around=16, across=8)).normalised()
    larger = eigenbasis(Mesh(2 * mesh.vertices, mesh.faces), 10)
    twice = scale(surface, 2.0)
    np.testing.assert_allclose(twice.eigenvalues[0], larger.values, rtol=1e-4, atol=1e-5)
    length = (twice.area[:, None] * twice.eigenfunctions.square()).sum(0)
    torch.testing.assert_close(length, torch.ones(10), rtol=1e-3, atol=0)
    slope = twice.eigengradients.abs().square()  # ∫ |∇φ|² grows as λ does
    torch.testing.assert_close(
        (twice.area[:, None] * slope).sum(0)[1:]
        / (surface.area[:, None] * surface.eigengradients.abs() ** 2).sum(0)[1:],
        (twice.eigenvalues / surface.eigenvalues)[0, 1:],
    )
