"""ECHO votes on the CPU: one receiver's images at a time, small enough to stay in the first-level cache.

Edge by edge, three short loops over channels: where the votes fall (arithmetic on whole vectors), the four
pixels there (four neighbouring numbers at two addresses), and what becomes of them (vectors again).

Backward, the receivers are cut into a fixed number of blocks, each with its own sums for all senders. So
results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fieldconv._arrays import Floats, Ints
from fieldconv._compiled import kernel, num_threads, run_blocks
from fieldconv.ops.compiled.pointwise_kernels import directions, floats, min_part
from fieldconv.ops.compiled.simd import (
    BYTES,
    floor,
    load,
    load_four,
    load_quads,
    load_scalar,
    magnitude,
    store,
    store_quads,
    where_positive,
)
from fieldconv.ops.compiled.sorted_edges import Edges, sorted_edges
from fieldconv.ops.disc import disc_cells
from fieldconv.ops.geometry import Geometry

if TYPE_CHECKING:
    from llvmlite.ir import Value

GRADIENT_BLOCKS = 8  # of receivers, each with its own sums


class Cast(NamedTuple):
    """What the kernels read: the votes of all edges, and the images they fall into.

    The vote of an edge is its transport times the sender's value. Its place is the edge's direction times its
    distance, turned back by the direction of the value.
    """

    edges: Edges  # with w for w e^{iφ}, unless votes are vectors
    features: Floats  # (n, 4, D padded) of senders in order: real and imaginary part of value and direction
    cell_start: Ints  # (H,) where each cell of the disc begins in an image of interleaved complex numbers
    image: Floats  # (n, 2 D H) sums of vector votes, interleaved; empty if votes are no vectors
    radial_samples: int
    tiny: float  # see `min_part`


@kernel
def _between(place: Value, end: float) -> tuple[Value, Value]:
    """Return the lower of the two pixels a place is between, 0 … end, and how far on to the next it is."""
    place = where_positive(place, place, end - end)
    pixel = floor(where_positive(end - place, place, end))
    return pixel, place - pixel


@kernel
def _vote(first: int, last: int, cast: Cast, magnitudes: Floats) -> None:
    """Fill images and magnitudes of the receivers first … last; only the latter if votes are no vectors."""
    edges, features, cell_start, image, radial_samples, tiny = cast
    factor, direction, distance = edges.transport, edges.direction, edges.distance
    number = features.dtype.type
    cells, width = len(cell_start), features.shape[2]
    channels = magnitudes.shape[1] // cells
    lanes = BYTES // features.itemsize
    side = 2 * radial_samples + 2
    size = 2 * side * side
    none, half, one, two = number(0), number(0.5), number(1), number(2)
    pixels, middle, end = number(radial_samples), number(radial_samples + 0.5), number(2 * radial_samples)
    values = features.ravel()
    votes, centre = np.empty(channels * size, values.dtype), np.empty(2 * width, values.dtype)
    at, lower = np.empty(width, values.dtype), np.empty(width, values.dtype)
    sides = np.empty(4 * width, values.dtype)
    vector, spare = len(image) > 0, np.empty(2 * channels * cells, values.dtype)
    for rank in range(first, last):
        p = edges.point[rank]
        votes[:] = 0
        centre[:] = 0
        for e in range(edges.offsets[rank], edges.offsets[rank + 1]):
            reach = pixels * distance[e]
            real, imag = factor[0, e], factor[1, e]
            east, north = reach * direction[0, e], reach * direction[1, e]
            near_centre = reach * reach < half  # else the centre's tent is out of reach
            start = 4 * width * edges.neighbour[e]
            for d in range(0, width, lanes):
                a, b = load(values, start + d), load(values, start + width + d)
                u, v = load(values, start + 2 * width + d), load(values, start + 3 * width + d)
                a, b = real * a - imag * b, imag * a + real * b
                x, y = east * u + north * v, north * u - east * v
                if near_centre:
                    wide, high = one - two * magnitude(x), one - two * magnitude(y)
                    share = where_positive(wide, wide, none) * where_positive(high, high, none)
                    store(centre, d, load(centre, d) + share * a)
                    store(centre, width + d, load(centre, width + d) + share * b)
                    a, b = a - share * a, b - share * b
                column, right = _between(x + middle, end)
                row, below = _between(y + middle, end)
                store(at, d, number(2 * side) * row + two * column)
                store(lower, d, below)
                store_quads(sides, 4 * d, 4, a - right * a, b - right * b, right * a, right * b)
            for d in range(channels):
                upper = d * size + int(load_scalar(at, d))
                under = upper + 2 * side
                both = load_four(sides, 4 * d)
                low = load_scalar(lower, d) * both
                store(votes, upper, load_four(votes, upper) + (both - low))
                store(votes, under, load_four(votes, under) + low)
        here, out = image[p] if vector else spare, magnitudes[p]
        for d in range(channels):
            at_last = 2 * (d * cells + cells - 1)
            for h in range(0, cells - 1, 2):  # pixels in the disc come in pairs of neighbours
                store(here, 2 * (d * cells + h), load_four(votes, d * size + load_scalar(cell_start, h)))
            here[at_last], here[at_last + 1] = centre[d], centre[width + d]
        if vector:
            _lengths(here, tiny, out)
        else:
            for i in range(channels * cells):
                out[i] = here[2 * i]


@kernel
def _lengths(x: Floats, tiny: float, result: Floats) -> None:
    """Write |x| of interleaved complex numbers, and 0 where both parts are below ``tiny``."""
    one, zero = x.dtype.type(1), x.dtype.type(0)
    for i in range(len(result)):
        scale = max(abs(x[2 * i]), abs(x[2 * i + 1]))
        directed = scale >= tiny
        scale = scale if directed else one
        a, b = x[2 * i] / scale, x[2 * i + 1] / scale
        # Times zero, so that NaN stays NaN.
        result[i] = scale * np.sqrt(a * a + b * b) if directed else zero * (abs(x[2 * i]) + abs(x[2 * i + 1]))


@kernel
def _vote_backward(first: int, last: int, cast: Cast, gradient: Floats, result: Floats) -> None:
    """Add the gradients of all senders by the receivers first … last, along their directions and across.

    A vote is |x| v with v = factor · value (here values of length 1), and turning x by dβ turns its place
    s by −dβ. So with g the gradient of the picture at s, d|x| sees Re(ḡv), and |x| dβ sees −Im(ḡv), if the
    vote turns with x, and the change of Re(ḡv) as s turns.
    """
    edges, features, cell_start, image, radial_samples, tiny = cast
    factor, direction, distance = edges.transport, edges.direction, edges.distance
    number = features.dtype.type
    cells, width = len(cell_start), features.shape[2]
    channels = gradient.shape[1] // cells
    lanes = BYTES // features.itemsize
    side = 2 * radial_samples + 2
    size = 2 * side * side
    none, half, one, two = number(0), number(0.5), number(1), number(2)
    pixels, middle, end = number(radial_samples), number(radial_samples + 0.5), number(2 * radial_samples)
    turns = number(len(image) > 0)
    values, sums = features.ravel(), result.ravel()
    pictures, centre = np.zeros(channels * size, values.dtype), np.zeros(2 * width, values.dtype)
    at, lower = np.empty(width, values.dtype), np.empty(width, values.dtype)
    further = np.empty(width, values.dtype)
    at_place, slope = np.zeros(4 * width, values.dtype), np.zeros(4 * width, values.dtype)
    across = np.empty(2 * channels * cells, values.dtype)
    # Votes that are not vectors count as vectors that all point the same way.
    u_real, u_imag = np.ones(channels * cells, values.dtype), np.zeros(channels * cells, values.dtype)
    for rank in range(first, last):
        p = edges.point[rank]
        if len(image) > 0:
            directions(image[p], tiny, u_real, u_imag)
        incoming = gradient[p]
        for i in range(channels * cells):
            across[2 * i], across[2 * i + 1] = incoming[i] * u_real[i], incoming[i] * u_imag[i]
        for d in range(channels):
            at_last = 2 * (d * cells + cells - 1)
            for h in range(0, cells - 1, 2):
                store(pictures, d * size + load_scalar(cell_start, h), load_four(across, 2 * (d * cells + h)))
            centre[d], centre[width + d] = across[at_last], across[at_last + 1]
        for e in range(edges.offsets[rank], edges.offsets[rank + 1]):
            reach = pixels * distance[e]
            real, imag = factor[0, e], factor[1, e]
            east, north = reach * direction[0, e], reach * direction[1, e]
            near_centre = reach * reach < half  # else the centre's tent is out of reach
            start = 4 * width * edges.neighbour[e]
            for d in range(0, width, lanes):
                u, v = load(values, start + 2 * width + d), load(values, start + 3 * width + d)
                column, right = _between(east * u + north * v + middle, end)
                row, below = _between(north * u - east * v + middle, end)
                store(at, d, number(2 * side) * row + two * column)
                store(lower, d, below)
                store(further, d, right)
            for d in range(channels):
                upper = load_four(pictures, d * size + int(load_scalar(at, d)))
                rise = load_four(pictures, d * size + int(load_scalar(at, d)) + 2 * side) - upper
                store(at_place, 4 * d, upper + load_scalar(lower, d) * rise)
                store(slope, 4 * d, rise)
            for d in range(0, width, lanes):
                a, b = load(values, start + d), load(values, start + width + d)
                u, v = load(values, start + 2 * width + d), load(values, start + 3 * width + d)
                a, b = real * a - imag * b, imag * a + real * b
                x, y = east * u + north * v, north * u - east * v
                right = load(further, d)
                left_re, left_im, right_re, right_im = load_quads(at_place, 4 * d)
                left_re_by_y, left_im_by_y, right_re_by_y, right_im_by_y = load_quads(slope, 4 * d)
                re_by_x, im_by_x = right_re - left_re, right_im - left_im
                re_by_y = left_re_by_y + right * (right_re_by_y - left_re_by_y)
                im_by_y = left_im_by_y + right * (right_im_by_y - left_im_by_y)
                re, im = left_re + right * re_by_x, left_im + right * im_by_x
                by_x, by_y = a * re_by_x + b * im_by_x, a * re_by_y + b * im_by_y
                if near_centre:
                    wide, high = one - two * magnitude(x), one - two * magnitude(y)
                    wide, high = where_positive(wide, wide, none), where_positive(high, high, none)
                    share = wide * high
                    own_re, own_im = load(centre, d) - re, load(centre, width + d) - im
                    own = a * own_re + b * own_im
                    steep_x = where_positive(wide, where_positive(x, -two, two), none) * high
                    steep_y = where_positive(high, where_positive(y, -two, two), none) * wide
                    by_x, by_y = by_x - share * by_x + steep_x * own, by_y - share * by_y + steep_y * own
                    re, im = re + share * own_re, im + share * own_im
                along = 2 * width * edges.neighbour[e] + d
                about = along + width
                store(sums, along, load(sums, along) + (a * re + b * im))
                swing = turns * (a * im - b * re) + (by_x * y - by_y * x)
                store(sums, about, load(sums, about) + swing)


def _features(x: Tensor, edges: Edges, sized: bool, vector: bool) -> Floats:
    """Return the values to be cast as votes, of length 1 unless ``sized``; see `Cast`."""
    count, channels = x.shape
    numbers = floats(x)[edges.point]
    u = np.empty((2, count, channels), numbers.dtype)
    directions(numbers.reshape(-1), min_part(x), u[0].reshape(-1), u[1].reshape(-1))
    size = numbers[..., 0] * u[0] + numbers[..., 1] * u[1] if sized else np.ones_like(u[0])
    features = np.zeros((count, 4, channels + -channels % (BYTES // numbers.itemsize)), numbers.dtype)
    features[:, 0, :channels] = size * u[0] if vector else size
    features[:, 1, :channels] = size * u[1] if vector else 0
    features[:, 2, :channels], features[:, 3, :channels] = u
    return features


def _rows(values: Floats) -> Floats:
    return values.reshape(len(values), -1) if len(values) else values.reshape(0, 0)


def cast_of(
    x: Tensor, geometry: Geometry, image: Tensor, radial_samples: int, vector: bool, sized: bool
) -> Cast:
    """Return the votes of the features, or of features of length 1 unless ``sized``."""
    edges = sorted_edges(geometry, len(x), 1, "linear", x.real.dtype, not vector)
    return Cast(
        edges,
        _features(x, edges, sized, vector),
        2 * np.array(disc_cells(radial_samples)),
        _rows(floats(image)),
        radial_samples,
        min_part(x),
    )


def vote(x: Tensor, geometry: Geometry, radial_samples: int, vector: bool) -> tuple[Tensor, Tensor]:
    """Return descriptors (n, D, H) and, of vector votes, the complex images (n, D, H) they are lengths of."""
    descriptors = x.real.new_empty(*x.shape, len(disc_cells(radial_samples)))
    image = x.new_empty(descriptors.shape if vector else (0, 0, 0))
    cast = cast_of(x, geometry, image, radial_samples, vector, sized=True)
    out = _rows(descriptors.numpy())
    run_blocks(lambda first, last: _vote(first, last, cast, out), cast.edges.blocks(4 * num_threads()))
    return descriptors, image


def vote_backward(
    x: Tensor, gradient: Tensor, image: Tensor, geometry: Geometry, radial_samples: int, vector: bool
) -> Tensor:
    """Return the gradient with respect to x."""
    cast = cast_of(x, geometry, image, radial_samples, vector, sized=False)
    incoming = _rows(gradient.contiguous().numpy())
    blocks = cast.edges.blocks(GRADIENT_BLOCKS)
    results = np.zeros((len(blocks), len(x), 2, cast.features.shape[2]), cast.features.dtype)
    run_blocks(
        lambda first, last, result: _vote_backward(first, last, cast, incoming, result),
        [(*block, result) for block, result in zip(blocks, results, strict=True)],
    )
    channels = x.shape[1]
    result = results.sum(axis=0)
    along, about = torch.from_numpy(result[:, :, :channels]).unbind(1)
    real, imag = torch.from_numpy(cast.features[:, 2:, :channels]).unbind(1)
    by_x = torch.complex(real * along - imag * about, imag * along + real * about)
    return torch.empty_like(by_x).index_copy_(0, torch.from_numpy(cast.edges.point).long(), by_x)
