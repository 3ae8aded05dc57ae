"""Harmonic surface networks (Wiersma, Eisemann, Hildebrandt 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from fieldconv._presets import network_presets, network_recipe, network_recipes
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.networks.protocol import FeatureNetwork, NetworkConfig
from fieldconv.networks.rivals.shared.levels import TWO_LEVELS, coarse_level, through
from fieldconv.nn import ScalarHead, TangentLinear, TangentReLU
from fieldconv.nn.initialise import draw_normal, init_perceptron, squared_shares
from fieldconv.nn.pooling import mean_per_shape
from fieldconv.ops import disc_sums
from fieldconv.ops.vectors import complex_matmul, polar
from fieldconv.surface.settings import Solver

if TYPE_CHECKING:
    from fieldconv.surface import Surface

STREAMS = 2  # rotation orders 0 and 1, as in all results of the paper


class HarmonicConv(nn.Module):
    r"""Convolution with circular harmonics, between streams of features of rotation order M = 0 and 1.

    .. math::
        X'_{M'}(p) = \sum_M \sum_{q \in \mathcal{N}_p} w_q \, R_{M'M}(r_{pq}) \,
        e^{i((M' - M)\theta_{pq} + \beta_{M'M})} \, e^{iM\varphi_{pq}} X_M(q)

    summed over input channels, each pair of channels with its own radial profile R, real values at N radii,
    and offset β. Features of order M turn by Mα when the frame turns by α: those of order 0 are invariant,
    those of order 1 tangent vectors. The neighbour's place is seen from p; since the direction of q seen
    from p is the opposite of the direction of p seen from q, match_colours to p,
    :math:`e^{i\theta_{pq}} = -e^{i(\varphi_{pq} + \theta_{qp})}`, both sums are those of
    `fieldconv.ops.disc_sums`.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of each stream.
    rings : int
        N radii at which R is learnt.
    in_streams : int
        2, or 1 where the input has only order 0.
    offset : bool
        Whether there are offsets β. The last layer has none, as only its magnitudes are used.

    Shapes
    ------
    - input (in_streams, n, in_channels) complex, and the surface (or batch of surfaces) with n samples
    - output (2, n, out_channels) complex

    Examples
    --------
    >>> sum(parameter.numel() for parameter in HarmonicConv(1, 1, rings=6).parameters())
    28
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        rings: int = 6,
        in_streams: int = STREAMS,
        offset: bool = True,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.rings, self.in_streams = rings, in_streams
        # Indexed by output order, input order, ring, and the channels.
        self.profile = nn.Parameter(torch.empty(STREAMS, in_streams, rings, in_channels, out_channels))
        self.offset: Tensor | None = None
        if offset:
            self.offset = nn.Parameter(torch.empty(STREAMS, in_streams, in_channels, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw profiles that keep the mean squared magnitude of smooth features, and all offsets alike."""
        shares = self.in_streams * self.in_channels * squared_shares(self.rings, "linear")
        draw_normal(self.profile, std=shares**-0.5)
        if self.offset is not None:
            nn.init.uniform_(self.offset, -math.pi, math.pi)

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        highest_first = x.flip(0)  # the filter's order M' − M grows as M falls
        streams = []
        for order in range(STREAMS):
            first = order - (self.in_streams - 1)
            sums = disc_sums(
                highest_first, surface, first_order=first, rings=self.rings, scalars=order == 0
            )  # [p, M, n, c]
            real, imaginary = self._coefficients(order)
            streams.append(complex_matmul(sums.flatten(1), real.flatten(0, 2), imaginary.flatten(0, 2)))
        return torch.stack(streams)

    def _coefficients(self, order: int) -> tuple[Tensor, Tensor]:
        """Real and imaginary part of (−1)^(M'−M) R e^{iβ}, (in_streams, N, in, out), highest M first."""
        signs = [(-1.0) ** (order - before) for before in range(self.in_streams)]
        sign = self.profile.new_tensor(signs).reshape(-1, 1, 1, 1)
        profile = (sign * self.profile[order]).flip(0)
        if self.offset is None:
            return profile, torch.zeros_like(profile)
        turn = self.offset[order].flip(0).unsqueeze(1)
        return profile * turn.cos(), profile * turn.sin()

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, rings={self.rings}, in_streams={self.in_streams}"


class HarmonicBlock(nn.Module):
    """Two `HarmonicConv`, with a `TangentReLU` after the first and after adding the input; shapes alike."""

    def __init__(
        self, in_channels: int, out_channels: int, *, rings: int = 6, in_streams: int = STREAMS
    ) -> None:
        super().__init__()
        self.conv1 = HarmonicConv(in_channels, out_channels, rings=rings, in_streams=in_streams)
        self.conv2 = HarmonicConv(out_channels, out_channels, rings=rings)
        self.relu1, self.relu2 = TangentReLU(out_channels), TangentReLU(out_channels)
        same = in_channels == out_channels
        self.carry = nn.Identity() if same else TangentLinear(in_channels, out_channels)
        with torch.no_grad():
            self.conv2.profile.mul_(0.5)  # so that the sum of the two paths hardly grows with depth

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        y = _per_row(self.relu1, self.conv1(x, surface))
        y = self.conv2(y, surface)
        carried = _per_row(self.carry, x)
        if len(carried) < len(y):  # an input of order 0 alone adds nothing to order 1
            carried = torch.cat([carried, torch.zeros_like(y[len(carried) :])])
        return _per_row(self.relu2, y + carried)


@dataclass(frozen=True, kw_only=True)
class HSNConfig(NetworkConfig):
    """Settings of an `HSN`, besides those that every network has (`NetworkConfig`)."""

    network: ClassVar[str] = "hsn"
    operators: ClassVar[tuple[str, ...]] = ("discs", "coarse")
    presets = network_presets("hsn")
    counts = ("width", "rings", "blocks", "dense")

    radius: float = RADIUS
    """Geodesic radius ε of the filters' support at unit area, 0.2 in the paper and 0.07 for correspondence;
    twice as large after pooling."""
    solver: Solver = "local"
    """Geodesic solver, see `SurfaceSettings`."""
    width: int = 16
    """Channels of each stream; twice as many after pooling."""
    rings: int = 6
    """N radii of every filter: 6, or 2 for correspondence."""
    blocks: int | None = None
    """ResNet blocks of each stack; None for as many as in the paper, 1 for classification, else 2."""
    dense: int | None = None
    """With the head "labels": width between two dense layers that follow the last block, as in the paper's
    correspondence; None for a last convolution to the outputs, as in its other experiments."""
    dropout: float = 0.5
    """Share dropped between those two dense layers."""


class HSN(FeatureNetwork):
    """Harmonic surface network: a residual U-net of harmonic convolutions on two levels.

    Inputs pass a linear layer and a ReLU, and are the stream of order 0. A stack of blocks works on all
    samples, two stacks of twice the width on a quarter of them, and the last stack on all again, on what it
    is given and on what the first one put out. Pooling takes the mean of the samples nearest to each coarse
    one, carried to it; unpooling carries it back. Classification ends after the first coarse stack, with a
    mean over the shape. Outputs are the magnitudes of a last convolution, summed over both streams, and a
    bias; tangent vectors its stream of order 1.

    The paper's own code differs from its equation in three places where this follows the equation: there
    the centre of a disc is left out, the lower stream is added to both in the first block, and the carry
    between blocks of different widths has a bias; the latter two depend on the frames.
    Its N radii are spread from 0 to ε; here, as in a field convolution, from ε/N to ε, and filters are
    constant inside the first. Before the dense layers of correspondence the code has no ReLU after the last
    block; here it has one.

    The recipe is that of the authors' notebooks: there the rate falls once, after 21 epochs (of 50), here
    once more after 42; for correspondence, after 60 of 100.

    Examples
    --------
    >>> HSN.for_task("segmentation", classes=8, preset="paper").num_parameters
    289224
    """

    name, Config = "hsn", HSNConfig
    reads = ("x", "area", *TWO_LEVELS)
    recipe = network_recipe("hsn")
    recipes = network_recipes("hsn")
    config: HSNConfig

    def __init__(self, config: HSNConfig) -> None:
        super().__init__(config)
        width, rings, classifies = config.width, config.rings, config.per_shape
        blocks = config.blocks or (1 if classifies else 2)

        def stack(channels: int, after: int, in_streams: int = STREAMS) -> nn.ModuleList:
            widths = [channels] + [after] * blocks
            return nn.ModuleList(
                HarmonicBlock(a, b, rings=rings, in_streams=STREAMS if i else in_streams)
                for i, (a, b) in enumerate(pairwise(widths))
            )

        self.lift = nn.Linear(config.num_features, width)
        init_perceptron(self.lift)
        self.fine = stack(width, width, in_streams=1)
        self.coarse = stack(width, 2 * width)
        if not classifies:
            self.deep = stack(2 * width, 2 * width)
            self.last = stack(3 * width, width)
        self.dense: ScalarHead | None = None
        if config.head == "labels" and config.dense is not None:
            self.dense = ScalarHead(width, config.outputs, hidden=config.dense, dropout=config.dropout)
        else:
            channels = 2 * width if classifies else width
            directed = config.head == "vectors"
            self.conv = HarmonicConv(channels, config.outputs, rings=rings, offset=directed)
            if config.head == "labels" or config.per_shape:
                self.bias = nn.Parameter(torch.zeros(config.outputs))

    def features(self, surface: Surface) -> Tensor:
        """Return (2, n, width) complex: the streams that outputs are computed from.

        For "classification" they live on the coarse level.
        """
        x = torch.relu(self.lift(self.inputs(surface)))
        level = coarse_level(surface)
        fine = through(self.fine, torch.complex(x, torch.zeros_like(x))[None], surface)
        coarse = through(self.coarse, pool(fine, surface), level)
        if self.config.per_shape:
            return coarse
        coarse = through(self.deep, coarse, level)
        return through(self.last, torch.cat([unpool(coarse, surface), fine], -1), surface)

    def outputs(self, features: Tensor, surface: Surface) -> Tensor:
        if self.dense is not None:
            return self.dense(self.invariants(features), surface)  # type: ignore[no-any-return]
        classifies = self.config.per_shape
        level: Any = coarse_level(surface) if classifies else surface
        streams = self.conv(features, level)
        if self.config.head == "vectors":
            return streams[1]  # type: ignore[no-any-return]
        scores = self.invariants(streams)
        if self.config.head == "descriptors":
            return scores
        if classifies:
            scores = mean_per_shape(scores, torch.ones_like(scores[:, 0]), level)
        return scores + self.bias

    def invariants(self, features: Tensor) -> Tensor:
        """Return (n, C): the magnitudes of both streams, summed."""
        return polar(features)[0].sum(0)


def pool(x: Tensor, surface: Surface) -> Tensor:
    """Return (streams, m, C): the mean of streams (streams, n, C) over the samples nearest to coarse ones."""
    parent, count = surface.coarse_parent, len(surface.coarse_sample)
    carried = _turn(x, surface.coarse_carry.conj())
    total = x.new_zeros(len(x), count, x.shape[-1]).index_add(1, parent, carried)
    members = torch.bincount(parent, minlength=count).clamp(min=1)
    return total / members[:, None]


def unpool(x: Tensor, surface: Surface) -> Tensor:
    """Return (streams, n, C): at each sample the streams (streams, m, C) of the nearest coarse one."""
    return _turn(x[:, surface.coarse_parent], surface.coarse_carry)


def _turn(x: Tensor, turn: Tensor) -> Tensor:
    """Streams of order 0, 1, … turned by that many times the given e^{iφ} (n,)."""
    return torch.stack([stream * turn[:, None] ** order for order, stream in enumerate(x)])


def _per_row(layer: nn.Module, x: Tensor) -> Tensor:
    """Apply a layer of (rows, C) to streams (streams, n, C)."""
    y: Tensor = layer(x.flatten(0, 1))
    return y.reshape(*x.shape[:2], -1)
