"""From scalars to tangent vectors: the learned gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fieldconv.nn.initialise import draw_normal, squared_shares
from fieldconv.ops import gradient_aggregate
from fieldconv.ops.disc import Spacing
from fieldconv.ops.vectors import complex_matmul, polar

if TYPE_CHECKING:
    from fieldconv.surface import Surface

ROUNDINGS = 4  # of each feature in a difference to a neighbour


class LearnedGradient(nn.Module):
    r"""Lift scalars ξ to vectors whose magnitude and direction are learnt separately (supplement B).

    .. math::
        \Phi_o(p) &= \sum_k e^{i\beta_{ko}} \sum_q w_q (\xi_k(q) - \xi_k(p)) \, f^1_{ko}(r_{pq}) \,
                     e^{i\theta_{pq}} \\
        P_o(p) &= \sum_k \sum_q w_q \, \xi_k(q) \, f^2_{ko}(r_{pq}) \\
        X_o(p) &= P_o(p)^2 \, \Phi_o(p) / |\Phi_o(p)|

    The paper writes it for one function ξ; like any convolution, several functions are summed over.
    X is zero where Φ is: there ξ has no direction. Where Φ is only rounding, as on the axes of a symmetric
    shape, X is nearly zero.

    Parameters
    ----------
    in_channels, out_channels : int
        Scalar features k and vector features o.
    rings, spacing
        N radii at which the radial filters f¹ and f² are learnt, as in `FieldConv`.
    input_length : float
        Typical length of the k features of a point, for which vectors start with magnitudes near one; by
        default 1/√4π, that of xyz on a sphere of unit area.

    Shapes
    ------
    - input (n, in_channels) real, and the surface (or batch of surfaces) with n samples
    - output (n, out_channels) complex

    Examples
    --------
    >>> lift = LearnedGradient(3, 16)
    >>> sum(parameter.numel() for parameter in lift.parameters()) == 3 * 16 * (2 * 6 + 1)
    True
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        rings: int = 6,
        spacing: Spacing = "linear",
        input_length: float = 0.28,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.rings, self.spacing, self.input_length = rings, spacing, input_length
        self.direction = nn.Parameter(torch.empty(rings, in_channels, out_channels))  # f¹
        self.magnitude = nn.Parameter(torch.empty(rings, in_channels, out_channels))  # f²
        self.offset = nn.Parameter(torch.empty(in_channels, out_channels))  # β
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw filters, f² so that magnitudes have mean one on smooth features; the scale of f¹ cancels."""
        draw_normal(self.direction)
        shares = squared_shares(self.rings, self.spacing)
        draw_normal(self.magnitude, std=1 / (self.input_length * math.sqrt(shares)))
        nn.init.uniform_(self.offset, -math.pi, math.pi)

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Lift the scalars ``x`` on ``surface``."""
        if x.dtype != self.direction.dtype:
            raise ValueError(
                f"x is of type {x.dtype}, the layer of {self.direction.dtype}; convert one of them"
            )
        gradients, means = gradient_aggregate(x, surface, rings=self.rings, spacing=self.spacing)
        real = self.direction * self.offset.cos()
        imaginary = self.direction * self.offset.sin()
        phi = complex_matmul(gradients.flatten(1), real.flatten(0, 1), imaginary.flatten(0, 1))
        magnitude = (means.flatten(1) @ self.magnitude.flatten(0, 1)).square()
        length, direction = polar(phi)
        return magnitude * self._significance(x, length) * direction

    def _significance(self, x: Tensor, length: Tensor) -> Tensor:
        """Return (n, out_channels) from 0, where |Φ| is only rounding, to 1."""
        with torch.no_grad():
            noise = ROUNDINGS * torch.finfo(x.dtype).eps * (x.abs() @ self.direction.abs().sum(0))
            part = length / noise.clamp(min=torch.finfo(x.dtype).tiny)
            # Far from rounding it is 1 to the last bit.
            return torch.where(part > 1 / torch.finfo(x.dtype).eps ** 0.5, 1.0, part**2 / (1 + part**2))

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, rings={self.rings}, spacing={self.spacing!r}"
