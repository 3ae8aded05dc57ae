"""DiffusionNet: learned diffusion, gradient features and a perceptron at each point (Sharp et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from fieldconv._presets import network_presets, network_recipe, network_recipes
from fieldconv.networks.protocol import NetworkConfig
from fieldconv.networks.rivals.shared.scalar import ScalarNetwork
from fieldconv.nn import Perceptron
from fieldconv.nn.pooling import shape_of_samples
from fieldconv.surface.settings import EIGENFUNCTIONS

if TYPE_CHECKING:
    from fieldconv.surface import Surface

MIN_TIME = 1e-8  # diffusion time


@dataclass(frozen=True, kw_only=True)
class DiffusionNetConfig(NetworkConfig):
    """Settings of a `DiffusionNet`, besides those that every network has (`NetworkConfig`)."""

    network: ClassVar[str] = "diffusionnet"
    operators: ClassVar[tuple[str, ...]] = ("eigenbasis", "eigengradients")
    presets = network_presets("diffusionnet")
    counts = ("width", "blocks", "eigenfunctions")

    width: int = 128
    """Channels of the blocks: 128 in the paper, 32 for its classification of SHREC'11."""
    blocks: int = 4
    """Number of blocks."""
    eigenfunctions: int = EIGENFUNCTIONS
    """k of the spectral acceleration."""
    gradients: bool = True
    """Whether there are gradient features, without which filters cannot tell directions."""
    dropout: float | None = None
    """Share dropped inside the perceptrons; None for what the paper does: one half for points, nothing for
    whole shapes."""


class DiffusionNet(ScalarNetwork):
    r"""Blocks of learned diffusion, gradient features and a perceptron at each point.

    With the eigenfunctions φ and eigenvalues λ of the Laplacian, channel c diffuses for a learnt time t_c,

    .. math:: h_c = \Phi \, e^{-\Lambda t_c} \, \Phi^T M x_c

    Its gradient, z = ∇h as a complex number in the tangent frame, gives features that no choice of frame
    changes, with a learnt complex matrix A,

    .. math:: g = \tanh \mathrm{Re}\,(\bar z \odot A z)

    and each block adds to its input what a perceptron with two hidden layers makes of both:
    x + MLP(x, h, g).

    On samples of a mesh, eigenfunctions and their gradients are those of the whole mesh, evaluated at the
    samples; the integrals ΦᵀMx become sums over samples, weighted by the area that each stands for. They are
    no longer exact for the highest frequencies, so by default every vertex of up to 10,000 is kept.

    Positions, if they are an input, are scaled to unit radius, as the authors do. Operators stay at unit
    area; the authors have them at unit radius, too, which is another unit of times and of gradients.

    References
    ----------
    N. Sharp, S. Attaiki, K. Crane, M. Ovsjanikov: DiffusionNet: Discretization Agnostic Learning on
    Surfaces. ACM Transactions on Graphics, 2022.

    Examples
    --------
    >>> DiffusionNet.for_task("segmentation", classes=8, preset="paper").num_parameters
    462344
    """

    name, Config = "diffusionnet", DiffusionNetConfig
    reads = ("x", "area", "mass", "eigenvalues", "eigenfunctions", "eigengradients")
    recipe = network_recipe("diffusionnet")
    recipes = network_recipes("diffusionnet")
    unit_radius = True  # the authors' scale; at unit area positions are about 0.28 long, and learnt far worse
    config: DiffusionNetConfig

    def __init__(self, config: DiffusionNetConfig) -> None:
        super().__init__(config)
        dropout = config.dropout
        if dropout is None:
            dropout = 0.0 if config.per_shape else 0.5
        self.first = nn.Linear(config.num_features, config.width)
        self.blocks = nn.ModuleList(
            DiffusionBlock(config.width, gradients=config.gradients, dropout=dropout)
            for _ in range(config.blocks)
        )
        self.head = nn.Linear(config.width, config.outputs)

    def features(self, surface: Surface) -> Tensor:
        """Return (n, width): the outputs of the last block."""
        basis = Basis(surface)
        x = self.first(self.inputs(surface))
        for block in self.blocks:
            x = block(x, basis)
        return self.pooled(x, surface)


