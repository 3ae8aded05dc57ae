from __future__ import annotations

from functools import partial

import pytest
import torch

from fieldconv.ops import pairs, squared_distances


@pytest.fixture(params=[2, pairs.CHUNK], ids=["small chunks", "one chunk"])
def distances(request):
    return partial(squared_distances, chunk=request.param)


@pytest.fixture
def case():
    torch.manual_seed(0)
    features = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    return features, torch.randint(5, (2, 4)), torch.randint(5, (2, 4))


def test_is_the_square_of_the_distance(distances, case) -> None:
    features, first, second = case
    found = distances(*case)
    for pair in ((0, 0), (1, 3)):
        torch.testing.assert_close(
            found[pair], torch.dist(features[first[pair]], features[second[pair]]) ** 2
        )
    assert found.shape == (2, 4)


def test_gradients(distances, case) -> None:
    assert torch.autograd.gradcheck(distances, case)
    assert torch.autograd.gradgradcheck(distances, case)


@pytest.mark.parametrize("chunk", [2, pairs.CHUNK])
def test_keeps_torchs_contract(case, chunk: int) -> None:
    torch.library.opcheck(torch.ops.fieldconv.squared_distances.default, (*case, chunk))


def test_no_pairs_at_all() -> None:
    features = torch.ones(3, 2, requires_grad=True)
    none = torch.zeros(0, dtype=torch.int64)
    squared_distances(features, none, none).sum().backward()
    assert not features.grad.any()
