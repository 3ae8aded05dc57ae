"""DiffusionNet against closed forms: the heat equation, and gradients that no frame changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.linalg import expm
from scipy.spatial import ConvexHull

import shapes
from fieldconv.geometry import Mesh
from fieldconv.networks import DiffusionNet
from fieldconv.networks.rivals.diffusionnet import Basis, DiffusionBlock
from fieldconv.surface import Surface
from fieldconv.testing import assert_equivariant

OPERATORS = ("eigenbasis", "eigengradients")


def ball(count: int = 60, seed: int = 0) -> Mesh:
    """Random points of the unit sphere, joined as their convex hull: a Delaunay triangulation."""
    points = np.random.default_rng(seed).normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    faces = ConvexHull(points).simplices
    a, b, c = points[faces].transpose(1, 0, 2)
    inward = (np.cross(b - a, c - a) * a).sum(1) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Mesh(points, faces)


def cotangent_laplacian(mesh: Mesh) -> np.ndarray:
    """½ Σ cot of the angles that face each edge, written out."""
    stiffness = np.zeros((len(mesh.vertices),) * 2)
    for face in mesh.faces:
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            u, v = (mesh.vertices[face[end]] - mesh.vertices[face[k]] for end in (i, j))
            half = 0.5 * (u @ v) / np.linalg.norm(np.cross(u, v))
            p, q = face[i], face[j]
            stiffness[[p, q], [p, q]] += half
            stiffness[[p, q], [q, p]] -= half
    return stiffness


def test_diffusion_is_the_matrix_exponential_of_the_laplacian() -> None:
    mesh = ball().normalised()
    surface = Surface.from_mesh(mesh, operators=OPERATORS, eigenfunctions=60)
    block = DiffusionBlock(3).eval()
    times = [0.0005, 0.002, 0.1]
    with torch.no_grad():
        block.time.copy_(torch.tensor(times))
    x = np.random.default_rng(1).normal(size=(60, 3))
    basis = Basis(surface)
    found = basis.function(block.diffused(basis.coefficients(torch.from_numpy(x).float()), basis))
    generator = cotangent_laplacian(mesh) / mesh.vertex_areas[:, None]
    expected = np.stack([expm(-t * generator) @ x[:, i] for i, t in enumerate(times)], 1)
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=2e-4)


@pytest.mark.parametrize("samples", [None, 1000])
def test_on_a_sphere_height_decays_at_the_known_rate(samples: int | None) -> None:
    """−Δz = 2z/R², and 4πR² = 1; its gradient is the axis, projected to the tangent plane."""
    surface = Surface.from_mesh(
        Mesh(*shapes.icosphere(4)), samples=samples, operators=OPERATORS, eigenfunctions=64
    )
    basis, block = Basis(surface), DiffusionBlock(1).eval()
    with torch.no_grad():
        block.time.fill_(0.02)
        height = surface.pos[:, 2:]
        coefficients = block.diffused(basis.coefficients(height), basis)
        left = torch.tensor(-8 * torch.pi * 0.02).exp()
        across = torch.linalg.cross(surface.normal, surface.frame)
        tolerance = 0.01 if samples is None else 0.04
        assert (basis.function(coefficients) - left * height).abs().max() < tolerance * height.max()
        along, other = basis.gradient(coefficients)
        assert (along[:, 0] - left * surface.frame[:, 2]).abs().max() < 0.05
        assert (other[:, 0] - left * across[:, 2]).abs().max() < 0.05


def test_gradient_features_are_those_of_the_equation() -> None:
    block = DiffusionBlock(5)
    z = torch.randn(7, 5, dtype=torch.complex64)
    matrix = torch.complex(*block.turn.detach())  # type: ignore[union-attr]
    found = block.gradient_features(z.real, z.imag).detach()
    torch.testing.assert_close(found, torch.tanh((z.conj() * (z @ matrix)).real))


@pytest.mark.parametrize("task", ["classification", "segmentation"])
def test_does_not_depend_on_frames_place_or_numbering(task: str) -> None:
    surface = Surface.from_mesh(ball(), operators=OPERATORS, eigenfunctions=32)
    net = DiffusionNet.for_task(task, classes=5, preset="tiny")
    with torch.no_grad():
        for block in net.blocks:
            block.time.uniform_(0, 0.05)
    assert_equivariant(net, surface, changes=("frames", "motion", "numbering"), positions="kept")


def test_gradient_features_tell_left_from_right() -> None:
    """The imaginary part of A does: it turns gradients in the sense of the normal."""
    surface = Surface.from_mesh(ball(), operators=OPERATORS, eigenfunctions=32)
    mirrored = surface.clone()
    mirrored.eigengradients = surface.eigengradients.conj()
    net = DiffusionNet.for_task("segmentation", classes=5, preset="tiny").eval()
    assert not torch.allclose(net(surface), net(mirrored), atol=1e-4)
    with torch.no_grad():
        for block in net.blocks:
            block.turn[1] = 0
    torch.testing.assert_close(net(surface), net(mirrored))


def test_times_stay_positive_and_keep_learning() -> None:
    surface = Surface.from_mesh(ball(), operators=OPERATORS, eigenfunctions=32)
    net = DiffusionNet.for_task("segmentation", classes=5, preset="tiny").train()
    with torch.no_grad():
        net.blocks[0].time.fill_(-1.0)
    net(surface).square().sum().backward()
    time = net.blocks[0].time
    assert (time > 0).all()
    assert time.grad is not None
    assert (time.grad != 0).all()


def test_number_of_parameters() -> None:
    """Per block three layers, 3C → C → C → C, a complex C × C matrix and C times."""
    c = 128
    block = (3 * c * c + c) + 2 * (c * c + c) + 2 * c * c + c
    net = DiffusionNet.for_task("segmentation", classes=8, features="hks")
    assert net.num_parameters == (16 * c + c) + 4 * block + (c * 8 + 8)
    without = DiffusionNet.for_task("segmentation", classes=8, features="hks", gradients=False)
    assert net.num_parameters - without.num_parameters == 4 * 3 * c * c
