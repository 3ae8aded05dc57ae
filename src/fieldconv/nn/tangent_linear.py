"""Complex linear layer on tangent vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fieldconv.nn.initialise import draw_normal
from fieldconv.ops.vectors import complex_matmul


class TangentLinear(nn.Module):
    r"""Mix the channels of tangent vector features by a complex matrix.

    .. math:: Y_o(p) = \sum_c X_c(p) \, W_{co}, \qquad W \in \mathbb{C}^{C \times O}

    There is no bias: the direction of a constant would depend on the frame.

    Parameters
    ----------
    in_channels, out_channels : int
        C and O.

    Shapes
    ------
    - input (n, C) complex
    - output (n, O) complex

    Examples
    --------
    >>> TangentLinear(4, 8)(torch.randn(10, 4, dtype=torch.complex64)).shape
    torch.Size([10, 8])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.weight = nn.Parameter(torch.empty(2, in_channels, out_channels))  # real part, imaginary part
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights that keep the mean squared magnitude: E|W|² = 1/C."""
        draw_normal(self.weight, std=(2 * self.in_channels) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer."""
        real, imaginary = self.weight
        return complex_matmul(x, real, imaginary)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}"
