from __future__ import annotations

import pytest
import torch

from fieldconv.ops import pairs, squared_distances


@pytest.fixture(params=[2, pairs.CHUNK], ids=["small chunks", "one chunk"])
def case(request, monkeypatch):
    monkeypatch.setattr(pairs, "CHUNK", request.param)
    torch.manual_seed(0)
    features = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    return features, torch.randint(5, (2, 4)), torch.randint(5, (2, 4))


def test_is_the_square_of_the_distance(case) -> None:
    features, first, second = case
    found = squared_distances(*case)
    for pair in ((0, 0), (1, 3)):
        torch.testing.assert_close(
            found[pair], torch.dist(features[first[pair]], features[second[pair]]) ** 2
        )
    assert found.shape == (2, 4)


def test_gradients(case) -> None:
    assert torch.autograd.gradcheck(squared_distances, case)
    assert torch.autograd.gradgradcheck(squared_distances, case)


def test_keeps_torchs_contract(case) -> None:
    torch.library.opcheck(torch.ops.fieldconv.squared_distances.default, case)


def test_no_pairs_at_all() -> None:
    features = torch.ones(3, 2, requires_grad=True)
    none = torch.zeros(0, dtype=torch.int64)
    squared_distances(features, none, none).sum().backward()
    assert not features.grad.any()
