"""Field aggregation on the CPU: sums stay in registers, and no tensor has a row per edge.

Edges are sorted by receiver and by band (a pair of neighbouring rings), so that the four sums of a band,
Re and Im of the coefficient on the inner and the outer ring, stay in registers while its edges pass. They
are combined only when stored. The adjoint walks the same list and adds into the senders; there each thread
owns some orders and channels, as in the forward pass it owns some receivers. Every sum is thus made by one
thread in one order, whatever the number of threads.
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
from fieldconv.ops._edges import Edges
from fieldconv.ops._simd import BYTES, load, multiply_add, plus_i, store, zero


@kernel
def _coefficients(order: int, base: Any, direction: Any, fraction: Any, scratch: Any, factors: Any) -> None:
    """factors[e] = (Re, Im) of base · direction^order, on the inner and then on the outer ring."""
    count = len(fraction)
    a, b = scratch[0, :count], scratch[1, :count]
    c, d = direction[0], direction[1]
    a[:] = base[0]
    b[:] = base[1]
    sign = a.dtype.type(1 if order > 0 else -1)
    for _ in range(abs(order)):
        for e in range(count):
            turn = sign * d[e]
            real = a[e] * c[e] - b[e] * turn
            b[e] = a[e] * turn + b[e] * c[e]
            a[e] = real
    for e in range(count):
        factors[e, 0] = a[e] - a[e] * fraction[e]
        factors[e, 1] = b[e] - b[e] * fraction[e]
        factors[e, 2] = a[e] * fraction[e]
        factors[e, 3] = b[e] * fraction[e]


@kernel
def _gather(
    first: int,
    last: int,
    first_order: int,
    rings: int,
    longest: int,
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
    scratch = np.empty((2, longest), y.dtype)
    factors = np.empty((longest, 4), y.dtype)
    for k in range(orders):
        for p in range(first, last):
            start, stop = offsets[p * bands], offsets[p * bands + bands]
            _coefficients(
                first_order + k,
                base[:, start:stop],
                direction[:, start:stop],
                fraction[start:stop],
                scratch,
                factors,
            )
            for column in range(0, width, lanes):
                place = (p * orders + k) * rings * width + column
                outer_real = outer_imag = zero(flat)
                for band in range(bands):
                    begin, end = offsets[p * bands + band], offsets[p * bands + band + 1]
                    near, factor = sender[begin:end], factors[begin - start :]
                    real, imag = outer_real, outer_imag
                    outer_real = outer_imag = zero(flat)
                    for e in range(end - begin):
                        line = load(flat, (k * receivers + near[e]) * width + column)
                        real = multiply_add(factor[e, 0], line, real)
                        imag = multiply_add(factor[e, 1], line, imag)
                        outer_real = multiply_add(factor[e, 2], line, outer_real)
                        outer_imag = multiply_add(factor[e, 3], line, outer_imag)
                    store(out, place + band * width, plus_i(real, imag))
                if rings > 1:
                    store(out, place + bands * width, plus_i(outer_real, outer_imag))


@kernel
def _scatter(
    k: int,
    first_column: int,
    last_column: int,
    first_order: int,
    rings: int,
    longest: int,
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
    scratch = np.empty((2, longest), result.dtype)
    factors = np.empty((longest, 4), result.dtype)
    nothing = zero(flat)
    for p in range(receivers):
        start, stop = offsets[p * bands], offsets[p * bands + bands]
        _coefficients(
            first_order + k,
            base[:, start:stop],
            direction[:, start:stop],
            fraction[start:stop],
            scratch,
            factors,
        )
        for column in range(first_column, last_column, lanes):
            place = (p * orders + k) * rings * width + column
            outer = load(flat, place)
            outer_turned = plus_i(nothing, outer)
            for band in range(bands):
                begin, end = offsets[p * bands + band], offsets[p * bands + band + 1]
                near, factor = sender[begin:end], factors[begin - start :]
                inner, inner_turned = outer, outer_turned
                if rings > 1:
                    outer = load(flat, place + (band + 1) * width)
                    outer_turned = plus_i(nothing, outer)
                for e in range(end - begin):
                    row = (k * receivers + near[e]) * width + column
                    line = load(out, row)
                    line = multiply_add(factor[e, 0], inner, line)
                    line = multiply_add(-factor[e, 1], inner_turned, line)
                    line = multiply_add(factor[e, 2], outer, line)
                    line = multiply_add(-factor[e, 3], outer_turned, line)
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
    return edges.longest, edges.offsets, edges.sender, base, edges.direction, edges.fraction


def gather(y: Tensor, edges: Edges, first_order: int, rings: int, scalars: bool) -> Tensor:
    """A[p,k,n] = Σ_e base_e e^{imθ_e} ψ_n(r_e) y[k,q], m = first_order + k: (K, n, C) to (n, K, N, C)."""
    orders, count, channels = y.shape
    lines = _floats(y)
    result = y.real.new_empty(count, orders, rings, lines.shape[-1])
    out, rest = result.numpy(), _sums(edges, scalars)

    def run(first: int, last: int) -> None:
        longest, *arrays = rest
        _gather(first, last, first_order, rings, longest, *arrays, lines, out)

    run_blocks(run, edges.receiver_blocks(4 * num_threads()))
    return _complex(result, channels)


def scatter(gradient: Tensor, edges: Edges, first_order: int, rings: int, scalars: bool) -> Tensor:
    """The adjoint of `gather`: (n, K, N, C) to (K, n, C)."""
    count, orders, _, channels = gradient.shape
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
