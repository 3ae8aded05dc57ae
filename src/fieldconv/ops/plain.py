"""The operations written as their equations, which torch can differentiate by anything and to any order.

On edges they keep tensors with a number for each edge and channel. They serve only what the backward passes
of the operations do not cover: second derivatives, and derivatives by the geometry.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.ops.disc import Spacing, disc_cells, ring_weights
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.vectors import polar, unit


def aggregate(
    y: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return A[p,k,n] = Σ_e w_e t_e e^{imθ_e} ψ_n(r_e) y[k,q], m = first_order + k, no t_e for scalars."""
    orders, count, channels = y.shape
    sender, receiver = geometry.edge_index
    lower, fraction = ring_weights(geometry.distance(), rings, spacing)
    inner_row = receiver * rings + lower
    outer_row = (inner_row + 1).clamp(max=count * rings - 1)  # of weight zero where there is no such ring
    base = geometry.weight * (torch.ones_like(geometry.transport) if scalars else geometry.transport)
    direction = geometry.direction()
    result = []
    for k in range(orders):
        coefficient = base
        for _ in range(abs(first_order + k)):
            coefficient = coefficient * (direction if first_order + k > 0 else direction.conj_physical())
        terms = y[k].index_select(0, sender) * coefficient[:, None].to(y.dtype)
        total = y.new_zeros(count * rings, channels)
        total = total.index_add(0, inner_row, terms * (1 - fraction)[:, None].to(y.real.dtype))
        total = total.index_add(0, outer_row, terms * fraction[:, None].to(y.real.dtype))
        result.append(total.view(count, rings, channels))
    return torch.stack(result, dim=1)


def lift(x: Tensor, band_limit: int) -> Tensor:
    """Return Y_m = x ū^m for m = −B … B, see `fieldconv.ops.pointwise.lift`."""
    u = unit(x)
    turned_back, turned_on = [x], [x]
    for _ in range(band_limit):
        turned_back.append(turned_back[-1] * u.conj_physical())
        turned_on.append(turned_on[-1] * u)
    return torch.stack(turned_on[:0:-1] + turned_back)


def echo(x: Tensor, geometry: Geometry, radial_samples: int, vector: bool) -> Tensor:
    """Return ECHO descriptors, see `fieldconv.ops.echo_votes`."""
    count, channels = x.shape
    sender, receiver = geometry.edge_index
    side = 2 * radial_samples + 2
    cells = side * side + 1
    u = unit(x)
    place = (geometry.distance() * geometry.direction())[:, None] * u.index_select(0, sender).conj_physical()
    place = torch.view_as_real(place.resolve_conj()) * radial_samples
    magnitude = (x * u.conj_physical()).real
    if vector:
        value = (geometry.weight * geometry.transport)[:, None] * (magnitude * u).index_select(0, sender)
    else:
        value = geometry.weight[:, None] * magnitude.index_select(0, sender)

    column, row = place.unbind(-1)
    centre = (1 - 2 * column.abs()).clamp(min=0) * (1 - 2 * row.abs()).clamp(min=0)
    across, down = column + radial_samples + 0.5, row + radial_samples + 0.5
    down, across = down.clamp(0, side - 1), across.clamp(0, side - 1)
    first = down.detach().floor().clamp(max=side - 2), across.detach().floor().clamp(max=side - 2)
    down, across = down - first[0], across - first[1]
    rest = value * (1 - centre)
    image = receiver[:, None] * channels + torch.arange(channels, device=x.device)
    corner = image * cells + (first[0] * side + first[1]).long()
    total = value.new_zeros(count * channels * cells)
    for index, share in (
        (corner, rest * (1 - down) * (1 - across)),
        (corner + 1, rest * (1 - down) * across),
        (corner + side, rest * down * (1 - across)),
        (corner + side + 1, rest * down * across),
        (image * cells + side * side, value * centre),
    ):
        total = total.index_add(0, index.flatten(), share.flatten())
    inside = torch.tensor(disc_cells(radial_samples), device=x.device)
    result = total.view(count, channels, cells).index_select(2, inside)
    return (result * unit(result).conj_physical()).real if vector else result


def magnitude_relu(x: Tensor, offset: Tensor) -> Tensor:
    """Return ReLU(ρ + b) e^{iφ} of vectors ρe^{iφ}, and 0 where a vector is zero."""
    magnitude, direction = polar(x)
    return torch.relu(magnitude + offset) * direction


def relu_linear(x: Tensor, keep: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return (ReLU(x) ⊙ keep) Wᵀ + b."""
    return torch.nn.functional.linear(torch.relu(x) * keep, weight, bias)
