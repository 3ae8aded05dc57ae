"""A perceptron is the sequence of its layers, whether it passes over zeros or not."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from fieldconv.nn import Perceptron, perceptron


def layers(outputs: int = 70, share: float = 0.5) -> list[nn.Module]:
    torch.manual_seed(0)
    first = [nn.ReLU(), nn.Linear(6, 40), nn.ReLU(), nn.Dropout(share), nn.Linear(40, outputs)]
    return [*first, nn.ReLU(), nn.Dropout(share), nn.Linear(outputs, 64)]


def step(network: nn.Module) -> list[Tensor]:
    torch.manual_seed(1)
    x = torch.randn(30, 6, requires_grad=True)
    out = network(x)
    out.square().sum().backward()
    return [out, x.grad, *(own.grad for own in network.parameters()), torch.rand(3)]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many outputs the layers have that pass over zeros."""
    found: list[int] = []
    usual = perceptron.relu_linear

    def counted(x: Tensor, keep: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        found.append(len(weight))
        return usual(x, keep, weight, bias)

    monkeypatch.setattr(perceptron, "relu_linear", counted)
    return found


def test_learns_as_the_sequence_does(calls: list[int]) -> None:
    network = Perceptron(*layers())
    expected = step(nn.Sequential(*copy.deepcopy(list(network))))
    torch.testing.assert_close(step(network), expected, rtol=1e-4, atol=1e-4)
    assert calls == [70, 64]


def test_answers_as_the_sequence_does(calls: list[int]) -> None:
    network = Perceptron(*layers()).eval()
    x = torch.randn(30, 6)
    assert torch.equal(network(x), nn.Sequential(*network)(x))
    assert calls == []


@pytest.mark.parametrize("change", ["narrow", "no dropout", "no bias", "autocast", "frozen dropout"])
def test_layers_are_called_one_by_one(change: str, calls: list[int]) -> None:
    network = Perceptron(*layers(share=0 if change == "no dropout" else 0.5)[:5])
    if change == "narrow":
        network[4] = nn.Linear(40, 63)
    elif change == "no bias":
        network[4] = nn.Linear(40, 70, bias=False)
    elif change == "frozen dropout":
        network[3].eval()
    with torch.autocast("cpu", torch.bfloat16, enabled=change == "autocast"):
        network(torch.randn(5, 6))
    assert calls == []


def test_weights_have_the_names_of_a_sequence() -> None:
    assert Perceptron(*layers()).state_dict().keys() == nn.Sequential(*layers()).state_dict().keys()
