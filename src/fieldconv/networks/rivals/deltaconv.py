"""DeltaConv: streams of scalars and vectors, joined by vector calculus (Wiersma et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from fieldconv._presets import network_presets, network_recipe, network_recipes
from fieldconv.networks.protocol import NetworkConfig
from fieldconv.networks.rivals.shared.least_squares import point_gradients
from fieldconv.networks.rivals.shared.scalar import RowNorm, ScalarNetwork
from fieldconv.networks.rivals.shared.sparse import SparseMatrix
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.nn.tangent_linear import TangentLinear
from fieldconv.ops.vectors import polar
from fieldconv.surface.parts import Part, Preparation, Tensors, register_operator

if TYPE_CHECKING:
    from fieldconv.surface import Surface

NEIGHBOURS = 20
"""Nearest points, each point itself included."""
SLOPE = 0.2
"""Slope of the leaky ReLU below zero."""


@dataclass(frozen=True, kw_only=True)
class DeltaConvConfig(NetworkConfig):
    """Settings of a `DeltaConvNet`, besides those that every network has (`NetworkConfig`)."""

    network: ClassVar[str] = "deltaconv"
    operators: ClassVar[tuple[str, ...]] = ("delta",)
    presets = network_presets("deltaconv")
    counts = ("width", "layers", "embedding")

    width: int = 128
    """Channels of the convolutions, as many scalars as vectors: 128 for the paper's human bodies, 32 for its
    SHREC'11."""
    layers: int = 8
    """Number of convolutions: 8 and 4."""
    embedding: int = 512
    """Width of the features that are pooled over a shape: 512 and 1024."""
    dropout: float = 0.5
    """Share dropped between the layers of the head."""


