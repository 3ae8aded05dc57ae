"""ECHO descriptors: neighbours vote into a small disc image around every vertex."""

from __future__ import annotations

import functools
from typing import Any, Literal

import torch
from torch import Tensor

from fieldconv.ops._edges import Geometry
from fieldconv.ops.aggregate import Backend
from fieldconv.ops.direction import unit

Votes = Literal["vector", "magnitude"]


@functools.lru_cache
def _disc_cells(radial_samples: int) -> tuple[int, ...]:
    """Which cells of the padded square image belong to the disc; the centre, stored last, is one more.

    The image has 2R + 2 pixels a side, one more than the disc all round, so every vote finds four pixels.
    """
    if radial_samples < 1:
        raise ValueError(f"radial_samples must be at least 1, got {radial_samples}.")
    side = 2 * radial_samples + 2
    offset = torch.arange(side) - radial_samples - 0.5
    inside = offset[:, None] ** 2 + offset[None] ** 2 <= radial_samples**2
    return (*inside.flatten().nonzero().flatten().tolist(), side * side)


def echo_size(radial_samples: int = 3) -> int:
    """H, the number of values of one ECHO descriptor.

    With R samples per radius, the disc is drawn on an image of 2R × 2R pixels. H counts the pixels whose
    middle lies in the disc, and one more cell at the centre itself. That gives the paper's numbers.

    Examples
    --------
    >>> echo_size(3), echo_size(2)
    (33, 13)
    """
    return len(_disc_cells(radial_samples))


def echo_votes(
    x: Tensor,
    surface: Any,
    *,
    radial_samples: int = 3,
    votes: Votes = "vector",
    backend: Backend = "auto",
) -> Tensor:
    """ECHO descriptors: each neighbour q votes where it sees p, in its own frame turned to x[q].

    The vote of q falls at r/ε · e^{i(θ − φ_q)} in the unit disc, φ_q the direction of x[q]. It is split
    bilinearly over the four pixels around it; a centre cell, a tent half as wide, takes its share first,
    so a vertex votes for itself there and nowhere else. Shares outside the disc are dropped. See
    `echo_size` for the cells.

    Parameters
    ----------
    x : complex Tensor, shape (n, D)
    surface : Surface or batch of them
    radial_samples : int
        R, samples per radius.
    votes : "vector" or "magnitude"
        Cast w·(x[q] carried to p), and take magnitudes of the sums; or cast w·|x[q]|.
    backend : "auto", "torch" or "fast"

    Returns
    -------
    real Tensor, shape (n, D, H)
        Unchanged by isometries and by the choice of frames.
    """
    geometry = Geometry.of(surface)
    count, channels = x.shape
    sender, receiver = surface.edge_index
    side = 2 * radial_samples + 2
    cells = side * side + 1
    u = unit(x)
    seen = (geometry.distance() * geometry.direction())[:, None] * u.index_select(0, sender).conj()
    seen = torch.view_as_real(seen.resolve_conj()) * radial_samples
    magnitude = (x * u.conj()).real
    if votes == "vector":
        value = (surface.weight * surface.transport)[:, None] * (magnitude * u).index_select(0, sender)
    elif votes == "magnitude":
        value = surface.weight[:, None] * magnitude.index_select(0, sender)
    else:
        raise ValueError(f'votes must be "vector" or "magnitude", got {votes!r}.')

    column, row = seen.unbind(-1)
    centre = (1 - 2 * column.abs()).clamp(min=0) * (1 - 2 * row.abs()).clamp(min=0)
    across, down = column + radial_samples + 0.5, row + radial_samples + 0.5
    first = down.detach().floor().clamp(0, side - 2), across.detach().floor().clamp(0, side - 2)
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
    kept = torch.tensor(_disc_cells(radial_samples), device=x.device)
    result = total.view(count, channels, cells).index_select(2, kept)
    return (result * unit(result).conj()).real if votes == "vector" else result
