"""Which layer is named when a loss is not a number."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from fieldconv.nn import Perceptron
from fieldconv.training.loop import _cause


class OnInputs(nn.Module):
    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.first, self.head = nn.Identity(), head

    def forward(self, surface: SimpleNamespace) -> Tensor:
        return self.head(self.first(surface.x))


@pytest.mark.parametrize(
    ("kind", "named"), [(nn.Sequential, "head.2 (Linear)"), (Perceptron, "head (Perceptron)")]
)
def test_names_the_first_layer_that_is_not_finite(kind: type[nn.Sequential], named: str) -> None:
    model = OnInputs(kind(nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 64)))
    nn.init.constant_(model.head[2].weight, 1e38)
    x = torch.full((5, 8), 100.0)
    chunk = SimpleNamespace(surface=SimpleNamespace(x=x, to_dict=lambda: {"x": x}))
    assert _cause(model, chunk).startswith(f"{named} is the first layer")
