"""The gathering variant of field convolution, in the paper's network."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from fieldconv.networks.fcnet import FCNet, FCNetConfig
from fieldconv.nn import FieldConv
from fieldconv.ops import Geometry, disc_sums, unit
from fieldconv.ops.vectors import complex_matmul

if TYPE_CHECKING:
    from fieldconv.surface import Surface

# By the log tensor, like the kernels' own sorted edges, so that all layers and epochs share one.
_receiver_logs: MutableMapping[Tensor, Tensor] = WeakIdKeyDictionary()


class GatheringConv(FieldConv):
    r"""A `FieldConv` read from the other end: p weights what it receives by where it sees the neighbour.

    .. math::
        (X * f)_o(p) = \sum_c \sum_{q \in \mathcal{N}_p} \sum_{|m| \le B} w_q \,
        e^{i\varphi_{pq}} X_c(q) \, e^{i\beta_{|m|}} f_m(r_{pq}) \, e^{im(\theta_{pq} - \phi_p)}

    with :math:`X_c(p) = \rho_p e^{i\phi_p}`. Field convolution has :math:`\theta_{qp} - \phi_q`, the place of
    p in the frame of X(q). Filters, parameters, transport and weights are the same, and it commutes with
    isometries and changes of frame just the same. Where X(p) is zero only m = 0 remains.

    Parameters
    ----------
    in_channels, out_channels, rings, band_limit, filter, spacing
        As in `FieldConv`.

    Shapes
    ------
    - input (n, in_channels) complex, and the surface (or batch of surfaces) with n samples
    - output (n, out_channels) complex

    Examples
    --------
    >>> sum(parameter.numel() for parameter in GatheringConv(1, 1, rings=6, band_limit=2).parameters())
    33
    """

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Convolve the vector field ``x`` on ``surface``."""
        if surface.log not in _receiver_logs:
            _receiver_logs[surface.log] = logs_at_receiver(surface.log, surface.edge_index)
        geometry = Geometry.of(surface)._replace(log=_receiver_logs[surface.log])
        b = self.band_limit
        sums = disc_sums(
            x.expand(2 * b + 1, *x.shape), geometry, first_order=-b, rings=self.rings, spacing=self.spacing
        )  # [p, m, n, c]
        aligned = sums * _powers(unit(x), b)[:, :, None]
        real, imaginary = self.coefficients()
        return complex_matmul(aligned.flatten(1), real.flatten(0, 2), imaginary.flatten(0, 2))


def logs_at_receiver(log: Tensor, edge_index: Tensor) -> Tensor:
    """Return log_p q for each edge (q → p), which the edge (p → q) holds.

    Parameters
    ----------
    log : (E,) complex
        log_q p.
    edge_index : (2, E) int64
        Senders q and receivers p: with each edge its opposite, sorted by p, then q.

    Examples
    --------
    >>> logs_at_receiver(torch.tensor([1j, 2j]), torch.tensor([[1, 0], [0, 1]])).tolist()
    [2j, 1j]
    """
    q, p = edge_index
    return log[torch.argsort(q * (int(q.max()) + 1 if len(q) else 1) + p)]


def _powers(u: Tensor, band_limit: int) -> Tensor:
    """(n, 2B+1, C): ū^m for m = −B … B; where u is zero, 1 for m = 0 and 0 for all others."""
    rising = [torch.ones_like(u)]
    for _ in range(band_limit):
        rising.append(rising[-1] * u)
    return torch.stack([*rising[:0:-1], *(power.conj() for power in rising)], dim=1)


@dataclass(frozen=True, kw_only=True)
class GatheringConfig(FCNetConfig):
    """Settings of `GatheringNet`: those of an `FCNet`, and its presets."""

    network: ClassVar[str] = "gathering"


class GatheringNet(FCNet):
    """An `FCNet` whose field convolutions gather.

    Weights are drawn as those of an `FCNet`: with one seed, the two networks begin with the same filters.

    Examples
    --------
    >>> GatheringNet.for_task("classification", classes=30, preset="paper").num_parameters
    151728
    """

    name, Config = "gathering", GatheringConfig
    convolution = GatheringConv
