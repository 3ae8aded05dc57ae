"""Field aggregation on the CPU: sums stay in registers, and no tensor has a row per edge.

Edges are sorted by receiver and by band (a pair of neighbouring rings), so that the two sums of a band, one
of all its terms and one of the outer ring's share of them, stay in registers while its edges pass. The
adjoint walks the same list and adds into the senders; there each thread owns some orders and channels, as in
the forward pass it owns some receivers. Every sum is thus made by one thread in one order, whatever the
number of threads.

The senders' features lie in tiles: one line of numbers of every vertex, vertices in the order of the sorted
edges. The lines of neighbours are then close to each other in memory, however the vertices are numbered.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv._compiled import kernel, num_threads, run_blocks
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
from fieldconv.ops.geometry import Geometry

BLOCK = 32  # receivers whose factors are at hand, in the second-level cache


class Sums(NamedTuple):
    """What the kernels read of the edges; see `Edges`."""

    receiver: Any
    offsets: Any
    sender: Any
    base: Any  # (2, E + PADDING) w e^{iφ}, or w and 0 for scalars
    direction: Any
    fraction: Any
    longest: int
    first_order: int
    rings: int


@kernel
def _factors(order: int, conjugate: bool, start: int, stop: int, sums: Sums, factors: Any) -> None:
    """Write Re z, the share of the outer ring, −Im z and Im z of each edge, z = base · direction^order."""
    base, direction, fraction = sums.base, sums.direction, sums.fraction
    number = fraction.dtype.type
    sign, side = number(1 if order > 0 else -1), number(-1 if conjugate else 1)
    for e in range(start, stop, BYTES // fraction.itemsize):
        real, imag = load(base[0], e), load(base[1], e)
        cos, sin = load(direction[0], e), sign * load(direction[1], e)
        for _ in range(abs(order)):
            real, imag = real * cos - imag * sin, real * sin + imag * cos
        imag = side * imag
        store_quads(factors, 4 * (e - start), 4, real, load(fraction, e), zero(imag) - imag, imag)


@kernel
def _to_tiles(first: int, last: int, receiver: Any, y: Any, tiles: Any) -> None:
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
def _from_tiles(first: int, last: int, receiver: Any, tiles: Any, y: Any) -> None:
    """Do the opposite of `_to_tiles`."""
    orders, columns, count, lanes = tiles.shape
    flat, out = tiles.ravel(), y.ravel()
    for k in range(orders):
        for i in range(first, last):
            start = (k * count + receiver[i]) * columns * lanes
            for column in range(columns):
                line = load(flat, ((k * columns + column) * count + i) * lanes)
                store(out, start + column * lanes, line)


@kernel
def _gather(first: int, last: int, sums: Sums, tiles: Any, result: Any) -> None:
    """Write the sums of receivers first … last from the senders' tiles; result (n, orders, rings, floats)."""
    receiver, offsets, sender, rings = sums.receiver, sums.offsets, sums.sender, sums.rings
    orders, columns, receivers, lanes = tiles.shape
    width = columns * lanes
    bands = (len(offsets) - 1) // receivers
    flat, out = tiles.ravel(), result.ravel()
    factors = np.empty(4 * (BLOCK * sums.longest + lanes), tiles.dtype)
    for k in range(orders):
        for block in range(first, last, BLOCK):
            after = min(block + BLOCK, last)
            start = offsets[block * bands]
            _factors(sums.first_order + k, False, start, offsets[after * bands], sums, factors)
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
def _scatter(k: int, first: int, last: int, sums: Sums, gradient: Any, tiles: Any) -> None:
    """Add the adjoint of `_gather` for order k and the columns first … last: gradient as its result."""
    receiver, offsets, sender, rings = sums.receiver, sums.offsets, sums.sender, sums.rings
    orders, columns, receivers, lanes = tiles.shape
    width = columns * lanes
    bands = (len(offsets) - 1) // receivers
    flat, out = gradient.ravel(), tiles.ravel()
    factors = np.empty(4 * (BLOCK * sums.longest + lanes), tiles.dtype)
    # Lines of the gradient by column, receiver and ring: close together, and read from memory only once.
    lines = np.empty(BLOCK * rings * (last - first) * lanes, tiles.dtype)
    for block in range(0, receivers, BLOCK):
        after = min(block + BLOCK, receivers)
        start = offsets[block * bands]
        _factors(sums.first_order + k, True, start, offsets[after * bands], sums, factors)
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


