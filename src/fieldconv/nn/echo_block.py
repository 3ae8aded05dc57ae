"""The labelling block: field convolution, ECHO descriptors, perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from fieldconv.nn.echo import ECHO
from fieldconv.nn.field_conv import FieldConv, Filter
from fieldconv.nn.initialise import init_perceptron
from fieldconv.ops.disc import Spacing
from fieldconv.ops.echo_votes import Votes

if TYPE_CHECKING:
    from fieldconv.surface import Surface


class ECHOBlock(nn.Module):
    """Field convolution to D channels, their ECHO descriptors, and a three-layer MLP on these D × H values.

    Parameters
    ----------
    in_channels, out_channels : int
        Vector features in, scalar features (such as class scores) out.
    descriptors : int
        D.
    hidden : pair of int
        Widths between the three layers of the MLP.
    radial_samples, votes
        As in `ECHO`.
    rings, band_limit, filter, spacing
        As in `FieldConv`.
    convolution : type
        `FieldConv` or a subclass.

    Shapes
    ------
    - input (n, in_channels) complex, and the surface (or batch of surfaces) with n samples
    - output (n, out_channels) real

    Examples
    --------
    >>> ECHOBlock(48, 8, descriptors=32, radial_samples=3).mlp[0]
    Linear(in_features=1056, out_features=256, bias=True)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        descriptors: int = 32,
        hidden: tuple[int, int] = (256, 124),
        radial_samples: int = 3,
        votes: Votes = "vector",
        rings: int = 6,
        band_limit: int = 2,
        filter: Filter = "offset",
        spacing: Spacing = "linear",
        convolution: type[FieldConv] = FieldConv,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.conv = convolution(
            in_channels, descriptors, rings=rings, band_limit=band_limit, filter=filter, spacing=spacing
        )
        self.echo = ECHO(radial_samples=radial_samples, votes=votes)
        self.mlp = nn.Sequential(
            nn.Linear(descriptors * self.echo.size, hidden[0]),
            nn.ReLU(),
            nn.Linear(hidden[0], hidden[1]),
            nn.ReLU(),
            nn.Linear(hidden[1], out_channels),
        )
        init_perceptron(self.mlp)

    def describe(self, x: Tensor, surface: Surface) -> Tensor:
        """Return (n, D, H) ECHO descriptors, the input of the MLP."""
        return self.echo(self.conv(x, surface), surface)  # type: ignore[no-any-return]

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Apply the block to the vector field ``x`` on ``surface``."""
        # Votes add up to one mean magnitude; times H, an evenly filled image has cells of that magnitude.
        return self.mlp(self.describe(x, surface).flatten(1) * self.echo.size)  # type: ignore[no-any-return]
