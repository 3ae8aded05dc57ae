"""The field convolution on the CPU, a few hundred senders at a time, so that what is large stays in the cache.

With the features Y_m of a sender mixed by the filters, G_m[q,n,o] = Σ_c Y_m[q,c] F[m,n,c,o], its edges need

    Σ_m e^{imθ} G_m = G_0 + Σ_{m>0} cos mθ (G_m + G_−m) + sin mθ i(G_m − G_−m),

which is a sum of lines times real numbers: one multiplication and addition for each, and a single complex
product for the transport, whatever the number of frequencies. G is made for a block of senders, is spread to
their receivers while it is in the cache, and is gone. The backward pass is the same backwards: the gradients
of the receivers are collected at a block of senders, which gives the gradient by G, hence those by features
and filters. So nothing with a number for each point, frequency, ring and channel is ever made or kept.

Y_1 = |x| is real, which saves half of its products.

Blocks do not depend on how the work is shared among threads: in the forward pass a thread owns some channels
of all receivers, in the backward pass some senders.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv._compiled import kernel, num_threads, run_blocks
from fieldconv.ops.compiled.edges import Outgoing, outgoing_edges
from fieldconv.ops.compiled.lift import lift, lift_backward
from fieldconv.ops.compiled.simd import (
    BYTES,
    add_multiples,
    load,
    load_each,
    load_pair,
    multiply_add,
    peek,
    store,
    store_each,
    store_quads,
    sum_multiples,
    swap,
    turn,
    zero,
    zeros,
)
from fieldconv.ops.geometry import Geometry

BLOCK = 16  # senders whose factors are at hand
MIXED = 2**19  # bytes of G at hand, in the second-level cache


@kernel
def _factors(band_limit: int, conjugate: bool, start: int, stop: int, edges: Outgoing, factors: Any) -> None:
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
def _spread(
    start: int, stop: int, first: int, last: int, each: Any, rings: int, edges: Outgoing, mixed: Any, tiles: Any
) -> None:
    """Add to the receivers, in the columns first … last, what the senders start … stop have for them.

    ``mixed`` (orders, rows, floats) is G of these senders, ``each`` a tuple as long as twice the orders.
    """
    columns, count, lanes = tiles.shape
    width = columns * lanes
    orders, rows, _ = mixed.shape
    band_limit = orders // 2
    size = 4 * (band_limit + 1)
    offsets, receiver = edges.offsets, edges.receiver
    bands = (len(offsets) - 1) // count
    flat, out = mixed.ravel(), tiles.ravel()
    factors = np.empty(size * (BLOCK * edges.longest + lanes), tiles.dtype)
    order, band_lines = rows * rings * width, 2 * orders * lanes
    lines = np.empty(bands * band_lines, tiles.dtype)  # of each band and harmonic: inner ring, rise to the outer
    for block in range(start, stop, BLOCK):
        after = min(block + BLOCK, stop)
        begin_block = offsets[block * bands]
        _factors(band_limit, False, begin_block, offsets[after * bands], edges, factors)
        for column in range(first, last):
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
                    cos, sin = on + back, turn(on - back)
                    for band in range(bands):
                        ring = centre + min(band + 1, rings - 1) * width
                        on, back = load(flat, ring + m * order), load(flat, ring - m * order)
                        place = band * band_lines + (4 * m - 2) * lanes
                        store(lines, place, cos)
                        store(lines, place + 2 * lanes, sin)
                        upper_cos, upper_sin = on + back, turn(on - back)
                        store(lines, place + lanes, upper_cos - cos)
                        store(lines, place + 3 * lanes, upper_sin - sin)
                        cos, sin = upper_cos, upper_sin
                for band in range(bands):
                    begin, end = offsets[i * bands + band], offsets[i * bands + band + 1]
                    here = load_each(lines, band * band_lines, each)
                    for e in range(begin, end):
                        row = tile + peek(receiver, e) * lanes
                        at = size * (e - begin_block)
                        term = sum_multiples(here, factors, at + 3)
                        line = multiply_add(load_pair(factors, at + 1, term), swap(term), load(out, row))
                        store(out, row, multiply_add(peek(factors, at), term, line))


@kernel
def _collect(
    start: int, stop: int, row: int, each: Any, rings: int, edges: Outgoing, tiles: Any, mixed: Any
) -> None:
    """Do the adjoint of `_spread` for senders start … stop: write what their receivers have for them.

    ``mixed`` (orders, rows, floats) has the first of these senders in its row ``row``.
    """
    columns, count, lanes = tiles.shape
    width = columns * lanes
    orders, rows, _ = mixed.shape
    band_limit = orders // 2
    size = 4 * (band_limit + 1)
    offsets, receiver = edges.offsets, edges.receiver
    bands = (len(offsets) - 1) // count
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
                        line = load(flat, tile + peek(receiver, e) * lanes)
                        at = size * (e - begin_block)
                        turned = load_pair(factors, at + 1, line) * swap(line)
                        term = multiply_add(peek(factors, at), line, turned)
                        totals = add_multiples(totals, factors, at + 3, term)
                    store_each(sums, band * band_lines, totals)
                centre = band_limit * order + (row + i - start) * rings * width + column * lanes
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
                        sin = turn(sin + (load(sums, place + 2 * lanes) - outer_sin))
                        store(out, centre + m * order + band * width, cos - sin)
                        store(out, centre - m * order + band * width, cos + sin)
                        cos, sin = outer_cos, outer_sin
                    if rings > 1:
                        sin = turn(sin)
                        store(out, centre + m * order + bands * width, cos - sin)
                        store(out, centre - m * order + bands * width, cos + sin)


@kernel
def _to_tiles(rows: Any, features: Any, tiles: Any) -> None:
    """Copy features (n, floats), those of rows[0], rows[1], …, column by column."""
    columns, count, lanes = tiles.shape
    flat, out = features.ravel(), tiles.ravel()
    for i in range(count):
        for column in range(columns):
            line = load(flat, (rows[i] * columns + column) * lanes)
            store(out, (column * count + i) * lanes, line)


@kernel
def _from_tiles(rows: Any, tiles: Any, features: Any) -> None:
    """Do the opposite of `_to_tiles`."""
    columns, count, lanes = tiles.shape
    flat, out = tiles.ravel(), features.ravel()
    for i in range(count):
        for column in range(columns):
            line = load(flat, (column * count + i) * lanes)
            store(out, (rows[i] * columns + column) * lanes, line)


class _Convolution:
    """What forward and backward pass share."""

    def __init__(self, x: Tensor, real: Tensor, imaginary: Tensor, geometry: Geometry, spacing: Any) -> None:
        orders, self.rings, channels, out_channels = real.shape
        self.band_limit, self.channels, self.out_channels = orders // 2, channels, out_channels
        self.count, self.dtype = len(x), x.real.dtype
        self.edges = outgoing_edges(geometry, len(x), self.rings, spacing, self.dtype)
        self.senders = torch.from_numpy(self.edges.sender)
        self.lanes = BYTES // x.real.element_size()
        self.columns = -(-2 * out_channels // self.lanes)
        self.width = self.columns * self.lanes
        self.each = (0,) * (2 * orders)

        self.x = x.resolve_conj()[self.senders]
        lifted = lift(self.x, self.band_limit)
        self.features = [torch.view_as_real(y).flatten(1) for y in lifted]  # (n, 2C) of every order
        # F as real matrices from (c, parts) to (n, o, parts), with blocks [[Re, Im], [−Im, Re]].
        rows = torch.stack([torch.stack([real, imaginary], -1), torch.stack([-imaginary, real], -1)], 2)
        rows = rows.permute(0, 3, 2, 1, 4, 5)  # (orders, C, 2, N, O, 2)
        filters = rows.new_zeros(orders, channels, 2, self.rings, self.width // 2, 2)
        filters[..., :out_channels, :] = rows
        self.filters = list(filters.view(orders, 2 * channels, self.rings * self.width))
        if self.band_limit:  # Y_1 = |x|
            one = self.band_limit + 1
            self.features[one] = lifted[one].real.contiguous()
            self.filters[one] = filters[one, :, 0].reshape(channels, self.rings * self.width)

        row_bytes = orders * self.rings * self.width * x.real.element_size()
        self.rows = min(max(MIXED // row_bytes, BLOCK) * num_threads(), max(self.count, 1))
        self.mixed = torch.empty(orders, self.rows, self.rings * self.width, dtype=self.dtype)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of senders, whose G fits into the cache."""
        for start in range(0, self.count, self.rows):
            yield start, min(start + self.rows, self.count)

    def tiles(self, features: Tensor) -> NDArray[Any]:
        """Return complex (n, O) as (columns, n, lanes), points in the order of the senders."""
        missing = self.width // 2 - self.out_channels
        if missing:
            features = torch.cat([features, features.new_zeros(self.count, missing)], 1)
        tiles = np.empty((self.columns, self.count, self.lanes), self.mixed.numpy().dtype)
        rows = torch.view_as_real(features.resolve_conj().contiguous()).numpy()
        _to_tiles(self.edges.sender, rows, tiles)
        return tiles

    def forward(self) -> Tensor:
        mixed = self.mixed.numpy()
        tiles = np.zeros((self.columns, self.count, self.lanes), mixed.dtype)
        parts = min(num_threads(), self.columns)
        cuts = [part * self.columns // parts for part in range(parts + 1)]
        for start, stop in self.blocks():
            for features, filters, out in zip(self.features, self.filters, self.mixed, strict=True):
                torch.mm(features[start:stop], filters, out=out[: stop - start])
            run_blocks(
                lambda first, last, start=start, stop=stop: _spread(
                    start, stop, first, last, self.each, self.rings, self.edges, mixed, tiles
                ),
                list(itertools.pairwise(cuts)),
            )
        result = torch.empty(self.count, self.width, dtype=self.dtype)
        _from_tiles(self.edges.sender, tiles, result.numpy())
        result = torch.view_as_complex(result.view(self.count, -1, 2))
        return result[:, : self.out_channels].contiguous()

    def backward(self, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the gradients by x, and by the real and imaginary parts of the filters."""
        mixed, tiles = self.mixed.numpy(), self.tiles(gradient)
        by_features = [torch.empty_like(features) for features in self.features]
        by_filters = [torch.zeros_like(filters) for filters in self.filters]
        threads = num_threads()
        for start, stop in self.blocks():
            cuts = [start + part * (stop - start) // threads for part in range(threads + 1)]
            run_blocks(
                lambda first, last, start=start: _collect(
                    first, last, first - start, self.each, self.rings, self.edges, tiles, mixed
                ),
                list(itertools.pairwise(cuts)),
            )
            for k, by_mixed in enumerate(self.mixed[:, : stop - start]):
                torch.mm(by_mixed, self.filters[k].T, out=by_features[k][start:stop])
                by_filters[k].addmm_(self.features[k][start:stop].T, by_mixed)
        return self._by_x(by_features), *self._by_parts(by_filters)

    def _by_x(self, by_features: list[Tensor]) -> Tensor:
        if self.band_limit:
            one = self.band_limit + 1
            by_features[one] = torch.stack([by_features[one], torch.zeros_like(by_features[one])], -1)
        lifted = torch.stack([by.view(self.count, self.channels, 2) for by in by_features])
        result = torch.empty(self.count, self.channels, dtype=self.x.dtype)
        result[self.senders] = lift_backward(self.x, torch.view_as_complex(lifted))
        return result

    def _by_parts(self, by_filters: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Each entry of F is in a matrix twice, but for m = 1."""
        real, imaginary = [], []
        for by in by_filters:
            rows = by.view(self.channels, -1, self.rings, self.width // 2, 2)[..., : self.out_channels, :]
            (first_real, first_imaginary) = rows[:, 0].unbind(-1)
            if rows.shape[1] == 2:
                (second_real, second_imaginary) = rows[:, 1].unbind(-1)
                first_real, first_imaginary = first_real + second_imaginary, first_imaginary - second_real
            real.append(first_real.transpose(0, 1))
            imaginary.append(first_imaginary.transpose(0, 1))
        return torch.stack(real), torch.stack(imaginary)


def convolve(x: Tensor, real: Tensor, imaginary: Tensor, geometry: Geometry, spacing: Any) -> Tensor:
    """Return the field convolution of x, (n, C), with filters (2B+1, N, C, O): (n, O)."""
    return _Convolution(x, real, imaginary, geometry, spacing).forward()


def convolve_backward(
    x: Tensor, real: Tensor, imaginary: Tensor, gradient: Tensor, geometry: Geometry, spacing: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by x and by both parts of the filters, from that by `convolve` of them."""
    return _Convolution(x, real, imaginary, geometry, spacing).backward(gradient)