def _floats(values: Tensor) -> NDArray[Any]:
    """Return complex (…, C) as floats (…, 2C'), C' being C rounded up to whole lines."""
    channels = values.shape[-1]
    missing = -channels % (BYTES // values.element_size())
    if missing:
        values = torch.cat([values, values.new_zeros(*values.shape[:-1], missing)], dim=-1)
    array: NDArray[Any] = torch.view_as_real(values.resolve_conj().contiguous()).flatten(-2).numpy()
    return array


def _complex(array: Tensor, channels: int) -> Tensor:
    return torch.view_as_complex(array.view(*array.shape[:-1], -1, 2))[..., :channels].contiguous()


def sums_of(edges: Edges, first_order: int, rings: int, scalars: bool) -> Sums:
    """Return what the kernels read of sorted edges."""
    base = np.stack([edges.weight, np.zeros_like(edges.weight)]) if scalars else edges.transport
    return Sums(
        edges.receiver,
        edges.offsets,
        edges.sender,
        base,
        edges.direction,
        edges.fraction,
        edges.longest,
        first_order,
        rings,
    )


def gather(
    y: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Any, scalars: bool
) -> Tensor:
    """Return A[p,k,n] = Σ_e w_e t_e e^{imθ_e} ψ_n(r_e) y[k,q] with m = first_order + k, no t_e for scalars.

    From (K, n, C) to (n, K, N, C).
    """
    orders, count, channels = y.shape
    edges = sorted_edges(geometry, count, rings, spacing, y.real.dtype)
    sums, blocks = sums_of(edges, first_order, rings, scalars), edges.receiver_blocks(4 * num_threads())
    features = _floats(y)
    lanes = BYTES // features.itemsize
    tiles = np.empty((orders, features.shape[-1] // lanes, count, lanes), features.dtype)
    run_blocks(lambda first, last: _to_tiles(first, last, edges.receiver, features, tiles), blocks)
    result = y.real.new_empty(count, orders, rings, features.shape[-1])
    out = result.numpy()
    run_blocks(lambda first, last: _gather(first, last, sums, tiles, out), blocks)
    return _complex(result, channels)


def scatter(
    gradient: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Any, scalars: bool
) -> Tensor:
    """Return the adjoint of `gather`: (n, K, N, C) to (K, n, C)."""
    count, orders, _, channels = gradient.shape
    edges = sorted_edges(geometry, count, rings, spacing, gradient.real.dtype)
    sums = sums_of(edges, first_order, rings, scalars)
    lines = _floats(gradient)
    lanes = BYTES // lines.itemsize
    columns = lines.shape[-1] // lanes
    tiles = np.zeros((orders, columns, count, lanes), lines.dtype)
    threads = num_threads()
    parts = min(threads // math.gcd(orders, threads), columns)
    cuts = [part * columns // parts for part in range(parts + 1)]
    run_blocks(
        lambda k, first, last: _scatter(k, first, last, sums, lines, tiles),
        [(k, *ends) for k in range(orders) for ends in itertools.pairwise(cuts)],
    )
    result = gradient.real.new_empty(orders, count, lines.shape[-1])
    out = result.numpy()
    run_blocks(
        lambda first, last: _from_tiles(first, last, edges.receiver, tiles, out),
        edges.receiver_blocks(4 * threads),
    )
    return _complex(result, channels)
