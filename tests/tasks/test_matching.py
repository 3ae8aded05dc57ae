from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch

from fieldconv.tasks.matching import Matching, MatchingConfig, compare, draw_pairs, twin_loss

CONFIG = MatchingConfig(positives=50)


def matches(count: int = 20) -> SimpleNamespace:
    """Sample i of the scene is sample count − 1 − i of the model."""
    ids = torch.arange(count)
    match = torch.stack([ids, count - 1 - ids])
    return SimpleNamespace(match=match, ball=match, samples=torch.tensor([[count, count]]))


def test_half_of_the_pairs_correspond_and_none_of_the_others() -> None:
    scene, model, weight = draw_pairs(matches(), np.random.default_rng(0), CONFIG)
    assert len(scene) == len(model) == len(weight) == 100
    corresponds = model == 19 - scene
    assert corresponds[:50].all()
    assert not corresponds[50:].any()
    assert (weight[:50] == 1).all()
    assert (weight[50:] >= 0).all()
    assert (weight[50:] <= 0.2).all()
    assert len(np.unique(weight[50:])) > 40


def test_loss_is_the_papers_sum_written_as_a_loop() -> None:
    draw = torch.Generator().manual_seed(0)
    one, two = torch.rand(8, 3, generator=draw) * 2, torch.rand(8, 3, generator=draw) * 2
    alpha = torch.rand(8, generator=draw)
    found = twin_loss((one - two).square().sum(1), alpha, 5.0)
    for i in range(8):
        d = sum((float(a) - float(b)) ** 2 for a, b in zip(one[i], two[i], strict=True))
        a = float(alpha[i])
        assert np.isclose(float(found[i]), a * d + (1 - a) * max(0.0, 5 - d), rtol=1e-5)


def test_true_descriptors_retrieve_perfectly_and_constant_ones_do_not() -> None:
    ids = torch.arange(20.0)[:, None]
    assert compare(ids, ids.flip(0), matches()).average_precision.tolist() == [1.0] * 20
    assert compare(ids * 0, ids * 0, matches()).average_precision.mean() < 0.2


def test_score_counts_pairs_that_are_nearer_than_the_others() -> None:
    outputs = torch.tensor([[0.0], [0.1], [3.0]])
    chunk = SimpleNamespace(
        extra={
            "scene": torch.tensor([[0, 0]]),
            "model": torch.tensor([[1, 2]]),
            "weight": torch.tensor([[1.0, 0.0]]),
        }
    )
    _, score = Matching().loss(outputs, chunk, MatchingConfig(positives=1))  # type: ignore[arg-type]
    assert score.tolist() == [1.0]
