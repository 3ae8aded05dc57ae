"""ECHO votes for a few receivers at a time.

Every edge and channel votes at a place of its own, so what belongs to a vote is computed for a chunk of
edges, summed into the images of their receivers, and dropped; the backward pass computes it again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from fieldconv.ops.disc import disc_cells
from fieldconv.ops.geometry import Geometry, cached
from fieldconv.ops.vectors import unit

CPU_CHUNK = 2**15  # votes at a time: few enough to stay in the cache
DEVICE_CHUNK = 2**22  # enough to keep a graphics card busy


class SortedEdges(NamedTuple):
    """Edges sorted by receiver."""

    first: list[int]  # (n + 1,) the first edge of each receiver
    sender: Tensor
    receiver: Tensor
    transport: Tensor  # (E, 2) w e^{iφ}, real and imaginary part
    weight: Tensor  # (E,)
    place: Tensor  # (E, 2) r/ε e^{iθ}

    def chunks(self, size: int) -> Iterator[tuple[slice, slice]]:
        """Yield ranges of receivers with the ranges of their edges, up to ``size`` edges in each."""
        start = 0
        while start < len(self.first) - 1:
            stop = max(bisect_right(self.first, self.first[start] + size) - 1, start + 1)
            yield slice(start, stop), slice(self.first[start], self.first[stop])
            start = stop


def _sort(geometry: Geometry, points: int, dtype: torch.dtype) -> SortedEdges:
    geometry.check_points(points)
    sender, receiver = geometry.edge_index
    order = receiver.argsort(stable=True)
    receiver = receiver[order]
    place = geometry.distance() * geometry.direction()
    return SortedEdges(
        torch.searchsorted(receiver, torch.arange(points + 1, device=receiver.device)).tolist(),
        sender[order],
        receiver,
        torch.view_as_real((geometry.weight * geometry.transport)[order]).to(dtype),
        geometry.weight[order].to(dtype),
        torch.view_as_real(place[order]).to(dtype),
    )


class Votes(NamedTuple):
    """The votes for some receivers; tensors without another shape are (edges, D)."""

    receivers: slice
    sender: Tensor  # (edges,)
    receiver: Tensor  # (edges,) counted from the first of the receivers
    parts: tuple[Tensor, ...]  # real and imaginary part; magnitudes alone have one
    x: Tensor  # place in pixels, from the middle of the image
    y: Tensor
    corner: Tensor  # (edges · D,) int64: the upper left of the four pixels, among all pixels of the chunk
    right: Tensor  # how far the place is from there to the right, 0 … 1
    below: Tensor
    wide: Tensor  # the centre's tent in both directions
    high: Tensor


def _votes(
    value: tuple[Tensor, ...], u: Tensor, geometry: Geometry, radial_samples: int, chunk: int | None
) -> Iterator[Votes]:
    """Yield the votes in chunks: values of the senders times the factors of edges, placed by directions u."""
    points, channels = u.shape
    edges = cached(geometry, ("votes", points, u.dtype), lambda: _sort(geometry, points, u.real.dtype))
    side = 2 * radial_samples + 2
    features = torch.cat([*value, u.real, u.imag], dim=1)
    image = torch.arange(0, channels * side * side, side * side, device=u.device)  # where channels begin

    def between(place: Tensor) -> tuple[Tensor, Tensor]:
        """Return the lower of the two pixels a place is between, and how far on to the next one it is."""
        place = (place + (radial_samples + 0.5)).clamp_(0, side - 1.001)
        pixel = place.floor()
        return pixel, place.sub_(pixel)

    chunk = chunk or (CPU_CHUNK if u.device.type == "cpu" else DEVICE_CHUNK)
    for receivers, some in edges.chunks(chunk // max(channels, 1)):
        sender, receiver = edges.sender[some], edges.receiver[some] - receivers.start
        *own, cos, sin = features.index_select(0, sender).chunk(len(value) + 2, dim=1)
        if len(own) == 2:
            real, imag = edges.transport[some, :1], edges.transport[some, 1:]
            turned = (imag * own[0]).addcmul_(real, own[1])
            own = [(real * own[0]).addcmul_(imag, own[1], value=-1), turned]
        else:
            own = [edges.weight[some, None] * own[0]]
        east, north = (radial_samples * edges.place[some]).chunk(2, dim=1)
        x, y = (east * cos).addcmul_(north, sin), (north * cos).addcmul_(east, sin, value=-1)
        (column, right), (row, below) = between(x), between(y)
        wide, high = (1 - 2 * x.abs()).clamp_(min=0), (1 - 2 * y.abs()).clamp_(min=0)
        pixel = (side * row + column).long().clamp_(0, side * (side - 1) - 2)  # also of NaN
        corner = pixel.add_(receiver[:, None] * (channels * side * side) + image).flatten()
        yield Votes(receivers, sender, receiver, tuple(own), x, y, corner, right, below, wide, high)


def vote(
    x: Tensor, geometry: Geometry, radial_samples: int, vector: bool, chunk: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return descriptors (n, D, H) and, of vector votes, the complex images (n, D, H) they are lengths of."""
    points, channels = x.shape
    u, side = unit(x), 2 * radial_samples + 2
    magnitude = (x * u.conj_physical()).real
    value = (magnitude * u.real, magnitude * u.imag) if vector else (magnitude,)
    pixels = torch.tensor(disc_cells(radial_samples)[:-1], device=x.device)
    descriptors = magnitude.new_empty(points, channels, len(pixels) + 1)
    images = x.new_empty(descriptors.shape if vector else (0, 0, 0))
    for votes in _votes(value, u, geometry, radial_samples, chunk):
        count = votes.receivers.stop - votes.receivers.start
        centre = votes.wide * votes.high
        rest = 1 - centre
        both = votes.right * votes.below
        shares = {1: votes.right - both, side: votes.below - both, side + 1: both}
        shares[0] = 1 - votes.right - shares[side]
        sums = []
        for part in votes.parts:
            image = part.new_zeros(count * channels * side * side)
            outside = part * rest
            for step, share in shares.items():
                image[step:].scatter_add_(0, votes.corner, (share * outside).flatten())
            inside = image.view(count, channels, side * side).index_select(2, pixels)
            middle = part.new_zeros(count, channels).index_add_(0, votes.receiver, part * centre)
            sums.append(torch.cat([inside, middle[:, :, None]], dim=2))
        if vector:
            images[votes.receivers] = total = torch.complex(*sums)
            descriptors[votes.receivers] = (total * unit(total).conj_physical()).real
        else:
            descriptors[votes.receivers] = sums[0]
    return descriptors, images


