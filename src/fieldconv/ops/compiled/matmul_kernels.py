"""Products of small matrices inside kernels, where calling torch would take as long as the product."""

from __future__ import annotations

import numba
from llvmlite import binding

from fieldconv._arrays import Floats
from fieldconv._compiled import kernel
from fieldconv.ops.compiled.simd import (
    BYTES,
    Count,
    add_each,
    load,
    load_each,
    load_scalar,
    store_each,
    zero,
    zeros,
)

ROWS = 4  # at a time, whose sums stay in registers


def _lines() -> int:
    """Return how many lines of each of `ROWS` rows the processor's registers hold as running sums."""
    chosen = numba.config.CPU_FEATURES  # NUMBA_CPU_FEATURES, to compile for another processor
    if chosen is not None:
        return 4 if "+avx512f" in chosen else 1
    try:
        return 4 if binding.get_host_cpu_features().get("avx512f", False) else 1
    except RuntimeError:  # llvmlite does not know such processors
        return 1


TILE = (0,) * _lines()
LINE = (0,)


@kernel
def _columns(
    each: Count, add: bool, rows: int, depth: int, a: Floats, a_at: int, a_row: int, a_column: int,
    b: Floats, b_at: int, b_row: int, out: Floats, out_at: int, out_row: int,
) -> None:  # fmt: skip
    """Write as many lines of a product as ``each`` has items, for every row."""
    nothing = zero(load(b, b_at))
    for i in range(0, rows - ROWS + 1, ROWS):
        first, place = a_at + i * a_row, out_at + i * out_row
        sums_0, sums_1, sums_2, sums_3 = (
            zeros(nothing, each), zeros(nothing, each), zeros(nothing, each), zeros(nothing, each)
        )  # fmt: skip
        if add:
            sums_0, sums_1 = load_each(out, place, each), load_each(out, place + out_row, each)
            sums_2, sums_3 = (
                load_each(out, place + 2 * out_row, each),
                load_each(out, place + 3 * out_row, each),
            )
        for k in range(depth):
            lines, at = load_each(b, b_at + k * b_row, each), first + k * a_column
            sums_0 = add_each(sums_0, load_scalar(a, at), lines)
            sums_1 = add_each(sums_1, load_scalar(a, at + a_row), lines)
            sums_2 = add_each(sums_2, load_scalar(a, at + 2 * a_row), lines)
            sums_3 = add_each(sums_3, load_scalar(a, at + 3 * a_row), lines)
        store_each(out, place, sums_0)
        store_each(out, place + out_row, sums_1)
        store_each(out, place + 2 * out_row, sums_2)
        store_each(out, place + 3 * out_row, sums_3)
    for i in range(rows - rows % ROWS, rows):
        place = out_at + i * out_row
        sums = load_each(out, place, each) if add else zeros(nothing, each)
        for k in range(depth):
            number = load_scalar(a, a_at + i * a_row + k * a_column)
            sums = add_each(sums, number, load_each(b, b_at + k * b_row, each))
        store_each(out, place, sums)


@kernel
def multiply(
    tile: Count, line: Count, add: bool, rows: int, depth: int, width: int,
    a: Floats, a_at: int, a_row: int, a_column: int, b: Floats, b_at: int, b_row: int,
    out: Floats, out_at: int, out_row: int,
) -> None:  # fmt: skip
    """Write out[i, j] = Σ_k a[i, k] b[k, j], or add it to them.

    All are flat arrays: a[i, k] is at a_at + i a_row + k a_column, b[k, j] at b_at + k b_row + j, and
    out[i, j] at out_at + i out_row + j. The width must be a multiple of a line. ``tile`` and ``line`` are
    `TILE` and `LINE`.
    """
    lanes = BYTES // b.itemsize
    wide = len(tile) * lanes
    whole = width // wide * wide
    for j in range(0, whole, wide):
        _columns(
            tile, add, rows, depth, a, a_at, a_row, a_column, b, b_at + j, b_row, out, out_at + j, out_row
        )
    for j in range(whole, width, lanes):
        _columns(
            line, add, rows, depth, a, a_at, a_row, a_column, b, b_at + j, b_row, out, out_at + j, out_row
        )
