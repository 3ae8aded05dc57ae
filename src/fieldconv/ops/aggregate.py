"""Sums over geodesic discs: the sparse half of a field convolution and of the learned gradient."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from fieldconv.ops.direction import lift
from fieldconv.ops.rings import Spacing, ring_weights

Backend = Literal["auto", "torch", "fast"]


def _relative_distance(surface: Any) -> Tensor:
    """r/ε of every edge; a batch may hold surfaces of different radii."""
    radius = surface.radius.reshape(-1)
    if len(radius) > 1:
        radius = radius[surface.batch[surface.edge_index[1]]]
    return torch.as_tensor(surface.log.abs() / radius)


def _direction(log: Tensor) -> Tensor:
    """e^{iθ}, and 0 on self edges, which have no direction."""
    distance = log.abs()
    return log / torch.where(distance > 0, distance, 1)


def _aggregate_torch(
    y: Tensor, surface: Any, base: Tensor, direction: Tensor, first_order: int, rings: int, spacing: Spacing
) -> Tensor:
    """A[p,k,n] = Σ_e base_e direction_e^m ψ_n(r_e) y[q,k] with m = first_order + k; 0^0 = 1."""
    count, orders, channels = y.shape
    sender, receiver = surface.edge_index
    lower, fraction = ring_weights(_relative_distance(surface), rings, spacing)
    inner_row = receiver * rings + lower
    outer_row = (inner_row + 1).clamp(max=count * rings - 1)  # of weight zero where there is no such ring
    inner, outer = (1 - fraction)[:, None], fraction[:, None]
    result = []
    for k in range(orders):
        coefficient = base
        for _ in range(abs(first_order + k)):
            coefficient = coefficient * (direction if first_order + k > 0 else direction.conj())
        votes = y[:, k].index_select(0, sender) * coefficient[:, None].to(y.dtype)
        total = y.new_zeros(count * rings, channels)
        total = total.index_add(0, inner_row, votes * inner).index_add(0, outer_row, votes * outer)
        result.append(total.view(count, rings, channels))
    return torch.stack(result, dim=1)


def field_aggregate(
    x: Tensor,
    surface: Any,
    *,
    rings: int,
    band_limit: int,
    spacing: Spacing = "linear",
    backend: Backend = "auto",
) -> Tensor:
    """Gather the neighbours' vectors into one sum per angular frequency and ring (Eq. 7 without filters).

    A[p,m,n,c] = Σ_{q in the disc of p} w_q e^{iφ_pq} e^{imθ_qp} ψ_n(r_qp) Y_m[q,c],  Y_m = x ū^m,

    where u = x/|x|. A field convolution is this, times filter coefficients, summed over m, n and c.

    Parameters
    ----------
    x : complex Tensor, shape (n, C)
    surface : Surface or batch of them
    rings, band_limit : int
        N and B.
    spacing : "linear" or "equal_area"
        See `ring_radii`.
    backend : "auto", "torch" or "fast"

    Returns
    -------
    complex Tensor, shape (n, 2B+1, N, C)
        The second index runs over m = −B … B.
    """
    base = surface.weight * surface.transport
    return _aggregate_torch(
        lift(x, band_limit), surface, base, _direction(surface.log), -band_limit, rings, spacing
    )


def gradient_aggregate(
    features: Tensor, surface: Any, *, rings: int, spacing: Spacing = "linear", backend: Backend = "auto"
) -> tuple[Tensor, Tensor]:
    """The two sums of the learned gradient (supplement B), one per ring.

    Φ_n[p,k] = Σ_q w_q (ξ_k(q) − ξ_k(p)) ψ_n(r_pq) e^{iθ_pq},   P_n[p,k] = Σ_q w_q ξ_k(q) ψ_n(r_pq),

    where θ_pq, the direction of q seen from p, is that of −log_q p carried to p.

    Parameters
    ----------
    features : real Tensor, shape (n, k)
        Scalars ξ.

    Returns
    -------
    direction : complex Tensor, shape (n, N, k)
    magnitude : real Tensor, shape (n, N, k)
    """
    direction = surface.transport * _direction(surface.log)
    complex_features = torch.complex(features, torch.zeros_like(features))
    ones = torch.ones_like(complex_features[:, :1])
    scalars = torch.cat([complex_features, ones], dim=1)[:, None].expand(-1, 2, -1)
    sums = _aggregate_torch(scalars, surface, surface.weight, direction, 0, rings, spacing)
    towards = sums[:, 1, :, -1:] * features[:, None] - sums[:, 1, :, :-1]
    return towards, sums[:, 0, :, :-1].real
