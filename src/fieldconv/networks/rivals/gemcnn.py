"""Gauge equivariant mesh CNN (de Haan, Weiler, Cohen, Welling 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fieldconv._arrays import Floats
from fieldconv._checked import check_count
from fieldconv._presets import network_presets, network_recipe
from fieldconv.geometry.resample.sampling import nearest_samples
from fieldconv.networks.protocol import FeatureNetwork, NetworkConfig
from fieldconv.nn import ScalarHead
from fieldconv.nn.initialise import draw_normal
from fieldconv.ops.vectors import complex_matmul
from fieldconv.surface.parts import Part, Preparation, Tensors, register_operator

if TYPE_CHECKING:
    from fieldconv.surface import Surface

NEIGHBOURS = 6  # on a triangle mesh, on average


def _ring(preparation: Preparation) -> Tensors:
    """Edges between neighbours: of the mesh, or between samples whose cells touch.

    As in the paper, directions are those of the straight edge, projected to the tangent plane, and vectors
    are carried by the shortest rotation from the sender's to the receiver's normal.
    """
    mesh, chosen = preparation.mesh, preparation.sampling.chosen
    owner = preparation.number
    if len(chosen) < len(owner):
        owner = nearest_samples(mesh, chosen, 1)[0][:, 0]
    sides = owner[mesh.faces[:, [0, 1, 1, 2, 2, 0]]].reshape(-1, 2)
    sides = sides[(sides[:, 0] != sides[:, 1]) & (sides >= 0).all(1)]
    p, q = np.unique(np.concatenate([sides, sides[:, ::-1]]), axis=0).T
    frames, normals = (array[chosen] for array in preparation.frames)
    across = np.cross(normals, frames)

    def at_receiver(vectors: Floats) -> NDArray[np.complex128]:
        return (vectors * frames[p]).sum(1) + 1j * (vectors * across[p]).sum(1)  # type: ignore[no-any-return]

    place = mesh.vertices[chosen]
    # The shortest rotation from normal n to normal m takes a tangent vector a to a − (a·m)(n + m)/(1 + n·m).
    n, m, a = normals[q], normals[p], frames[q]
    opening = np.maximum(1 + (n * m).sum(1, keepdims=True), 1e-9)
    carried = a - (a * m).sum(1, keepdims=True) * (n + m) / opening
    return {
        "ring_index": torch.from_numpy(np.stack([q, p])),
        "ring_direction": _direction(at_receiver(place[q] - place[p])),
        "ring_transport": _direction(at_receiver(carried)),
    }


def _direction(z: NDArray[np.complex128]) -> Tensor:
    """e^{iθ} of vectors; 0 where there is none."""
    size = np.abs(z)
    return torch.from_numpy((z / np.where(size > 0, size, 1.0)).astype(np.complex64))


register_operator(Part("ring", ("samples",), _ring))


class GaugeConv(nn.Module):
    r"""Gauge equivariant convolution over the edges of a mesh.

    .. math::
        X'(p) = K_\text{self} X(p) + \sum_{q \in \mathcal{N}_p} K(\theta_{pq}) \, \rho(\varphi_{pq}) X(q)

    The features of a channel are of the orders 0 to B: a real number and complex numbers that turn n times
    as fast as tangent vectors, so that :math:`\rho(\varphi)` multiplies order n by :math:`e^{in\varphi}`.
    The response does not depend on tangent frames if and only if
    :math:`K(\theta - \alpha) = \rho(-\alpha) K(\theta) \rho(\alpha)`. The solutions are, from order n to m,

    .. math:: z \mapsto a \, e^{i(m - n)\theta} z + b \, e^{i(m + n)\theta} \bar z,
        \qquad a, b \in \mathbb{C}

    (only a if n = 0, only the real part if m = 0), and for :math:`K_\text{self}` a complex factor from each
    order to itself: (2B + 1)² + 2B + 1 numbers for a pair of channels. The length of the edge plays no part.

    Parameters
    ----------
    in_channels, out_channels : int
    in_order, out_order : int
        Largest orders B of input and output.

    Shapes
    ------
    - input (n, 2 in_order + 1, in_channels) real, and the surface (or batch of surfaces) with n samples;
      the middle index holds order 0, then real and imaginary part of order 1, 2, …
    - output (n, 2 out_order + 1, out_channels) real

    Examples
    --------
    >>> sum(parameter.numel() for parameter in GaugeConv(1, 1, in_order=2, out_order=2).parameters())
    31
    """

    def __init__(self, in_channels: int, out_channels: int, *, in_order: int = 2, out_order: int = 2) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.in_order, self.out_order = in_order, out_order
        self.ring = nn.Parameter(torch.empty(2 * out_order + 1, 2 * in_order + 1, in_channels, out_channels))
        self.centre = nn.Parameter(torch.empty(2 * min(in_order, out_order) + 1, in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw kernels that keep the mean square of random features, half of it from the neighbours."""
        draw_normal(self.centre, std=(2 * self.in_channels) ** -0.5)
        inputs = NEIGHBOURS * (2 * self.in_order + 1) * self.in_channels
        draw_normal(self.ring, std=(2 * inputs) ** -0.5)

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        sums = self._sums(x, surface)  # [n][p, j, c]
        middle = self.out_order
        # Order 0: real parts of what is left after turning back to where the neighbour lies.
        parts = [sums[0][:, middle].real]
        for order in range(1, self.in_order + 1):
            parts += [sums[order][:, middle].real, sums[order][:, middle].imag]
        scalars = torch.cat(parts, 1) @ self.ring[0].flatten(0, 1) + x[:, 0] @ self.centre[0] + self.bias
        result = [scalars]
        for order in range(1, self.out_order + 1):
            turned = [sums[0][:, middle + order]]
            for before in range(1, self.in_order + 1):
                turned += [sums[before][:, middle + order], sums[before][:, middle - order].conj()]
            real, imaginary = self.ring[2 * order - 1], self.ring[2 * order]
            y = complex_matmul(
                torch.cat(turned, 1).resolve_conj(), real.flatten(0, 1), imaginary.flatten(0, 1)
            )
            if order <= self.in_order:
                y = y + complex_matmul(_part(x, order), self.centre[2 * order - 1], self.centre[2 * order])
            result += [y.real, y.imag]
        return torch.stack(result, 1)

    def _sums(self, x: Tensor, surface: Surface) -> list[Tensor]:
        """For each order n (points, 2B'+1, C) complex: Σ_q e^{i(j − n)θ} e^{inφ} x_n(q), j = −B' … B'."""
        sender, receiver = surface.ring_index
        direction, transport = surface.ring_direction, surface.ring_transport
        result = []
        for order in range(self.in_order + 1):
            powers = [_power(direction, j - order) for j in range(-self.out_order, self.out_order + 1)]
            coefficient = torch.stack(powers, 1) * _power(transport, order)[:, None]  # (E, 2B' + 1)
            terms = coefficient[:, :, None] * _part(x, order).index_select(0, sender)[:, None]
            shape = (len(x), 2 * self.out_order + 1, self.in_channels)
            result.append(terms.new_zeros(shape).index_add(0, receiver, terms))
        return result

    def extra_repr(self) -> str:
        orders = f"in_order={self.in_order}, out_order={self.out_order}"
        return f"{self.in_channels}, {self.out_channels}, {orders}"


