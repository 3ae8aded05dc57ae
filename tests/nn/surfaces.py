"""Small surfaces made by hand, in double precision: the flat unit square, whose geometry is plain algebra."""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.surface import Surface


def flat_surface(
    count: int = 30,
    *,
    radius: float = 0.35,
    channels: int = 3,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    points: Tensor | None = None,
    angles: Tensor | None = None,
) -> Surface:
    """Random points of the unit square, with random areas, tangent frames and features."""
    draw = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=draw, dtype=torch.float64)

    points = random(count, 2) if points is None else points.double()
    count = len(points)
    angles = 2 * torch.pi * random(count) if angles is None else angles.double()
    area = 0.5 + random(count)
    area = area / area.sum()
    place = torch.complex(points[:, 0], points[:, 1])
    frame = torch.polar(torch.ones(count, dtype=torch.float64), angles)
    p, q = torch.nonzero((place[:, None] - place[None]).abs() <= radius).T  # sorted by p, then q
    ball = torch.zeros(count, dtype=torch.float64).index_add(0, p, area[q])
    zero = torch.zeros(count, dtype=torch.float64)
    complex_dtype = torch.complex128 if dtype == torch.float64 else torch.complex64
    return Surface(
        pos=torch.stack([place.real, place.imag, zero], 1).to(dtype),
        x=(random(count, channels) - 0.5).to(dtype),
        area=area.to(dtype),
        normal=torch.stack([zero, zero, zero + 1], 1).to(dtype),
        frame=torch.stack([frame.real, frame.imag, zero], 1).to(dtype),
        edge_index=torch.stack([q, p]),
        log=((place[p] - place[q]) * frame[q].conj()).to(complex_dtype),
        transport=(frame[q] * frame[p].conj()).to(complex_dtype),
        weight=(area[q] / ball[p]).to(dtype),
        radius=torch.tensor([radius], dtype=dtype),
        sample=torch.arange(count),
        vertex_sample=torch.arange(count)[:, None].repeat(1, 4),
        vertex_weight=torch.tensor([[1.0, 0, 0, 0]], dtype=dtype).repeat(count, 1),
        vertex_transport=torch.ones(count, 4, dtype=complex_dtype),
    )


def random_field(surface: Surface, channels: int, seed: int = 0) -> Tensor:
    """Random tangent vectors on the surface."""
    draw = torch.Generator().manual_seed(seed)
    field = torch.randn(len(surface.pos), channels, generator=draw, dtype=torch.complex128)
    return field.to(surface.log.dtype)


def edges(surface: Surface) -> list[tuple[int, int, int]]:
    """(edge, q, p) of every edge, for loops written from the paper."""
    q, p = surface.edge_index.tolist()
    return list(zip(range(len(q)), q, p, strict=True))


def ring_weights(r: float, rings: int, spacing: str = "linear") -> list[float]:
    """Linear interpolation weights of the relative distance ``r`` on rings at i/N or √(i/N), i = 1 … N."""
    radii = [(i / rings) ** (1.0 if spacing == "linear" else 0.5) for i in range(1, rings + 1)]
    weights = [0.0] * rings
    for i in range(rings):
        if r <= radii[i]:
            if i == 0:
                weights[0] = 1.0
            else:
                part = (r - radii[i - 1]) / (radii[i] - radii[i - 1])
                weights[i - 1], weights[i] = 1 - part, part
            return weights
    weights[-1] = 1.0
    return weights
