"""ECHO votes for a few receivers at a time.

Every edge and channel votes at a place of its own, so what belongs to a vote is worked out for a chunk of
edges, summed into the images of their receivers, and dropped; the backward pass works it out again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from fieldconv.ops.cells import disc_cells
from fieldconv.ops.direction import unit
from fieldconv.ops.geometry import Geometry, kept

CHUNK = {"cpu": 2**15}  # votes at a time: few enough to stay in the cache
CHUNK_ELSEWHERE = 2**22  # enough to keep a graphics card busy


class SortedEdges(NamedTuple):
    """Edges sorted by receiver."""

    first: list[int]  # (n + 1,) the first edge of each receiver
    sender: Tensor
    receiver: Tensor
    carried: Tensor  # (E, 2) w e^{iφ}, real and imaginary part
    weight: Tensor  # (E,)
    seen: Tensor  # (E, 2) r/ε e^{iθ}

    def chunks(self, channels: int) -> Iterator[tuple[slice, slice]]:
        """Yield ranges of receivers with the ranges of their edges, up to a chunk of votes in each."""
        most = CHUNK.get(self.sender.device.type, CHUNK_ELSEWHERE) // max(channels, 1)
        start = 0
        while start < len(self.first) - 1:
            stop = max(bisect_right(self.first, self.first[start] + most) - 1, start + 1)
            yield slice(start, stop), slice(self.first[start], self.first[stop])
            start = stop


def _sort(geometry: Geometry, points: int, dtype: torch.dtype) -> SortedEdges:
    geometry.check_points(points)
    sender, receiver = geometry.edge_index
    order = receiver.argsort(stable=True)
    receiver = receiver[order]
    seen = geometry.distance() * geometry.direction()
    return SortedEdges(
        torch.searchsorted(receiver, torch.arange(points + 1, device=receiver.device)).tolist(),
        sender[order],
        receiver,
        torch.view_as_real((geometry.weight * geometry.transport)[order]).to(dtype),
        geometry.weight[order].to(dtype),
        torch.view_as_real(seen[order]).to(dtype),
    )


class Votes(NamedTuple):
    """The votes of some edges, each (edges, D)."""

    parts: tuple[Tensor, ...]  # real and imaginary part; magnitudes alone have one
    x: Tensor  # place in pixels, from the middle of the image
    y: Tensor
    corner: Tensor  # (edges · D,) int64: the upper left of the four pixels, among all pixels of the chunk
    right: Tensor  # how far the place is from there to the right, 0 … 1
    below: Tensor
    wide: Tensor  # the centre's tent in both directions
    high: Tensor


class _Caster:
    """Yields chunks of receivers, their edges and the votes of these.

    A vote is the value of its sender times the factor of its edge, cast where the sender's direction u says.
    """

    def __init__(self, value: tuple[Tensor, ...], u: Tensor, geometry: Geometry, radial_samples: int) -> None:
        points, self.channels = u.shape
        dtype = u.real.dtype
        self.edges = kept(geometry, ("votes", points, dtype), lambda: _sort(geometry, points, dtype))
        self.radial_samples, self.side = radial_samples, 2 * radial_samples + 2
        self.parts = len(value)
        self.features = torch.cat([*value, u.real, u.imag], dim=1)
        pixels = self.side * self.side
        self.images = self.channels * pixels  # pixels of one receiver
        self.image = torch.arange(0, self.images, pixels, device=u.device)  # the first of each channel

    def __iter__(self) -> Iterator[tuple[slice, slice, Votes]]:
        for receivers, edges in self.edges.chunks(self.channels):
            yield receivers, edges, self.votes(receivers.start, edges)

    def votes(self, first: int, chosen: slice) -> Votes:
        edges, side = self.edges, self.side
        *value, cos, sin = self.features.index_select(0, edges.sender[chosen]).chunk(self.parts + 2, dim=1)
        if self.parts == 2:
            real, imag = edges.carried[chosen, :1], edges.carried[chosen, 1:]
            turned = (imag * value[0]).addcmul_(real, value[1])
            value = [(real * value[0]).addcmul_(imag, value[1], value=-1), turned]
        else:
            value = [edges.weight[chosen, None] * value[0]]
        east, north = (self.radial_samples * edges.seen[chosen]).chunk(2, dim=1)
        x, y = (east * cos).addcmul_(north, sin), (north * cos).addcmul_(east, sin, value=-1)
        column, right = self._between(x)
        row, below = self._between(y)
        wide, high = (1 - 2 * x.abs()).clamp_(min=0), (1 - 2 * y.abs()).clamp_(min=0)
        pixel = (side * row + column).long().clamp_(0, side * (side - 1) - 2)  # also what is not a number
        corner = pixel.add_((edges.receiver[chosen, None] - first) * self.images + self.image).flatten()
        return Votes(tuple(value), x, y, corner, right, below, wide, high)

    def _between(self, place: Tensor) -> tuple[Tensor, Tensor]:
        """Return the lower of the two pixels a place is between, and how far on to the next one it is."""
        place = (place + (self.radial_samples + 0.5)).clamp_(0, self.side - 1.001)
        pixel = place.floor()
        return pixel, place.sub_(pixel)


def vote(x: Tensor, geometry: Geometry, radial_samples: int, vector: bool) -> tuple[Tensor, Tensor]:
    """Return descriptors (n, D, H) and, of vector votes, the complex images (n, D, H) they are lengths of."""
    points, channels = x.shape
    u = unit(x)
    magnitude = (x * u.conj_physical()).real
    value = (magnitude * u.real, magnitude * u.imag) if vector else (magnitude,)
    caster = _Caster(value, u, geometry, radial_samples)
    side = caster.side
    pixels = torch.tensor(disc_cells(radial_samples)[:-1], device=x.device)
    descriptors = magnitude.new_empty(points, channels, len(pixels) + 1)
    images = x.new_empty(descriptors.shape if vector else (0, 0, 0))
    for receivers, edges, votes in caster:
        count = receivers.stop - receivers.start
        centre = votes.wide * votes.high
        rest = 1 - centre
        both = votes.right * votes.below
        shares = {1: votes.right - both, side: votes.below - both, side + 1: both}
        shares[0] = 1 - votes.right - shares[side]
        receiver = caster.edges.receiver[edges] - receivers.start
        sums = []
        for cast in votes.parts:
            image = cast.new_zeros(count * channels * side * side)
            outside = cast * rest
            for step, share in shares.items():
                image[step:].scatter_add_(0, votes.corner, (share * outside).flatten())
            inside = image.view(count, channels, side * side).index_select(2, pixels)
            middle = cast.new_zeros(count, channels).index_add_(0, receiver, cast * centre)
            sums.append(torch.cat([inside, middle[:, :, None]], dim=2))
        if vector:
            images[receivers] = found = torch.complex(*sums)
            descriptors[receivers] = (found * unit(found).conj_physical()).real
        else:
            descriptors[receivers] = sums[0]
    return descriptors, images


def vote_backward(
    x: Tensor, gradient: Tensor, image: Tensor, geometry: Geometry, radial_samples: int, vector: bool
) -> Tensor:
    """Return the gradient with respect to x.

    A vote is |x| v, where v = factor · x/|x|, or the factor alone if votes are no vectors. Let g be the
    gradient of the image at the vote's place s. The derivative by |x| is Re(ḡv). Turning x by dβ turns s by
    −dβ, and v by dβ if votes are vectors: the derivative by |x| dβ is the change of Re(ḡv) as s turns back,
    less Im(ḡv) for vectors.
    """
    channels = x.shape[1]
    u = unit(x)
    value = (u.real, u.imag) if vector else (torch.ones_like(u.real),)
    caster = _Caster(value, u, geometry, radial_samples)
    side = caster.side
    pixels = torch.tensor(disc_cells(radial_samples)[:-1], device=x.device)
    sums = gradient.new_zeros(len(x), 2 * channels)  # by the length of x, and by its angle
    for receivers, edges, votes in caster:
        count = receivers.stop - receivers.start
        right, below, wide, high = votes.right, votes.below, votes.wide, votes.high
        receiver = caster.edges.receiver[edges] - receivers.start
        share = wide * high
        # How fast the share of the centre changes as the place turns.
        share_slope = torch.sign(votes.x).mul_(-2 * (wide > 0)).mul_(high).mul_(votes.y)
        share_slope -= torch.sign(votes.y).mul_(-2 * (high > 0)).mul_(wide).mul_(votes.x)
        along, about = torch.zeros_like(right), torch.zeros_like(right)
        parts = [gradient[receivers]]
        if vector:
            way = unit(image[receivers])
            parts = [parts[0] * way.real, parts[0] * way.imag]
        found = []
        for cast, coming in zip(votes.parts, parts, strict=True):
            picture = coming.new_zeros(count, channels, side * side)
            picture[:, :, pixels] = coming[:, :, :-1]
            picture = picture.flatten()
            corners = [picture[step:].index_select(0, votes.corner) for step in (0, 1, side, side + 1)]
            upper, upper_right, lower, lower_right = (corner.view_as(right) for corner in corners)
            left_slope, right_slope = lower - upper, lower_right - upper_right
            left = upper + below * left_slope
            slope_x = upper_right + below * right_slope - left
            slope_y = left_slope + right * (right_slope - left_slope)
            here = left + right * slope_x
            more = coming[:, :, -1].index_select(0, receiver) - here  # in the centre
            here += share * more
            found.append(here)
            along += cast * here
            slope = slope_x * votes.y - slope_y * votes.x  # as the place turns
            about += cast * (slope * (1 - share) + share_slope * more)
        if vector:
            about += votes.parts[0] * found[1] - votes.parts[1] * found[0]
        sums.index_add_(0, caster.edges.sender[edges], torch.cat([along, about], dim=1))
    along, about = sums.chunk(2, dim=1)
    return u * torch.complex(along, about)
