"""`magnitude_relu` and its derivative on the CPU, each in one pass over the features."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fieldconv._compiled import Floats, blocks, kernel, run_blocks
from fieldconv.ops.compiled.direction_kernels import floats
from fieldconv.ops.direction import min_length

BLOCK = 16 * 1024  # features that one thread takes at a time


@kernel
def _polar(x: Floats, short: float, length: Floats, real: Floats, imag: Floats) -> None:
    """Write |x| and x/|x| of interleaved complex numbers, or 1 and 0 if they are below ``short``."""
    one, zero = x.dtype.type(1), x.dtype.type(0)
    for i in range(len(length)):
        a, b = x[2 * i], x[2 * i + 1]
        scale = max(abs(a), abs(b))
        directed = scale >= short
        scale = scale if directed else one
        a, b = a / scale, b / scale
        norm = np.sqrt(a * a + b * b)
        norm = norm if directed else one
        length[i] = scale * norm
        real[i] = a / norm if directed else zero
        imag[i] = b / norm if directed else zero


@kernel
def _relu(first: int, last: int, short: float, x: Floats, offset: Floats, result: Floats) -> None:
    zero = x.dtype.type(0)
    length, real, imag = np.empty_like(offset), np.empty_like(offset), np.empty_like(offset)
    for row in range(first, last):
        out = result[row]
        _polar(x[row], short, length, real, imag)
        for c in range(len(offset)):
            size = length[c] + offset[c]
            size = zero if size <= zero else size  # NaN stays NaN
            out[2 * c], out[2 * c + 1] = size * real[c], size * imag[c]


@kernel
def _relu_backward(
    first: int,
    last: int,
    short: float,
    x: Floats,
    offset: Floats,
    gradient: Floats,
    result: Floats,
    by_offset: Floats,
) -> None:
    """The output is r u with r = ReLU(|x| + b): if r > 0, it changes along u as |x| + b, across as r u."""
    zero = x.dtype.type(0)
    length, real, imag = np.empty_like(offset), np.empty_like(offset), np.empty_like(offset)
    for row in range(first, last):
        incoming, out = gradient[row], result[row]
        _polar(x[row], short, length, real, imag)
        for c in range(len(offset)):
            a, b = real[c], imag[c]
            g, h = incoming[2 * c], incoming[2 * c + 1]
            size = length[c] + offset[c]
            along = g * a + h * b
            along = zero if size <= zero else along
            size = zero if size <= zero else size
            across = (h * a - g * b) * (size / length[c])
            out[2 * c], out[2 * c + 1] = a * along - b * across, b * along + a * across
            by_offset[c] += along


def _blocks(x: Tensor) -> list[tuple[int, int]]:
    step = max(BLOCK // max(x.shape[1], 1), 1)
    return blocks(len(x), step)


def _rows(x: Tensor) -> Floats:
    return floats(x).reshape(len(x), 2 * x.shape[1])


def relu(x: Tensor, offset: Tensor) -> Tensor:
    """Return ReLU(ρ + b) e^{iφ} of vectors ρe^{iφ}, and 0 where a vector is zero."""
    result = torch.empty(x.shape, dtype=x.dtype)
    source, out = _rows(x), _rows(result)
    offsets, short = offset.contiguous().numpy(), source.dtype.type(min_length(x))
    run_blocks(lambda first, last: _relu(first, last, short, source, offsets, out), _blocks(x))
    return result


def relu_backward(x: Tensor, offset: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients with respect to x and the offset."""
    result = torch.empty(x.shape, dtype=x.dtype)
    source, out = _rows(x), _rows(result)
    incoming = _rows(gradient)
    offsets, short = offset.contiguous().numpy(), source.dtype.type(min_length(x))
    parts = _blocks(x)
    sums = np.zeros((len(parts), len(offset)), source.dtype)  # a row for each block: threads change nothing
    run_blocks(
        lambda first, last, own: _relu_backward(first, last, short, source, offsets, incoming, out, own),
        [(*block, own) for block, own in zip(parts, sums, strict=True)],
    )
    return result, torch.from_numpy(sums.sum(axis=0))
