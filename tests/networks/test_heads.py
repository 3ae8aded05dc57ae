"""The heads of an FCNet, against what is written of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fieldconv.networks import FCNet, FCNetConfig
from fieldconv.networks.fcnet import LabelHead, VectorHead
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import flat_surface, random_field
from tests.ops import paper

SMALL: dict[str, Any] = {
    "width": 3,
    "rings": 2,
    "band_limit": 1,
    "echo_channels": 2,
    "echo_samples": 2,
    "hidden": (6, 5),
}


def dense_layers(head: LabelHead) -> tuple[nn.Linear, nn.Linear]:
    """The two linear layers after the bottleneck."""
    first, second = (layer for layer in head.dense.modules() if isinstance(layer, nn.Linear))
    return first, second


@pytest.mark.parametrize("share", [0.5, 0.2, 0.0])
def test_dropout_between_the_dense_layers(share: float) -> None:
    """Hidden values are all 1 and the last layer shows each: 0 with chance p, else 1/(1 − p)."""
    head = LabelHead(FCNetConfig(bottleneck=3, dense=200, outputs=200, dropout=share, **SMALL))
    first, second = dense_layers(head)
    with torch.no_grad():
        first.weight.zero_()
        first.bias.fill_(1)
        second.weight.copy_(torch.eye(200))
        second.bias.zero_()
        torch.manual_seed(0)
        shown = head.train().dense(torch.randn(100, 3))
        assert (head.eval().dense(torch.randn(100, 3)) == 1).all()
    torch.testing.assert_close(shown[shown != 0], torch.full_like(shown[shown != 0], 1 / (1 - share)))
    assert float((shown == 0).float().mean()) == pytest.approx(share, abs=0.02)  # of 20,000


def test_dropout_of_the_papers_correspondence_network() -> None:
    """Section 6.4: two linear layers after the ECHO block, p = 0.5 dropout between them and nowhere else."""
    net = FCNet.for_task("correspondence", classes=20, preset="paper")
    layers = [layer for layer in net.modules() if isinstance(layer, nn.Linear | nn.Dropout)]
    (place,) = (i for i, layer in enumerate(layers) if isinstance(layer, nn.Dropout))
    assert layers[place].p == 0.5
    before, after = layers[place - 1], layers[place + 1]
    assert (before.in_features, before.out_features) == (32, 256)
    assert (after.in_features, after.out_features) == (256, 20)
    assert after is layers[-1]


def test_a_relu_before_each_dense_layer() -> None:
    torch.manual_seed(0)
    head = LabelHead(FCNetConfig(bottleneck=4, dense=7, outputs=5, **SMALL)).double().eval()
    first, second = dense_layers(head)
    nn.init.normal_(first.bias)
    nn.init.normal_(second.bias)
    x = torch.randn(30, 4, dtype=torch.float64)
    for row, found in zip(x.tolist(), head.dense(x).tolist(), strict=True):
        narrow = [max(value, 0.0) for value in row]
        wide = [
            max(sum(w * v for w, v in zip(weights, narrow, strict=True)) + b, 0.0)
            for weights, b in zip(first.weight.tolist(), first.bias.tolist(), strict=True)
        ]
        expected = [
            sum(w * v for w, v in zip(weights, wide, strict=True)) + b
            for weights, b in zip(second.weight.tolist(), second.bias.tolist(), strict=True)
        ]
        assert found == pytest.approx(expected)


def test_labels_are_decided_on_vector_votes_unless_told_otherwise() -> None:
    """The ECHO descriptors of a network against the paper's voting, one neighbour at a time."""
    surface = flat_surface(12, radius=0.5)
    for votes, changes in (("vector", {}), ("magnitude", {"echo_votes": "magnitude"})):
        net = FCNet.for_task("segmentation", classes=4, preset="tiny", **changes).double()
        with torch.no_grad():
            vectors = net.head.block.conv(net.features(surface), surface)
            found = net.echo_descriptors(surface)
        torch.testing.assert_close(found, paper.echo(vectors, surface, 2, votes))


def test_vectors_are_those_of_a_last_convolution() -> None:
    surface = flat_surface()
    head = VectorHead(FCNetConfig(head="vectors", outputs=4, **SMALL)).double()
    x = random_field(surface, 3)
    torch.testing.assert_close(head(x, surface), head.conv(x, surface))


@pytest.mark.parametrize("blocks", [1, 3])
def test_vectors_turn_with_the_frames(blocks: int) -> None:
    net = FCNet(FCNetConfig(head="vectors", outputs=4, blocks=blocks, lift_channels=4, **SMALL)).double()
    surface = flat_surface()
    out = net(surface)
    assert out.shape == (30, 4)
    assert out.is_complex()
    assert_equivariant(net, surface, tolerance=1e-10)


class Conjugated(nn.Module):
    """A network whose vectors turn the wrong way."""

    def __init__(self, net: FCNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, surface: Any) -> Tensor:
        return self.net(surface).conj()


def test_vectors_that_turn_the_wrong_way_are_noticed() -> None:
    net = FCNet(FCNetConfig(head="vectors", outputs=2, blocks=1, lift_channels=4, **SMALL)).double()
    with pytest.raises(AssertionError, match="tangent frames"):
        assert_equivariant(Conjugated(net), flat_surface())
