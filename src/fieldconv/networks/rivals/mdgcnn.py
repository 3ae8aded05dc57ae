"""Multi-directional geodesic CNN (Poulenard, Ovsjanikov 2018); with it geodesic CNN (Masci et al. 2015)."""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.weak import WeakIdKeyDictionary

from fieldconv._presets import network_presets, network_recipe
from fieldconv.networks.protocol import FeatureNetwork, NetworkConfig
from fieldconv.networks.rivals.gathering import logs_at_receiver
from fieldconv.networks.rivals.shared.levels import TWO_LEVELS, Level, coarse_level, through
from fieldconv.nn import ScalarHead
from fieldconv.nn.initialise import draw_normal
from fieldconv.ops import Geometry, ring_radii
from fieldconv.surface.settings import Solver

if TYPE_CHECKING:
    from fieldconv.surface import Surface

RADIUS = 0.1  # of the windows, whatever the task
CONTRIBUTORS = 3  # samples that a point of a window reads from, …
CANDIDATES = 8  # … out of this number of nearest ones
CHUNK = 2**22  # numbers in the windows that a convolution holds at once
Angular = Literal["directions", "max"]


class Windows(NamedTuple):
    """What the points of each sample's window read: sample p, ring n and angle 2πa/D in the frame of p.

    Attributes
    ----------
    sample : (n, N, D, 3) int64
    weight : (n, N, D, 3) real
        Not negative; sums to one.
    turn : (n, N, D, 3) real
        Angle by which vectors turn on their way from that sample to p.
    """

    sample: Tensor
    weight: Tensor
    turn: Tensor


# By the log tensor, like the kernels' sorted edges, so that all layers and epochs share them.
_windows_by_log: MutableMapping[Tensor, dict[tuple[int, int], Windows]] = WeakIdKeyDictionary()


def windows(surface: Surface | Level, *, rings: int, directions: int, chunk: int = CHUNK) -> Windows:
    """Return the windows of a surface: polar grids in the tangent plane of every sample.

    In the tangent plane, a point of a window reads by barycentric weights from the nearest three samples of
    the disc that surround it. Where none do, at the rim and among few samples, it reads from the nearest
    three, without those that would count negatively.

    Parameters
    ----------
    surface : Surface or batch of them
        With discs.
    rings, directions : int
        N radii, the last one that of the disc, and D angles, the first one that of the frame.
    chunk : int
        Numbers held at once.

    Examples
    --------
    >>> from fieldconv import Mesh, Surface
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> windows(Surface.from_mesh(square, radius=1.5), rings=2, directions=8).sample.shape
    torch.Size([4, 2, 8, 3])
    """
    kept = _windows_by_log.setdefault(surface.log, {})
    if (rings, directions) not in kept:
        with torch.no_grad():
            kept[rings, directions] = _make_windows(surface, rings, directions, chunk)
    return kept[rings, directions]


