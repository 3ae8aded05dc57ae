"""The operations as loops straight from the paper's formulas, one number at a time."""

from __future__ import annotations

import cmath
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.nn.surfaces import edges, ring_weights


def aggregate(x: Tensor, surface: Any, rings: int, band_limit: int, spacing: str = "linear") -> Tensor:
    out = np.zeros((len(x), 2 * band_limit + 1, rings, x.shape[1]), dtype=complex)
    for e, q, p in edges(surface):
        w, transport = float(surface.weight[e]), complex(surface.transport[e])
        r, theta = cmath.polar(complex(surface.log[e]))
        psi = ring_weights(r / radius_of(surface, p), rings, spacing)
        for c in range(x.shape[1]):
            rho, phi = cmath.polar(complex(x[q, c]))
            for m in range(-band_limit, band_limit + 1):
                if m and (r == 0 or rho == 0):
                    continue  # no direction
                term = w * transport * rho * cmath.exp(1j * phi + 1j * m * (theta - phi))
                for n in range(rings):
                    out[p, m + band_limit, n, c] += term * psi[n]
    return torch.from_numpy(out)


def gradient_sums(xi: Tensor, surface: Any, rings: int) -> tuple[Tensor, Tensor]:
    direction = torch.zeros(len(xi), rings, xi.shape[1], dtype=torch.complex128)
    magnitude = torch.zeros(len(xi), rings, xi.shape[1], dtype=torch.float64)
    for e, q, p in edges(surface):
        w, log = float(surface.weight[e]), complex(surface.log[e])
        psi = ring_weights(abs(log) / radius_of(surface, p), rings)
        towards = -complex(surface.transport[e]) * log / abs(log) if log else 0  # of q, from p
        for n in range(rings):
            direction[p, n] += w * (xi[q] - xi[p]) * psi[n] * towards
            magnitude[p, n] += w * xi[q] * psi[n]
    return direction, magnitude


def echo(x: Tensor, surface: Any, radial_samples: int, votes: str) -> Tensor:
    """Sum the share of every vote in every cell: a hat function around the cell."""
    reach = range(-radial_samples - 1, radial_samples + 1)
    grid = [complex(a + 0.5, b + 0.5) for b in reach for a in reach]
    inside = [cell for cell in grid if abs(cell) <= radial_samples]
    out = np.zeros((*x.shape, len(inside) + 1), dtype=complex)
    for e, q, p in edges(surface):
        for d in range(x.shape[1]):
            rho, phi = cmath.polar(complex(x[q, d]))
            value = float(surface.weight[e]) * rho
            if votes == "vector":
                value *= cmath.exp(1j * phi) * complex(surface.transport[e])
            place = radial_samples * complex(surface.log[e]) / radius_of(surface, p) * cmath.exp(-1j * phi)
            centre = hat(2 * place.real) * hat(2 * place.imag)
            out[p, d, -1] += value * centre
            for h, cell in enumerate(inside):
                out[p, d, h] += (
                    value * (1 - centre) * hat(place.real - cell.real) * hat(place.imag - cell.imag)
                )
    return torch.from_numpy(abs(out))


def hat(t: float) -> float:
    return max(1 - abs(t), 0)


def radius_of(surface: Any, p: int) -> float:
    graph = int(surface.batch[p]) if surface.radius.numel() > 1 else 0
    return float(surface.radius.reshape(-1)[graph])


def no_edges(count: int) -> SimpleNamespace:
    """Points without neighbours, not even themselves."""
    return SimpleNamespace(
        edge_index=torch.zeros(2, 0, dtype=torch.int64),
        log=torch.zeros(0, dtype=torch.complex64),
        transport=torch.zeros(0, dtype=torch.complex64),
        weight=torch.zeros(0),
        radius=torch.ones(1),
        batch=torch.zeros(count, dtype=torch.int64),
    )
