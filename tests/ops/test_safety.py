"""The operations among threads, processes and compilers."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from fieldconv.ops import echo_votes, field_aggregate, gradient_aggregate
from fieldconv.ops.pointwise import magnitude_relu
from tests.nn.surfaces import flat_surface, random_field

SURFACE = flat_surface(60, dtype=torch.float32)


both = pytest.mark.parametrize("backend", ["torch", "compiled"])


def step(x: torch.Tensor, surface=SURFACE, backend: str = "compiled") -> torch.Tensor:
    aggregated = field_aggregate(x, surface, rings=3, band_limit=1, backend=backend)
    mixed = aggregated.sum((1, 2))
    return echo_votes(mixed, surface, radial_samples=2, backend=backend).sum() + aggregated.abs().sum()


def gradient(seed: int, backend: str = "compiled") -> torch.Tensor:
    x = random_field(SURFACE, 20, seed).requires_grad_()
    step(x, backend=backend).backward()
    return x.grad


def everything(backend: str) -> list[torch.Tensor]:
    x = random_field(SURFACE, 40).requires_grad_()
    results = [field_aggregate(x, SURFACE, rings=3, band_limit=2, backend=backend)]
    for votes in ("vector", "magnitude"):
        results.append(echo_votes(x, SURFACE, votes=votes, backend=backend))
    results += gradient_aggregate(SURFACE.x, SURFACE, rings=3, backend=backend)
    loss = sum(part.abs().square().sum() for part in results[:3])
    many, offset = random_field(SURFACE, 1000).requires_grad_(), torch.zeros(1000, requires_grad=True)
    loss = loss + magnitude_relu(many, offset, backend=backend).real.sum()
    return [*results, *torch.autograd.grad(loss, (x, many, offset))]


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_same_bits_for_any_number_of_threads(threads) -> None:
    found = []
    for count in (1, 2, 3, 1, 7):
        threads(count)
        found.append(everything("compiled"))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_same_bits_where_torch_is_asked_for_them() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        once, again = everything("torch"), everything("torch")
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


@both
def test_two_threads_at_once(backend) -> None:
    work = partial(gradient, backend=backend)
    expected = [work(seed) for seed in range(8)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, range(8)))
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


class Gradients(Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, seed: int) -> torch.Tensor:
        return gradient(seed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")
def test_forked_loader_workers() -> None:
    expected = [gradient(seed) for seed in range(4)]  # the threads are running when the workers are forked
    loader = DataLoader(Gradients(), batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert all(torch.equal(a, b) for a, b in zip(expected, loader, strict=True))


@both
def test_no_grad_and_inference_mode(backend) -> None:
    x = random_field(SURFACE, 4)
    expected = step(x.clone().requires_grad_(), backend=backend).detach()
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            result = step(x, backend=backend)
        assert not result.requires_grad
        assert torch.equal(result, expected)


@both
def test_gradients_add_up(backend) -> None:
    x = random_field(SURFACE, 4).requires_grad_()
    step(x, backend=backend).backward()
    once = x.grad.clone()
    step(x, backend=backend).backward()
    assert torch.equal(x.grad, once + once)


@both
def test_compiles_to_one_graph(backend) -> None:
    plain = partial(step, backend=backend)
    compiled = torch.compile(plain, fullgraph=True, backend="aot_eager")
    x = random_field(SURFACE, 4).requires_grad_()
    y = x.detach().clone().requires_grad_()
    torch.testing.assert_close(compiled(x), plain(y))
    compiled(x).backward()
    plain(y).backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_exports_with_any_number_of_points() -> None:
    class Module(torch.nn.Module):
        def forward(self, x, edge_index, log, transport, weight, radius):
            surface = type("S", (), {})()
            surface.edge_index, surface.log, surface.transport = edge_index, log, transport
            surface.weight, surface.radius = weight, radius
            return field_aggregate(x, surface, rings=3, band_limit=1)

    def arguments(surface):
        geometry = (surface.edge_index, surface.log, surface.transport, surface.weight, surface.radius)
        return random_field(surface, 4), *geometry

    n, e = torch.export.Dim("n", min=2), torch.export.Dim("e", min=2)
    shapes = ({0: n}, {1: e}, {0: e}, {0: e}, {0: e}, None)
    program = torch.export.export(Module(), arguments(SURFACE), dynamic_shapes=shapes)
    assert any("fieldconv.gather" in str(node.target) for node in program.graph.nodes)
    other = flat_surface(25, dtype=torch.float32)
    torch.testing.assert_close(program.module()(*arguments(other)), Module()(*arguments(other)))


OPERATORS = ["gather", "scatter"] + [
    operator + way for operator in ("lift", "echo", "magnitude_relu") for way in ("", "_backward")
]


@both
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_keep_torchs_contract(name, backend) -> None:
    s = flat_surface(8)
    geometry = (s.edge_index, s.log, s.transport, s.weight, s.radius, None)
    x = random_field(s, 2)
    y, sums = torch.randn(3, 8, 2, dtype=x.dtype), torch.randn(8, 3, 2, 2, dtype=x.dtype)
    image = torch.randn(8, 2, 13, dtype=torch.complex128)
    arguments = {
        "gather": (y.requires_grad_(), *geometry, -1, 2, "linear", False),
        "scatter": (sums.requires_grad_(), *geometry, -1, 2, "linear", True),
        "lift": (x.clone().requires_grad_(), 2),
        "lift_backward": (x, y.detach(), 1),
        "echo": (x.clone().requires_grad_(), *geometry, 2, False),
        "echo_backward": (x, image.real.contiguous(), image, *geometry, 2, True),
        "magnitude_relu": (x.clone().requires_grad_(), torch.rand(2, dtype=x.real.dtype)),
        "magnitude_relu_backward": (x, torch.rand(2, dtype=x.real.dtype), y[0].detach()),
    }[name]
    torch.library.opcheck(getattr(torch.ops.fieldconv, name).default, (*arguments, backend))
