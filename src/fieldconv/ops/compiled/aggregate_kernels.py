"""Field aggregation on the CPU: sums stay in registers, and no tensor has a row per edge.

Edges are sorted by receiver and by band (a pair of neighbouring rings), so that the two sums of a band, one
of all its terms and one of the outer ring's share of them, stay in registers while its edges pass. The
adjoint walks the same list and adds into the senders. A thread owns some receivers in the forward pass, and
some orders and channels in the adjoint. So one thread makes each sum, in one order, whatever their number.

The senders' features lie in tiles: one line of numbers of every vertex, in the order of the sorted edges.
Lines of neighbours are then close in memory, however the vertices are numbered.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from torch import Tensor

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import kernel, num_threads, run_blocks
from fieldconv.ops.compiled.pointwise_kernels import floats
from fieldconv.ops.compiled.simd import (
    BYTES,
    load,
    load_pair,
    load_scalar,
    multiply_add,
    store,
    store_quads,
    swap,
    zero,
)
from fieldconv.ops.compiled.sorted_edges import Edges, sorted_edges
from fieldconv.ops.disc import Spacing
from fieldconv.ops.geometry import Geometry

BLOCK = 32  # receivers at a time, whose factors fit in the second-level cache


@kernel
def _factors(order: int, conjugate: bool, start: int, stop: int, edges: Edges, factors: Floats) -> None:
    """Write Re z, the share of the outer ring, −Im z and Im z of each edge, z = w e^{iφ} e^{i order θ}."""
    transport, direction, fraction = edges.transport, edges.direction, edges.fraction
    number = fraction.dtype.type
    sign, side = number(1 if order > 0 else -1), number(-1 if conjugate else 1)
    for e in range(start, stop, BYTES // fraction.itemsize):
        real, imag = load(transport[0], e), load(transport[1], e)
        cos, sin = load(direction[0], e), sign * load(direction[1], e)
        for _ in range(abs(order)):
            real, imag = real * cos - imag * sin, real * sin + imag * cos
        imag = side * imag
        store_quads(factors, 4 * (e - start), 4, real, load(fraction, e), zero(imag) - imag, imag)


@kernel
def to_tiles(first: int, last: int, receiver: Ints, y: Floats, tiles: Floats) -> None:
    """Copy the features y, (orders, n, floats), of receivers first … last."""
    orders, columns, count, lanes = tiles.shape
    flat, out = y.ravel(), tiles.ravel()
    for k in range(orders):
        for i in range(first, last):
            start = (k * count + receiver[i]) * columns * lanes
            for column in range(columns):
                line = load(flat, start + column * lanes)
                store(out, ((k * columns + column) * count + i) * lanes, line)


@kernel
def from_tiles(first: int, last: int, receiver: Ints, tiles: Floats, y: Floats) -> None:
    """Copy the other way."""
    orders, columns, count, lanes = tiles.shape
    flat, out = tiles.ravel(), y.ravel()
    for k in range(orders):
        for i in range(first, last):
            start = (k * count + receiver[i]) * columns * lanes
            for column in range(columns):
                line = load(flat, ((k * columns + column) * count + i) * lanes)
                store(out, start + column * lanes, line)


@kernel
def _gather(
    first: int, last: int, edges: Edges, first_order: int, rings: int, tiles: Floats, result: Floats
) -> None:
    """Write the sums of receivers first … last from the senders' tiles; result (n, orders, rings, floats)."""
    receiver, offsets, sender = edges.point, edges.offsets, edges.neighbour
    orders, columns, receivers, lanes = tiles.shape
    width = columns * lanes
    bands, flat, out = edges.bands, tiles.ravel(), result.ravel()
    factors = np.empty(4 * (BLOCK * edges.longest + lanes), tiles.dtype)
    for k in range(orders):
        for block in range(first, last, BLOCK):
            after = min(block + BLOCK, last)
            start = offsets[block * bands]
            _factors(first_order + k, False, start, offsets[after * bands], edges, factors)
            for column in range(columns):
                tile = (k * columns + column) * receivers * lanes
                nothing = zero(load(flat, tile))
                for i in range(block, after):
                    place = (receiver[i] * orders + k) * rings * width + column * lanes
                    before = nothing
                    for band in range(bands):
                        begin, end = offsets[i * bands + band], offsets[i * bands + band + 1]
                        total = outer = nothing
                        for e in range(begin, end):
                            line = load(flat, tile + load_scalar(sender, e) * lanes)
                            at = 4 * (e - start)
                            turned = load_pair(factors, at + 2, line) * swap(line)
                            term = multiply_add(load_scalar(factors, at), line, turned)
                            total = total + term
                            outer = multiply_add(load_scalar(factors, at + 1), term, outer)
                        store(out, place + band * width, before + (total - outer))
                        before = outer
                    if rings > 1:
                        store(out, place + bands * width, before)


