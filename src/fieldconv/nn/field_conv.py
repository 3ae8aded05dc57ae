"""The field convolution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fieldconv.nn.initialise import draw_normal, squared_shares
from fieldconv.ops.aggregate import field_convolve
from fieldconv.ops.disc import Spacing, ring_weights

if TYPE_CHECKING:
    from fieldconv.surface import Surface

Filter = Literal["offset", "real", "complex"]


class FieldConv(nn.Module):
    r"""Field convolution (Eq. 7): each neighbour weights its vector by where it sees p from its own frame.

    .. math::
        (X * f)_o(p) = \sum_c \sum_{q \in \mathcal{N}_p} \sum_{|m| \le B} w_q \, \rho_q \,
        e^{i(\phi_q + \varphi_{pq})} \, e^{i\beta_{|m|}} f_m(r_{qp}) \, e^{im(\theta_{qp} - \phi_q)}

    with :math:`X_c(q) = \rho_q e^{i\phi_q}`. It is a sum over edges that knows geometry only,
    :math:`A[p,m,n,c]` of `fieldconv.ops.field_aggregate`, and one matrix product with the filters;
    `fieldconv.ops.aggregate` computes it in this order or in the other.

    Parameters
    ----------
    in_channels, out_channels : int
        Vector channels.
    rings : int
        N radii at which the Fourier coefficients f_m(r) are learnt.
    band_limit : int
        Largest angular frequency B.
    filter : "offset", "real" or "complex"
        Real filters (f₋ₘ is the conjugate of fₘ) with learnt rotational offsets β, as in the paper:
        N(2B+1) + B + 1 numbers for each pair of channels. Real filters alone: N(2B+1). Complex filters:
        2N(2B+1).
    spacing : "linear" or "equal_area"
        Radii evenly spaced as in the paper, or so that the rings between them have equal areas.

    Shapes
    ------
    - input (n, in_channels) complex, and the surface (or batch of surfaces) with n samples
    - output (n, out_channels) complex

    Examples
    --------
    >>> conv = FieldConv(1, 1, rings=6, band_limit=2)
    >>> sum(parameter.numel() for parameter in conv.parameters())
    33
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
    ) -> None:
        super().__init__()
        if filter not in get_args(Filter):
            raise ValueError(f"filter is {filter!r}; choose one of offset, real, complex")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.rings, self.band_limit, self.filter, self.spacing = rings, band_limit, filter, spacing
        frequencies = 2 * band_limit + 1
        # Real filters: f₀, Re f₁ … Re f_B, Im f₁ … Im f_B. Complex: Re f₋B … Re f_B, Im f₋B … Im f_B.
        parts = 2 * frequencies if filter == "complex" else frequencies
        self.weight = nn.Parameter(torch.empty(parts, rings, in_channels, out_channels))
        self.offset: Tensor | None = None
        if filter == "offset":
            self.offset = nn.Parameter(torch.empty(band_limit + 1, in_channels, out_channels))  # β
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw filters, all frequencies alike, that keep the mean squared magnitude of a smooth field.

        In a smooth field only m = 0 survives, so |out|² ≈ C E|f|² Σ ω_n² |x|², see `squared_shares`.
        """
        deviation = (self.in_channels * squared_shares(self.rings, self.spacing)) ** -0.5
        draw_normal(self.weight, std=deviation / math.sqrt(2))
        if self.filter != "complex":
            draw_normal(self.weight[0], std=deviation)  # f₀ has no imaginary part
        if self.offset is not None:
            nn.init.uniform_(self.offset, -math.pi, math.pi)

    def coefficients(self) -> tuple[Tensor, Tensor]:
        """Return the real and imaginary part of e^{iβ_|m|} f_m, each (2B+1, N, in, out), m from −B to B."""
        if self.filter == "complex":
            real, imaginary = self.weight.chunk(2)
            return real, imaginary
        b = self.band_limit
        centre, cosine, sine = self.weight[:1], self.weight[1 : b + 1], self.weight[b + 1 :]
        real = torch.cat([cosine.flip(0), centre, cosine])
        imaginary = torch.cat([-sine.flip(0), torch.zeros_like(centre), sine])  # f₋ₘ = conj fₘ
        if self.offset is None:
            return real, imaginary
        turn = torch.cat([self.offset[1:].flip(0), self.offset]).unsqueeze(1)
        cos, sin = turn.cos(), turn.sin()
        return cos * real - sin * imaginary, sin * real + cos * imaginary

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Convolve the vector field ``x`` on ``surface``."""
        if not x.is_complex() or x.shape[-1] != self.in_channels:
            raise ValueError(
                f"x is {tuple(x.shape)} of {x.dtype}; give (n, {self.in_channels}) complex numbers"
            )
        real, imaginary = self.coefficients()
        return field_convolve(x, real, imaginary, surface, spacing=self.spacing)

    @torch.no_grad()
    def images(self, size: int = 49) -> NDArray[np.complex128]:
        """Return (out, in, size, size): the filters f(r, θ) = Σₘ e^{iβ_|m|} fₘ(r) e^{imθ}, NaN off the disc.

        Row 0 is the top of the picture, θ = 0 points right and grows anticlockwise.

        Examples
        --------
        >>> FieldConv(2, 3).images(size=5).shape
        (3, 2, 5, 5)
        """
        real, imaginary = (part.double().cpu().numpy() for part in self.coefficients())
        coefficients = real + 1j * imaginary  # (2B+1, N, in, out)
        y, x = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]
        radius, angle = np.hypot(x, y), np.arctan2(y, x)
        inside = radius <= 1
        lower, fraction = ring_weights(torch.from_numpy(radius[inside]), self.rings, self.spacing)
        low, part = lower.numpy(), fraction.numpy()[:, None, None]
        high = np.minimum(low + 1, self.rings - 1)
        values = np.zeros((int(inside.sum()), self.in_channels, self.out_channels), dtype=np.complex128)
        for k, m in enumerate(range(-self.band_limit, self.band_limit + 1)):
            profile = coefficients[k, low] * (1 - part) + coefficients[k, high] * part
            values += profile * np.exp(1j * m * angle[inside])[:, None, None]
        images = np.full((self.out_channels, self.in_channels, size, size), np.nan + 0j)
        images[:, :, inside] = values.transpose(2, 1, 0)
        return images

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, rings={self.rings}, band_limit={self.band_limit}, "
            f"filter={self.filter!r}, spacing={self.spacing!r}"
        )