def _make_windows(surface: Any, rings: int, directions: int, chunk: int) -> Windows:
    geometry = Geometry.of(surface)
    sender, receiver = geometry.edge_index
    place = logs_at_receiver(geometry.log, geometry.edge_index).to(torch.complex128)  # log_p q
    count = len(surface.area)
    degree = torch.bincount(receiver, minlength=count)
    first = degree.cumsum(0) - degree  # edges are sorted by receiver
    radius = geometry.radius.reshape(-1)
    radius = radius.expand(count) if geometry.batch is None else radius[geometry.batch]
    angles = 2 * math.pi / directions * torch.arange(directions, device=place.device, dtype=torch.float64)
    grid = torch.polar(ring_radii(rings).to(place.device)[:, None], angles[None]).flatten()
    slots = torch.arange(max(int(degree.max()), CANDIDATES), device=place.device)
    step = max(1, chunk // (len(grid) * max(len(slots), len(_TRIANGLES))))
    parts = []
    for start in range(0, count, step):
        chosen = slice(start, min(start + step, count))
        there = slots < degree[chosen, None]
        edge = torch.where(there, first[chosen, None] + slots, first[chosen, None])
        offset = place[edge][:, None] - radius[chosen, None, None] * grid[None, :, None]
        away = offset.abs().masked_fill(~there[:, None], math.inf)
        away, nearest = away.topk(CANDIDATES, largest=False)
        of_three, weight = _three_contributors(offset.gather(2, nearest), away)
        edge = edge[:, None].expand_as(offset).gather(2, nearest).gather(2, of_three)
        turn = geometry.transport[edge].angle()
        parts.append((sender[edge], weight.to(turn), turn))
    shape = (count, rings, directions, CONTRIBUTORS)
    return Windows(*(torch.cat(part).reshape(shape) for part in zip(*parts, strict=True)))


_TRIANGLES = torch.tensor(list(combinations(range(CANDIDATES), CONTRIBUTORS)))


def _three_contributors(offset: Tensor, away: Tensor) -> tuple[Tensor, Tensor]:
    """Which three of the candidates (…, 8) a point reads from, and their weights.

    Candidates are complex offsets from the point, nearest first, and their lengths; infinite is none.
    """
    triangles = _TRIANGLES.to(offset.device)
    x, y = offset.real[..., triangles], offset.imag[..., triangles]  # (…, 56, 3)
    x_on, y_on, x_back, y_back = x.roll(-1, -1), y.roll(-1, -1), x.roll(1, -1), y.roll(1, -1)
    areas = x_on * y_back - y_on * x_back  # of the triangles that the point makes with each side
    area = areas.sum(-1, keepdim=True)
    weight = areas / torch.where(area == 0, 1.0, area)
    size = away[..., triangles].sum(-1)
    thin = area[..., 0].abs() <= 1e-6 * size**2
    surround = (weight >= 0).all(-1) & ~thin
    size, best = size.masked_fill(~surround, math.inf).min(-1, keepdim=True)
    inside = weight.gather(-2, best[..., None].expand(*best.shape, CONTRIBUTORS))[..., 0, :]
    outside = _weights_outside(offset[..., :CONTRIBUTORS], away[..., :CONTRIBUTORS])
    found = size < math.inf
    nearest = torch.arange(CONTRIBUTORS, device=offset.device)
    return torch.where(found, triangles[best[..., 0]], nearest), torch.where(found, inside, outside)


def _weights_outside(offset: Tensor, away: Tensor) -> Tensor:
    """Weights (…, 3), none negative, of three points that do not surround the one that reads.

    They minimise |Σ b_i x_i|² + λ Σ b_i² |x_i|⁴ over Σ b_i = 1, in units of the mean distance; a point that
    would count negatively is left out.
    """
    usable = away < math.inf
    distance = away.masked_fill(~usable, 0.0)
    scale = distance.sum(-1, keepdim=True) / usable.sum(-1, keepdim=True).clamp(min=1)
    scale = torch.where(scale > 0, scale, 1.0)
    x, y = offset.real / scale, offset.imag / scale
    gain = torch.where(usable, (distance / scale).clamp(min=1e-2) ** -4 / 0.01, 0.0)
    weight = gain
    for _ in range(CONTRIBUTORS):  # each round may leave out one more
        xx, xy, yy = 1 + (gain * x * x).sum(-1), (gain * x * y).sum(-1), 1 + (gain * y * y).sum(-1)
        sx, sy = (gain * x).sum(-1), (gain * y).sum(-1)
        determinant = xx * yy - xy * xy
        tilt_x, tilt_y = (yy * sx - xy * sy) / determinant, (xx * sy - xy * sx) / determinant
        weight = gain * (1 - x * tilt_x[..., None] - y * tilt_y[..., None])
        gain = torch.where(weight < 0, 0.0, gain)
    weight = weight.clamp(min=0)
    return weight / weight.sum(-1, keepdim=True)


class Reading(NamedTuple):
    """Windows turned to each of the D directions, as rows of directional functions (n · D, C).

    Both tensors are (n, D, N, D, 6): for each sample, direction, ring and angle from that direction, the rows
    of three samples and two directions of each, and their shares.
    """

    row: Tensor
    share: Tensor


def reading(surface: Surface | Level, *, rings: int, directions: int, chunk: int = CHUNK) -> Reading:
    """Return what the windows of a surface read in each direction, carried to the samples they read from."""
    seen = windows(surface, rings=rings, directions=directions, chunk=chunk)
    every = torch.arange(directions, device=seen.sample.device)
    turned = (every[:, None] + every) % directions  # angle of the window, by direction and angle from it
    sample, weight, turn = (part[:, :, turned].transpose(1, 2) for part in seen)  # (n, D, N, D, 3)
    lower, part = _between(every.reshape(-1, 1, 1, 1), turn, directions)
    row = sample[..., None] * directions + torch.stack([lower, (lower + 1) % directions], -1)
    share = weight[..., None] * torch.stack([1 - part, part], -1)
    return Reading(row.flatten(-2), share.flatten(-2))


def _between(direction: Tensor, turn: Tensor, directions: int) -> tuple[Tensor, Tensor]:
    """The directions of another sample between which one lies: the lower one, and the share of the next.

    Vectors turn by ``turn`` on the way from that sample.
    """
    there = direction - turn * (directions / (2 * math.pi))
    lower = there.floor()
    return lower.to(torch.int64) % directions, there - lower


class DirectionalConv(nn.Module):
    r"""Directional convolution of functions of place and direction: windows are read relative to the latter.

    .. math::
        X'_o(p, v) = b_o + \sum_c k^0_{co} X_c(p, v) +
        \sum_{c,n,a} k_{naco} \, X_c(\exp_p(r_n R_{2\pi a/D} v), \Gamma v)

    with R a turn in the tangent plane and Γ the parallel transport of v from p to the point of the window
    that is read. Of v there are D: multiples of 2π/D in the frame of each sample; between them functions are
    interpolated linearly. Turning a frame by one of these steps permutes the directions.

    With ``angular="max"`` only the largest response over directions is kept, a function of place alone. That
    is geodesic convolution with angular max pooling (GCNN).

    Parameters
    ----------
    in_channels, out_channels : int
    rings : int
        N radii of the window.
    directions : int
        D.
    angular : "directions" or "max"

    Shapes
    ------
    - input (n, D, in_channels) real, and a `Reading` of the surface (or batch of surfaces) with n samples
    - output (n, D, out_channels) real; equal in all directions with ``angular="max"``

    Examples
    --------
    >>> conv = DirectionalConv(1, 1, rings=2, directions=8)
    >>> sum(parameter.numel() for parameter in conv.parameters()) == 2 * 8 + 1 + 1
    True
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        rings: int = 2,
        directions: int = 8,
        angular: Angular = "directions",
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.rings, self.directions, self.angular, self.chunk = rings, directions, angular, CHUNK
        self.window = nn.Parameter(torch.empty(rings, directions, in_channels, out_channels))
        self.centre = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw kernels so that after a ReLU smooth functions keep their mean square."""
        deviation = (self.in_channels * (self.rings * self.directions + 1) / 2) ** -0.5
        draw_normal(self.window, std=deviation)
        draw_normal(self.centre, std=deviation)

    def forward(self, x: Tensor, read: Reading) -> Tensor:
        rows = x.reshape(-1, self.in_channels)
        step = max(1, self.chunk // (self.rings * self.directions**2 * self.in_channels))
        # Windows are many times as large as the functions: made again for the derivative, never all at once.
        parts = [
            checkpoint(self._read, rows, *(part[i : i + step] for part in read), use_reentrant=False)
            for i in range(0, len(x), step)
        ]
        y = torch.cat(parts) + x @ self.centre + self.bias
        if self.angular == "max":
            y = y.amax(1, keepdim=True).expand_as(y)
        return y

    def _read(self, rows: Tensor, row: Tensor, share: Tensor) -> Tensor:
        seen = nn.functional.embedding_bag(
            row.reshape(-1, row.shape[-1]),
            rows,
            per_sample_weights=share.reshape(-1, row.shape[-1]).to(rows),
            mode="sum",
        )
        kernel = self.window.reshape(-1, self.out_channels)
        return (seen.reshape(-1, len(kernel)) @ kernel).reshape(*row.shape[:2], -1)

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, rings={self.rings}, directions={self.directions}, "
            f"angular={self.angular!r}"
        )


class DirectionalBlock(nn.Module):
    """Two convolutions, with a ReLU after the first and after adding the input; as `DirectionalConv`."""

    def __init__(self, in_channels: int, out_channels: int, **options: Any) -> None:
        super().__init__()
        self.conv1 = DirectionalConv(in_channels, out_channels, **options)
        self.conv2 = DirectionalConv(out_channels, out_channels, **options)
        same = in_channels == out_channels
        self.carry = nn.Identity() if same else nn.Linear(in_channels, out_channels, bias=False)
        with torch.no_grad():  # so that the sum of the two paths hardly grows with depth
            self.conv2.window.mul_(0.5)
            self.conv2.centre.mul_(0.5)

    def forward(self, x: Tensor, read: Reading) -> Tensor:
        y = self.conv2(torch.relu(self.conv1(x, read)), read)
        return torch.relu(y + self.carry(x))


@dataclass(frozen=True, kw_only=True)
class MDGCNNConfig(NetworkConfig):
    """Settings of an `MDGCNN`, besides those that every network has (`NetworkConfig`)."""

    network: ClassVar[str] = "mdgcnn"
    operators: ClassVar[tuple[str, ...]] = ("discs", "coarse")
    presets = network_presets("mdgcnn")
    counts = ("width", "rings", "directions", "blocks")

    radius: float = RADIUS
    """Geodesic radius of the windows at unit area; twice as large after pooling."""
    solver: Solver = "local"
    """Geodesic solver, see `SurfaceSettings`."""
    width: int = 16
    """Channels; twice as many after pooling."""
    rings: int = 2
    """Radii of the windows."""
    directions: int = 8
    """D directions at each sample, and angles of the windows."""
    blocks: int = 2
    """ResNet blocks of each stack."""
    angular: Angular = "directions"
    """Keep what is found in every direction, or the largest of it after every convolution (GCNN)."""


class MDGCNN(FeatureNetwork):
    """Multi-directional geodesic CNN: a residual U-net of directional convolutions on two levels.

    Inputs are the same in all directions. A first convolution and a stack of blocks work on all samples, two
    stacks of twice the width on a quarter of them, and the last stack on all again, on what it is given and
    on what the first one put out. Pooling keeps the coarse samples; unpooling reads from the nearest of them,
    carried. Classification ends after the first coarse stack. The largest response over directions, or its
    mean over the shape, goes to a linear layer. Tangent vectors are the first harmonic of a linear layer's
    outputs over directions.

    Radii, rings, directions and widths are those of the paper's segmentation of bodies; it states no number
    of parameters. Its windows are read on the triangles that geodesics reach, these from the nearest samples.

    Examples
    --------
    >>> MDGCNN.for_task("segmentation", classes=8, preset="paper").num_parameters
    176712
    """

    name, Config = "mdgcnn", MDGCNNConfig
    reads = ("x", "area", *TWO_LEVELS)
    recipe = network_recipe("mdgcnn")
    config: MDGCNNConfig

    def __init__(self, config: MDGCNNConfig) -> None:
        super().__init__(config)
        width, classifies = config.width, config.per_shape
        self._grid = {"rings": config.rings, "directions": config.directions}
        options: dict[str, Any] = {**self._grid, "angular": config.angular}

        def stack(channels: int, after: int) -> nn.ModuleList:
            widths = [channels] + [after] * config.blocks
            return nn.ModuleList(DirectionalBlock(a, b, **options) for a, b in pairwise(widths))

        self.lift = DirectionalConv(config.num_features, width, **options)
        self.fine = stack(width, width)
        self.coarse = stack(width, 2 * width)
        if not classifies:
            self.deep = stack(2 * width, 2 * width)
            self.last = stack(3 * width, width)
        channels = 2 * width if classifies else width
        self.head = ScalarHead(channels, config.outputs, per_shape=classifies)

    def features(self, surface: Surface) -> Tensor:
        """Return (n, D, width): the directional functions that outputs are computed from.

        For "classification" they live on the coarse level.
        """
        fine, coarse = reading(surface, **self._grid), reading(coarse_level(surface), **self._grid)
        x = self.inputs(surface)[:, None].expand(-1, self.config.directions, -1)
        x = torch.relu(self.lift(x, fine))
        before = through(self.fine, x, fine)
        x = through(self.coarse, before[surface.coarse_sample], coarse)
        if self.config.per_shape:
            return x
        x = through(self.deep, x, coarse)
        return through(self.last, torch.cat([unpool(x, surface), before], -1), fine)

    def outputs(self, features: Tensor, surface: Surface) -> Tensor:
        if self.config.head == "vectors":
            return first_harmonic(self.head(features, surface))
        level = coarse_level(surface) if self.config.per_shape else surface
        return self.head(self.invariants(features), level)  # type: ignore[no-any-return]

    def invariants(self, features: Tensor) -> Tensor:
        """Return (n, width): the largest over directions."""
        return features.amax(1)


def unpool(x: Tensor, surface: Surface) -> Tensor:
    """Return (n, D, C): at each sample the directional functions (m, D, C) of the nearest coarse one."""
    directions = x.shape[1]
    every = torch.arange(directions, device=x.device)
    lower, part = _between(every, surface.coarse_carry.angle()[:, None], directions)
    parent, share = surface.coarse_parent[:, None], part[..., None].to(x)
    return (1 - share) * x[parent, lower] + share * x[parent, (lower + 1) % directions]


def first_harmonic(x: Tensor) -> Tensor:
    """Return (n, C) complex: the tangent vector towards which functions (n, D, C) of direction grow."""
    directions = x.shape[1]
    angles = 2 * math.pi / directions * torch.arange(directions, device=x.device, dtype=x.dtype)
    cosine, sine = (torch.einsum("ndc,d->nc", x, f) * (2 / directions) for f in (angles.cos(), angles.sin()))
    return torch.complex(cosine, sine)
