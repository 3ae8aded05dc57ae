"""The gathering variant that is trained for comparison, against the sum written out edge by edge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from tests.nn.surfaces import random_field
from tests.shapes import torus

from fieldconv import FCNet, Mesh, Surface

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from gathering import GatheringConv, as_gathering
from scatter_gather import gathering, with_noisy_frames


@pytest.mark.parametrize("filter", ["offset", "complex"])
def test_is_the_naive_sum(filter: str) -> None:
    surface = Surface.from_mesh(Mesh(*torus(around=20, across=8)), radius=0.3)
    noisy = with_noisy_frames(surface, 0.5, torch.Generator().manual_seed(0))
    x = random_field(surface, 3)
    x[4, 1] = 0
    conv = GatheringConv(3, 4, filter=filter)
    for one in (surface, noisy):
        expected = gathering(conv, x, one)
        assert (conv(x, one) - expected).abs().max() < 1e-5 * expected.abs().max()


def test_replaces_every_field_convolution() -> None:
    network = FCNet.for_task("segmentation", classes=3, preset="tiny")
    parameters = network.num_parameters
    assert "FieldConv" not in {type(module).__name__ for module in as_gathering(network).modules()}
    assert network.num_parameters == parameters
