"""PointNet++: maxima over balls of points, level by level (Qi et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor, nn

from fieldconv._arrays import Floats, Ints
from fieldconv._presets import network_presets, network_recipe
from fieldconv.geometry.resample.sampling import farthest_points
from fieldconv.networks.protocol import NetworkConfig
from fieldconv.networks.rivals.shared.scalar import RowNorm, ScalarNetwork, at_unit_radius
from fieldconv.nn.pooling import shape_of_samples
from fieldconv.surface.parts import Part, Preparation, Tensors, register_operator, single
from fieldconv.surface.settings import feature_columns

if TYPE_CHECKING:
    from fieldconv.surface import Surface

CENTRES = (512, 128)
"""Farthest points that are kept at each level."""
RADII = (0.2, 0.4)
"""Radii of the balls around them, in a shape of `REFERENCE_POINTS` or more that fills the unit sphere."""
MAX_POINTS = (32, 64)
"""Points of a ball that count: the nearest ones."""
REFERENCE_POINTS = 1024
"""Points for which the radii are meant."""
INTERPOLATION_CENTRES = 3
"""Centres from which a point reads on the way back."""


@dataclass(frozen=True, kw_only=True)
class PointNet2Config(NetworkConfig):
    """Settings of a `PointNet2`, besides those that every network has (`NetworkConfig`)."""

    network: ClassVar[str] = "pointnet2"
    operators: ClassVar[tuple[str, ...]] = ("nested-balls",)
    presets = network_presets("pointnet2")
    counts = ("width",)

    width: int = 64
    """Channels of the first layer; all others are multiples of it: 64 in the paper."""
    dropout: float = 0.5
    """Share dropped between the layers of the head."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if "xyz" not in feature_columns(self.features):
            raise ValueError(
                f"features is {self.features!r}, but pointnet2 sees where points are; "
                f"give xyz, or xyz+{self.features}"
            )


class PointNet2(ScalarNetwork):
    r"""Set abstraction over balls of points at two levels, then over the whole shape.

    A level keeps the farthest points p of the one before and gives each the maximum over its ball,

    .. math:: x'_p = \max_{|q - p| < r} h(x_q, \, q - p)

    with a perceptron h of three layers. The last level takes the maximum over the shape, which the head for
    shapes receives. For points, features go back level by level: interpolated from the three nearest centres
    (weights 1/d²), joined with what was there, through a perceptron. This is the paper's network with
    single-scale grouping.

    Shapes are scaled to fill the unit sphere; balls grow where there are fewer than 1024 points. Of a ball
    with many points the nearest count (the authors take the first found, which depends on their order). It
    works on samples of a mesh, 1024 by default, and knows nothing of its triangles, so it must see
    positions: features are "xyz", or others joined to it, such as "xyz+hks".

    References
    ----------
    C. R. Qi, L. Yi, H. Su, L. J. Guibas: PointNet++: Deep Hierarchical Feature Learning on Point Sets in a
    Metric Space. NeurIPS, 2017.

    Examples
    --------
    >>> PointNet2.for_task("classification", classes=40).num_parameters
    1475688
    """

    name, Config = "pointnet2", PointNet2Config
    reads = (
        "x",
        "area",
        *(f"{kind}{level}_index" for kind in ("ball", "spread") for level in (1, 2)),
        "spread1_weight",
        "spread2_weight",
    )
    recipe = network_recipe("pointnet2")
    smallest_batch = 8  # with one, it learns from statistics of each shape that evaluation does not have
    config: PointNet2Config

    def __init__(self, config: PointNet2Config) -> None:
        super().__init__(config)
        w, more = config.width, config.num_features - 3
        self.first = BallLayer(more + 3, w, w, 2 * w)
        self.second = BallLayer(2 * w + 3, 2 * w, 2 * w, 4 * w)
        self.whole = perceptron(4 * w + 3, 4 * w, 8 * w, 16 * w)
        dropout = nn.Dropout(config.dropout)
        if config.per_shape:
            self.head = nn.Sequential(
                perceptron(16 * w, 8 * w), dropout, perceptron(8 * w, 4 * w), dropout,
                nn.Linear(4 * w, config.outputs),
            )  # fmt: skip
            return
        self.back = nn.ModuleList(
            [
                perceptron(16 * w + 4 * w, 4 * w, 4 * w),
                perceptron(4 * w + 2 * w, 4 * w, 2 * w),
                perceptron(2 * w + more + 3, 2 * w, 2 * w, 2 * w),
            ]
        )
        self.head = nn.Sequential(perceptron(2 * w, 2 * w), dropout, nn.Linear(2 * w, config.outputs))

    def features(self, surface: Surface) -> Tensor:
        """Return (n, 2 width) features of points; for "classification" (shapes, 16 width) of shapes."""
        shape, shapes = shape_of_samples(surface)
        place, more = self._inputs(surface)
        one, two = Level(surface.ball1_index), Level(surface.ball2_index)
        x1 = self.first(more, place, place[one.centres], one.edges)
        near = torch.stack([torch.searchsorted(one.centres, two.edges[0]), two.edges[1]])
        x2 = self.second(x1, place[one.centres], place[two.centres], near)
        seen = self.whole(torch.cat([x2, place[two.centres]], 1))
        owner = shape[two.centres]
        whole = torch.segment_reduce(seen, "max", lengths=torch.bincount(owner, minlength=shapes))
        if self.config.per_shape:
            return whole
        x2 = self.back[0](torch.cat([whole[owner], x2], 1))
        read = _interpolate(x2, two.centres, surface.spread2_index, surface.spread2_weight, len(place))
        x1 = self.back[1](torch.cat([read[one.centres], x1], 1))
        read = _interpolate(x1, one.centres, surface.spread1_index, surface.spread1_weight, len(place))
        own = [place] if more is None else [place, more]
        back: Tensor = self.back[2](torch.cat([read, *own], 1))
        return back

    def _inputs(self, surface: Surface) -> tuple[Tensor, Tensor | None]:
        """Positions (n, 3), scaled to the unit sphere, and other features, if any."""
        x, columns = self.inputs(surface), feature_columns(self.config.features)
        place = x[:, columns["xyz"]]
        others = [x[:, own] for name, own in columns.items() if name != "xyz"]
        return at_unit_radius(place, surface), torch.cat(others, 1) if others else None


