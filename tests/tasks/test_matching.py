from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fieldconv.datasets import Matches, SurfacePair
from fieldconv.datasets.matches import find_matches, near_samples
from fieldconv.geometry import Mesh
from fieldconv.networks import FCNet
from fieldconv.surface import Surface
from fieldconv.tasks import Matching
from fieldconv.tasks.matching import MatchingConfig, compare, twin_loss
from tests.nn.surfaces import flat_surface
from tests.shapes import plane

CONFIG = MatchingConfig(positives=50)


def matches(count: int = 20) -> SimpleNamespace:
    """Sample i of the scene is sample count − 1 − i of the model."""
    ids = torch.arange(count)
    match = torch.stack([ids, count - 1 - ids])
    return SimpleNamespace(match=match, ball=match, samples=torch.tensor([[count, count]]))


def drawn(known: Any, draw: np.random.Generator, config: MatchingConfig) -> tuple[np.ndarray, ...]:
    """Samples of the scene, of the model, and weights."""
    found = Matching().points(SimpleNamespace(matches=known), draw, config)  # type: ignore[arg-type]
    return found["scene"], found["model"], found["weight"]


def test_half_of_the_pairs_correspond_and_none_of_the_others() -> None:
    scene, model, weight = drawn(matches(), np.random.default_rng(0), CONFIG)
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


def pairs_at(squared: list[float], weight: list[float]) -> tuple[Tensor, Any]:
    """Descriptors on a line, and a chunk in which point 0 is paired with points at the squared distances."""
    outputs = torch.tensor([0.0, *(d**0.5 for d in squared)], dtype=torch.float64)[:, None]
    count = len(squared)
    extra = {
        "scene": torch.zeros(1, count, dtype=torch.int64),
        "model": torch.arange(1, count + 1)[None],
        "weight": torch.tensor([weight], dtype=torch.float64),
    }
    return outputs.requires_grad_(), SimpleNamespace(extra=extra)


@pytest.mark.parametrize("margin", [5.0, 2.0])
def test_loss_is_the_papers_up_to_twenty_margins_and_flat_beyond(margin: float) -> None:
    """One speck of a mesh whose vectors grow without bound must not be all that is learnt from."""
    config = MatchingConfig(positives=1, margin=margin)
    shares = [0.3, 0.9, 1.1, 4.0, 19.9, 20.1, 1000.0]
    for share in shares:
        for alpha in (1.0, 0.0, 0.15):
            outputs, chunk = pairs_at([share * margin, 1.0], [alpha, 0.0])
            loss, _ = Matching().loss(outputs, chunk, config)
            d, other = min(share, 20) * margin, max(0.0, margin - 1.0)
            expected = alpha * d + (1 - alpha) * max(0.0, margin - d)
            assert float(loss.detach()) == pytest.approx((expected + other) / 2), share
            (gradient,) = torch.autograd.grad(loss, outputs)
            slope = (alpha - (1 - alpha) * (share < 1)) if share < 20 else 0.0
            assert float(gradient[1]) == pytest.approx(slope * (share * margin) ** 0.5), share


def test_without_a_limit_the_loss_is_the_papers_however_far() -> None:
    outputs, chunk = pairs_at([1000.0, 1.0], [1.0, 0.0])
    loss, _ = Matching().loss(outputs, chunk, MatchingConfig(positives=1, farthest=None))
    assert float(loss.detach()) == pytest.approx((1000.0 + 4.0) / 2)


def test_right_matches_lie_within_a_geodesic_ball() -> None:
    """Right is what lies within a geodesic ball of 0.05 at unit area: on a plane, of that distance."""
    vertices, faces = plane(900)
    mesh = Mesh(7 * vertices, faces)  # the size in the file does not matter
    surface = Surface.from_mesh(mesh, radius=0.1, samples=300, operators=())
    distance = np.linalg.norm(vertices[:, None] - vertices[surface.sample.numpy()][None], axis=2)
    assert not (np.abs(distance - 0.05) < 1e-6).any()
    near = near_samples(surface, mesh).toarray()
    assert np.array_equal(near, distance < 0.05)
    truth = np.random.default_rng(0).permutation(900)
    truth[::7] = -1
    found = find_matches(surface, surface, near_samples(surface, mesh), truth, near_samples(surface, mesh))
    expected = {
        (i, j)
        for i, vertex in enumerate(surface.sample.tolist())
        for j in range(300)
        if truth[vertex] >= 0 and distance[truth[vertex], j] < 0.05
    }
    assert set(map(tuple, found.ball.T.tolist())) == expected
    nearest = {
        i: int(distance[truth[v]].argmin()) for i, v in enumerate(surface.sample.tolist()) if truth[v] >= 0
    }
    assert dict(found.match.T.tolist()) == nearest
    about_scene = {
        (i, int(distance[truth[vertex]].argmin()))
        for i in nearest
        for vertex in range(900)
        if distance[vertex, i] < 0.05 and truth[vertex] >= 0
    }
    assert set(map(tuple, found.scene_ball.T.tolist())) == about_scene


def pair(seed: int, scene: int, model: int) -> SurfacePair:
    """Two flat surfaces with so many samples; sample i of the scene is sample i of the model."""
    surfaces = [flat_surface(count, seed=seed + count, dtype=torch.float32) for count in (scene, model)]
    for surface, name in zip(surfaces, ("scene", "model"), strict=True):
        surface.name = f"{name} {seed}"
    match = torch.arange(min(scene, model)).repeat(2, 1)
    return SurfacePair(*surfaces, Matches(match=match, ball=match, samples=torch.tensor([[scene, model]])))


def test_pairs_of_a_batch_are_found_among_all_its_samples() -> None:
    """Scene, model, scene, model, one after the other; weights and numbers as each pair has drawn them."""
    examples = [pair(0, 6, 9), pair(1, 8, 5)]
    network = FCNet.for_task("matching", preset="tiny")

    def draws() -> list[np.random.Generator]:
        return [np.random.default_rng(seed) for seed in (3, 4)]

    config = MatchingConfig(positives=4, rotate=False)
    chunk = Matching().collate(examples, draws(), config, network)
    assert chunk.surface.batch.bincount().tolist() == [6, 9, 8, 5]
    assert chunk.names == ["scene 0 and model 0", "scene 1 and model 1"]
    for row, (example, draw, starts) in enumerate(zip(examples, draws(), ((0, 6), (15, 23)), strict=True)):
        alone = drawn(example.matches, draw, config)
        assert (chunk.extra["scene"][row] - starts[0]).tolist() == alone[0].tolist()
        assert (chunk.extra["model"][row] - starts[1]).tolist() == alone[1].tolist()
        np.testing.assert_allclose(chunk.extra["weight"][row], alone[2], rtol=1e-6)
    assert Matching().size(examples[0]) == examples[0].scene.num_edges + examples[0].model.num_edges


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
