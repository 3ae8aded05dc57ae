"""ACSCNN against filters in the spectral domain, written densely."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.polynomial.chebyshev import chebval
from scipy.linalg import eigh

import shapes
from fieldconv.geometry import Mesh
from fieldconv.networks import ACSCNN
from fieldconv.networks.rivals.acscnn import ANGLES, ACSConv, Laplacians, ShapeNorm, _SumOfPolynomials
from fieldconv.networks.rivals.shared.anisotropic import anisotropic_stiffness, principal_directions
from fieldconv.surface import Surface
from fieldconv.testing import assert_equivariant


def bumpy() -> Mesh:
    vertices, faces = shapes.icosphere(2)
    return Mesh(vertices * (1 + 0.2 * np.random.default_rng(0).random((len(vertices), 1))), faces)


@pytest.mark.parametrize("order", [1, 2, 3, 7])
def test_a_convolution_is_filtering_in_the_spectral_domain(order: int) -> None:
    """Eigenfunctions of W φ = λ A' φ, A' = the areas times the diagonal of the Laplacian."""
    mesh = bumpy().normalised()
    count, area = len(mesh.vertices), mesh.vertex_areas
    surface = Surface.from_mesh(mesh, operators=("anisotropic",))
    stiffness = anisotropic_stiffness(
        mesh, principal_directions(mesh), np.arange(ANGLES) * np.pi / ANGLES, anisotropy=10.0
    )
    conv = ACSConv(2, 3, order=order)
    torch.nn.init.normal_(conv.bias)
    weight = conv.weight.detach().double().numpy()
    x = np.random.default_rng(1).normal(size=(count, 2))
    expected = np.tile(conv.bias.detach().double().numpy(), (count, 1))
    for angle in range(ANGLES):
        matrix = np.zeros((count, count))
        matrix[stiffness.row, stiffness.column] = stiffness.values[:, angle]
        scale = np.sqrt(matrix.diagonal() / area)
        values, functions = eigh(matrix / np.outer(scale, scale), np.diag(area))
        spectrum = functions.T @ (area[:, None] * x)
        for o in range(3):
            for c in range(2):
                response = chebval(2 * values / values[-1] - 1, weight[:, angle, c, o])
                expected[:, o] += functions @ (response * spectrum[:, c])
    found = conv(torch.from_numpy(x).float(), Laplacians(surface)).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_gradients_are_those_of_the_sum_written_densely() -> None:
    """Σ T_k(L) x W with dense matrices, differentiated by torch; the layer has a backward pass of its own."""
    draw = torch.Generator().manual_seed(0)
    half = 0.3 * torch.randn(ANGLES, 6, 6, generator=draw, dtype=torch.float64)
    dense = list((half + half.transpose(1, 2)) / 4)
    x, weight, pull = (
        torch.randn(shape, generator=draw, dtype=torch.float64, requires_grad=True)
        for shape in ((6, 2), (5, ANGLES, 2, 3), (6, 3))
    )
    expected = torch.zeros(6, 3, dtype=torch.float64)
    for angle, matrix in enumerate(dense):
        polynomials = [torch.eye(6, dtype=torch.float64), matrix]
        while len(polynomials) < len(weight):
            polynomials.append(2 * matrix @ polynomials[-1] - polynomials[-2])
        expected = expected + sum(
            polynomial @ x @ weight[k, angle] for k, polynomial in enumerate(polynomials)
        )
    found = _SumOfPolynomials.apply(x, weight, [matrix.to_sparse_csr() for matrix in dense])
    torch.testing.assert_close(found, expected)
    for one, other in zip(
        torch.autograd.grad(found, (x, weight), pull),
        torch.autograd.grad(expected, (x, weight), pull),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_on_samples_energies_are_those_of_interpolated_functions() -> None:
    mesh = Mesh(*shapes.torus()).normalised()
    surface = Surface.from_mesh(mesh, samples=300, operators=("anisotropic",))
    stiffness = anisotropic_stiffness(mesh, principal_directions(mesh), [0.0], anisotropy=10.0)
    read = np.zeros((len(mesh.vertices), 300))
    np.add.at(read, (np.arange(len(read))[:, None], surface.vertex_sample.numpy()), surface.vertex_weight)
    whole = np.zeros((len(read),) * 2)
    whole[stiffness.row, stiffness.column] = stiffness.values[:, 0]
    coarse = read.T @ whole @ read
    root = np.sqrt(coarse.diagonal())
    normalised = coarse / np.outer(root, root)
    expected = 2 * normalised / np.linalg.eigvalsh(normalised)[-1] - np.eye(300)
    found = np.zeros((300, 300))
    sender, receiver = surface.anisotropic_index.numpy()
    found[receiver, sender] = surface.anisotropic_values[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_eigenvalues_are_between_plus_and_minus_one_and_edges_sorted() -> None:
    surface = Surface.from_mesh(bumpy(), operators=("anisotropic",))
    sender, receiver = surface.anisotropic_index
    assert ((receiver * 162 + sender).diff() > 0).all()
    for values in surface.anisotropic_values.T:
        matrix = torch.zeros(162, 162).index_put((receiver, sender), values)
        eigenvalues = torch.linalg.eigvalsh(matrix)
        assert eigenvalues.abs().max() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("task", ["classification", "segmentation"])
def test_does_not_depend_on_frames_place_or_numbering(task: str) -> None:
    net = ACSCNN.for_task(task, classes=5, preset="tiny")
    surface = Surface.from_mesh(bumpy(), operators=("anisotropic",))
    assert_equivariant(net, surface, changes=("frames", "motion", "numbering"), positions="kept")


def test_a_shape_is_classified_in_evaluation_as_in_training() -> None:
    """With one shape in a step, batch normalisation knew it in training and not in evaluation."""
    torch.manual_seed(0)
    net = ACSCNN.for_task("classification", classes=5, preset="tiny", dropout=0.0)
    surface = Surface.from_mesh(Mesh(*shapes.icosphere(2)), **net.config.surface_settings.to_dict())
    surface.x = torch.randn_like(surface.x)
    torch.testing.assert_close(net.train()(surface), net.eval()(surface))
    torch.manual_seed(0)
    x, norm = 3 + 7 * torch.randn(len(surface.area), 4), torch.nn.BatchNorm1d(4)
    torch.testing.assert_close(ShapeNorm(4)(x, surface), norm(x))


def test_number_of_parameters() -> None:
    """Eight angles and 16 polynomials per pair of channels; 64 → 256 → classes."""
    net = ACSCNN.for_task("correspondence", classes=6890, preset="paper", in_channels=1)
    convolutions = 8 * 16 * (64 + 5 * 64 * 64) + 6 * 64
    assert net.num_parameters == convolutions + 6 * 2 * 64 + (64 * 256 + 256) + (256 * 6890 + 6890)