class RegularReLU(nn.Module):
    r"""ReLU on features as functions on the circle of directions, sampled at N of them.

    .. math:: f(\alpha) = x_0 + \sqrt 2 \sum_{n=1}^{B} \mathrm{Re}(\bar z_n e^{in\alpha})

    The samples :math:`\mathrm{ReLU}(f(2\pi k / N))` are taken back to orders 0 to B. That commutes with
    turning the frame by multiples of 2π/N exactly, and by other angles the better, the larger N is.

    Parameters
    ----------
    order : int
        B.
    samples : int
        N, at least 2B + 1.

    Shapes
    ------
    - input and output (n, 2B + 1, channels) real, as in `GaugeConv`

    Examples
    --------
    >>> RegularReLU(1, samples=7)(torch.tensor([[[2.0], [1.0], [0.0]]])).squeeze().round(decimals=4).tolist()
    [2.0, 1.0, 0.0]
    """

    def __init__(self, order: int, samples: int) -> None:
        super().__init__()
        if samples < 2 * order + 1:
            raise ValueError(
                f"samples is {samples}; give at least {2 * order + 1} for features of order {order}"
            )
        angle = 2 * math.pi * torch.arange(samples, dtype=torch.float64) / samples
        rows = [torch.ones_like(angle)]
        for n in range(1, order + 1):
            rows += [math.sqrt(2) * (n * angle).cos(), math.sqrt(2) * (n * angle).sin()]
        basis = torch.stack(rows, 1)  # (N, 2B + 1), columns orthogonal and of squared length N
        self.order, self.samples = order, samples
        self.register_buffer("basis", basis.to(torch.get_default_dtype()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        basis: Tensor = self.basis  # type: ignore[assignment]
        return basis.T @ torch.relu(basis @ x) / self.samples

    def extra_repr(self) -> str:
        return f"{self.order}, samples={self.samples}"


class GaugeBlock(nn.Module):
    """Two `GaugeConv`, with a `RegularReLU` after the first and after adding the input; shapes alike."""

    def __init__(
        self, in_channels: int, out_channels: int, *, in_order: int, out_order: int, samples: int
    ) -> None:
        super().__init__()
        between = max(in_order, out_order)
        self.conv1 = GaugeConv(in_channels, out_channels, in_order=in_order, out_order=between)
        self.conv2 = GaugeConv(out_channels, out_channels, in_order=between, out_order=out_order)
        self.relu1, self.relu2 = RegularReLU(between, samples), RegularReLU(out_order, samples)
        same = in_channels == out_channels
        self.carry = nn.Identity() if same else nn.Linear(in_channels, out_channels, bias=False)

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        y = self.conv2(self.relu1(self.conv1(x, surface)), surface)
        carried = self.carry(x)[:, : y.shape[1]]
        missing = y.shape[1] - carried.shape[1]  # orders that the input does not have
        return self.relu2(y + nn.functional.pad(carried, (0, 0, 0, missing)))  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class GEMCNNConfig(NetworkConfig):
    """Settings of a `GEMCNN`, besides those that every network has (`NetworkConfig`)."""

    network: ClassVar[str] = "gemcnn"
    operators: ClassVar[tuple[str, ...]] = ("ring",)
    presets = network_presets("gemcnn")
    counts = ("width", "order", "blocks", "dense")

    width: int = 16
    """Channels, each with all orders."""
    order: int = 2
    """Largest order B of features."""
    blocks: int = 3
    """Number of ResNet blocks."""
    circle: int = 7
    """N directions at which the non-linearity is taken."""
    dense: int = 256
    """Width between the two dense layers at the end."""
    dropout: float = 0.5
    """Share dropped between them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("circle", self.circle, 2 * self.order + 1)


class GEMCNN(FeatureNetwork):
    """Gauge equivariant mesh CNN: residual blocks over the edges of the mesh, then two dense layers.

    Inputs are of order 0, features between blocks of orders 0 to B, those of the last block of order 0
    again. With samples, neighbours are those whose cells (the points nearest to them) touch. Tangent vectors
    are the order 1 of a last convolution, for which the last block keeps all orders.

    Widths, orders and layers are those of the authors' public code for FAUST; their paper states no number of
    parameters. Convolutions are the paper's equation, from which that code departs: its kernels change
    linearly with the length of the edge (two rings), it takes the mean over a point and its neighbours
    instead of the sum, and biases come with all orders, turned to the neighbour's direction.

    Examples
    --------
    >>> GEMCNN.for_task("segmentation", classes=8, preset="paper").num_parameters
    39096
    """

    name, Config = "gemcnn", GEMCNNConfig
    reads = ("x", "area", "ring_index", "ring_direction", "ring_transport")
    recipe = network_recipe("gemcnn")
    config: GEMCNNConfig

    def __init__(self, config: GEMCNNConfig) -> None:
        super().__init__(config)
        directed = config.head == "vectors"
        widths = [config.num_features] + [config.width] * config.blocks
        orders = [0] + [config.order] * config.blocks
        orders[-1] = config.order if directed else 0
        self.blocks = nn.ModuleList(
            GaugeBlock(a, b, in_order=m, out_order=n, samples=config.circle)
            for (a, b), (m, n) in zip(pairwise(widths), pairwise(orders), strict=True)
        )
        self.head: GaugeConv | ScalarHead
        if directed:
            self.head = GaugeConv(config.width, config.outputs, in_order=config.order, out_order=1)
        else:
            self.head = ScalarHead(
                config.width,
                config.outputs,
                per_shape=config.per_shape,
                hidden=config.dense,
                dropout=config.dropout,
            )

    def features(self, surface: Surface) -> Tensor:
        """Return (n, 2B + 1, width) real, with B = 0 unless the head is "vectors"."""
        x = self.inputs(surface)[:, None]
        for block in self.blocks:
            x = block(x, surface)
        return x

    def outputs(self, features: Tensor, surface: Surface) -> Tensor:
        if isinstance(self.head, GaugeConv):
            return _part(self.head(features, surface), 1)
        return self.head(self.invariants(features), surface)  # type: ignore[no-any-return]

    def invariants(self, features: Tensor) -> Tensor:
        """Return (n, width): the order 0."""
        return features[:, 0]


def _part(x: Tensor, order: int) -> Tensor:
    """(n, C) complex: one order of features (n, 2B + 1, C)."""
    if order == 0:
        return torch.complex(x[:, 0], torch.zeros_like(x[:, 0]))
    return torch.complex(x[:, 2 * order - 1], x[:, 2 * order])


def _power(z: Tensor, exponent: int) -> Tensor:
    """z^exponent of numbers of unit length; of 0, which has no direction, it is 1 for exponent 0, else 0."""
    result = torch.ones_like(z)
    for _ in range(abs(exponent)):
        result = result * (z if exponent > 0 else z.conj())
    return result
