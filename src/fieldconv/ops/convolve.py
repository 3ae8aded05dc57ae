"""The field convolution: sums over geodesic discs, mixed by filters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.aggregate import field_aggregate
from fieldconv.ops.backend import Backend, check_backend, use_compiled
from fieldconv.ops.compiled import convolve_kernels as compiled
from fieldconv.ops.complex_matmul import complex_matmul
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.portable import convolve_torch as portable
from fieldconv.ops.rings import Spacing

_GEOMETRY = (
    "Tensor edge_index, Tensor log, Tensor transport, Tensor weight, Tensor radius, Tensor? batch, "
    "str spacing, str backend"
)


def _in_two_steps(
    x: Tensor, real: Tensor, imaginary: Tensor, *, surface: Any, spacing: Spacing, backend: Any
) -> Tensor:
    """The sums, then one matrix product: differentiable to any order, and by the geometry too."""
    orders, rings = real.shape[:2]
    sums = field_aggregate(
        x, surface, rings=rings, band_limit=orders // 2, spacing=spacing, backend=backend
    )  # A[p, m, n, c]
    return complex_matmul(sums.flatten(1), real.flatten(0, 2), imaginary.flatten(0, 2))


@torch.library.custom_op(
    "fieldconv::convolve",
    mutates_args=(),
    schema=f"(Tensor x, Tensor real, Tensor imaginary, {_GEOMETRY}) -> Tensor",
)
def _convolve(x: Tensor, real: Tensor, imaginary: Tensor, *rest: Any) -> Tensor:
    *tensors, spacing, backend = rest
    geometry = Geometry(*tensors)
    if use_compiled(backend, x):
        return compiled.convolve(x, real, imaginary, geometry, spacing)
    return portable.convolve(x, real, imaginary, geometry, spacing)


@torch.library.custom_op(
    "fieldconv::convolve_backward",
    mutates_args=(),
    schema=f"(Tensor x, Tensor real, Tensor imaginary, Tensor gradient, {_GEOMETRY}) "
    "-> (Tensor, Tensor, Tensor)",
)
def _convolve_backward(
    x: Tensor, real: Tensor, imaginary: Tensor, gradient: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    *tensors, spacing, backend = rest
    geometry = Geometry(*tensors)
    if use_compiled(backend, x):
        return compiled.convolve_backward(x, real, imaginary, gradient, geometry, spacing)
    return portable.convolve_backward(x, real, imaginary, gradient, geometry, spacing)


@_convolve.register_fake
def _(x: Tensor, real: Tensor, imaginary: Tensor, *rest: Any) -> Tensor:
    return x.new_empty(len(x), real.shape[3])


@_convolve_backward.register_fake
def _(
    x: Tensor, real: Tensor, imaginary: Tensor, gradient: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return x.new_empty(x.shape), real.new_empty(real.shape), imaginary.new_empty(imaginary.shape)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    *tensors, ctx.spacing, ctx.backend = inputs
    ctx.save_for_backward(*tensors)


def _gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    *inputs, edge_index, log, transport, weight, radius, batch = ctx.saved_tensors
    geometry = Geometry(edge_index, log, transport, weight, radius, batch)
    nothing = [None] * (len(geometry) + 2)
    if torch.is_grad_enabled():  # a second derivative is wanted: let torch find it
        out = _in_two_steps(*inputs, surface=geometry, spacing=ctx.spacing, backend=ctx.backend)
        return *plain.gradients(out, inputs, gradient), *nothing
    return *_convolve_backward(*inputs, gradient, *geometry, ctx.spacing, ctx.backend), *nothing


_convolve.register_autograd(_gradient, setup_context=_save)


def field_convolve(
    x: Tensor,
    real: Tensor,
    imaginary: Tensor,
    surface: Any,
    *,
    spacing: Spacing = "linear",
    backend: Backend = "auto",
) -> Tensor:
    """Return the field convolution (Eq. 7) of a vector field with filters.

    out[p,o] = Σ_{m,n,c} A[p,m,n,c] F[m,n,c,o], where A is `field_aggregate` of x. Nothing of A is kept for
    the backward pass: the compiled kernels mix the features of a few hundred points at a time, and portable
    torch makes A for one m at a time.

    Parameters
    ----------
    x : complex Tensor, shape (n, C)
    real, imaginary : real Tensor, shape (2B+1, N, C, O)
        The parts of F, for m = −B … B.
    surface : Surface or batch of them
    spacing : "linear" or "equal_area"
        See `ring_radii`.
    backend : "auto", "torch" or "compiled"
        See `field_aggregate`.

    Returns
    -------
    complex Tensor, shape (n, O)

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
        return _in_two_steps(x, real, imaginary, surface=surface, spacing=spacing, backend=backend)
    out: Tensor = _convolve(x, real, imaginary, *geometry, spacing, backend)
    return out
