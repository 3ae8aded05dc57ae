"""The residual block of field convolutions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fieldconv.nn.field_conv import FieldConv, Filter
from fieldconv.nn.tangent_linear import TangentLinear
from fieldconv.nn.tangent_relu import TangentReLU
from fieldconv.ops.disc import Spacing

if TYPE_CHECKING:
    from fieldconv.surface import Surface


class FCResNetBlock(nn.Module):
    r"""Two field convolutions, each followed by the non-linearity, with a skip connection.

    .. math:: Y = S X + \mathrm{ReLU}_{b_2}(\mathrm{ReLU}_{b_1}(X * f_1) * f_2)

    with S the identity, or a complex matrix where the number of channels changes.

    Parameters
    ----------
    in_channels, out_channels : int
        Vector channels.
    rings, band_limit, filter, spacing
        As in `FieldConv`.
    convolution : type
        `FieldConv` or a subclass.

    Shapes
    ------
    - input (n, in_channels) complex, and the surface (or batch of surfaces) with n samples
    - output (n, out_channels) complex

    Examples
    --------
    >>> FCResNetBlock(16, 32).carry
    TangentLinear(16, 32)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        rings: int = 6,
        band_limit: int = 2,
        filter: Filter = "offset",
        spacing: Spacing = "linear",
        convolution: type[FieldConv] = FieldConv,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        make = partial(convolution, rings=rings, band_limit=band_limit, filter=filter, spacing=spacing)
        self.conv1, self.conv2 = make(in_channels, out_channels), make(out_channels, out_channels)
        self.relu1, self.relu2 = TangentReLU(out_channels), TangentReLU(out_channels)
        same = in_channels == out_channels
        self.carry = nn.Identity() if same else TangentLinear(in_channels, out_channels)
        with torch.no_grad():
            self.conv2.weight.mul_(0.5)  # so that the sum of the two paths hardly grows with depth

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Apply the block to the vector field ``x`` on ``surface``."""
        y = self.relu1(self.conv1(x, surface))
        y = self.relu2(self.conv2(y, surface))
        return self.carry(x) + y  # type: ignore[no-any-return]