def vote_backward(
    x: Tensor,
    gradient: Tensor,
    image: Tensor,
    geometry: Geometry,
    radial_samples: int,
    vector: bool,
    chunk: int | None = None,
) -> Tensor:
    """Return the gradient with respect to x.

    A vote is |x| v, where v = factor · x/|x|, or the factor alone if votes are no vectors. Let g be the
    gradient of the image at the vote's place s. The derivative by |x| is Re(ḡv). Turning x by dβ turns s by
    −dβ, and v by dβ if votes are vectors: the derivative by |x| dβ is the change of Re(ḡv) as s turns back,
    less Im(ḡv) for vectors.
    """
    u, side = unit(x), 2 * radial_samples + 2
    value = (u.real, u.imag) if vector else (torch.ones_like(u.real),)
    pixels = torch.tensor(disc_cells(radial_samples)[:-1], device=x.device)
    sums = gradient.new_zeros(len(x), 2 * x.shape[1])  # by the length of x, and by its angle
    for votes in _votes(value, u, geometry, radial_samples, chunk):
        right, below, wide, high = votes.right, votes.below, votes.wide, votes.high
        share = wide * high
        # How fast the share of the centre changes as the place turns.
        share_slope = torch.sign(votes.x).mul_(-2 * (wide > 0)).mul_(high).mul_(votes.y)
        share_slope -= torch.sign(votes.y).mul_(-2 * (high > 0)).mul_(wide).mul_(votes.x)
        along, about = torch.zeros_like(right), torch.zeros_like(right)
        parts = [gradient[votes.receivers]]
        if vector:
            direction = unit(image[votes.receivers])
            parts = [parts[0] * direction.real, parts[0] * direction.imag]
        at_place = []
        for part, by_part in zip(votes.parts, parts, strict=True):
            picture = by_part.new_zeros(*by_part.shape[:2], side * side)
            picture[:, :, pixels] = by_part[:, :, :-1]
            picture = picture.flatten()
            corners = [picture[step:].index_select(0, votes.corner) for step in (0, 1, side, side + 1)]
            upper, upper_right, lower, lower_right = (corner.view_as(right) for corner in corners)
            left_slope, right_slope = lower - upper, lower_right - upper_right
            left = upper + below * left_slope
            slope_x = upper_right + below * right_slope - left
            slope_y = left_slope + right * (right_slope - left_slope)
            here = left + right * slope_x
            more = by_part[:, :, -1].index_select(0, votes.receiver) - here  # in the centre
            here += share * more
            at_place.append(here)
            along += part * here
            slope = slope_x * votes.y - slope_y * votes.x  # as the place turns
            about += part * (slope * (1 - share) + share_slope * more)
        if vector:
            about += votes.parts[0] * at_place[1] - votes.parts[1] * at_place[0]
        sums.index_add_(0, votes.sender, torch.cat([along, about], dim=1))
    along, about = sums.chunk(2, dim=1)
    return u * torch.complex(along, about)
