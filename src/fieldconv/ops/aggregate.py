"""Sums over geodesic discs, and the field convolution: these sums mixed by filters."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.compiled import aggregate_kernels, convolve_kernels
from fieldconv.ops.disc import Spacing
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.pointwise import lift
from fieldconv.ops.portable import aggregate_torch as portable
from fieldconv.ops.register import (
    GEOMETRY,
    Backend,
    check_backend,
    register,
    register_adjoints,
    register_differentiable,
)
from fieldconv.ops.vectors import complex_matmul

if TYPE_CHECKING:
    from fieldconv.surface import Surface


_REST = f"{GEOMETRY}, int first_order, int rings, str spacing, bool scalars, str backend"
_gather = register(
    f"gather(Tensor y, {_REST}) -> Tensor",
    (aggregate_kernels.gather, portable.gather),
    fake=lambda y, _, first_order, rings, *rest: y.new_empty(y.shape[1], y.shape[0], rings, y.shape[2]),
)
_scatter = register(
    f"scatter(Tensor gradient, {_REST}) -> Tensor",
    (aggregate_kernels.scatter, portable.scatter),
    fake=lambda gradient, *_: gradient.new_empty(gradient.shape[1], gradient.shape[0], gradient.shape[3]),
)
register_adjoints(_gather, _scatter)


def disc_sums(
    y: Tensor,
    surface: Surface | Geometry,
    *,
    first_order: int,
    rings: int,
    spacing: Spacing = "linear",
    scalars: bool = False,
    backend: Backend = "auto",
) -> Tensor:
    """Return the sums over every disc, one per order and ring, of features transported to its centre.

    A[p,k,n,c] = Σ_{q in the disc of p} w_q e^{iφ_pq} e^{imθ_qp} ψ_n(r_qp) y[k,q,c],  m = first_order + k.

    Parameters
    ----------
    y : complex Tensor, shape (K, n, C)
        Features for each of the K orders.
    surface : Surface or batch of them
    first_order : int
        The order m that belongs to y[0].
    rings : int
        N.
    scalars : bool
        The features are scalars, which need no transport: leave e^{iφ_pq} out.
    spacing, backend
        As in `field_aggregate`.

    Returns
    -------
    complex Tensor, shape (n, K, N, C)

    Examples
    --------
    Two vertices receive from each other, with weight 1 and without rotation.

    >>> from types import SimpleNamespace
    >>> pair = SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 0]]), log=torch.tensor([1j, 1j]),
    ...                        transport=torch.ones(2) + 0j, weight=torch.ones(2), radius=torch.ones(1))
    >>> disc_sums(torch.tensor([[[2 + 0j], [3 + 0j]]]), pair, first_order=1, rings=1).flatten().tolist()
    [3j, 2j]
    """
    check_backend(backend, y)
    geometry = Geometry.of(surface)
    if geometry.wants_gradients():
        return plain.aggregate(y, geometry, first_order, rings, spacing, scalars)
    sums: Tensor = _gather(y, *geometry, first_order, rings, spacing, scalars, backend)
    return sums


def field_aggregate(
    x: Tensor,
    surface: Surface | Geometry,
    *,
    rings: int,
    band_limit: int,
    spacing: Spacing = "linear",
    backend: Backend = "auto",
) -> Tensor:
    """Return the neighbours' vectors summed by angular frequency and ring (Eq. 7 without filters).

    A[p,m,n,c] = Σ_{q in the disc of p} w_q e^{iφ_pq} e^{imθ_qp} ψ_n(r_qp) Y_m[q,c],  Y_m = x ū^m,

    where u = x/|x|. A field convolution is this, times filter coefficients, summed over m, n and c.

    Parameters
    ----------
    x : complex Tensor, shape (n, C)
    surface : Surface or batch of them
    rings, band_limit : int
        N and B.
    spacing : "linear" or "equal_area"
        See `ring_radii`.
    backend : "auto", "torch" or "compiled"
        Portable torch for any device, or compiled CPU kernels. "auto" chooses the kernels on the CPU,
        unless the environment variable ``FIELDCONV_BACKEND`` says "torch".

    Returns
    -------
    complex Tensor, shape (n, 2B+1, N, C)
        The second index runs over m = −B … B.

    Examples
    --------
    One vertex is its own only neighbour, with weight 1: its vector arrives as it is, at m = 0.

    >>> from types import SimpleNamespace
    >>> one = torch.ones(1)
    >>> dot = SimpleNamespace(edge_index=torch.zeros(2, 1, dtype=torch.int64), log=0j * one,
    ...                       transport=one + 0j, weight=one, radius=one)
    >>> field_aggregate(torch.tensor([[3j]]), dot, rings=1, band_limit=1).flatten().tolist()
    [0j, 3j, 0j]
    """
    y = lift(x, band_limit, backend=backend)
    return disc_sums(y, surface, first_order=-band_limit, rings=rings, spacing=spacing, backend=backend)


def _in_two_steps(
    x: Tensor, real: Tensor, imaginary: Tensor, geometry: Geometry, spacing: Spacing, backend: Backend
) -> Tensor:
    """The sums, then one matrix product: differentiable to any order, and by the geometry too."""
    orders, rings = real.shape[:2]
    sums = field_aggregate(
        x, geometry, rings=rings, band_limit=orders // 2, spacing=spacing, backend=backend
    )  # A[p, m, n, c]
    return complex_matmul(sums.flatten(1), real.flatten(0, 2), imaginary.flatten(0, 2))


_convolve = register_differentiable(
    "convolve",
    ["x", "real", "imaginary"],
    f"{GEOMETRY}, str spacing, str backend",
    (convolve_kernels.convolve, portable.convolve),
    (convolve_kernels.convolve_backward, portable.convolve_backward),
    fake=lambda x, real, *_: x.new_empty(len(x), real.shape[3]),
    equations=_in_two_steps,
)


def field_convolve(
    x: Tensor,
    real: Tensor,
    imaginary: Tensor,
    surface: Surface | Geometry,
    *,
    spacing: Spacing = "linear",
    backend: Backend = "auto",
) -> Tensor:
    """Return the field convolution (Eq. 7) of a vector field with filters.

    out[p,o] = Σ_{m,n,c} A[p,m,n,c] F[m,n,c,o], where A is `field_aggregate` of x. Nothing keeps
    A as a whole: the kernels mix the features of a few hundred points at a time, portable torch sums for one
    m at a time.

    x is (n, C), the parts of F for m = −B … B are (2B+1, N, C, O), the result (n, O); further arguments are
    those of `field_aggregate`.

    Examples
    --------
    One vertex that is its own only neighbour, with weight 1.

    >>> from types import SimpleNamespace
    >>> one = torch.ones(1)
    >>> dot = SimpleNamespace(edge_index=torch.zeros(2, 1, dtype=torch.int64), log=0j * one,
    ...                       transport=one + 0j, weight=one, radius=one)
    >>> field_convolve(torch.tensor([[3j]]), torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1), dot).tolist()
    [[3j]]
    """
    check_backend(backend, x)
    geometry = Geometry.of(surface)
    if geometry.wants_gradients():
        return _in_two_steps(x, real, imaginary, geometry, spacing, backend)
    out: Tensor = _convolve(x, real, imaginary, *geometry, spacing, backend)
    return out


def gradient_aggregate(
    features: Tensor,
    surface: Surface | Geometry,
    *,
    rings: int,
    spacing: Spacing = "linear",
    backend: Backend = "auto",
) -> tuple[Tensor, Tensor]:
    """Return the two sums of the learned gradient (supplement B), one per ring.

    Φ_n[p,k] = Σ_q w_q (ξ_k(q) − ξ_k(p)) ψ_n(r_pq) e^{iθ_pq},   P_n[p,k] = Σ_q w_q ξ_k(q) ψ_n(r_pq),

    where θ_pq, the direction of q seen from p, is that of −log_q p transported to p.

    Parameters
    ----------
    features : real Tensor, shape (n, k)
        Scalars ξ.
    surface, rings, spacing, backend
        As in `field_aggregate`.

    Returns
    -------
    direction : complex Tensor, shape (n, N, k)
    magnitude : real Tensor, shape (n, N, k)

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> pair = SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 0]]), log=torch.tensor([1 + 0j, 1j]),
    ...                        transport=torch.tensor([-1j, 1j]), weight=torch.ones(2), radius=torch.ones(1))
    >>> direction, magnitude = gradient_aggregate(torch.tensor([[1.0], [3.0]]), pair, rings=1)
    >>> torch.allclose(direction.flatten(), torch.tensor([2, -2j])), magnitude.flatten().tolist()
    (True, [3.0, 1.0])
    """
    scalars = torch.complex(features, torch.zeros_like(features))
    with_one = torch.cat([scalars, torch.ones_like(scalars[:, :1])], dim=1)
    sums = functools.partial(disc_sums, surface=surface, rings=rings, spacing=spacing, backend=backend)
    away = sums(with_one[None], first_order=1)[:, 0]
    magnitude = sums(scalars[None], first_order=0, scalars=True)[:, 0]
    return away[..., -1:] * features[:, None] - away[..., :-1], magnitude.real