class DeltaConvNet(ScalarNetwork):
    r"""Layers of DeltaConv: scalars and tangent vectors, joined by gradient, divergence and curl.

    With scalars x and vectors v at each point, a layer computes

    .. math:: x' &= \max_{q \in N(p)} h_1(x_q) + h_2(x, \mathrm{div}\, v, \mathrm{curl}\, v, |v|) \\
              v' &= h_3(v, \Delta v, \mathrm{grad}\, x'), \qquad
              \Delta v = -(\mathrm{grad\, div}\, v + J\, \mathrm{grad\, curl}\, v)

    where h₁ and h₂ are perceptrons, h₃ is a complex matrix (it mixes vectors and those turned by a right
    angle, J) followed by a non-linearity on magnitudes, and Δ is the Hodge Laplacian. The first vectors are
    gradients of the input; the first layer takes the maximum over differences, h₁(x_q − x_p).

    The scalars of all layers are embedded together and pooled over the shape: maximum and mean go to the
    head for shapes; the maximum, beside the scalars of all layers, to those for points. The head "vectors"
    is a complex matrix on the last vectors.

    Operators are those of the paper: polynomials fitted to the 20 nearest samples in space, whatever the
    triangles, divided by their largest row sum. So samples of a mesh are its home: 1024 by default.
    Positions, if they are an input, are scaled to unit radius, as the authors do.

    References
    ----------
    R. Wiersma, A. Nasikun, E. Eisemann, K. Hildebrandt: DeltaConv: Anisotropic Operators for Geometric Deep
    Learning on Point Clouds. ACM Transactions on Graphics, 2022.

    Examples
    --------
    >>> net = DeltaConvNet.for_task("segmentation", classes=8, preset="tiny")
    >>> len(net.layers)
    3
    """

    name, Config = "deltaconv", DeltaConvConfig
    reads = ("x", "area", "frame", "normal", "delta_index", "delta_gradient")
    recipe = network_recipe("deltaconv")
    recipes = network_recipes("deltaconv")
    heads = ("labels", "classification", "descriptors", "vectors")
    unit_radius = True  # the authors' scale
    config: DeltaConvConfig

    def __init__(self, config: DeltaConvConfig) -> None:
        super().__init__(config)
        widths = [config.num_features] + [config.width] * config.layers
        last = config.layers - 1
        self.layers = nn.ModuleList(
            DeltaConv(
                widths[i],
                widths[i + 1],
                differences=i == 0,
                vectors=i < last or config.head == "vectors",
            )
            for i in range(config.layers)
        )
        every = config.layers * config.width
        if config.head == "vectors":
            self.head = TangentLinear(config.width, config.outputs)
            return
        self.embedding = perceptron(every, config.embedding)
        shapes = config.per_shape
        hidden = (512, 256) if shapes else (256, 256)
        tail = [] if shapes else [nn.Linear(hidden[1], 128), nn.LeakyReLU(SLOPE)]
        self.head = nn.Sequential(
            perceptron(2 * config.embedding if shapes else config.embedding + every, hidden[0]),
            nn.Dropout(config.dropout),
            perceptron(hidden[0], hidden[1]),
            nn.Dropout(config.dropout),
            *tail,
            nn.Linear(hidden[1] if shapes else 128, config.outputs),
        )

    def streams(self, surface: Surface) -> tuple[list[Tensor], Tensor]:
        """Return the scalars (n, width) after each layer, and the last vectors (n, width)."""
        calculus = Calculus(surface)
        x = self.inputs(surface)
        v = calculus.gradient(x)
        scalars = []
        for layer in self.layers:
            x, v = layer(x, v, calculus)
            scalars.append(x)
        return scalars, v

    def features(self, surface: Surface) -> Tensor:
        """Return what the head receives: the last vectors, or scalars of points or shapes."""
        scalars, vectors = self.streams(surface)
        if self.config.head == "vectors":
            return vectors
        x = torch.cat(scalars, 1)
        embedded: Tensor = self.embedding(x)
        shape, shapes = shape_of_samples(surface)
        most = torch.segment_reduce(embedded, "max", lengths=torch.bincount(shape, minlength=shapes))
        if self.config.per_shape:
            return torch.cat([most, mean_per_shape(embedded, torch.ones_like(surface.area), surface)], 1)
        return torch.cat([most[shape], x], 1)

    def invariants(self, features: Tensor) -> Tensor:
        """Return scalars as they are, and the magnitudes of vectors."""
        return polar(features)[0] if features.is_complex() else features


