"""Augmentations of prepared surfaces; they take what `Surface.to_data` returns, too.

The geometry of a surface (neighbourhoods, logarithms, areas) is fixed when it is prepared; transforms change
features or tangent frames, on a copy. They draw from torch's random numbers, so ``torch.manual_seed`` repeats
them; each surface of a batch draws its own. ``x`` follows the positions if it is equal to them (features
"xyz"); intrinsic features stay.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fieldconv.surface.surface import Surface
from fieldconv.surface.views import turn_frames

__all__ = ["Compose", "RandomGauge", "RandomJitter", "RandomNoise", "RandomRotate", "RandomScale"]


class Compose:
    """Apply several transforms, one after the other."""

    def __init__(self, transforms: Sequence[Callable[[Surface], Surface]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, data: Surface) -> Surface:
        for transform in self.transforms:
            data = transform(data)
        return data

    def __repr__(self) -> str:
        return f"Compose([{', '.join(map(repr, self.transforms))}])"


class _Transform(ABC):
    """A transform that works on a copy."""

    def __call__(self, data: Surface) -> Surface:
        return self.forward(copy.copy(data))

    @abstractmethod
    def forward(self, data: Surface) -> Surface:
        """Change the surface, a shallow copy, and return it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, vars(self).values()))})"


class RandomRotate(_Transform):
    """Rotate positions, normals and frames by a rotation drawn uniformly from SO(3).

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> surface = Surface.from_mesh(square)
    >>> turned = RandomRotate()(surface)
    >>> torch.allclose(turned.pos.norm(dim=1), surface.pos.norm(dim=1)), torch.equal(turned.log, surface.log)
    (True, True)
    """

    def forward(self, data: Surface) -> Surface:
        quaternion = torch.nn.functional.normalize(torch.randn(_count(data), 4, dtype=torch.float64), dim=1)
        rotation = _rotation(quaternion).to(data.pos)[_graph(data)]

        def rotate(vectors: Tensor) -> Tensor:
            return (rotation @ vectors[:, :, None])[:, :, 0]

        _move(data, rotate(data.pos))
        data.normal, data.frame = rotate(data.normal), rotate(data.frame)
        return data


class RandomScale(_Transform):
    """Scale positions by a factor drawn from [low, high], as likely to enlarge as to shrink.

    Neighbourhoods stay those at unit area.
    """

    def __init__(self, low: float = 0.8, high: float = 1.25) -> None:
        if not 0 < low <= high:
            raise ValueError(f"the factors must be positive and low ≤ high, not {low} and {high}.")
        self.low, self.high = low, high

    def forward(self, data: Surface) -> Surface:
        share = torch.rand(_count(data), 1)
        factor = torch.exp(math.log(self.low) + share * math.log(self.high / self.low)).to(data.pos)
        _move(data, data.pos * factor[_graph(data)])
        return data


class RandomNoise(_Transform):
    """Add Gaussian noise to the input features: to the positions, if they are the features."""

    def __init__(self, std: float = 0.01) -> None:
        self.std = _standard_deviation(std)

    def forward(self, data: Surface) -> Surface:
        noise = (self.std * torch.randn(data.x.shape)).to(data.x)
        if _sees_positions(data):
            _move(data, data.pos + noise)
        else:
            data.x = data.x + noise
        return data


class RandomJitter(_Transform):
    """Move each point along its normal by a Gaussian distance, in units of √area."""

    def __init__(self, std: float = 0.01) -> None:
        self.std = _standard_deviation(std)

    def forward(self, data: Surface) -> Surface:
        height = (self.std * torch.randn(len(data.pos), 1)).to(data.pos)
        _move(data, data.pos + height * data.normal)
        return data


class RandomGauge(_Transform):
    """Turn every tangent frame by an angle of its own; field convolutions do not depend on it."""

    def forward(self, data: Surface) -> Surface:
        angles = (2 * math.pi * torch.rand(len(data.pos), dtype=torch.float64)).to(data.pos)
        return turn_frames(data, angles)


def _sees_positions(data: Surface) -> bool:
    return data.x.shape == data.pos.shape and torch.equal(data.x, data.pos)


def _move(data: Surface, positions: Tensor) -> None:
    if _sees_positions(data):
        data.x = positions
    data.pos = positions


def _count(data: Surface) -> int:
    return int(data.num_graphs) if "batch" in data else 1


def _graph(data: Surface) -> Tensor:
    """(n,) which surface of a batch each point is on."""
    graph = data.batch
    return graph if graph is not None else data.pos.new_zeros(len(data.pos), dtype=torch.long)


def _rotation(quaternion: Tensor) -> Tensor:
    """(G, 3, 3) rotation matrices of unit quaternions (G, 4)."""
    w, x, y, z = quaternion.unbind(1)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)


def _standard_deviation(std: float) -> float:
    if not 0 <= std < math.inf:
        raise ValueError(f"the standard deviation must not be negative, not {std}.")
    return std
