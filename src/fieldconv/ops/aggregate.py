"""Sums over geodesic discs: the sparse half of a field convolution and of the learned gradient."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.backend import Backend, check_backend
from fieldconv.ops.compiled import aggregate_kernels as compiled
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.lift import lift
from fieldconv.ops.portable import aggregate_torch as portable
from fieldconv.ops.register import GEOMETRY, register, register_adjoints
from fieldconv.ops.rings import Spacing

if TYPE_CHECKING:
    from fieldconv.surface import Surface


_REST = f"{GEOMETRY}, int first_order, int rings, str spacing, bool scalars, str backend"
_gather = register(
    f"gather(Tensor y, {_REST}) -> Tensor",
    (compiled.gather, portable.gather),
    fake=lambda y, _, first_order, rings, *rest: y.new_empty(y.shape[1], y.shape[0], rings, y.shape[2]),
)
_scatter = register(
    f"scatter(Tensor gradient, {_REST}) -> Tensor",
    (compiled.scatter, portable.scatter),
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
    spacing : "linear" or "equal_area"
        See `ring_radii`.
    scalars : bool
        The features are scalars, which need no transport: leave e^{iφ_pq} out.
    backend : "auto", "torch" or "compiled"
        See `field_aggregate`.

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