class DeltaConv(nn.Module):
    """One layer, as in `DeltaConvNet`, with as many scalars as vectors.

    Parameters
    ----------
    in_channels, out_channels : int
    differences : bool
        Whether the maximum is taken over h₁(x_q − x_p).
    vectors : bool
        Whether vectors go on.

    Shapes
    ------
    - input (n, in_channels) real and complex, and a `Calculus`
    - output (n, out_channels) real and complex; without vectors the second one is as it came
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, differences: bool = False, vectors: bool = True
    ) -> None:
        super().__init__()
        self.differences = differences
        self.neighbours = perceptron(in_channels, out_channels)
        self.scalars = perceptron(4 * in_channels, out_channels)
        self.vectors = TangentLinear(2 * in_channels + out_channels, out_channels) if vectors else None
        self.norm = RowNorm(out_channels) if vectors else None

    def forward(self, x: Tensor, v: Tensor, calculus: Calculus) -> tuple[Tensor, Tensor]:
        divergence, curl = calculus.divergence(v), calculus.curl(v)
        if self.differences:
            most = calculus.maximum(self.neighbours(calculus.differences(x)))
        else:
            most = calculus.maximum(calculus.at_neighbours(self.neighbours(x)))
        after = most + self.scalars(torch.cat([x, divergence, curl, polar(v)[0]], 1))
        if self.vectors is None or self.norm is None:
            return after, v
        slopes = calculus.gradient(torch.cat([after, divergence, curl], 1))
        widths = [after.shape[1], x.shape[1], x.shape[1]]
        slope, of_divergence, of_curl = torch.split(slopes, widths, 1)
        hodge = -(of_divergence + 1j * of_curl)
        length, direction = polar(self.vectors(torch.cat([v, hodge, slope], 1)))
        return after, torch.relu(self.norm(length)) * direction


class Calculus:
    """Gradient, divergence and curl on a surface or a batch, between real and complex (n, C).

    A tangent vector at a neighbour is projected to the tangent plane of the point where its divergence is
    wanted, as positions are for the gradient. The surface has the operator "delta".
    """

    def __init__(self, surface: Surface) -> None:
        self._sender, self._receiver = surface.delta_index
        count = self._count = len(surface.frame)
        self._degree = torch.bincount(self._receiver, minlength=count)
        slope = surface.delta_gradient
        axes = torch.stack([surface.frame, torch.linalg.cross(surface.normal, surface.frame)], 1)
        arrow = (torch.view_as_real(slope)[:, :, None] * axes[self._receiver]).sum(1)  # in space
        seen = (axes[self._sender] * arrow[:, None]).sum(2)  # in the frame of the sender
        index = torch.stack([self._sender, self._receiver])
        step = torch.tensor([[0], [count]], device=index.device)
        both = torch.cat([index, index], 1)
        later = torch.cat([torch.zeros_like(index), step.expand_as(index)], 1)
        # Components of vectors below each other: first all along the frames, then all across.
        self._gradient = SparseMatrix(both + later, torch.cat([slope.real, slope.imag]), (2 * count, count))
        self._divergence = SparseMatrix(
            both + later.flip(0), torch.cat([seen[:, 0], seen[:, 1]]), (count, 2 * count)
        )

    def gradient(self, x: Tensor) -> Tensor:
        """Return ∇x."""
        return torch.complex(*(self._gradient @ x).chunk(2))

    def divergence(self, v: Tensor) -> Tensor:
        """Return div v."""
        return self._divergence @ torch.cat([v.real, v.imag])

    def curl(self, v: Tensor) -> Tensor:
        """Return curl v = −div Jv, which is positive where v turns anticlockwise."""
        return self._divergence @ torch.cat([v.imag, -v.real])

    def hodge_laplacian(self, v: Tensor) -> Tensor:
        """Return Δv = −(grad div v + J grad curl v)."""
        return -(self.gradient(self.divergence(v)) + 1j * self.gradient(self.curl(v)))

    def at_neighbours(self, x: Tensor) -> Tensor:
        """Return (E, C): x at the sender of each edge."""
        return x.index_select(0, self._sender)

    def differences(self, x: Tensor) -> Tensor:
        """Return (E, C): x at the sender of each edge, less x at its receiver."""
        return self.at_neighbours(x) - x.index_select(0, self._receiver)

    def maximum(self, x: Tensor) -> Tensor:
        """Return (n, C): the largest of the values (E, C) at the edges to each point."""
        return torch.segment_reduce(x, "max", lengths=self._degree)


def perceptron(in_channels: int, out_channels: int) -> nn.Sequential:
    """Return a linear layer, normalised, with a leaky ReLU."""
    return nn.Sequential(
        nn.Linear(in_channels, out_channels, bias=False), RowNorm(out_channels), nn.LeakyReLU(SLOPE)
    )


def _delta(preparation: Preparation) -> Tensors:
    chosen = preparation.sampling.chosen
    frames, normals = preparation.frames
    found = point_gradients(
        preparation.mesh.vertices[chosen], frames[chosen], normals[chosen], neighbours=NEIGHBOURS
    )
    most = np.bincount(found.receiver, np.abs(found.coefficient)).max()
    slopes = found.coefficient / max(float(most), 1e-300)
    return {
        "delta_index": torch.from_numpy(np.stack([found.sender, found.receiver])),
        "delta_gradient": torch.from_numpy(slopes.astype(np.complex64)),
    }


register_operator(Part("delta", ("samples",), _delta))
