"""Operations on each tangent vector by itself on the CPU, each in one pass over the features."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fieldconv._arrays import Floats
from fieldconv._compiled import blocks, copy_into, kernel, run_blocks
from fieldconv.ops.vectors import min_length

CHUNK = 1024  # features at a time, whose directions fit in the first-level cache
BLOCK = 16 * 1024  # features that one thread takes at a time


@kernel
def directions(x: Floats, tiny: float, real: Floats, imag: Floats) -> None:
    """Write x/|x| of interleaved complex numbers, 0 where both parts are below ``tiny``."""
    one, zero = x.dtype.type(1), x.dtype.type(0)
    for i in range(len(x) // 2):
        scale = max(abs(x[2 * i]), abs(x[2 * i + 1]))
        directed = scale >= tiny
        scale = scale if directed else one
        a, b = x[2 * i] / scale, x[2 * i + 1] / scale
        length = np.sqrt(a * a + b * b)
        length = length if directed else one
        real[i] = a / length if directed else zero
        imag[i] = b / length if directed else zero


def floats(values: Tensor) -> Floats:
    """Return complex numbers (…) as interleaved floats (…, 2) in contiguous memory."""
    array: Floats = torch.view_as_real(values.resolve_conj().contiguous()).numpy()
    return array


def min_part(x: Tensor) -> float:
    """Return the bound below which both parts of a number are too small to give it a direction."""
    limits = torch.finfo(x.dtype)
    return np.dtype(limits.dtype).type(limits.tiny)  # type: ignore[no-any-return]


@kernel
def _rotate(source: Floats, a: Floats, b: Floats, side: float, out: Floats) -> None:
    """Write interleaved complex numbers times a ± ib."""
    for i in range(len(a)):
        real, imag, sin = source[2 * i], source[2 * i + 1], side * b[i]
        out[2 * i] = real * a[i] - imag * sin
        out[2 * i + 1] = imag * a[i] + real * sin


@kernel
def _lift(first: int, last: int, tiny: float, x: Floats, y: Floats, length: Floats) -> None:
    """y[B + m] = x ū^m for the features first … last; these arrays interleaved complex.

    ``length`` becomes |x|, the real part of y[B + 1], unless it is empty.
    """
    orders, size = y.shape
    flat = y.ravel()  # slices of a flat array are known to be contiguous, so that loops become vectors
    one, centre = x.dtype.type(1), orders // 2 * size
    directions_real, directions_imag = np.empty(CHUNK, x.dtype), np.empty(CHUNK, x.dtype)
    for start in range(first, last, CHUNK):
        stop = min(start + CHUNK, last)
        here = x[2 * start : 2 * stop]
        a, b = directions_real[: stop - start], directions_imag[: stop - start]
        directions(here, tiny, a, b)
        copy_into(here, flat[centre + 2 * start : centre + 2 * stop])
        for m in range(1, orders // 2 + 1):
            for side, step in ((-one, size), (one, -size)):  # on to m, and on to −m
                at, before = centre + m * step, centre + (m - 1) * step
                source = flat[before + 2 * start : before + 2 * stop]
                _rotate(source, a, b, side, flat[at + 2 * start : at + 2 * stop])
        for i in range(start, min(stop, len(length))):
            length[i] = flat[centre + size + 2 * i]


@kernel
def _add_rotated(power: int, a: Floats, b: Floats, gradient: Floats, along: Floats, across: Floats) -> None:
    """Add the gradient of |x| u^k, k = power, by x along u and across it; a + ib is u^k."""
    factor = a.dtype.type(power)
    for i in range(len(gradient) // 2):
        c, d = gradient[2 * i], gradient[2 * i + 1]
        along[i] += c * a[i] + d * b[i]
        across[i] += factor * (d * a[i] - c * b[i])


@kernel
def _multiply(a: Floats, b: Floats, c: Floats, d: Floats, sign: float) -> None:
    """a + ib ← (a + ib)(c ± id)"""
    for i in range(len(a)):
        real = a[i] * c[i] - sign * b[i] * d[i]
        b[i] = sign * a[i] * d[i] + b[i] * c[i]
        a[i] = real


@kernel
def _lift_backward(
    first: int, last: int, tiny: float, x: Floats, gradient: Floats, by_length: Floats, result: Floats
) -> None:
    """Y_m = |x| u^k with k = 1 − m, so dY_m = u^k (α + ikβ) where α + iβ = ū dx: nothing to divide by.

    ``by_length`` has the gradient by Y_1 = |x|, which replaces that in ``gradient``, or is empty.
    """
    band_limit = len(gradient) // 2
    one = x.dtype.type(1)
    u, power = np.empty((2, CHUNK), x.dtype), np.empty((2, CHUNK), x.dtype)
    along_across = np.empty((2, CHUNK), x.dtype)
    for start in range(first, last, CHUNK):
        stop = min(start + CHUNK, last)
        count = stop - start
        real, imag = u[0, :count], u[1, :count]
        a, b = power[0, :count], power[1, :count]
        along, across = along_across[0, :count], along_across[1, :count]
        directions(x[2 * start : 2 * stop], tiny, real, imag)
        if len(by_length):
            copy_into(by_length[start:stop], along)
        else:
            along[:] = 0
        across[:] = 0
        for side in (one, -one):  # m = 1, 2, … from u^0 on, then m = −1, −2, … from u^2 on
            copy_into(real, a)
            copy_into(imag, b)
            _multiply(a, b, real, imag, -side)
            for step in range(1, band_limit + 1):
                m = step if side > 0 else -step
                if m != 1 or len(by_length) == 0:
                    _add_rotated(1 - m, a, b, gradient[band_limit + m, 2 * start : 2 * stop], along, across)
                _multiply(a, b, real, imag, -side)
        straight, out = gradient[band_limit, 2 * start : 2 * stop], result[2 * start : 2 * stop]
        for i in range(count):
            out[2 * i] = straight[2 * i] + real[i] * along[i] - imag[i] * across[i]
            out[2 * i + 1] = straight[2 * i + 1] + imag[i] * along[i] + real[i] * across[i]


def lift(x: Tensor, band_limit: int, length: Tensor | None = None) -> Tensor:
    """Return Y_m = x ū^m for m = −B … B, (2B+1, n, C), and write |x| into ``length``, (n, C), if given."""
    y = torch.empty(2 * band_limit + 1, *x.shape, dtype=x.dtype)
    source, out = floats(x).reshape(-1), floats(y).reshape(2 * band_limit + 1, -1)
    lengths = source[:0] if length is None else length.numpy().reshape(-1)
    tiny = min_part(x)
    run_blocks(
        lambda first, last: _lift(first, last, tiny, source, out, lengths), blocks(x.numel(), 32 * CHUNK)
    )
    return y


def lift_backward(x: Tensor, gradient: Tensor, band_limit: int, by_length: Tensor | None = None) -> Tensor:
    """Return the gradient by x from that by `lift` of x; one by |x|, (n, C), replaces that by Y_1."""
    result = torch.empty(x.shape, dtype=x.dtype)
    source, out = floats(x).reshape(-1), floats(result).reshape(-1)
    incoming = floats(gradient).reshape(2 * band_limit + 1, -1)
    by_lengths = source[:0] if by_length is None else by_length.numpy().reshape(-1)
    tiny = min_part(x)
    run_blocks(
        lambda first, last: _lift_backward(first, last, tiny, source, incoming, by_lengths, out),
        blocks(x.numel(), 32 * CHUNK),
    )
    return result


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


def magnitude_relu(x: Tensor, offset: Tensor) -> Tensor:
    """Return ReLU(ρ + b) e^{iφ} of vectors ρe^{iφ}, and 0 where a vector is zero."""
    result = torch.empty(x.shape, dtype=x.dtype)
    source, out = _rows(x), _rows(result)
    offsets, short = offset.contiguous().numpy(), source.dtype.type(min_length(x))
    run_blocks(lambda first, last: _relu(first, last, short, source, offsets, out), _blocks(x))
    return result


def magnitude_relu_backward(x: Tensor, offset: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
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
