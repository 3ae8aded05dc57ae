"""Products of weights with a matrix that is mostly zero after a ReLU and dropout, on the CPU.

Only the quarter of the numbers that is not zero is multiplied. Weights lie in panels of a few lines; a panel
stays in the cache while many rows pass, and the sums of a row and panel stay in registers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import blocks, kernel, run_blocks, shares
from fieldconv.ops.compiled.simd import (
    BYTES,
    Count,
    add_each,
    load,
    load_each,
    load_scalar,
    multiply_lines,
    store,
    store_each,
    sum_lanes,
    zero,
)

EACH = (0, 0, 0, 0)  # as many items as a panel has lines
ROWS = 256  # multiplied by one panel of weights before the next
SUMMED_ROWS = 64  # whose gradients are summed in registers before they are added to those of a panel


class NonZeros(NamedTuple):
    """The numbers of a matrix that are not zero, row by row: those of row p are first[p] … first[p + 1]."""

    first: Ints
    column: Ints
    value: Floats


class Panels(NamedTuple):
    """A matrix (n, width) in panels; the last one is filled up with zeros."""

    matrix: Floats
    last: Floats  # (n, columns) if the last panel is not whole, else empty
    width: int
    columns: int


@kernel
def _find(x: Floats, keep: Floats, first: Ints, column: Ints, value: Floats) -> None:
    """Write the numbers of ReLU(x) ⊙ keep that are not zero, NaN among them."""
    none, count = x.dtype.type(0), 0
    for p in range(x.shape[0]):
        for k in range(x.shape[1]):
            number = (none if x[p, k] <= none else x[p, k]) * keep[p, k]
            column[count], value[count] = k, number
            count += number != none
        first[p + 1] = count


@kernel
def _find_columns(numbers: NonZeros, begin: int, end: int, place: Ints, result: NonZeros) -> None:
    """Sort the numbers of rows begin … end by columns: those of k are place[k] … place[k + 1].

    The result has their rows where ``numbers`` has their columns.
    """
    place[:] = 0
    start, stop = numbers.first[begin], numbers.first[end]
    for e in range(start, stop):
        place[numbers.column[e] + 1] += 1
    place[0] = start
    for k in range(1, len(place)):
        place[k] += place[k - 1]
    following = place[:-1].copy()
    for p in range(begin, end):
        for e in range(numbers.first[p], numbers.first[p + 1]):
            k = numbers.column[e]
            result.column[following[k]], result.value[following[k]] = p, numbers.value[e]
            following[k] += 1


@kernel
def _strip(panels: Panels, panel: int) -> tuple[Floats, int, int]:
    """Return where a panel of a matrix lies: an array, where its first row begins, and from row to row."""
    if (panel + 1) * panels.columns <= panels.width:
        return panels.matrix, panel * panels.columns, panels.width
    return panels.last, 0, panels.columns


@kernel
def _multiply(
    each: Count, numbers: NonZeros, weights: Floats, bias: Floats, out: Panels, begin: int, end: int
) -> None:
    """out[p] = bias + Σ_k numbers[p,k] weights[k] for rows begin … end; weights (panels, K, columns)."""
    count, width, columns = weights.shape
    flat = weights.ravel()
    for panel in range(count):
        target, at, step = _strip(out, panel)
        for p in range(begin, end):
            sums = load_each(bias, panel * columns, each)
            for e in range(numbers.first[p], numbers.first[p + 1]):
                row = panel * width + load_scalar(numbers.column, e)
                sums = add_each(sums, load_scalar(numbers.value, e), load_each(flat, row * columns, each))
            store_each(target, at + p * step, sums)


@kernel
def _by_numbers(
    each: Count, numbers: NonZeros, weights: Floats, gradient: Panels, result: Floats, begin: int, end: int
) -> None:
    """result[p,k] = Σ_o gradient[p,o] weights[k,o] for rows begin … end, where a number is not zero."""
    count, width, columns = weights.shape
    flat, start = weights.ravel(), numbers.first[begin]
    nothing = zero(load(flat, 0))
    lanes = columns // len(each)
    sums = np.empty((numbers.first[end] - start) * lanes, weights.dtype)
    for at in range(0, len(sums), lanes):
        store(sums, at, nothing)
    for panel in range(count):
        source, first, step = _strip(gradient, panel)
        for p in range(begin, end):
            here = load_each(source, first + p * step, each)
            for e in range(numbers.first[p], numbers.first[p + 1]):
                at = (e - start) * lanes
                row = panel * width + load_scalar(numbers.column, e)
                store(sums, at, multiply_lines(here, flat, row * columns, load(sums, at)))
    for p in range(begin, end):
        for e in range(numbers.first[p], numbers.first[p + 1]):
            result[p, numbers.column[e]] = sum_lanes(load(sums, (e - start) * lanes))


@kernel
def _by_weights(
    each: Count, numbers: NonZeros, gradient: Panels, result: Floats, begin: int, end: int
) -> None:
    """result[k] = Σ_p numbers[p,k] gradient[p] for panels begin … end; result (panels, K, columns).

    Of every block of rows, ``numbers`` has a list sorted by columns, see `_find_columns`.
    """
    _, width, columns = result.shape
    flat = result.ravel()
    for block in range(len(numbers.first)):
        for panel in range(begin, end):
            source, first, step = _strip(gradient, panel)
            for k in range(width):
                at = (panel * width + k) * columns
                sums = load_each(flat, at, each)
                for e in range(numbers.first[block, k], numbers.first[block, k + 1]):
                    lines = load_each(source, first + load_scalar(numbers.column, e) * step, each)
                    sums = add_each(sums, load_scalar(numbers.value, e), lines)
                store_each(flat, at, sums)


def _columns(dtype: torch.dtype) -> int:
    """Numbers in a row of a panel."""
    return len(EACH) * BYTES // dtype.itemsize


def _nonzeros(x: Tensor, keep: Tensor) -> NonZeros:
    numbers = x.contiguous().numpy()
    first = np.zeros(len(numbers) + 1, np.int64)
    column, value = np.empty(x.numel() + 1, np.int32), np.empty(x.numel() + 1, numbers.dtype)
    _find(numbers, keep.contiguous().numpy(), first, column, value)
    return NonZeros(first, column, value)


def _weight_panels(weight: Tensor) -> Floats:
    """Weights (O, K) as (panels, K, columns)."""
    columns = _columns(weight.dtype)
    missing = -len(weight) % columns
    if missing:
        weight = torch.cat([weight, weight.new_zeros(missing, weight.shape[1])])
    panels: Floats = weight.reshape(-1, columns, weight.shape[1]).transpose(1, 2).contiguous().numpy()
    return panels


def _panels(matrix: Tensor) -> Panels:
    columns = _columns(matrix.dtype)
    whole = matrix.shape[1] // columns * columns
    last = matrix.new_zeros(len(matrix), columns if whole < matrix.shape[1] else 0)
    last[:, : matrix.shape[1] - whole] = matrix[:, whole:]
    return Panels(matrix.numpy().reshape(-1), last.numpy().reshape(-1), matrix.shape[1], columns)


def relu_linear(x: Tensor, weight: Tensor, bias: Tensor, keep: Tensor) -> Tensor:
    """Return (ReLU(x) ⊙ keep) Wᵀ + b."""
    out = torch.empty(len(x), len(weight), dtype=x.dtype)
    numbers, weights, panels = _nonzeros(x, keep), _weight_panels(weight), _panels(out)
    padded = np.zeros(weights.shape[0] * panels.columns, weights.dtype)
    padded[: len(bias)] = bias.numpy()
    run_blocks(
        lambda begin, end: _multiply(EACH, numbers, weights, padded, panels, begin, end),
        blocks(len(x), ROWS),
    )
    if panels.last.size:
        rest = len(weight) % panels.columns
        out[:, -rest:] = torch.from_numpy(panels.last).view(len(x), -1)[:, :rest]
    return out


def relu_linear_backward(
    x: Tensor, weight: Tensor, bias: Tensor, gradient: Tensor, keep: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by x, the weights and the bias, from that by `relu_linear` of them."""
    numbers, weights, panels = _nonzeros(x, keep), _weight_panels(weight), _panels(gradient.contiguous())
    parts, by_numbers = blocks(len(x), SUMMED_ROWS), torch.zeros(x.shape, dtype=x.dtype)
    run_blocks(
        lambda begin, end: _by_numbers(EACH, numbers, weights, panels, by_numbers.numpy(), begin, end),
        parts,
    )

    places = np.empty((len(parts), x.shape[1] + 1), np.int64)
    by_columns = NonZeros(places, np.empty_like(numbers.column), np.empty_like(numbers.value))
    for part, place in zip(parts, places, strict=True):
        _find_columns(numbers, *part, place, by_columns)
    by_weights = np.zeros_like(weights)
    run_blocks(
        lambda begin, end: _by_weights(EACH, by_columns, panels, by_weights, begin, end),
        shares(len(weights)),
    )
    by_weight = torch.from_numpy(by_weights).transpose(1, 2).reshape(-1, x.shape[1])[: len(weight)]
    return by_numbers * keep, by_weight, gradient.sum(0)
