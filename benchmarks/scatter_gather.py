"""Scattering against gathering: how much does the response change when tangent frames are noisy?

Field convolution scatters: each neighbour q weights its vector by where it sees p, in q's own frame. Earlier
operators gather: all neighbours are weighted by where p sees them, in the one frame of p. Both are written
here with the same random filters, transport and area weights. Then every sample's frame is turned by an
angle of its own, drawn with standard deviation σ, but only as far as the position the filter reads is
concerned, and the change of the responses is measured, relative to the response itself.

    python benchmarks/scatter_gather.py [--out curve.png]

An error in the frame at p turns the whole filter of a gathering convolution. In a scattering one the errors
of the neighbours are independent and average out: the more neighbours, the smaller the change. Where there
is nothing to average, in a field of white noise, the two are alike.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fieldconv import Mesh, Surface
from fieldconv._io import atomic_path
from fieldconv.nn import FieldConv, LearnedGradient
from fieldconv.ops import unit
from fieldconv.ops.rings import ring_weights

NOISE = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


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
    surface: Any, x: Tensor, conv: FieldConv, noise: tuple[float, ...] = NOISE, draws: int = 3, seed: int = 0
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


def torus_surface(fineness: int, radius: float = 0.2) -> Any:
    """A torus of 10 · fineness² vertices, whose support ε is that of the paper's segmentation network."""
    around, across = 5 * fineness, 2 * fineness
    u, v = np.meshgrid(
        2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(across) / across, indexing="ij"
    )
    ring = 1 + 0.4 * np.cos(v)
    vertices = np.stack([ring * np.cos(u), ring * np.sin(u), 0.4 * np.sin(v)], axis=2).reshape(-1, 3)
    index = np.pad(np.arange(around * across).reshape(around, across), ((0, 1), (0, 1)), mode="wrap")
    a, b, c, d = (s.ravel() for s in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return Surface.from_mesh(Mesh(vertices, faces), radius=radius)


def print_rows(first: str, rows: list[tuple[str, float, float]]) -> None:
    print(f"{first:>16}{'scattering':>12}{'gathering':>12}{'ratio':>8}")
    for name, scatter, gather in rows:
        ratio = f"{gather / scatter:8.2f}" if scatter else ""
        print(f"{name:>16}{scatter:>12.3f}{gather:>12.3f}{ratio}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description="Scattering against gathering under frame noise.")
    parser.add_argument("--out", type=Path, help="write the curve to this image")
    out = parser.parse_args().out

    torch.manual_seed(0)
    lift, conv = LearnedGradient(3, 8), FieldConv(8, 8)
    surfaces = [torus_surface(fineness) for fineness in (6, 8, 11, 15)]
    with torch.no_grad():
        fields = [lift(surface.x, surface) for surface in surfaces]

    surface, x = surfaces[2], fields[2]
    rows = sensitivity(surface, x, conv)
    print(
        f"Relative change of the response, {len(x):,} samples with {neighbours(surface):.0f} neighbours each"
    )
    print_rows("noise σ", [(f"{deviation:.2f}", *errors) for deviation, *errors in rows])

    print("The same for σ = 0.2, as the sampling gets denser")
    table = []
    for surface, x in zip(surfaces, fields, strict=True):
        _, scatter, gather = sensitivity(surface, x, conv, noise=(0.2,))[0]
        table.append((f"{neighbours(surface):.0f} neighbours", scatter, gather))
    white = torch.randn_like(fields[2])
    _, scatter, gather = sensitivity(surfaces[2], white, conv, noise=(0.2,))[0]
    print_rows("", [*table, ("white noise", scatter, gather)])

    if out is not None:
        plot(rows, out)


def neighbours(surface: Any) -> float:
    return float(surface.num_edges / len(surface.pos))


def plot(rows: list[tuple[float, float, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
    deviations, scatter, gather = zip(*rows, strict=True)
    axes.plot(deviations, gather, "o-", label="gathering")
    axes.plot(deviations, scatter, "o-", label="scattering (field convolution)")
    axes.set(xlabel="frame noise σ (radians)", ylabel="relative change of the response")
    axes.legend(frameon=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)


if __name__ == "__main__":
    main()
