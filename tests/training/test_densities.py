"""One network, one shape, two densities: answers agree, the better the more samples there are.

The network has learnt nothing, which makes it far more sensitive than one that has.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry.mesh import Mesh
from fieldconv.geometry.subdivide import subdivided
from fieldconv.networks.fcnet import FCNet
from fieldconv.training import predict


@pytest.fixture(scope="module")
def shape() -> Mesh:
    return make_creature("lizard", 5, vertices=300).mesh


@pytest.fixture(scope="module")
def network() -> FCNet:
    torch.manual_seed(0)
    model = FCNet.for_task(
        "segmentation", classes=6, preset="tiny", samples=None, features="hks", width=8, blocks=1
    ).eval()
    model.task = "segmentation"
    return model


def apart(network: FCNet, shape: Mesh, vertices: int, samples: int) -> float:
    """How differently a shape is seen once it is subdivided, at its own vertices: 0 not, 1 entirely."""
    one, two = (
        np.log(np.asarray(predict(network, mesh, samples=samples).scores)[: len(shape.vertices)])
        for mesh in (shape, subdivided(shape, vertices).mesh)
    )
    return float(np.linalg.norm(one - two) / np.linalg.norm(one - one.mean(0)))


def test_more_samples_agree_better(network: FCNet, shape: Mesh) -> None:
    few, many = (apart(network, shape, 3000, samples) for samples in (250, 1000))
    assert many < 0.7 * few
    assert many < 0.5
