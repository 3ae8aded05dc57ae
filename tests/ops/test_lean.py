"""The portable path makes and keeps nothing that has a number for each edge and channel."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fieldconv.nn import ECHO, FieldConv, LearnedGradient
from fieldconv.ops import Geometry, plain, squared_distances
from fieldconv.ops.portable import aggregate_torch as aggregate
from fieldconv.ops.portable import echo_torch as echo
from tests.nn.surfaces import flat_surface, random_field

POINTS, CHANNELS = 80, 64
SURFACE = flat_surface(POINTS, radius=2.0, dtype=torch.float32)  # every point is everybody's neighbour
EDGES = POINTS * POINTS
TOO_MANY = EDGES * CHANNELS // 4  # numbers


class Largest(TorchDispatchMode):
    """Remembers the size of the largest tensor."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                size = tensor.untyped_storage().nbytes() // tensor.real.element_size()
                self.numbers = max(self.numbers, size)
        return result


def test_aggregation_makes_no_large_tensor() -> None:
    y = torch.randn(3, POINTS, CHANNELS, dtype=torch.complex64)
    options = (Geometry.of(SURFACE), -1, 3, "linear", False)
    with Largest() as largest:
        sums = aggregate.gather(y, *options)
        aggregate.scatter(sums, *options)
    assert EDGES < largest.numbers < TOO_MANY


@pytest.mark.parametrize("vector", [True, False])
def test_votes_are_cast_a_few_at_a_time(vector: bool) -> None:
    x, geometry = random_field(SURFACE, CHANNELS), Geometry.of(SURFACE)
    with Largest() as largest:
        descriptors, image = echo.vote(x, geometry, 1, vector, chunk=2**13)
        echo.vote_backward(x, descriptors, image, geometry, 1, vector, chunk=2**13)
    assert largest.numbers < TOO_MANY


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("chunk", [1, 5000])  # one receiver at a time, and some
def test_chunks_change_nothing(vector: bool, chunk: int) -> None:
    x, geometry = random_field(SURFACE, 6), Geometry.of(SURFACE)

    def run(chunk=None):
        out, image = echo.vote(x, geometry, 3, vector, chunk=chunk)
        return out, echo.vote_backward(x, 2 * out, image, geometry, 3, vector, chunk=chunk)

    torch.testing.assert_close(run(chunk), run())


def test_plain_torch_is_not_lean() -> None:
    """Or the tests above would show nothing."""
    with Largest() as largest:
        plain.aggregate(torch.randn(1, POINTS, CHANNELS) + 0j, Geometry.of(SURFACE), 0, 3, "linear", False)
    assert largest.numbers > TOO_MANY


def pair_distances(x, surface):
    return squared_distances(x.real, *surface.edge_index)


@pytest.mark.parametrize(
    "layer",
    [
        FieldConv(CHANNELS, 2, rings=2, band_limit=1),
        ECHO(radial_samples=1),
        LearnedGradient(3, 4),
        pair_distances,
    ],
    ids=["FieldConv", "ECHO", "LearnedGradient", "pairs"],
)
def test_layers_keep_no_large_tensor(monkeypatch, layer) -> None:
    monkeypatch.setenv("FIELDCONV_BACKEND", "torch")
    scalars = isinstance(layer, LearnedGradient)
    x = (SURFACE.x.clone() if scalars else random_field(SURFACE, CHANNELS)).requires_grad_()
    saved = {}

    def keep(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor.numel() * (1 + tensor.is_complex())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        layer(x, SURFACE).abs().sum().backward()
    geometry = 2 * EDGES + 2 * EDGES + 2 * EDGES + EDGES  # edge_index, log, transport, weight
    assert sum(saved.values()) < geometry + TOO_MANY
