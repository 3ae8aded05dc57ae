from __future__ import annotations

import pytest
import torch

from fieldconv.ops import Geometry, field_aggregate, gradient_aggregate
from fieldconv.ops.compiled import aggregate_kernels as compiled
from fieldconv.ops.portable import aggregate_torch as portable
from fieldconv.surface import batch as surface_batch
from tests.nn.surfaces import flat_surface, random_field
from tests.ops import paper

both = pytest.mark.parametrize("backend", ["torch", "compiled"])


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max())


@both
@pytest.mark.parametrize("spacing", ["linear", "equal_area"])
@pytest.mark.parametrize(("rings", "band_limit", "channels"), [(1, 0, 1), (1, 1, 2), (3, 1, 9), (6, 2, 3)])
def test_is_the_papers_sum(backend, spacing, rings, band_limit, channels) -> None:
    surface = flat_surface(14, radius=0.4)
    x = random_field(surface, channels)
    x[3] = 0
    expected = paper.aggregate(x, surface, rings, band_limit, spacing)
    options = {"rings": rings, "band_limit": band_limit, "spacing": spacing, "backend": backend}
    torch.testing.assert_close(field_aggregate(x, surface, **options), expected, rtol=1e-12, atol=1e-13)


@both
def test_single_precision(backend) -> None:
    exact = flat_surface(20, radius=0.4)
    x = random_field(exact, 8)
    expected = paper.aggregate(x, exact, 3, 2)
    surface = flat_surface(20, radius=0.4, dtype=torch.float32)
    found = field_aggregate(x.to(torch.complex64), surface, rings=3, band_limit=2, backend=backend)
    assert found.dtype == torch.complex64
    assert relative(found, expected) < 1e-5


@both
def test_gradients(backend) -> None:
    surface = flat_surface(5, radius=0.6)
    x = random_field(surface, 2).requires_grad_()

    def function(x):
        return field_aggregate(x, surface, rings=3, band_limit=2, backend=backend)

    assert torch.autograd.gradcheck(function, x)
    assert torch.autograd.gradgradcheck(function, x, fast_mode=True)


@both
def test_gradients_of_learned_gradient(backend) -> None:
    surface = flat_surface(6, radius=0.6)
    xi = surface.x.clone().requires_grad_()

    def function(xi):
        return gradient_aggregate(xi, surface, rings=3, backend=backend)

    assert torch.autograd.gradcheck(function, xi)
    assert torch.autograd.gradgradcheck(function, xi, fast_mode=True)


