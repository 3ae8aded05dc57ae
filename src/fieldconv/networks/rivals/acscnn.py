"""ACSCNN: Chebyshev polynomials of Laplacians that prefer different directions (Li et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from scipy.linalg import eigvalsh
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, eigsh
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from fieldconv._arrays import Floats
from fieldconv._presets import network_presets, network_recipe
from fieldconv.networks.protocol import NetworkConfig
from fieldconv.networks.rivals.shared.anisotropic import (
    Stiffness,
    anisotropic_stiffness,
    principal_directions,
    sum_duplicates,
)
from fieldconv.networks.rivals.shared.scalar import RowNorm, ScalarNetwork
from fieldconv.networks.rivals.shared.sparse import compressed_rows
from fieldconv.nn import Perceptron
from fieldconv.nn.initialise import draw_normal
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.surface.parts import Part, Preparation, Sampling, Tensors, register_operator, single

if TYPE_CHECKING:
    from fieldconv.surface import Surface

ANGLES = 8
"""Directions in half a turn."""
ANISOTROPY = 10.0
"""α: conductivity is 1/(1 + α) along a direction, and 1 across it."""
SMOOTHING = 10
"""How often curvature is averaged over neighbours before its directions are taken."""


@dataclass(frozen=True, kw_only=True)
class ACSCNNConfig(NetworkConfig):
    """Settings of an `ACSCNN`, besides those that every network has (`NetworkConfig`)."""

    network: ClassVar[str] = "acscnn"
    operators: ClassVar[tuple[str, ...]] = ("anisotropic",)
    presets = network_presets("acscnn")
    counts = ("width", "layers", "order", "dense")

    width: int = 64
    """Channels of the convolutions."""
    layers: int = 6
    """Number of convolutions."""
    order: int = 16
    """K: polynomials of degree 0 to K − 1."""
    dense: int = 256
    """Width of the layer between the last convolution and the outputs."""
    dropout: float = 0.5
    """Share dropped after that layer."""


class ACSCNN(ScalarNetwork):
    r"""Convolutions by Chebyshev polynomials of eight anisotropic Laplacians.

    The Laplacian −div(D_θ ∇f) conducts 1/(1 + α) as well along one direction as across it; the direction is
    that of largest curvature, turned by θ = 0, π/8, …, 7π/8. With its eigenfunctions Φ_θ, a convolution is

    .. math:: y = \sum_\theta \sum_{k<K} \Phi_\theta \, T_k(\tilde\Lambda_\theta) \, \Phi_\theta^{-1} \,
              x \, W_{\theta k} + b

    where T_k are Chebyshev polynomials and Λ̃ the eigenvalues, scaled to [−1, 1]; eigenfunctions are never
    computed. As the authors do, the Laplacian is first normalised to a diagonal of ones. Convolutions are
    followed by batch normalisation and ReLU; a dense layer and dropout precede the outputs. The authors do
    not classify shapes; here their features are the mean of the last convolution's outputs over the area, and
    each shape is normalised by itself. With one shape in a step, batch normalisation does the same in
    training, but not in evaluation.

    On samples of a mesh, the Laplacian is that of the whole mesh for functions that are interpolated from
    the samples. It is then less sparse, so by default every vertex of up to 10,000 is kept.

    References
    ----------
    Q. Li, S. Liu, L. Hu, X. Liu: Shape correspondence using anisotropic Chebyshev spectral CNNs. CVPR, 2020.

    Examples
    --------
    >>> net = ACSCNN.for_task("correspondence", classes=6890, preset="paper")
    >>> net.layers[1].weight.numel() == 8 * 16 * 64**2
    True
    """

    name, Config = "acscnn", ACSCNNConfig
    reads = ("x", "area", "anisotropic_index", "anisotropic_values")
    recipe = network_recipe("acscnn")
    config: ACSCNNConfig

    def __init__(self, config: ACSCNNConfig) -> None:
        super().__init__(config)
        widths = [config.num_features] + [config.width] * config.layers
        self.layers = nn.ModuleList(
            ACSConv(before, after, order=config.order) for before, after in pairwise(widths)
        )
        norm = ShapeNorm if config.per_shape else RowNorm
        self.norms = nn.ModuleList(norm(config.width) for _ in range(config.layers))
        self.head = Perceptron(
            nn.Linear(config.width, config.dense),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.dense, config.outputs),
        )

    def features(self, surface: Surface) -> Tensor:
        """Return (n, width): the outputs of the last convolution, normalised and rectified."""
        x, laplacians = self.inputs(surface), Laplacians(surface)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            y = layer(x, laplacians)
            x = torch.relu(norm(y, surface) if self.config.per_shape else norm(y))
        return self.pooled(x, surface)


class ShapeNorm(nn.Module):
    """Each channel to mean 0 and variance 1 over the samples of each shape, then a learnt scale and shift."""

    def __init__(self, channels: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        shape, alike = shape_of_samples(surface)[0], torch.ones_like(surface.area)
        x = x - mean_per_shape(x, alike, surface)[shape]
        variance = mean_per_shape(x.square(), alike, surface)[shape]
        return self.weight * x * torch.rsqrt(variance + self.eps) + self.bias


class ACSConv(nn.Module):
    r"""Σ_θ Σ_k T_k(L̃_θ) x W_θk + b.

    Polynomials T_k+1 = 2 L̃ T_k − T_k−1 are computed one after the other and dropped after use, also in the
    backward pass, which saves memory.

    Shapes
    ------
    - input (n, in_channels), and `Laplacians`
    - output (n, out_channels)
    """

    def __init__(self, in_channels: int, out_channels: int, *, order: int = 16) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.order = in_channels, out_channels, order
        self.weight = nn.Parameter(torch.empty(order, ANGLES, in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        # An output is a sum over input channels, angles and polynomials.
        draw_normal(self.weight, std=(in_channels * ANGLES * order / 2) ** -0.5)

    def forward(self, x: Tensor, laplacians: Laplacians) -> Tensor:
        every: Tensor = _SumOfPolynomials.apply(  # type: ignore[no-untyped-call]
            laplacians.root * x, self.weight, laplacians.matrices
        )
        return every / laplacians.root + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, order={self.order}"


class _SumOfPolynomials(torch.autograd.Function):
    """Σ_θ Σ_k T_k(L̃_θ) x W_θk for symmetric L̃_θ, whose backward pass uses the same polynomials.

    With g the gradient of the result, and G = T_k(L̃_θ) g: that of W_θk is xᵀG, that of x is Σ G W_θkᵀ.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, matrices: Sequence[Tensor]) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.matrices = matrices
        result = x.new_zeros(len(x), weight.shape[-1])
        for angle, matrix in enumerate(matrices):
            for k, polynomial in enumerate(_chebyshev(matrix, x, len(weight))):
                result.addmm_(polynomial, weight[k, angle])
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous()
        by_x, by_weight = torch.zeros_like(x), torch.empty_like(weight)
        for angle, matrix in enumerate(ctx.matrices):
            for k, polynomial in enumerate(_chebyshev(matrix, gradient, len(weight))):
                by_x.addmm_(polynomial, weight[k, angle].T)
                torch.mm(x.T, polynomial, out=by_weight[k, angle])
        return by_x, by_weight, None


