"""What field convolution is compared with: the same filters read where p sees q, and noise in the frames.

Field convolution scatters: each neighbour q weights its vector by where it sees p, in q's own frame. Earlier
operators gather: all neighbours are weighted by where p sees them, in the one frame of p. An error in the
frame at p turns the whole filter of a gathering convolution. In a scattering one the errors of the neighbours
are independent and average out: the more neighbours, the smaller the change.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fieldconv.nn import FieldConv
from fieldconv.ops import unit
from fieldconv.ops.disc import ring_weights


def gathering(conv: FieldConv, x: Tensor, surface: Any) -> Tensor:
    """The filters of a field convolution, read where p sees q, in the frame that X(p) spans at p.

    Aligned with X(p), it commutes with isometries just as field convolution does.
    """
    q, p = surface.edge_index
    count = len(x)
    # Edges come in pairs, and (p → q) holds log_p q: find it for every (q → p).
    back = torch.argsort(q * count + p)
    seen = surface.log[back]
    lower, fraction = ring_weights(seen.abs() / surface.radius, conv.rings, conv.spacing)
    psi = torch.zeros(len(q), conv.rings, dtype=fraction.dtype)
    psi.scatter_(1, lower[:, None], (1 - fraction)[:, None])
    if conv.rings > 1:
        psi.scatter_(1, lower[:, None] + 1, fraction[:, None])
    direction = unit(seen)[:, None] * unit(x)[p].conj()  # e^{i(θ_pq − φ_p)}
    carried = (surface.weight * surface.transport)[:, None] * x[q]
    out = x.new_zeros(count, conv.out_channels)
    for m, (real, imaginary) in enumerate(zip(*conv.coefficients(), strict=True)):
        order = m - conv.band_limit
        power = direction.conj() ** -order if order < 0 else direction**order
        terms = torch.einsum("ec,en,nco->eo", carried * power, psi + 0j, torch.complex(real, imaginary))
        out = out.index_add(0, p, terms)
    return out


def with_noisy_frames(surface: Any, deviation: float, generator: torch.Generator) -> Any:
    """The surface with the logarithms at every sample turned by one random angle; transport stays exact."""
    angle = deviation * torch.randn(len(surface.pos), generator=generator, dtype=surface.area.dtype)
    noisy = surface.clone()
    noisy.log = surface.log * torch.polar(torch.ones_like(angle), angle)[surface.edge_index[0]]
    return noisy


@torch.no_grad()
def sensitivity(
    surface: Any, x: Tensor, conv: FieldConv, noise: tuple[float, ...], draws: int, seed: int = 0
) -> list[tuple[float, float, float]]:
    """(σ, relative change of scattering, relative change of gathering) for each level of noise."""
    exact = conv(x, surface), gathering(conv, x, surface)
    rows = []
    for deviation in noise:
        generator = torch.Generator().manual_seed(seed)
        squared = [0.0, 0.0]
        for _ in range(draws):
            noisy = with_noisy_frames(surface, deviation, generator)
            for i, found in enumerate((conv(x, noisy), gathering(conv, x, noisy))):
                squared[i] += float((found - exact[i]).abs().square().sum() / exact[i].abs().square().sum())
        rows.append((deviation, (squared[0] / draws) ** 0.5, (squared[1] / draws) ** 0.5))
    return rows
