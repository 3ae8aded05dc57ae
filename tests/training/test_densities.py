"""One network, one shape, two densities: answers agree, the better the more samples there are.

The network has learnt nothing, which makes it far more sensitive than one that has.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry import Mesh, subdivide
from fieldconv.networks import FCNet
from fieldconv.surface import Surface
from fieldconv.training import predict
from fieldconv.training.apply import task_of


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
        for mesh in (shape, subdivide(shape, vertices).mesh)
    )
    return float(np.linalg.norm(one - two) / np.linalg.norm(one - one.mean(0)))


def test_more_samples_agree_better(network: FCNet, shape: Mesh) -> None:
    few, many = (apart(network, shape, 3000, samples) for samples in (250, 1000))
    assert many < 0.7 * few
    assert many < 0.5


def test_mean_over_sets_of_samples(network: FCNet, shape: Mesh) -> None:
    fine = subdivide(shape, 1500).mesh
    settings = network.surface_settings(200)
    surfaces = [Surface.from_mesh(fine, **replace(settings, sampling_seed=k).to_dict()) for k in range(3)]
    assert all(len(np.intersect1d(surfaces[0].sample, other.sample)) < 100 for other in surfaces[1:])
    task = task_of(network)
    with torch.no_grad():
        scores = [np.asarray(task.decode(network(surface), surface).scores) for surface in surfaces]
    found = predict(network, fine, samples=200, samplings=3)
    assert found.scores is not None
    # Vertices are numbered by position inside, which rounding feels a little.
    assert np.abs(found.scores - np.mean(scores, 0)).max() < 0.02
    assert np.array_equal(found.labels, found.scores.argmax(1))
    once = predict(network, fine, samples=200)
    assert once.scores is not None
    assert np.abs(once.scores - scores[0]).max() < np.abs(once.scores - scores[1]).max() / 4


def test_every_vertex_a_sample_leaves_one_set(
    network: FCNet, shape: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    whole = Surface.prepare
    monkeypatch.setattr(Surface, "prepare", lambda *a, **k: made.append(k) or whole(*a, **k))
    predict(network, shape, samplings=5)
    assert len(made) == 1
    with pytest.raises(ValueError, match="samplings is 0"):
        predict(network, shape, samplings=0)
