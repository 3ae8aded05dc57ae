"""Means over the samples of each shape, against sums written out."""

from __future__ import annotations

import pytest
import torch

from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.surface import batch as surface_batch
from tests.nn.surfaces import flat_surface


@pytest.mark.parametrize("columns", [(), (4,), (2, 3)])
def test_weighted_mean_of_each_shape(columns: tuple[int, ...]) -> None:
    counts = (5, 1, 9)
    batch = surface_batch([flat_surface(n, seed=n) for n in counts])
    values = torch.randn(15, *columns, dtype=torch.float64)
    weight = torch.rand(15, dtype=torch.float64)
    found = mean_per_shape(values, weight, batch)
    assert found.shape == (3, *columns)
    for shape, (v, w) in enumerate(zip(values.split(counts), weight.split(counts), strict=True)):
        total = sum(float(one) * row for one, row in zip(w, v, strict=True))
        torch.testing.assert_close(found[shape], total / float(w.sum()))


def test_one_surface_is_one_shape() -> None:
    surface = flat_surface(6)
    number, count = shape_of_samples(surface)
    assert number.tolist() == [0] * 6
    assert count == 1
    values = torch.arange(6, dtype=torch.float64)
    assert mean_per_shape(values, torch.ones(6), surface).tolist() == [2.5]
    assert mean_per_shape(values, torch.arange(6) >= 4, surface).tolist() == [4.5]  # a mask is a weight


def test_nothing_has_mean_zero_and_finite_gradients() -> None:
    batch = surface_batch([flat_surface(3), flat_surface(4)])
    values = torch.ones(7, dtype=torch.float64, requires_grad=True)
    found = mean_per_shape(values, torch.tensor([0.0, 0, 0, 1, 1, 1, 1]), batch)
    assert found.tolist() == [0, 1]
    found.sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [0, 0, 0, 0.25, 0.25, 0.25, 0.25]
