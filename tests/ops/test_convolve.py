from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fieldconv.ops import Geometry, field_aggregate
from fieldconv.ops.aggregate import field_convolve
from fieldconv.ops.compiled import convolve_kernels as compiled
from fieldconv.surface import batch as surface_batch
from tests.nn.surfaces import flat_surface, random_field
from tests.ops import paper

both = pytest.mark.parametrize("backend", ["torch", "compiled"])
SIZES = [(1, 0, 1, 1), (1, 1, 2, 3), (3, 1, 9, 4), (6, 2, 3, 17), (2, 3, 1, 8)]


def filters(rings: int, band_limit: int, channels: int, out_channels: int) -> tuple[Tensor, Tensor]:
    shape = (2 * band_limit + 1, rings, channels, out_channels)
    draw = torch.Generator().manual_seed(1)
    return tuple(torch.randn(shape, generator=draw, dtype=torch.float64) for _ in range(2))


def leaves(x: Tensor, *others: Tensor) -> list[Tensor]:
    return [tensor.clone().requires_grad_() for tensor in (x, *others)]


@both
@pytest.mark.parametrize("spacing", ["linear", "equal_area"])
@pytest.mark.parametrize(("rings", "band_limit", "channels", "out_channels"), SIZES)
def test_is_the_papers_sum_times_filters(backend, spacing, rings, band_limit, channels, out_channels) -> None:
    surface = flat_surface(40, radius=0.4)
    x = random_field(surface, channels)
    x[3] = 0
    real, imaginary = filters(rings, band_limit, channels, out_channels)
    sums = paper.aggregate(x, surface, rings, band_limit, spacing)
    expected = torch.einsum("pmnc,mnco->po", sums, torch.complex(real, imaginary))
    found = field_convolve(x, real, imaginary, surface, spacing=spacing, backend=backend)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("max_bytes", [0, compiled.MAX_BYTES])  # a few senders at a time, and all at once
@pytest.mark.parametrize(("rings", "band_limit", "channels", "out_channels"), SIZES)
def test_both_backends_have_the_same_gradients(max_bytes, rings, band_limit, channels, out_channels) -> None:
    surface = flat_surface(50, radius=0.3)
    x = random_field(surface, channels)
    x[3] = 0
    gradient = random_field(surface, out_channels) * 1j
    inputs, options = leaves(x, *filters(rings, band_limit, channels, out_channels)), ("linear", max_bytes)
    out = field_convolve(*inputs, surface, backend="torch")
    expected = [out, *torch.autograd.grad(out, inputs, gradient)]
    inputs = [tensor.detach() for tensor in inputs]
    geometry = Geometry.of(surface)
    found = [compiled.convolve(*inputs, geometry, *options)]
    found += compiled.convolve_backward(*inputs, gradient, geometry, *options)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)


@both
def test_gradients(backend) -> None:
    surface = flat_surface(6, radius=0.6)
    inputs = leaves(random_field(surface, 2), *filters(3, 2, 2, 3))

    def function(*inputs):
        return field_convolve(*inputs, surface, backend=backend)

    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


@both
@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_second_derivative_by_one_input_alone(backend, wanted) -> None:
    surface = flat_surface(6, radius=0.6)
    inputs = [random_field(surface, 2), *filters(2, 1, 2, 2)]
    inputs[wanted].requires_grad_()
    out = field_convolve(*inputs, surface, backend=backend).abs().square().sum()
    (first,) = torch.autograd.grad(out, inputs[wanted], create_graph=True)
    (second,) = torch.autograd.grad(first.abs().square().sum(), inputs[wanted])
    assert torch.isfinite(torch.view_as_real(second) if second.is_complex() else second).all()
    assert second.abs().max() > 0


@both
def test_gradients_by_the_geometry(backend) -> None:
    surface = flat_surface(6, radius=0.6)
    surface.weight.requires_grad_()
    out = field_convolve(random_field(surface, 2), *filters(2, 1, 2, 2), surface, backend=backend)
    (by_weight,) = torch.autograd.grad(out.abs().sum(), surface.weight)
    assert by_weight.abs().max() > 0


