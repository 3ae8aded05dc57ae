"""ECHO descriptors: neighbours vote into a small disc image around every vertex."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv.ops import _echo_cpu
from fieldconv.ops._edges import Edges, Geometry, sorted_edges
from fieldconv.ops.aggregate import Backend, use_fast
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


def echo_torch(x: Tensor, geometry: Geometry, radial_samples: int, vector: bool) -> Tensor:
    """`echo_votes` in plain torch."""
    count, channels = x.shape
    sender, receiver = geometry.edge_index
    side = 2 * radial_samples + 2
    cells = side * side + 1
    u = unit(x)
    seen = (geometry.distance() * geometry.direction())[:, None] * u.index_select(0, sender).conj()
    seen = torch.view_as_real(seen.resolve_conj()) * radial_samples
    magnitude = (x * u.conj()).real
    if vector:
        value = (geometry.weight * geometry.transport)[:, None] * (magnitude * u).index_select(0, sender)
    else:
        value = geometry.weight[:, None] * magnitude.index_select(0, sender)

    column, row = seen.unbind(-1)
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
    kept = torch.tensor(_disc_cells(radial_samples), device=x.device)
    result = total.view(count, channels, cells).index_select(2, kept)
    return (result * unit(result).conj()).real if vector else result


_ECHO = (
    "Tensor edge_index, Tensor log, Tensor transport, Tensor weight, Tensor radius, Tensor? batch, "
    "int radial_samples, bool vector"
)


def _edges_and_cells(x: Tensor, geometry: Any, radial_samples: int) -> tuple[Edges, NDArray[np.int64]]:
    edges = sorted_edges(Geometry(*geometry), len(x), 1, "linear", x.real.dtype)
    return edges, 2 * np.array(_disc_cells(radial_samples))


@torch.library.custom_op(
    "fieldconv::echo", mutates_args=(), schema=f"(Tensor x, {_ECHO}) -> (Tensor, Tensor)"
)
def echo_fast(x: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    *geometry, radial_samples, vector = rest
    edges, cells = _edges_and_cells(x, geometry, radial_samples)
    return _echo_cpu.vote(x, edges, cells, radial_samples, vector)


@torch.library.custom_op(
    "fieldconv::echo_backward",
    mutates_args=(),
    schema=f"(Tensor x, Tensor gradient, Tensor image, {_ECHO}) -> Tensor",
)
def echo_backward(x: Tensor, gradient: Tensor, image: Tensor, *rest: Any) -> Tensor:
    *geometry, radial_samples, vector = rest
    edges, cells = _edges_and_cells(x, geometry, radial_samples)
    return _echo_cpu.vote_backward(x, gradient, image, edges, cells, radial_samples, vector)


@echo_fast.register_fake
def _(x: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    shape = (*x.shape, echo_size(rest[-2]))
    return x.real.new_empty(shape), x.new_empty(shape if rest[-1] else (0, 0, 0))


@echo_backward.register_fake
def _(x: Tensor, gradient: Tensor, image: Tensor, *rest: Any) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _save_echo(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], output[1], *inputs[1:7])
    ctx.options = inputs[7:]


def _echo_gradient(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    x, image, *geometry = ctx.saved_tensors
    nothing = (None,) * (6 + len(ctx.options))
    if torch.is_grad_enabled():  # a second derivative is wanted: let torch find it
        votes = echo_torch(x, Geometry(*geometry), *ctx.options)
        return torch.autograd.grad(votes, x, gradient, create_graph=True)[0], *nothing
    return echo_backward(x, gradient, image, *geometry, *ctx.options), *nothing


echo_fast.register_autograd(_echo_gradient, setup_context=_save_echo)


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
    if votes not in ("vector", "magnitude"):
        raise ValueError(f'votes must be "vector" or "magnitude", got {votes!r}.')
    geometry = Geometry.of(surface)
    if use_fast(backend, x, geometry):
        descriptors: Tensor = echo_fast(x, *geometry, radial_samples, votes == "vector")[0]
        return descriptors
    return echo_torch(x, geometry, radial_samples, votes == "vector")
