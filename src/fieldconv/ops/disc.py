"""How a disc is divided: the rings on which filters are sampled, and the cells of an ECHO descriptor."""

from __future__ import annotations

import functools
from typing import Literal

import torch
from torch import Tensor

Spacing = Literal["linear", "equal_area"]


def ring_radii(rings: int, spacing: Spacing = "linear") -> Tensor:
    """Return the radii of the N filter rings, as fractions of the support radius ε.

    ``"linear"``, the paper's, puts ring i at i/N; ``"equal_area"`` at √(i/N), so that the bands between
    rings have equal areas. In both, i = 1 … N: the last ring lies on the rim, and none at the centre,
    where only the vertex itself is. Inside the first ring a filter is constant.

    Parameters
    ----------
    rings : int
        N, at least 1.
    spacing : "linear" or "equal_area"

    Returns
    -------
    Tensor, shape (N,), float64

    Examples
    --------
    >>> ring_radii(4).tolist()
    [0.25, 0.5, 0.75, 1.0]
    """
    if rings < 1:
        raise ValueError(f"rings must be at least 1, got {rings}.")
    fractions = torch.arange(1, rings + 1, dtype=torch.float64) / rings
    if spacing == "linear":
        return fractions
    if spacing == "equal_area":
        return fractions.sqrt()
    raise ValueError(f'spacing must be "linear" or "equal_area", got {spacing!r}.')


def ring_weights(distance: Tensor, rings: int, spacing: Spacing = "linear") -> tuple[Tensor, Tensor]:
    """Return the ring below each distance r/ε, and how far τ it is from there to the next one, each (E,).

    ψ is 1 − τ on ring ``lower``, 0 … max(N − 2, 0), and τ, 0 … 1, on ring ``lower + 1``: at most two weights
    differ from zero and they sum to one. Distances below the first or above the last ring take that ring
    alone.

    Examples
    --------
    >>> lower, fraction = ring_weights(torch.tensor([0.0, 0.375, 1.0]), rings=4)
    >>> lower.tolist(), fraction.tolist()
    ([0, 0, 2], [0.0, 0.5, 1.0])
    """
    radii = ring_radii(rings, spacing).to(distance)
    if rings == 1:
        return torch.zeros_like(distance, dtype=torch.int64), torch.zeros_like(distance)
    lower = (torch.searchsorted(radii, distance.detach().contiguous(), right=True) - 1).clamp(0, rings - 2)
    inner, outer = radii[lower], radii[lower + 1]
    return lower, ((distance - inner) / (outer - inner)).clamp(0, 1)


@functools.lru_cache
def disc_cells(radial_samples: int) -> tuple[int, ...]:
    """Return the cells of the padded square image that belong to the disc, and last the cell at the centre.

    The image has 2R + 2 pixels a side, one more than the disc all round, so every vote finds four pixels.
    """
    if radial_samples < 1:
        raise ValueError(f"radial_samples must be at least 1, got {radial_samples}.")
    side = 2 * radial_samples + 2
    middle = [pixel - radial_samples - 0.5 for pixel in range(side)]
    inside = [a * a + b * b <= radial_samples**2 for b in middle for a in middle]
    return (*(pixel for pixel, is_inside in enumerate(inside) if is_inside), side * side)
