"""A surface of two samples and three vertices, on which answers are worked out by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.nn.surfaces import flat_surface


def three_vertices() -> tuple[Any, Tensor]:
    """Two vertices are samples; the third interpolates 0.4 of the first and 0.6 of the second."""
    surface = flat_surface(2)
    surface.vertex_sample = torch.tensor([[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0]])
    surface.vertex_weight = torch.tensor([[1.0, 0, 0, 0], [1, 0, 0, 0], [0.4, 0.6, 0, 0]])
    surface.vertex_transport = torch.ones(3, 4, dtype=torch.complex64)
    return surface, torch.tensor([[100.0, 0.0], [0.0, 5.0]])