@both
def test_single_precision(backend) -> None:
    exact, rough = flat_surface(60, radius=0.4), flat_surface(60, radius=0.4, dtype=torch.float32)
    inputs = leaves(random_field(exact, 8), *filters(3, 1, 8, 12))
    small = [
        tensor.detach().to(torch.complex64 if tensor.is_complex() else torch.float32) for tensor in inputs
    ]
    small = leaves(*small)
    out = field_convolve(*inputs, exact, backend="torch")
    found = field_convolve(*small, rough, backend=backend)
    assert found.dtype == torch.complex64
    gradient = random_field(exact, 12)
    pairs = [
        (found, out),
        *zip(
            torch.autograd.grad(found, small, gradient.to(torch.complex64)),
            torch.autograd.grad(out, inputs, gradient),
            strict=True,
        ),
    ]
    for ours, expected in pairs:
        assert (ours - expected).abs().max() < 1e-5 * expected.abs().max()


def test_threads_agree() -> None:
    surface = flat_surface(300, radius=0.2, dtype=torch.float32)
    x = random_field(surface, 32).to(torch.complex64)
    parts = [part.float() for part in filters(3, 1, 32, 32)]
    gradient = random_field(surface, 32).to(torch.complex64)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            inputs = leaves(x, *parts)
            out = field_convolve(*inputs, surface, backend="compiled")
            found.append((out, *torch.autograd.grad(out, inputs, gradient)))
    finally:
        torch.set_num_threads(before)
    for others in found[1:]:
        for ours, expected in zip(others, found[0], strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)


@both
def test_batches_edges_and_layouts(backend) -> None:
    parts = [flat_surface(9, radius=0.5), flat_surface(12, radius=0.3)]
    batch = surface_batch(parts)
    x = torch.cat([random_field(part, 3) for part in parts])
    coefficients = filters(3, 1, 3, 2)
    alone = [
        field_convolve(own, *coefficients, part, backend=backend)
        for own, part in zip(x.split([9, 12]), parts, strict=True)
    ]
    together = field_convolve(x, *coefficients, batch, backend=backend)
    torch.testing.assert_close(together, torch.cat(alone))
    strided = torch.stack([x, x], -1)[..., 0]
    torch.testing.assert_close(field_convolve(strided, *coefficients, batch, backend=backend), together)
    turned = x.conj().clone().conj()
    torch.testing.assert_close(field_convolve(turned, *coefficients, batch, backend=backend), together)

    nothing = paper.no_edges(4)
    inputs = leaves(torch.ones(4, 3, dtype=torch.complex128), *coefficients)
    out = field_convolve(*inputs, nothing, backend=backend)
    assert not out.abs().any()
    for gradient in torch.autograd.grad(out.real.sum(), inputs):
        assert not gradient.abs().any()


@both
@pytest.mark.parametrize("name", ["convolve", "convolve_backward"])
def test_operators_keep_torchs_contract(name, backend) -> None:
    surface = flat_surface(8)
    inputs = leaves(random_field(surface, 2), *filters(2, 1, 2, 3))
    if name == "convolve_backward":
        inputs = [*(tensor.detach() for tensor in inputs), random_field(surface, 3)]
    arguments = (*inputs, *Geometry.of(surface), "linear", backend)
    torch.library.opcheck(getattr(torch.ops.fieldconv, name).default, arguments)


def test_an_operator_in_a_stored_graph_runs_without_kernels(monkeypatch) -> None:
    surface = flat_surface(8)
    x, coefficients = random_field(surface, 2), filters(2, 1, 2, 3)
    expected = field_convolve(x, *coefficients, surface, backend="compiled")
    monkeypatch.setenv("FIELDCONV_BACKEND", "torch")
    inputs = leaves(x, *coefficients)
    out = torch.ops.fieldconv.convolve(*inputs, *Geometry.of(surface), "linear", "auto")
    torch.testing.assert_close(out, expected)
    assert all(gradient.abs().max() > 0 for gradient in torch.autograd.grad(out.abs().sum(), inputs))


@both
def test_nothing_as_large_as_the_sums_is_kept(backend) -> None:
    surface = flat_surface(200, radius=0.3, dtype=torch.float32)
    x = random_field(surface, 16).to(torch.complex64).requires_grad_()
    parts = [part.float().requires_grad_() for part in filters(3, 1, 16, 16)]
    saved = []

    def pack(tensor: Tensor) -> Tensor:
        if len(tensor) == len(x):
            saved.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        field_convolve(x, *parts, surface, backend=backend)
    sums = field_aggregate(x.detach(), surface, rings=3, band_limit=1)
    assert saved
    assert sum(saved) < sums.numel() / 2