@kernel
def _scatter(
    k: int, first: int, last: int, edges: Edges, order: int, rings: int, gradient: Floats, tiles: Floats
) -> None:
    """Add the adjoint of `_gather` for order k and the columns first … last: gradient as its result."""
    receiver, offsets, sender = edges.point, edges.offsets, edges.neighbour
    orders, columns, receivers, lanes = tiles.shape
    width = columns * lanes
    bands, flat, out = edges.bands, gradient.ravel(), tiles.ravel()
    factors = np.empty(4 * (BLOCK * edges.longest + lanes), tiles.dtype)
    # Lines of the gradient by column, receiver and ring: close together, and read from memory only once.
    lines = np.empty(BLOCK * rings * (last - first) * lanes, tiles.dtype)
    for block in range(0, receivers, BLOCK):
        after = min(block + BLOCK, receivers)
        start = offsets[block * bands]
        _factors(order, True, start, offsets[after * bands], edges, factors)
        for i in range(block, after):
            for ring in range(rings):
                row = ((receiver[i] * orders + k) * rings + ring) * width
                for column in range(first, last):
                    place = ((column - first) * BLOCK + i - block) * rings + ring
                    store(lines, place * lanes, load(flat, row + column * lanes))
        for column in range(first, last):
            tile = (k * columns + column) * receivers * lanes
            for i in range(block, after):
                place = ((column - first) * BLOCK + i - block) * rings * lanes
                for band in range(bands):
                    begin, end = offsets[i * bands + band], offsets[i * bands + band + 1]
                    inner = load(lines, place + band * lanes)
                    rise = load(lines, place + min(band + 1, rings - 1) * lanes) - inner
                    for e in range(begin, end):
                        row = tile + load_scalar(sender, e) * lanes
                        at = 4 * (e - start)
                        term = multiply_add(load_scalar(factors, at + 1), rise, inner)
                        line = multiply_add(load_scalar(factors, at), term, load(out, row))
                        line = multiply_add(load_pair(factors, at + 2, line), swap(term), line)
                        store(out, row, line)


def to_lines(values: Tensor) -> Floats:
    """Return complex (…, C) as floats (…, 2C'), C' being C rounded up to whole lines."""
    channels = values.shape[-1]
    missing = -channels % (BYTES // values.element_size())
    if missing:
        values = torch.cat([values, values.new_zeros(*values.shape[:-1], missing)], dim=-1)
    return floats(values).reshape(*values.shape[:-1], 2 * values.shape[-1])


def from_lines(array: Tensor, channels: int) -> Tensor:
    """Return floats (…, 2C') as complex (…, C)."""
    return torch.view_as_complex(array.view(*array.shape[:-1], -1, 2))[..., :channels].contiguous()


def gather(
    y: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return the sums of `disc_sums`: (K, n, C) to (n, K, N, C)."""
    orders, count, channels = y.shape
    edges = sorted_edges(geometry, count, rings, spacing, y.real.dtype, scalars)
    blocks = edges.blocks(4 * num_threads())
    features = to_lines(y)
    lanes = BYTES // features.itemsize
    tiles = np.empty((orders, features.shape[-1] // lanes, count, lanes), features.dtype)
    run_blocks(lambda first, last: to_tiles(first, last, edges.point, features, tiles), blocks)
    result = y.real.new_empty(count, orders, rings, features.shape[-1])
    out = result.numpy()
    run_blocks(lambda first, last: _gather(first, last, edges, first_order, rings, tiles, out), blocks)
    return from_lines(result, channels)


def scatter(
    gradient: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """Return the adjoint of `gather`: (n, K, N, C) to (K, n, C)."""
    count, orders, _, channels = gradient.shape
    edges = sorted_edges(geometry, count, rings, spacing, gradient.real.dtype, scalars)
    lines = to_lines(gradient)
    lanes = BYTES // lines.itemsize
    columns = lines.shape[-1] // lanes
    tiles = np.zeros((orders, columns, count, lanes), lines.dtype)
    threads = num_threads()
    parts = min(threads // math.gcd(orders, threads), columns)
    cuts = [part * columns // parts for part in range(parts + 1)]
    run_blocks(
        lambda k, first, last: _scatter(k, first, last, edges, first_order + k, rings, lines, tiles),
        [(k, *ends) for k in range(orders) for ends in itertools.pairwise(cuts)],
    )
    result = gradient.real.new_empty(orders, count, lines.shape[-1])
    out = result.numpy()
    run_blocks(
        lambda first, last: from_tiles(first, last, edges.point, tiles, out),
        edges.blocks(4 * threads),
    )
    return from_lines(result, channels)