class DiffusionBlock(nn.Module):
    """x + MLP(x, diffused x, gradient features).

    Shapes
    ------
    - input (n, width), and a `Basis`
    - output (n, width)
    """

    def __init__(self, width: int, *, gradients: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        self.time = nn.Parameter(torch.zeros(width))
        self.turn = nn.Parameter(torch.empty(2, width, width)) if gradients else None  # A, real, imaginary
        if self.turn is not None:
            nn.init.uniform_(self.turn, -(width**-0.5), width**-0.5)
        self.perceptron = Perceptron(
            nn.Linear((3 if gradients else 2) * width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
        )

    def forward(self, x: Tensor, basis: Basis) -> Tensor:
        coefficients = self.diffused(basis.coefficients(x), basis)
        parts = [x, basis.function(coefficients)]
        if self.turn is not None:
            parts.append(self.gradient_features(*basis.gradient(coefficients)))
        return x + self.perceptron(torch.cat(parts, 1))  # type: ignore[no-any-return]

    def diffused(self, coefficients: Tensor, basis: Basis) -> Tensor:
        """Return the coefficients (shapes, k, C) of each channel after its time."""
        if self.training:
            with torch.no_grad():  # a step may have made times negative; none of them stays there
                self.time.clamp_(min=MIN_TIME)
        return torch.exp(-basis.values[:, :, None] * self.time.clamp(min=MIN_TIME)) * coefficients

    def gradient_features(self, along: Tensor, across: Tensor) -> Tensor:
        """Return tanh Re(z̄ ⊙ Az) of the two components of z, each (n, C)."""
        assert self.turn is not None
        real, imaginary = self.turn
        both = torch.cat([along, across]) @ torch.cat([real, imaginary], 1)
        (along_real, along_imaginary), (across_real, across_imaginary) = (
            part.chunk(2, 1) for part in both.chunk(2)
        )
        return torch.tanh(along * (along_real - across_imaginary) + across * (along_imaginary + across_real))


class Basis:
    """Eigenfunctions of a surface, or of each surface of a batch, and expansions in them.

    ``values`` (shapes, k) are the eigenvalues. Only `gradient` needs the operator "eigengradients".
    """

    def __init__(self, surface: Surface) -> None:
        shapes = shape_of_samples(surface)[1]
        ends = surface.ptr.tolist() if shapes > 1 else [0, len(surface.area)]
        self._samples = [slice(first, last) for first, last in pairwise(ends)]
        self.values: Tensor = surface.eigenvalues
        self._functions: Tensor = surface.eigenfunctions
        self._weighted = (surface.eigenfunctions * surface.mass[:, None]).T
        gradients: Tensor | None = getattr(surface, "eigengradients", None)
        # Real and imaginary parts lie side by side in memory, which matrix products would copy each time.
        self._gradients = (
            [] if gradients is None else [g.contiguous() for g in (gradients.real, gradients.imag)]
        )

    def coefficients(self, x: Tensor) -> Tensor:
        """Return (shapes, k, C): ΦᵀMx of each shape."""
        return torch.stack([self._weighted[:, own] @ x[own] for own in self._samples])

    def function(self, coefficients: Tensor) -> Tensor:
        """Return (n, C): the functions that have these coefficients."""
        return self._expand(self._functions, coefficients)

    def gradient(self, coefficients: Tensor) -> list[Tensor]:
        """Return two (n, C): the components of the functions' gradients in the tangent frames."""
        return [self._expand(part, coefficients) for part in self._gradients]

    def _expand(self, functions: Tensor, coefficients: Tensor) -> Tensor:
        parts = [functions[own] @ c for own, c in zip(self._samples, coefficients, strict=True)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)
