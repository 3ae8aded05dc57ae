"""The field convolution on the CPU, a few hundred senders at a time, so that large arrays stay in the cache.

With the features Y_m of a sender mixed by the filters, G_m[q,n,o] = Σ_c Y_m[q,c] F[m,n,c,o], its edges need

    Σ_m e^{imθ} G_m = G_0 + Σ_{m>0} cos mθ (G_m + G_−m) + sin mθ i(G_m − G_−m),

which is a sum of lines times real numbers: one multiplication and addition for each, and a single complex
product for the transport, whatever the number of frequencies. G is computed for a block of senders, spread to
their receivers while it is in the cache, and dropped. The backward pass collects the gradients of the
receivers at a block of senders, which gives the gradient by G, hence those by features and filters. So no
array has a number for each point, frequency, ring and channel.

Y_1 = |x| is real, which saves half of its products.

In the forward pass a thread owns some channels of all receivers, in the backward pass some senders, for which
it sums the gradients by the filters. With another number of threads these gradients differ by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from fieldconv._arrays import Floats
from fieldconv._compiled import kernel, run_blocks, shares
from fieldconv.ops.compiled.aggregate_kernels import from_lines, from_tiles, to_lines, to_tiles
from fieldconv.ops.compiled.matmul_kernels import LINE, TILE, multiply
from fieldconv.ops.compiled.pointwise_kernels import lift, lift_backward
from fieldconv.ops.compiled.simd import (
    BYTES,
    Count,
    add_multiples,
    load,
    load_each,
    load_pair,
    load_scalar,
    multiply_add,
    store,
    store_each,
    store_quads,
    sum_multiples,
    swap,
    times_i,
    zero,
    zeros,
)
from fieldconv.ops.compiled.sorted_edges import Edges, outgoing_edges
from fieldconv.ops.disc import Spacing
from fieldconv.ops.geometry import Geometry

BLOCK = 16  # senders at a time whose factors are computed
MAX_BYTES = 2**20  # of G at a time, in the second-level cache


class Plan(NamedTuple):
    """What all kernels of a convolution need to know."""

    each: Count  # twice as many items as orders
    tile: Count  # see `multiply`
    line: Count
    rings: int
    rows: int  # senders at a time whose G is computed
    edges: Edges  # by sender


@kernel
def _factors(band_limit: int, conjugate: bool, start: int, stop: int, edges: Edges, factors: Floats) -> None:
    """Write of each edge, with z = w e^{iφ} and the share τ of the outer ring,

    Re z, −Im z, Im z, τ, then cos θ, τ cos θ, sin θ, τ sin θ, then the same of 2θ, …
    """
    transport, direction, fraction = edges.transport, edges.direction, edges.fraction
    side = fraction.dtype.type(-1 if conjugate else 1)
    size = 4 * (band_limit + 1)
    for e in range(start, stop, BYTES // fraction.itemsize):
        at = size * (e - start)
        share, imag = load(fraction, e), side * load(transport[1], e)
        store_quads(factors, at, size, load(transport[0], e), zero(imag) - imag, imag, share)
        once_cos, once_sin = load(direction[0], e), load(direction[1], e)
        cos, sin = once_cos, once_sin
        for m in range(1, band_limit + 1):
            store_quads(factors, at + 4 * m, size, cos, share * cos, sin, share * sin)
            cos, sin = cos * once_cos - sin * once_sin, cos * once_sin + sin * once_cos


@kernel
def _spread(start: int, stop: int, plan: Plan, mixed: Floats, tiles: Floats) -> None:
    """Add the sums of the senders start … stop to the receivers; G is ``mixed`` (orders, rows, floats)."""
    columns, count, lanes = tiles.shape
    width = columns * lanes
    orders, rows, _ = mixed.shape
    band_limit = orders // 2
    size = 4 * (band_limit + 1)
    each, rings, edges = plan.each, plan.rings, plan.edges
    offsets, receiver, bands = edges.offsets, edges.neighbour, edges.bands
    flat, out = mixed.ravel(), tiles.ravel()
    factors = np.empty(size * (BLOCK * edges.longest + lanes), tiles.dtype)
    order, band_lines = rows * rings * width, 2 * orders * lanes
    # Of each band and harmonic: the inner ring, and the rise to the outer one.
    lines = np.empty(bands * band_lines, tiles.dtype)
    for block in range(start, stop, BLOCK):
        after = min(block + BLOCK, stop)
        begin_block = offsets[block * bands]
        _factors(band_limit, False, begin_block, offsets[after * bands], edges, factors)
        for column in range(columns):
            tile = column * count * lanes
            for i in range(block, after):
                centre = band_limit * order + (i - start) * rings * width + column * lanes
                straight = load(flat, centre)
                for band in range(bands):
                    upper = load(flat, centre + min(band + 1, rings - 1) * width)
                    store(lines, band * band_lines, straight)
                    store(lines, band * band_lines + lanes, upper - straight)
                    straight = upper
                for m in range(1, band_limit + 1):
                    on, back = load(flat, centre + m * order), load(flat, centre - m * order)
                    cos, sin = on + back, times_i(on - back)
                    for band in range(bands):
                        ring = centre + min(band + 1, rings - 1) * width
                        on, back = load(flat, ring + m * order), load(flat, ring - m * order)
                        place = band * band_lines + (4 * m - 2) * lanes
                        store(lines, place, cos)
                        store(lines, place + 2 * lanes, sin)
                        upper_cos, upper_sin = on + back, times_i(on - back)
                        store(lines, place + lanes, upper_cos - cos)
                        store(lines, place + 3 * lanes, upper_sin - sin)
                        cos, sin = upper_cos, upper_sin
                for band in range(bands):
                    begin, end = offsets[i * bands + band], offsets[i * bands + band + 1]
                    here = load_each(lines, band * band_lines, each)
                    for e in range(begin, end):
                        row = tile + load_scalar(receiver, e) * lanes
                        at = size * (e - begin_block)
                        term = sum_multiples(here, factors, at + 3)
                        line = multiply_add(load_pair(factors, at + 1, term), swap(term), load(out, row))
                        store(out, row, multiply_add(load_scalar(factors, at), term, line))


@kernel
def _collect(start: int, stop: int, plan: Plan, tiles: Floats, mixed: Floats) -> None:
    """Do the adjoint of `_spread`: write the gradients of the senders start … stop by G."""
    columns, count, lanes = tiles.shape
    width = columns * lanes
    orders, rows, _ = mixed.shape
    band_limit = orders // 2
    size = 4 * (band_limit + 1)
    each, rings, edges = plan.each, plan.rings, plan.edges
    offsets, receiver, bands = edges.offsets, edges.neighbour, edges.bands
    flat, out = tiles.ravel(), mixed.ravel()
    factors = np.empty(size * (BLOCK * edges.longest + lanes), tiles.dtype)
    order, band_lines = rows * rings * width, 2 * orders * lanes
    sums = np.empty(bands * band_lines, tiles.dtype)  # of each band and harmonic: in all, of the outer ring
    for block in range(start, stop, BLOCK):
        after = min(block + BLOCK, stop)
        begin_block = offsets[block * bands]
        _factors(band_limit, True, begin_block, offsets[after * bands], edges, factors)
        for column in range(columns):
            tile = column * count * lanes
            nothing = zero(load(flat, tile))
            for i in range(block, after):
                for band in range(bands):
                    begin, end = offsets[i * bands + band], offsets[i * bands + band + 1]
                    totals = zeros(nothing, each)
                    for e in range(begin, end):
                        line = load(flat, tile + load_scalar(receiver, e) * lanes)
                        at = size * (e - begin_block)
                        turned = load_pair(factors, at + 1, line) * swap(line)
                        term = multiply_add(load_scalar(factors, at), line, turned)
                        totals = add_multiples(totals, factors, at + 3, term)
                    store_each(sums, band * band_lines, totals)
                centre = band_limit * order + (i - start) * rings * width + column * lanes
                straight = nothing
                for band in range(bands):
                    outer = load(sums, band * band_lines + lanes)
                    store(out, centre + band * width, straight + (load(sums, band * band_lines) - outer))
                    straight = outer
                if rings > 1:
                    store(out, centre + bands * width, straight)
                for m in range(1, band_limit + 1):
                    cos, sin = nothing, nothing
                    for band in range(bands):
                        place = band * band_lines + (4 * m - 2) * lanes
                        outer_cos, outer_sin = load(sums, place + lanes), load(sums, place + 3 * lanes)
                        cos = cos + (load(sums, place) - outer_cos)
                        sin = times_i(sin + (load(sums, place + 2 * lanes) - outer_sin))
                        store(out, centre + m * order + band * width, cos - sin)
                        store(out, centre - m * order + band * width, cos + sin)
                        cos, sin = outer_cos, outer_sin
                    if rings > 1:
                        sin = times_i(sin)
                        store(out, centre + m * order + bands * width, cos - sin)
                        store(out, centre - m * order + bands * width, cos + sin)


@kernel
def _forward(plan: Plan, features: tuple[Floats, ...], filters: tuple[Floats, ...], tiles: Floats) -> None:
    """Add the sums of all senders to ``tiles``.

    Of each order there are features (n, K) and filters (K, floats).
    """
    columns, count, lanes = tiles.shape
    rows, width = plan.rows, plan.rings * columns * lanes
    mixed = np.empty((len(features), rows, width), tiles.dtype)
    out = mixed.ravel()
    for start in range(0, count, rows):
        stop = min(start + rows, count)
        for k in range(len(features)):
            own = features[k]
            depth = own.shape[1]
            multiply(
                plan.tile, plan.line, False, stop - start, depth, width, own.ravel(), start * depth, depth, 1,
                filters[k].ravel(), 0, width, out, k * rows * width, width,
            )  # fmt: skip
        _spread(start, stop, plan, mixed, tiles)


@kernel
def _backward(
    plan: Plan, features: tuple[Floats, ...], transposed: tuple[Floats, ...], tiles: Floats,
    by_features: tuple[Floats, ...], by_filters: tuple[Floats, ...], first: int, last: int,
) -> None:  # fmt: skip
    """Write the gradients by the features of the senders first … last; add to those by the filters.

    ``transposed`` has the filters of each order as (floats, K), K filled up to whole lines.
    """
    columns, _, lanes = tiles.shape
    rows, width = plan.rows, plan.rings * columns * lanes
    mixed = np.empty((len(features), rows, width), tiles.dtype)
    flat = mixed.ravel()
    for start in range(first, last, rows):
        stop = min(start + rows, last)
        _collect(start, stop, plan, tiles, mixed)
        for k in range(len(features)):
            own, back, here = features[k], transposed[k], k * rows * width
            depth, padded = own.shape[1], back.shape[1]
            by_rows = np.empty((stop - start, padded), tiles.dtype)
            multiply(
                plan.tile, plan.line, False, stop - start, width, padded, flat, here, width, 1,
                back.ravel(), 0, padded, by_rows.ravel(), 0, padded,
            )  # fmt: skip
            for row in range(stop - start):
                for column in range(depth):
                    by_features[k][start + row, column] = by_rows[row, column]
            multiply(
                plan.tile, plan.line, True, depth, stop - start, width, own.ravel(), start * depth, 1, depth,
                flat, here, width, by_filters[k].ravel(), 0, width,
            )  # fmt: skip


def _arrays(tensors: Sequence[Tensor]) -> tuple[Floats, ...]:
    """Return arrays for the kernels, which must be contiguous: a copy would lose what kernels write."""
    assert all(tensor.is_contiguous() for tensor in tensors)
    return tuple(tensor.numpy() for tensor in tensors)


class _Convolution:
    """The inputs of both passes as the kernels read them."""

    def __init__(
        self, x: Tensor, real: Tensor, imaginary: Tensor, geometry: Geometry, spacing: Spacing, max_bytes: int
    ) -> None:
        orders, rings, channels, out_channels = real.shape
        self.count, self.out_channels, self.rings = len(x), out_channels, rings
        edges = outgoing_edges(geometry, len(x), rings, spacing, x.real.dtype)
        self.senders = torch.from_numpy(edges.point.astype(np.int64, order="C"))
        self.lanes = BYTES // x.real.element_size()
        self.columns = -(-2 * out_channels // self.lanes)
        self.width = self.columns * self.lanes

        self.x = torch.view_as_complex(torch.view_as_real(x.resolve_conj()).index_select(0, self.senders))
        length = torch.empty(x.shape, dtype=x.real.dtype)
        band_limit = orders // 2
        self.features = list(torch.view_as_real(lift(self.x, band_limit, length)).flatten(2))  # (n, 2C) each
        # F as real matrices from (c, part) to (n, o, part), with blocks [[Re, Im], [−Im, Re]].
        matrices = torch.zeros(orders, channels, 2, rings, self.width // 2, 2, dtype=x.real.dtype)
        blocks = matrices[..., :out_channels, :]
        blocks[:, :, 0, ..., 0] = blocks[:, :, 1, ..., 1] = real.transpose(1, 2)
        blocks[:, :, 0, ..., 1] = imaginary.transpose(1, 2)
        blocks[:, :, 1, ..., 0] = -imaginary.transpose(1, 2)
        self.filters = list(matrices.view(orders, 2 * channels, rings * self.width))
        self.one = None
        if band_limit:  # Y_1 = |x|
            self.one = one = band_limit + 1
            self.features[one] = length
            self.filters[one] = matrices[one, :, 0].reshape(channels, rings * self.width)

        row_bytes = orders * rings * self.width * x.real.element_size()
        rows = min(max(max_bytes // row_bytes, BLOCK), max(self.count, 1))
        self.plan = Plan((0,) * (2 * orders), TILE, LINE, rings, rows, edges)

    def forward(self) -> Tensor:
        tiles = np.zeros((self.columns, self.count, self.lanes), self.filters[0].numpy().dtype)
        features = _arrays(self.features)

        def channels(first: int, last: int) -> None:
            """Convolve with the filters of some columns."""
            own = [filters.view(len(filters), self.rings, self.columns, -1) for filters in self.filters]
            filters = _arrays([some[:, :, first:last].flatten(1).contiguous() for some in own])
            _forward(self.plan, features, filters, tiles[first:last])

        run_blocks(channels, shares(self.columns))
        result = torch.empty(self.count, self.width, dtype=self.features[0].dtype)
        from_tiles(0, self.count, self.plan.edges.point, tiles[None], result.numpy()[None])
        return from_lines(result, self.out_channels)

    def backward(self, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the gradients by x, and by the real and imaginary parts of the filters."""
        tiles = np.empty((self.columns, self.count, self.lanes), self.filters[0].numpy().dtype)
        to_tiles(0, self.count, self.plan.edges.point, to_lines(gradient)[None], tiles[None])

        by_lifted = torch.empty(len(self.features), *self.x.shape, dtype=self.x.dtype)
        by_features = list(torch.view_as_real(by_lifted).flatten(2))
        if self.one is not None:
            by_features[self.one] = torch.empty_like(self.features[self.one])
        features, written = _arrays(self.features), _arrays(by_features)
        transposed = _arrays([pad(own.T, (0, -len(own) % self.lanes)).contiguous() for own in self.filters])

        def senders(first: int, last: int) -> list[Tensor]:
            """Write the gradients by the features of some senders, and return those by the filters."""
            by_filters = [torch.zeros_like(filters) for filters in self.filters]
            _backward(self.plan, features, transposed, tiles, written, _arrays(by_filters), first, last)
            return by_filters

        parts = run_blocks(senders, shares(self.count))
        by_filters = [sum(own[1:], own[0]) for own in zip(*parts, strict=True)]
        by_length = None if self.one is None else by_features[self.one]
        by_x = torch.empty_like(self.x)
        by_x.index_copy_(0, self.senders, lift_backward(self.x, by_lifted, len(by_lifted) // 2, by_length))
        return by_x, *self._by_parts(by_filters)

    def _by_parts(self, by_filters: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Return the gradients by Re F and Im F; each entry is in its matrix twice, but for m = 1 once."""
        by_real, by_imaginary = [], []
        for by in by_filters:
            rows = by.view(self.x.shape[1], -1, self.rings, self.width // 2, 2)[..., : self.out_channels, :]
            real, imaginary = rows[:, 0].unbind(-1)
            if rows.shape[1] == 2:
                real, imaginary = real + rows[:, 1, ..., 1], imaginary - rows[:, 1, ..., 0]
            by_real.append(real.transpose(0, 1))
            by_imaginary.append(imaginary.transpose(0, 1))
        return torch.stack(by_real), torch.stack(by_imaginary)


def convolve(
    x: Tensor,
    real: Tensor,
    imaginary: Tensor,
    geometry: Geometry,
    spacing: Spacing,
    max_bytes: int = MAX_BYTES,
) -> Tensor:
    """Return `field_convolve` of x, (n, C), with filters (2B+1, N, C, O): (n, O)."""
    return _Convolution(x, real, imaginary, geometry, spacing, max_bytes).forward()


def convolve_backward(
    x: Tensor,
    real: Tensor,
    imaginary: Tensor,
    gradient: Tensor,
    geometry: Geometry,
    spacing: Spacing,
    max_bytes: int = MAX_BYTES,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by x and by both parts of the filters, from that by `convolve` of them."""
    return _Convolution(x, real, imaginary, geometry, spacing, max_bytes).backward(gradient)