@both
@pytest.mark.parametrize("rings", [1, 3])
def test_is_the_supplements_gradient(backend, rings) -> None:
    surface = flat_surface(14, radius=0.4)
    found = gradient_aggregate(surface.x, surface, rings=rings, backend=backend)
    for part, expected in zip(found, paper.gradient_sums(surface.x, surface, rings), strict=True):
        torch.testing.assert_close(part, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernels", [portable, compiled])
@pytest.mark.parametrize(("channels", "dtype"), [(3, torch.complex128), (16, torch.complex64)])
def test_scatter_is_the_adjoint_of_gather(kernels, channels, dtype) -> None:
    real = torch.float64 if dtype == torch.complex128 else torch.float32
    s = flat_surface(30, dtype=real)
    sums = (Geometry.of(s), -2, 4, "linear", False)
    y = torch.randn(5, 30, channels, dtype=dtype)
    g = torch.randn(30, 5, 4, channels, dtype=dtype)
    forward = torch.vdot(g.flatten(), kernels.gather(y, *sums).flatten())
    backward = torch.vdot(kernels.scatter(g, *sums).flatten(), y.flatten())
    torch.testing.assert_close(forward, backward, rtol=1e-4 if real == torch.float32 else 1e-12, atol=1e-4)


@both
def test_surfaces_of_different_radii_in_a_batch(backend) -> None:
    parts = [flat_surface(9, radius=0.5, seed=1), flat_surface(12, radius=0.3, seed=2)]
    batch = surface_batch(parts)
    x = random_field(batch, 3)
    options = {"rings": 3, "band_limit": 1, "backend": backend}
    alone = [field_aggregate(part, s, **options) for part, s in zip(x.split([9, 12]), parts, strict=True)]
    torch.testing.assert_close(field_aggregate(x, batch, **options), torch.cat(alone))
    torch.testing.assert_close(torch.cat(alone), paper.aggregate(x, batch, 3, 1))


@both
def test_several_radii_need_to_know_their_points(backend) -> None:
    surface = flat_surface(5)
    surface.radius = torch.tensor([0.3, 0.4])
    with pytest.raises(ValueError, match="batch"):
        field_aggregate(random_field(surface, 1), surface, rings=2, band_limit=1, backend=backend)


@both
def test_no_edges(backend) -> None:
    x = torch.ones(4, 3, dtype=torch.complex64, requires_grad=True)
    out = field_aggregate(x, paper.no_edges(4), rings=3, band_limit=1, backend=backend)
    assert out.shape == (4, 3, 3, 3)
    out.abs().sum().backward()
    assert not out.any()
    assert not x.grad.any()


@both
def test_any_memory_layout_and_edge_order(backend) -> None:
    surface = flat_surface(15)
    x = random_field(surface, 6)
    options = {"rings": 3, "band_limit": 1, "backend": backend}
    expected = field_aggregate(x, surface, **options)
    strided = torch.empty(6, 30, dtype=x.dtype).T[::2].copy_(x)
    torch.testing.assert_close(field_aggregate(strided, surface, **options), expected)
    torch.testing.assert_close(field_aggregate(x.conj().clone().conj(), surface, **options), expected)
    order = torch.randperm(surface.edge_index.shape[1])
    for name in ("log", "transport", "weight"):
        setattr(surface, name, surface[name][order])
    surface.edge_index = surface.edge_index[:, order]
    torch.testing.assert_close(field_aggregate(x, surface, **options), expected)
    leaf = strided.clone().requires_grad_()
    out = field_aggregate(leaf, surface, **options)
    out.backward(torch.ones_like(out).transpose(0, 3).contiguous().transpose(0, 3))
    assert leaf.grad.isfinite().all()


@both
def test_zero_tiny_and_huge_vectors(backend) -> None:
    surface = flat_surface(10, dtype=torch.float32)
    x = random_field(surface, 4).to(torch.complex64)
    x[0], x[1], x[2] = 0, 1e-42, 1e30
    x.requires_grad_()
    out = field_aggregate(x, surface, rings=3, band_limit=2, backend=backend)
    assert out.isfinite().all()
    (out.abs() / 1e30).sum().backward()
    assert x.grad.isfinite().all()
    silent = surface.clone()
    silent.weight[surface.edge_index[0] < 2] = 0
    torch.testing.assert_close(
        field_aggregate(x, silent, rings=3, band_limit=2, backend=backend), out, rtol=1e-6, atol=1e-30
    )


def test_double_features_on_a_single_precision_surface() -> None:
    surface = flat_surface(10, dtype=torch.float32)
    x = random_field(surface, 4).to(torch.complex128)
    found = [
        field_aggregate(x, surface, rings=2, band_limit=1, backend=name) for name in ("torch", "compiled")
    ]
    assert found[0].dtype == found[1].dtype == torch.complex128
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)


def test_names_of_backends() -> None:
    surface = flat_surface(5)
    x = random_field(surface, 1)
    with pytest.raises(ValueError, match="backend must be"):
        field_aggregate(x, surface, rings=2, band_limit=1, backend="fast")
    with pytest.raises(ValueError, match="runs on the CPU"):
        field_aggregate(x.to("meta"), surface, rings=2, band_limit=1, backend="compiled")


def test_gradients_of_geometry_are_left_to_torch() -> None:
    surface = flat_surface(6, radius=0.6)
    surface.weight.requires_grad_()
    out = field_aggregate(random_field(surface, 1), surface, rings=2, band_limit=1)
    out.abs().sum().backward()
    assert surface.weight.grad.abs().sum() > 0
