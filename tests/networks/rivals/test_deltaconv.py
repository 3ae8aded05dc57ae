"""DeltaConv: the identities of vector calculus, and independence of tangent frames."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry import Mesh
from fieldconv.networks import DeltaConvNet
from fieldconv.networks.rivals.deltaconv import Calculus, DeltaConv
from fieldconv.networks.rivals.shared.least_squares import point_gradients
from fieldconv.surface import Surface
from fieldconv.testing import assert_equivariant


def plane(count: int = 120, seed: int = 0) -> tuple[Surface, torch.Tensor]:
    """Random points of the unit square with random frames, and these as complex numbers; in doubles."""
    draw = np.random.default_rng(seed)
    points = np.append(draw.random((count, 2)), np.zeros((count, 1)), 1)
    angle = 2 * np.pi * draw.random(count)
    frames = np.stack([np.cos(angle), np.sin(angle), np.zeros(count)], 1)
    normals = np.tile([0.0, 0.0, 1.0], (count, 1))
    found = point_gradients(points, frames, normals, regulariser=0.0)
    surface = Surface(
        pos=torch.from_numpy(points),
        frame=torch.from_numpy(frames),
        normal=torch.from_numpy(normals),
        delta_index=torch.from_numpy(np.stack([found.sender, found.receiver])),
        delta_gradient=torch.from_numpy(found.coefficient),
    )
    return surface, torch.from_numpy(np.exp(1j * angle))


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected.to(found), atol=1e-5, rtol=0)


def test_identities_on_the_plane() -> None:
    """Exact for polynomials of second degree, whatever the points and frames."""
    surface, frame = plane()
    calculus = Calculus(surface)
    x, y, _ = surface.pos.T
    zero = torch.zeros_like(x)[:, None]

    def field(along_x: torch.Tensor, along_y: torch.Tensor) -> torch.Tensor:
        return (torch.complex(along_x, along_y) * frame.conj())[:, None]

    f = (1.5 * x * x - 0.7 * x * y + 0.2 * y * y + 2 * x - y + 3)[:, None]
    slope = calculus.gradient(f)
    close(slope, field(3 * x - 0.7 * y + 2, -0.7 * x + 0.4 * y - 1))
    close(calculus.divergence(slope), zero + 3.4)  # div grad is the Laplacian
    close(calculus.curl(slope), zero)  # curl grad = 0
    close(calculus.divergence(1j * slope), zero)  # div J grad = 0
    close(calculus.curl(1j * slope), zero + 3.4)  # curl J grad = div grad
    close(calculus.gradient(zero + 5), 0j * slope)
    turning = field(-y, x)
    close(calculus.divergence(turning), zero)
    close(calculus.curl(turning), zero + 2)
    v = field(x * x + x * y, y * y - 3 * x * x)
    close(calculus.hodge_laplacian(v), -field(0 * x + 2, 0 * x - 4))  # −Δ of each component
    close(calculus.curl(v), (-6 * x - x)[:, None])


def test_on_a_sphere() -> None:
    """Height z: ∇z is the axis, projected; div ∇z = −2z/R². Turning about the axis: no div, curl 2z/R."""
    surface = Surface.from_mesh(Mesh(*shapes.icosphere(4)), operators=("delta",))
    calculus = Calculus(surface)
    across = torch.linalg.cross(surface.normal, surface.frame)
    z, radius = surface.pos[:, 2:], (4 * torch.pi) ** -0.5
    axis = torch.complex(surface.frame[:, 2], across[:, 2])[:, None]
    slope = calculus.gradient(z)
    size = float((slope * axis.conj()).real.sum() / axis.abs().square().sum())  # of the normalised operators
    assert (slope / size - axis).abs().max() < 0.02
    largest = 2 / radius
    assert (calculus.divergence(axis) / size + 2 * z / radius**2).abs().max() < 0.03 * largest
    assert (calculus.curl(axis) / size).abs().max() < 0.03 * largest
    turning = 1j * axis  # the axis, turned by a right angle, runs around it
    assert (calculus.divergence(turning) / size).abs().max() < 0.03 * largest
    assert (calculus.curl(turning) / size + 2 * z / radius**2).abs().max() < 0.03 * largest


def test_operators_are_normalised_and_sorted() -> None:
    surface = Surface.from_mesh(Mesh(*shapes.torus()), samples=300, operators=("delta",))
    sender, receiver = surface.delta_index
    assert ((receiver * 300 + sender).diff() > 0).all()
    assert (torch.bincount(receiver) == 20).all()
    sums = torch.zeros(300).index_add(0, receiver, surface.delta_gradient.abs())
    assert float(sums.max()) == pytest.approx(1)


def test_a_layer_is_its_equation() -> None:
    surface, _ = plane(30)
    layer = DeltaConv(2, 3).double().eval()
    torch.nn.init.normal_(layer.norm.bias)  # type: ignore[union-attr]
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(30, 2, generator=draw, dtype=torch.float64)
    v = torch.randn(30, 2, generator=draw, dtype=torch.complex128)
    calculus = Calculus(surface)
    after, vectors = layer(x, v, calculus)
    sender, receiver = surface.delta_index.tolist()
    expected = layer.scalars(torch.cat([x, calculus.divergence(v), calculus.curl(v), v.abs()], 1))
    seen = layer.neighbours(x)
    for p in range(30):
        around = [q for q, r in zip(sender, receiver, strict=True) if r == p]
        expected[p] = expected[p] + seen[around].amax(0)
    torch.testing.assert_close(after, expected)
    mixed = layer.vectors(torch.cat([v, calculus.hodge_laplacian(v), calculus.gradient(after)], 1))  # type: ignore[misc]
    torch.testing.assert_close(vectors, torch.relu(layer.norm(mixed.abs())) * mixed / mixed.abs())  # type: ignore[misc]


@pytest.mark.parametrize("head", ["labels", "classification", "descriptors", "vectors"])
def test_does_not_depend_on_frames_place_or_numbering(head: str) -> None:
    """And vectors turn with the frames."""
    vertices, faces = shapes.icosphere(2)
    bumpy = vertices * (1 + 0.2 * np.random.default_rng(0).random((len(vertices), 1)))
    surface = Surface.from_mesh(Mesh(bumpy, faces), operators=("delta",))
    torch.manual_seed(0)
    net = DeltaConvNet.for_task("segmentation", classes=5, preset="tiny", head=head)
    assert net(surface).is_complex() == (head == "vectors")
    assert_equivariant(net, surface, changes=("frames", "motion", "numbering"), positions="kept")


def test_number_of_parameters() -> None:
    net = DeltaConvNet.for_task("segmentation", classes=8, preset="paper")

    def layer(c: int, o: int, vectors: bool) -> int:
        return 5 * c * o + 4 * o + (2 * (2 * c + o) * o + 2 * o if vectors else 0)

    convolutions = layer(3, 128, True) + 6 * layer(128, 128, True) + layer(128, 128, False)
    embedding = 1024 * 512 + 2 * 512
    head = 1536 * 256 + 2 * 256 + 256 * 256 + 2 * 256 + 256 * 128 + 128 + 128 * 8 + 8
    assert net.num_parameters == convolutions + embedding + head