class Level:
    """The centres (m,) of a level, ascending samples, and edges (2, E) from samples to places in centres."""

    def __init__(self, index: Tensor) -> None:
        self.centres, receiver = torch.unique(index[1], return_inverse=True)
        self.edges = torch.stack([index[0], receiver])


class BallLayer(nn.Module):
    """Maxima of h(x_q, q − p) over the points q of balls around p, with a perceptron h of these widths."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.local_nn = perceptron(*widths)
        for layer in self.local_nn.modules():
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()  # the second draw, which published figures began from

    def forward(self, x: Tensor | None, senders: Tensor, receivers: Tensor, edges: Tensor) -> Tensor:
        """Return (m, C) maxima at the m receivers, given features (n, k) and places (n, 3), (m, 3)."""
        sender, receiver = edges
        seen = senders.index_select(0, sender) - receivers.index_select(0, receiver)
        if x is not None:
            seen = torch.cat([x.index_select(0, sender), seen], 1)
        seen = self.local_nn(seen)
        place = receiver[:, None].expand_as(seen)
        found: Tensor = seen.new_zeros(len(receivers), seen.shape[1])
        return found.scatter_reduce_(0, place, seen, "amax", include_self=False)


def perceptron(*widths: int) -> nn.Sequential:
    """Return linear layers of these widths, each normalised and rectified."""
    return nn.Sequential(
        *(nn.Sequential(nn.Linear(a, b), RowNorm(b), nn.ReLU()) for a, b in pairwise(widths))
    )


def _interpolate(x: Tensor, centres: Tensor, index: Tensor, weight: Tensor, count: int) -> Tensor:
    """Values (m, C) at centres, interpolated; zero at samples that read from none."""
    read = x.index_select(0, torch.searchsorted(centres, index[0])) * weight[:, None]
    return x.new_zeros(count, x.shape[1]).index_add(0, index[1], read)


def _balls(preparation: Preparation) -> Tensors:
    """Edges from points to the centres of their balls, and back from centres to points."""
    points = preparation.mesh.vertices[preparation.sampling.chosen]
    size = float(np.linalg.norm(points, axis=1).max()) or 1.0
    size *= max(1.0, REFERENCE_POINTS / len(points)) ** 0.5  # as many points in each ball
    order = farthest_points(points, CENTRES[0])
    before: Ints = np.arange(len(points))
    tensors = {}
    for level, (count, radius, most) in enumerate(zip(CENTRES, RADII, MAX_POINTS, strict=True), start=1):
        centres = np.sort(order[:count])
        tensors[f"ball{level}_index"] = _in_balls(points, before, centres, radius * size, most)
        index, weight = _nearest_centres(points, before, centres)
        tensors[f"spread{level}_index"], tensors[f"spread{level}_weight"] = index, weight
        before = centres
    return tensors


def _in_balls(
    points: Floats,
    senders: Ints,
    centres: Ints,
    radius: float,
    most: int,
) -> Tensor:
    """(2, E): the nearest senders within the radius around each centre, sorted by centre, then sender."""
    most = min(most, len(senders))
    distance, near = cKDTree(points[senders]).query(
        points[centres], range(1, most + 1), distance_upper_bound=radius
    )
    inside = np.isfinite(distance)
    sender, receiver = senders[near[inside]], np.repeat(centres, inside.sum(1))
    order = np.lexsort([sender, receiver])
    return torch.from_numpy(np.stack([sender[order], receiver[order]]))


def _nearest_centres(points: Floats, receivers: Ints, centres: Ints) -> tuple[Tensor, Tensor]:
    """(2, E) from the nearest centres to each receiver, and (E,) their shares, as 1/d²."""
    k = min(INTERPOLATION_CENTRES, len(centres))
    distance, near = cKDTree(points[centres]).query(points[receivers], range(1, k + 1))
    order = np.argsort(near, axis=1)
    near, distance = np.take_along_axis(near, order, 1), np.take_along_axis(distance, order, 1)
    share = 1 / np.maximum(distance, 1e-8) ** 2
    share /= share.sum(1, keepdims=True)
    index = np.stack([centres[near.ravel()], np.repeat(receivers, k)])
    return torch.from_numpy(index), single(share.ravel())


register_operator(Part("nested-balls", ("samples",), _balls))
