"""From scalars to tangent vectors: the plain linear lift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from fieldconv.nn.initialise import draw_normal
from fieldconv.nn.tangent_linear import TangentLinear
from fieldconv.ops import gradient_aggregate
from fieldconv.ops.disc import Spacing

if TYPE_CHECKING:
    from fieldconv.surface import Surface


class LinearLift(nn.Module):
    r"""Lift scalars ξ to vectors by a linear layer on their gradients, the simple stand-in of supplement B.

    .. math::
        X_o(p) = \sum_{k,n} W_{nko} \sum_q w_q (\xi_k(q) - \xi_k(p)) \, \psi_n(r_{pq}) \, e^{i\theta_{pq}},
        \qquad W \in \mathbb{C}^{N \times K \times O}

    A linear layer alone cannot make tangent vectors of scalars: their direction would depend on the frame.
    Differences to the neighbours have a direction, so the layer acts on these.

    Parameters
    ----------
    in_channels, out_channels : int
        Scalar and vector features.
    rings, spacing, input_length
        As in `LearnedGradient`; each of the N rings gives one gradient.

    Shapes
    ------
    - input (n, in_channels) real, and the surface (or batch of surfaces) with n samples
    - output (n, out_channels) complex

    Examples
    --------
    >>> LinearLift(3, 16, rings=6).linear
    TangentLinear(18, 16)
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
        self.rings, self.spacing = rings, spacing
        self.linear = TangentLinear(rings * in_channels, out_channels)
        # Rings of smooth features differ from their centre by a few hundredths of the features' length: this
        # starts at magnitudes near one.
        draw_normal(self.linear.weight, std=2 / input_length)

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Lift the scalars ``x`` on ``surface``."""
        gradients, _ = gradient_aggregate(x, surface, rings=self.rings, spacing=self.spacing)
        return self.linear(gradients.flatten(1))  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, rings={self.rings}, spacing={self.spacing!r}"