def _chebyshev(matrix: Tensor, x: Tensor, count: int) -> Iterator[Tensor]:
    """T_0(matrix) x, T_1(matrix) x, …, so many."""
    yield x
    if count == 1:
        return
    before, last = x, matrix @ x
    yield last
    for _ in range(count - 2):
        before, last = last, torch.addmm(before, matrix, last, beta=-1, alpha=2)
        yield last


class Laplacians:
    """The eight Laplacians of a surface (or of all surfaces of a batch), made symmetric by the root of area.

    Attributes
    ----------
    matrices : list of sparse Tensor, (n, n)
        √A L̃ 1/√A of each angle, of eigenvalues from −1 to 1.
    root : (n, 1)
        √A, of areas relative to their mean.
    """

    def __init__(self, surface: Surface) -> None:
        count, index = len(surface.area), surface.anisotropic_index
        self.matrices = [
            compressed_rows(index, values.contiguous(), (count, count))
            for values in surface.anisotropic_values.T
        ]
        area = surface.area / surface.area.mean()
        self.root = torch.where(area > 0, area, 1.0).sqrt()[:, None]


def _anisotropic(preparation: Preparation) -> Tensors:
    mesh, sampling = preparation.mesh, preparation.sampling
    angles = np.arange(ANGLES) * np.pi / ANGLES
    stiffness = anisotropic_stiffness(
        mesh, principal_directions(mesh, smoothing=SMOOTHING), angles, anisotropy=ANISOTROPY
    )
    if len(sampling.chosen) < len(mesh.vertices):
        stiffness = _restrict_to_samples(stiffness, sampling)
    else:
        row, column = preparation.number[stiffness.row], preparation.number[stiffness.column]
        stiffness = Stiffness(row, column, stiffness.values)
    count = len(sampling.chosen)
    selves = np.arange(count)
    stiffness = sum_duplicates(  # a sample without faces has its entry, too
        np.append(stiffness.row, selves),
        np.append(stiffness.column, selves),
        np.concatenate([stiffness.values, np.zeros((count, ANGLES))]),
        count,
    )
    values = [_rescale_spectrum(stiffness, own, count) for own in stiffness.values.T]
    return {
        "anisotropic_index": torch.from_numpy(np.stack([stiffness.column, stiffness.row])),
        "anisotropic_values": single(np.stack(values, 1)),
    }


def _restrict_to_samples(stiffness: Stiffness, sampling: Sampling) -> Stiffness:
    """PᵀWP, where P interpolates from samples to vertices."""
    row, column = sampling.reads[stiffness.row], sampling.reads[stiffness.column]
    share = sampling.weight[stiffness.row][:, :, None] * sampling.weight[stiffness.column][:, None]
    some = share > 0
    edge, _, _ = np.nonzero(some)
    return sum_duplicates(
        np.broadcast_to(row[:, :, None], some.shape)[some],
        np.broadcast_to(column[:, None], some.shape)[some],
        share[some][:, None] * stiffness.values[edge],
        len(sampling.chosen),
    )


def _rescale_spectrum(stiffness: Stiffness, values: Floats, count: int) -> Floats:
    """2N/λ − 1 with N = D^{−½} W D^{−½}, D the diagonal of W and λ the largest eigenvalue of N."""
    own = stiffness.row == stiffness.column
    diagonal = values[own]
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    normalised = values / (root[stiffness.row] * root[stiffness.column])
    matrix = csr_array((normalised, (stiffness.row, stiffness.column)), (count, count))
    scaled: Floats = 2 * normalised / _largest_eigenvalue(matrix) - own
    return scaled


def _largest_eigenvalue(matrix: csr_array) -> float:
    count = matrix.shape[0]
    if count <= 100:
        return float(eigvalsh(matrix.toarray())[-1])
    start = np.random.default_rng(0).standard_normal(count)
    try:
        found = float(eigsh(matrix, 1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0])
    except ArpackError:
        found = float(abs(matrix).sum(1).max())  # no eigenvalue is larger
    return found


register_operator(Part("anisotropic", ("samples",), _anisotropic))
