"""Sums over geodesic discs: the sparse half of a field convolution and of the learned gradient."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from fieldconv.ops import _aggregate_cpu, _direction_cpu
from fieldconv.ops._edges import Geometry, sorted_edges
from fieldconv.ops.direction import lift
from fieldconv.ops.rings import Spacing, ring_weights

Backend = Literal["auto", "torch", "fast"]


def use_fast(backend: Backend, x: Tensor, geometry: Geometry) -> bool:
    """Whether the compiled CPU kernels are to be used."""
    if backend == "torch":
        return False
    if backend == "fast":
        if x.device.type != "cpu":
            raise ValueError(
                f'backend="fast" runs on the CPU, but the features are on {x.device}; use "auto".'
            )
        return True
    if backend != "auto":
        raise ValueError(f'backend must be "auto", "torch" or "fast", got {backend!r}.')
    wants_geometry = any(tensor is not None and tensor.requires_grad for tensor in geometry)
    return x.device.type == "cpu" and not wants_geometry


def aggregate_torch(
    y: Tensor, geometry: Geometry, first_order: int, rings: int, spacing: Spacing, scalars: bool
) -> Tensor:
    """A[p,k,n] = Σ_e w_e t_e e^{imθ_e} ψ_n(r_e) y[k,q] with m = first_order + k; without t_e for scalars."""
    orders, count, channels = y.shape
    sender, receiver = geometry.edge_index
    lower, fraction = ring_weights(geometry.distance(), rings, spacing)
    inner_row = receiver * rings + lower
    outer_row = (inner_row + 1).clamp(max=count * rings - 1)  # of weight zero where there is no such ring
    base = geometry.weight * (torch.ones_like(geometry.transport) if scalars else geometry.transport)
    direction = geometry.direction()
    result = []
    for k in range(orders):
        coefficient = base
        for _ in range(abs(first_order + k)):
            coefficient = coefficient * (direction if first_order + k > 0 else direction.conj())
        terms = y[k].index_select(0, sender) * coefficient[:, None].to(y.dtype)
        total = y.new_zeros(count * rings, channels)
        total = total.index_add(0, inner_row, terms * (1 - fraction)[:, None].to(y.real.dtype))
        total = total.index_add(0, outer_row, terms * fraction[:, None].to(y.real.dtype))
        result.append(total.view(count, rings, channels))
    return torch.stack(result, dim=1)


# The operations below are what torch.compile and torch.export see. The sums are linear in the features:
# gather and scatter are each other's adjoints, hence each other's derivatives, to any order.
_GEOMETRY = "Tensor edge_index, Tensor log, Tensor transport, Tensor weight, Tensor radius, Tensor? batch"
_SUMS = f"{_GEOMETRY}, int first_order, int rings, str spacing, bool scalars"


def _edges(values: Tensor, geometry: Any, count: int, rings: int, spacing: str) -> Any:
    return sorted_edges(Geometry(*geometry), count, rings, spacing, values.real.dtype)


@torch.library.custom_op("fieldconv::gather", mutates_args=(), schema=f"(Tensor y, {_SUMS}) -> Tensor")
def gather(y: Tensor, *rest: Any) -> Tensor:
    *geometry, first_order, rings, spacing, scalars = rest
    edges = _edges(y, geometry, y.shape[1], rings, spacing)
    return _aggregate_cpu.gather(y, edges, first_order, rings, scalars)


@torch.library.custom_op(
    "fieldconv::scatter", mutates_args=(), schema=f"(Tensor gradient, {_SUMS}) -> Tensor"
)
def scatter(gradient: Tensor, *rest: Any) -> Tensor:
    *geometry, first_order, rings, spacing, scalars = rest
    edges = _edges(gradient, geometry, len(gradient), rings, spacing)
    return _aggregate_cpu.scatter(gradient, edges, first_order, rings, scalars)


@gather.register_fake
def _(y: Tensor, *rest: Any) -> Tensor:
    return y.new_empty(y.shape[1], y.shape[0], rest[-3], y.shape[2])


@scatter.register_fake
def _(gradient: Tensor, *rest: Any) -> Tensor:
    return gradient.new_empty(gradient.shape[1], gradient.shape[0], gradient.shape[3])


def _save_sums(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[1:7])
    ctx.options = inputs[7:]


def _nothing_for(options: Any) -> tuple[None, ...]:
    return (None,) * (6 + len(options))


gather.register_autograd(
    lambda ctx, gradient: (
        scatter(gradient, *ctx.saved_tensors, *ctx.options),
        *_nothing_for(ctx.options),
    ),
    setup_context=_save_sums,
)
scatter.register_autograd(
    lambda ctx, gradient: (
        gather(gradient, *ctx.saved_tensors, *ctx.options),
        *_nothing_for(ctx.options),
    ),
    setup_context=_save_sums,
)


@torch.library.custom_op("fieldconv::lift", mutates_args=(), schema="(Tensor x, int band_limit) -> Tensor")
def lift_fast(x: Tensor, band_limit: int) -> Tensor:
    return _direction_cpu.lift(x, band_limit)


@torch.library.custom_op(
    "fieldconv::lift_backward", mutates_args=(), schema="(Tensor x, Tensor gradient) -> Tensor"
)
def lift_backward(x: Tensor, gradient: Tensor) -> Tensor:
    return _direction_cpu.lift_backward(x, gradient)


@lift_fast.register_fake
def _(x: Tensor, band_limit: int) -> Tensor:
    return x.new_empty(2 * band_limit + 1, *x.shape)


@lift_backward.register_fake
def _(x: Tensor, gradient: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _save_lift(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.band_limit = inputs[1]


def _lift_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
    (x,) = ctx.saved_tensors
    if torch.is_grad_enabled():  # a second derivative is wanted: let torch find it
        return torch.autograd.grad(lift(x, ctx.band_limit), x, gradient, create_graph=True)[0], None
    return lift_backward(x, gradient), None


lift_fast.register_autograd(_lift_gradient, setup_context=_save_lift)


def disc_sums(
    y: Tensor,
    surface: Any,
    *,
    first_order: int,
    rings: int,
    spacing: Spacing = "linear",
    scalars: bool = False,
    backend: Backend = "auto",
) -> Tensor:
    """Return the sums over every disc, one per order and ring, of features carried to its centre.

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
    backend : "auto", "torch" or "fast"
        See `field_aggregate`.

    Returns
    -------
    complex Tensor, shape (n, K, N, C)

    Examples
    --------
    A pair of vertices that receive from each other, unturned, with weight 1.

    >>> from types import SimpleNamespace
    >>> pair = SimpleNamespace(edge_index=torch.tensor([[0, 1], [1, 0]]), log=torch.tensor([1j, 1j]),
    ...                        transport=torch.ones(2) + 0j, weight=torch.ones(2), radius=torch.ones(1))
    >>> disc_sums(torch.tensor([[[2 + 0j], [3 + 0j]]]), pair, first_order=1, rings=1).flatten().tolist()
    [3j, 2j]
    """
    geometry = Geometry.of(surface)
    if use_fast(backend, y, geometry):
        sums: Tensor = gather(y.contiguous(), *geometry, first_order, rings, spacing, scalars)
        return sums
    return aggregate_torch(y, geometry, first_order, rings, spacing, scalars)


def field_aggregate(
    x: Tensor,
    surface: Any,
    *,
    rings: int,
    band_limit: int,
    spacing: Spacing = "linear",
    backend: Backend = "auto",
) -> Tensor:
    """Gather the neighbours' vectors into one sum per angular frequency and ring (Eq. 7 without filters).

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
    backend : "auto", "torch" or "fast"
        Compiled CPU kernels where they can be used, plain torch anywhere, or the kernels and nothing else.

    Returns
    -------
    complex Tensor, shape (n, 2B+1, N, C)
        The second index runs over m = −B … B.

    Examples
    --------
    One vertex that is its own only neighbour, with weight 1: its vector arrives unturned, at m = 0.

    >>> from types import SimpleNamespace
    >>> one = torch.ones(1)
    >>> dot = SimpleNamespace(edge_index=torch.zeros(2, 1, dtype=torch.int64), log=0j * one,
    ...                       transport=one + 0j, weight=one, radius=one)
    >>> field_aggregate(torch.tensor([[3j]]), dot, rings=1, band_limit=1).flatten().tolist()
    [0j, 3j, 0j]
    """
    geometry = Geometry.of(surface)
    fast = use_fast(backend, x, geometry)
    y = lift_fast(x, band_limit) if fast else lift(x, band_limit)
    return disc_sums(y, surface, first_order=-band_limit, rings=rings, spacing=spacing, backend=backend)


def gradient_aggregate(
    features: Tensor, surface: Any, *, rings: int, spacing: Spacing = "linear", backend: Backend = "auto"
) -> tuple[Tensor, Tensor]:
    """The two sums of the learned gradient (supplement B), one per ring.

    Φ_n[p,k] = Σ_q w_q (ξ_k(q) − ξ_k(p)) ψ_n(r_pq) e^{iθ_pq},   P_n[p,k] = Σ_q w_q ξ_k(q) ψ_n(r_pq),

    where θ_pq, the direction of q seen from p, is that of −log_q p carried to p.

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
    options: Any = {"rings": rings, "spacing": spacing, "backend": backend}
    away = disc_sums(with_one[None], surface, first_order=1, **options)[:, 0]
    magnitude = disc_sums(scalars[None], surface, first_order=0, scalars=True, **options)[:, 0]
    return away[..., -1:] * features[:, None] - away[..., :-1], magnitude.real
