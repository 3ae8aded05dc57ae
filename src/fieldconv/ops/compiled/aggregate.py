"""Field aggregation on the CPU: sums stay in registers, and no tensor has a row per edge.

Edges are sorted by receiver and by band (a pair of neighbouring rings), so that the two sums of a band, one
of all its terms and one of the outer ring's share of them, stay in registers while its edges pass. The
adjoint walks the same list and adds into the senders; there each thread owns some orders and channels, as in
the forward pass it owns some receivers. Every sum is thus made by one thread in one order, whatever the
number of threads.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv._compiled import kernel, num_threads, run_blocks
from fieldconv.ops.compiled.edges import Edges, sorted_edges
from fieldconv.ops.compiled.simd import (
    BYTES,
    load,
    load_pair,
    multiply_add,
    peek,
    store,
    store_quads,
    swap,
    zero,
)
from fieldconv.ops.geometry import Geometry


@kernel
def _factors(
    order: int, conjugate: bool, start: int, stop: int, base: Any, direction: Any, fraction: Any, factors: Any
) -> None:
    """Four numbers per edge: Re z, the outer ring's share, −Im z, Im z, with z = base · direction^order."""
    number = fraction.dtype.type
    sign, side = number(1 if order > 0 else -1), number(-1 if conjugate else 1)
    for e in range(start, stop, BYTES // fraction.itemsize):
        real, imag = load(base[0], e), load(base[1], e)
        cos, sin = load(direction[0], e), sign * load(direction[1], e)
        for _ in range(abs(order)):
            real, imag = real * cos - imag * sin, real * sin + imag * cos
        imag = side * imag
        store_quads(factors, 4 * (e - start), real, load(fraction, e), zero(imag) - imag, imag)


@kernel
def _gather(
    first: int,
    last: int,
    first_order: int,
    rings: int,
    longest: int,
    receiver: Any,
    offsets: Any,
    sender: Any,
    base: Any,
    direction: Any,
    fraction: Any,
    y: Any,
    result: Any,
) -> None:
    """Sums of receivers first … last; y is (orders, n, floats), result (n, orders, rings, floats)."""
    orders, receivers, width = y.shape
    bands = (len(offsets) - 1) // receivers
    lanes = BYTES // y.itemsize
    flat, out = y.ravel(), result.ravel()
    factors = np.empty(4 * (longest + lanes), y.dtype)
    for k in range(orders):
        for i in range(first, last):
            start, stop = offsets[i * bands], offsets[i * bands + bands]
            _factors(first_order + k, False, start, stop, base, direction, fraction, factors)
            for column in range(0, width, lanes):
                place = (receiver[i] * orders + k) * rings * width + column
                nothing = zero(load(flat, column))
                before = nothing
                for band in range(bands):
                    begin, end = offsets[i * bands + band], offsets[i * bands + band + 1]
                    total = outer = nothing
                    for e in range(begin, end):
                        line = load(flat, (k * receivers + peek(sender, e)) * width + column)
                        at = 4 * (e - start)
                        turned = load_pair(factors, at + 2, line) * swap(line)
                        term = multiply_add(peek(factors, at), line, turned)
                        total = total + term
                        outer = multiply_add(peek(factors, at + 1), term, outer)
                    store(out, place + band * width, before + (total - outer))
                    before = outer
                if rings > 1:
                    store(out, place + bands * width, before)


@kernel
def _scatter(
    k: int,
    first_column: int,
    last_column: int,
    first_order: int,
    rings: int,
    longest: int,
    receiver: Any,
    offsets: Any,
    sender: Any,
    base: Any,
    direction: Any,
    fraction: Any,
    gradient: Any,
    result: Any,
) -> None:
    """The adjoint of `_gather` for order k and some columns: gradient as its result, result as its y."""
    orders, receivers, width = result.shape
    bands = (len(offsets) - 1) // receivers
    lanes = BYTES // result.itemsize
    flat, out = gradient.ravel(), result.ravel()
    factors = np.empty(4 * (longest + lanes), result.dtype)
    for i in range(receivers):
        start, stop = offsets[i * bands], offsets[i * bands + bands]
        _factors(first_order + k, True, start, stop, base, direction, fraction, factors)
        for column in range(first_column, last_column, lanes):
            place = (receiver[i] * orders + k) * rings * width + column
            for band in range(bands):
                begin, end = offsets[i * bands + band], offsets[i * bands + band + 1]
                inner = load(flat, place + band * width)
                rise = load(flat, place + min(band + 1, rings - 1) * width) - inner
                for e in range(begin, end):
                    row = (k * receivers + peek(sender, e)) * width + column
                    at = 4 * (e - start)
                    term = multiply_add(peek(factors, at + 1), rise, inner)
                    line = multiply_add(peek(factors, at), term, load(out, row))
                    line = multiply_add(load_pair(factors, at + 2, line), swap(term), line)
                    store(out, row, line)


def _floats(values: Tensor) -> NDArray[Any]:
    """Complex (…, C) as floats (…, 2C'), C' being C rounded up to whole cache lines."""
    channels = values.shape[-1]
    missing = -channels % (BYTES // values.element_size())
    if missing:
        values = torch.cat([values, values.new_zeros(*values.shape[:-1], missing)], dim=-1)
    array: NDArray[Any] = torch.view_as_real(values.resolve_conj().contiguous()).flatten(-2).numpy()
    return array


def _complex(array: Tensor, channels: int) -> Tensor:
    return torch.view_as_complex(array.view(*array.shape[:-1], -1, 2))[..., :channels].contiguous()


def _sums(edges: Edges, scalars: bool) -> tuple[Any, ...]:
    base = np.stack([edges.weight, np.zeros_like(edges.weight)]) if scalars else edges.transport
    return edges.longest, edges.receiver, edges.offsets, edges.sender, base, edges.direction, edges.fraction


def gather(
    y: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Any, scalars: bool
) -> Tensor:
    """Return A[p,k,n] = Σ_e w_e t_e e^{imθ_e} ψ_n(r_e) y[k,q] with m = first_order + k, no t_e for scalars.

    From (K, n, C) to (n, K, N, C).
    """
    orders, count, channels = y.shape
    edges = sorted_edges(geometry, count, rings, spacing, y.real.dtype)
    lines = _floats(y)
    result = y.real.new_empty(count, orders, rings, lines.shape[-1])
    out, rest = result.numpy(), _sums(edges, scalars)

    def run(first: int, last: int) -> None:
        longest, *arrays = rest
        _gather(first, last, first_order, rings, longest, *arrays, lines, out)

    run_blocks(run, edges.receiver_blocks(4 * num_threads()))
    return _complex(result, channels)


def scatter(
    gradient: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Any, scalars: bool
) -> Tensor:
    """Return the adjoint of `gather`: (n, K, N, C) to (K, n, C)."""
    count, orders, _, channels = gradient.shape
    edges = sorted_edges(geometry, count, rings, spacing, gradient.real.dtype)
    lines = _floats(gradient)
    width = lines.shape[-1]
    result = gradient.real.new_zeros(orders, count, width)
    out, rest = result.numpy(), _sums(edges, scalars)

    def run(order: int, first: int, last: int) -> None:
        longest, *arrays = rest
        _scatter(order, first, last, first_order, rings, longest, *arrays, lines, out)

    threads, lanes = num_threads(), BYTES // result.element_size()
    parts = min(threads // math.gcd(orders, threads), width // lanes)
    cuts = [part * (width // lanes) // parts * lanes for part in range(parts + 1)]
    run_blocks(run, [(k, *ends) for k in range(orders) for ends in itertools.pairwise(cuts)])
    return _complex(result, channels)
