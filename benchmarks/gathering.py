"""The gathering variant of field convolution: same filters, same parameters, read from the other end.

Field convolution scatters: q weights its vector by where it sees p, in the frame of X(q). Here p weights what
it receives by where it sees q, in the frame of X(p):

    A[p,m,n,c] = ū_p^m Σ_q w_q e^{iφ_pq} e^{imθ_pq} ψ_n(r_pq) x_q,   u = x/|x|.

The sum is the one that the kernels of `fieldconv.ops` do, if they are given log_p q, which the edge from p
back to q holds, for log_q p. The ordinary command line, with every field convolution replaced:

    python benchmarks/gathering.py train segmentation --out RUN
"""

from __future__ import annotations

import sys
from collections.abc import MutableMapping
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from fieldconv import FCNet
from fieldconv.nn import FieldConv
from fieldconv.nn._complex import complex_matmul
from fieldconv.ops import Geometry, disc_sums, unit

# By the log tensor, as the kernels' own sorted edges, so that all layers and epochs share one.
_seen: MutableMapping[Tensor, Tensor] = WeakIdKeyDictionary()


class GatheringConv(FieldConv):
    """A `FieldConv` that gathers; it commutes with isometries and changes of frame just the same."""

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        if surface.log not in _seen:
            q, p = surface.edge_index
            _seen[surface.log] = surface.log[torch.argsort(q * len(x) + p)]  # edges are sorted by (p, q)
        geometry = Geometry.of(surface)._replace(log=_seen[surface.log])
        b = self.band_limit
        same = x.expand(2 * b + 1, *x.shape)
        sums = disc_sums(
            same, geometry, first_order=-b, rings=self.rings, spacing=self.spacing
        )  # [p, m, n, c]
        aligned = sums * _powers(unit(x), b)[:, :, None]
        real, imaginary = self.coefficients()
        return complex_matmul(aligned.flatten(1), real.flatten(0, 2), imaginary.flatten(0, 2))


def _powers(u: Tensor, band_limit: int) -> Tensor:
    """(n, 2B+1, C): ū^m for m = −B … B; where u is zero, 1 for m = 0 and 0 for all others."""
    rising = [torch.ones_like(u)]
    for _ in range(band_limit):
        rising.append(rising[-1] * u)
    return torch.stack([*rising[:0:-1], *(power.conj() for power in rising)], dim=1)


def as_gathering(network: FCNet) -> FCNet:
    """The network with all its field convolutions made gathering ones, in place; the weights stay."""
    for module in network.modules():
        if type(module) is FieldConv:
            module.__class__ = GatheringConv
    return network


if __name__ == "__main__":
    from fieldconv.cli import main

    FieldConv.forward = GatheringConv.forward  # type: ignore[method-assign]
    sys.exit(main())
