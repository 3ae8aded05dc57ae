"""Where training starts: shares of rings by counting points, and magnitudes that layers keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fieldconv.networks import FCNet
from fieldconv.nn import ECHOBlock
from fieldconv.nn.initialise import init_perceptron, squared_shares


@pytest.mark.parametrize("spacing", ["linear", "equal_area"])
@pytest.mark.parametrize("rings", [1, 3, 6])
def test_squared_shares_by_counting_points_of_the_disc(rings: int, spacing: Any) -> None:
    """Points spread evenly over the disc fall into rings whose outer radii are i/N, or √(i/N)."""
    radius = np.sqrt((np.arange(100_000) + 0.5) / 100_000)
    power = 1.0 if spacing == "linear" else 0.5
    outer = (np.arange(1, rings + 1) / rings) ** power
    share = np.bincount(np.searchsorted(outer, radius), minlength=rings)[:rings] / len(radius)
    assert squared_shares(rings, spacing) == pytest.approx((share**2).sum(), rel=1e-3)


def test_perceptrons_keep_magnitudes() -> None:
    """He: with a ReLU before each layer, the mean square of its inputs is twice that of what passes."""
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 400)
    )
    init_perceptron(layers)
    x = torch.randn(200, 400)
    with torch.no_grad():
        for layer in layers:
            if isinstance(layer, nn.Linear):
                assert (layer.bias == 0).all()
                out = layer(x)
                assert float(out.square().mean() / x.square().mean()) == pytest.approx(2, rel=0.1)
                x = out.relu()


@pytest.mark.parametrize(
    "module",
    [
        ECHOBlock(8, 5, descriptors=16),
        FCNet.for_task("correspondence", classes=300, preset="paper", blocks=1).head,
    ],
    ids=["ECHOBlock", "dense head"],
)
def test_all_perceptrons_start_so(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            assert (layer.bias == 0).all()
            assert float(layer.weight.detach().std()) == pytest.approx(
                (2 / layer.in_features) ** 0.5, rel=0.15
            )
